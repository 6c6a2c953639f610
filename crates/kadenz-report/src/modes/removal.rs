//! Takes what belongs to a mode that was found out of everything else, so that it is not found again.

use super::baseline::{BLOCK, Block, SIDE};
use super::classes::Class;
use super::events::Event;
use super::lags::Candidate;
use super::search::Record;
use super::suggest::Suggested;
use super::{Mode, ModeKind};

/// Drops the blocks that a phase touches.
pub(super) fn leave_out(blocks: &mut Vec<Block>, phases: &[Event], resolution_s: f64) {
    let mut first = 0;
    blocks.retain(|block| {
        while phases
            .get(first)
            .is_some_and(|it| it.end_s + resolution_s < block.at_s)
        {
            first += 1;
        }
        phases
            .get(first)
            .is_none_or(|it| it.at_s - resolution_s > block.end_s)
    });
}

/// Where a mode that does not stray must be, seen or not.
#[derive(Clone, Copy, Debug)]
pub(super) struct Grid {
    first_s: f64,
    period_s: f64,
    window_s: f64,
    height_ns: f64,
    /// Whether there is one: a mode that strays is on none.
    is_kept: bool,
}

impl Grid {
    pub(super) fn of(mode: &Mode, members: &[Event], candidate: Candidate) -> Self {
        let last_s = members.last().map_or(0.0, |it| it.mark_s);
        let first_s = members[0].mark_s;
        // A grid that is off by more than the window at its end is none.
        let off = ((last_s - first_s) / mode.period_s).fract();
        let off = off.min(1.0 - off) * mode.period_s;
        Self {
            first_s,
            period_s: mode.period_s,
            window_s: candidate.window_s,
            height_ns: mode.height_ns as f64,
            is_kept: mode.stray_s <= candidate.window_s && off <= candidate.window_s,
        }
    }

    /// Takes events of about its height out of a class: how many there were. They are members that
    /// the class of the mode did not have, for noise had lifted them, or it was full.
    pub(super) fn clear(self, class: &mut Class) -> usize {
        let before = class.events.len();
        if self.is_kept && !class.phases {
            class.events.retain(|it| !self.holds(it));
        }
        before - class.events.len()
    }

    fn holds(&self, event: &Event) -> bool {
        let place = (event.mark_s - self.first_s) / self.period_s;
        let off = (place - place.round()).abs() * self.period_s;
        off <= self.window_s && (0.5..2.0).contains(&(event.height_ns / self.height_ns))
    }
}

/// Takes what belongs to a mode out of a class: how many events. Where a phase begins and ends the level lags
/// behind, and the phase lifts what stands there: what stands above its height all the same stays, less that
/// height. A spike that recurs within a phase stays.
pub(super) fn remove(
    class: &mut Class,
    members: &[Event],
    mode: &Mode,
    (best, record): (Suggested, Record),
) -> usize {
    let before = class.events.len();
    let block_s = BLOCK as f64 * record.interval_s;
    let half = record.interval_s / 2.0;
    let edge = (SIDE + 1) as f64 * block_s + best.resolution_s;
    // How much the mode lifts what else is there; absent where it leaves nothing to be told apart: below its
    // height a phase alone makes runs.
    let height_ns = mode.height_ns as f64;
    let is_beside = best.kind == ModeKind::Phase && !class.phases && height_ns <= class.level_ns;
    let lifted_ns = is_beside.then_some(height_ns);
    let mut stretches: Vec<(f64, f64)> = Vec::new();
    for it in members {
        match (best.kind, class.phases) {
            (ModeKind::Phase, false) => {
                stretches.push((it.at_s - edge, it.at_s + edge));
                stretches.push((it.end_s - edge, it.end_s + edge));
            }
            (ModeKind::Phase, true) => {
                let pad = best.resolution_s + class.resolution_s;
                stretches.push((it.at_s - pad, it.end_s + pad));
            }
            (_, false) => stretches.push((it.at_s - half, it.end_s - half)),
            (_, true) if it.length() > BLOCK as f64 / 4.0 => {
                stretches.push((it.at_s - class.resolution_s, it.end_s + class.resolution_s));
            }
            (_, true) => {}
        }
    }
    stretches.sort_by(|a, b| a.0.total_cmp(&b.0));
    let mut first = 0;
    class.events.retain_mut(|event| {
        while stretches.get(first).is_some_and(|it| it.1 < event.at_s) {
            first += 1;
        }
        let overlaps = |it: &(f64, f64)| it.0 <= event.end_s - half && it.1 >= event.at_s;
        let is_touched = stretches[first..]
            .iter()
            .take_while(|it| it.0 <= event.end_s)
            .any(overlaps);
        let stays = |lifted_ns: f64| {
            event.height_ns -= lifted_ns;
            event.height_ns >= class.level_ns
        };
        !is_touched || lifted_ns.is_some_and(stays)
    });
    before - class.events.len()
}
