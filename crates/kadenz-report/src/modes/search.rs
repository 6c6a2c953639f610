//! Finds the strongest mode, removes its events, and searches again.

use std::ops::Range;

use super::baseline::{BLOCK, BlockStatistics, SIDE};
use super::chain::chain;
use super::classes::{Class, classes, of_phases};
use super::events::{Event, EventCollection};
use super::lags::PeriodCandidate;
use super::presence::MIN_PRESENCE;
use super::suggest::{Suggested, better, mode, starts, suggested};
use super::{MIN_OCCURRENCES, Mode, ModeKind};

/// Maximum number of modes.
const MAX_MODES: usize = 16;

/// Facts about the record as a whole.
#[derive(Clone, Copy, Debug)]
pub(super) struct Record {
    /// Seconds in which there were samples.
    pub(super) watched_s: f64,
    pub(super) interval_s: f64,
    pub(super) level_ns: f64,
}

/// The modes of a record, the strongest first, each with the starts of its occurrences.
pub(super) fn search(
    collections: &[EventCollection],
    blocks: Vec<BlockStatistics>,
    record: Record,
) -> Vec<(Mode, Vec<f64>)> {
    let mut search = Search::new(collections, blocks, record);
    let mut modes = Vec::new();
    while modes.len() < MAX_MODES {
        let Some(best) = search.best() else {
            break;
        };
        modes.extend(search.take(best));
    }
    modes
}

/// A search under way.
struct Search {
    record: Record,
    /// Blocks that no found mode overlaps.
    blocks: Vec<BlockStatistics>,
    classes: Vec<Class>,
    /// The suggestion of each class.
    suggestions: Vec<Option<Suggested>>,
    /// Number of classes in each octave of sizes.
    octaves: Vec<usize>,
}

impl Search {
    fn new(collections: &[EventCollection], blocks: Vec<BlockStatistics>, record: Record) -> Self {
        let mut classes = classes(collections, record);
        classes.extend(of_phases(&blocks, record));
        let mut search = Self {
            record,
            blocks,
            octaves: per_octave(&classes),
            suggestions: vec![None; classes.len()],
            classes,
        };
        (0..search.classes.len()).for_each(|index| search.suggest(index));
        search
    }

    fn best(&self) -> Option<Suggested> {
        self.suggestions.iter().flatten().copied().reduce(better)
    }

    /// Examines a class again.
    fn suggest(&mut self, index: usize) {
        let class = &self.classes[index];
        let same_size = self.octaves.get(class.octave() as usize).copied();
        self.suggestions[index] = suggested(index, class, same_size.unwrap_or(1), self.record);
    }

    /// Removes a mode from all classes; absent if its occurrences turn out too few.
    fn take(&mut self, best: Suggested) -> Option<(Mode, Vec<f64>)> {
        let class = &self.classes[best.class];
        let candidate = following(class, best.presence.candidate, class.watched_s);
        let chain = chain(&class.times(), candidate);
        let members: Vec<Event> = chain.members.iter().map(|&at| class.events[at]).collect();
        let mode = mode(&best, &chain, &members, (class.watched_s, self.record));
        let share = mode.occurrences as f64 / mode.expected as f64;
        if mode.occurrences < MIN_OCCURRENCES || share < MIN_PRESENCE {
            self.suggestions[best.class] = None;
            return None;
        }
        let grid = PeriodGrid::of(&mode, &members, candidate);
        let mut again = Vec::new();
        if best.phases {
            again.extend(self.look_for_phases_again(&members, best.resolution_s));
        }
        for (index, class) in self.classes.iter_mut().enumerate() {
            let lost = remove(class, &members, &mode, (best, self.record)) + grid.clear(class);
            let many = 20 * lost > class.events.len();
            // A class without a mode shows none after it has lost a few events of another.
            if lost > 0 && (self.suggestions[index].is_some() || many) {
                again.push(index);
            }
        }
        // Sets that lost events may have another size now.
        self.octaves = per_octave(&self.classes);
        again.sort_unstable();
        again.dedup();
        again.into_iter().for_each(|index| self.suggest(index));
        Some((mode, starts(&members, &mode, best.resolution_s)))
    }

    /// Searches phases again without the blocks of a found phase, which at coarser scales would appear again with an
    /// aliased period, from its period and the length of the blocks. Returns the places of the new classes, which
    /// suggest nothing yet.
    fn look_for_phases_again(&mut self, phases: &[Event], resolution_s: f64) -> Range<usize> {
        leave_out(&mut self.blocks, phases, resolution_s);
        // Classes of phases are at the end.
        self.classes.retain(|class| !class.phases);
        let first = self.classes.len();
        self.classes.extend(of_phases(&self.blocks, self.record));
        self.suggestions.truncate(first);
        self.suggestions.resize(self.classes.len(), None);
        first..self.classes.len()
    }
}

/// How many classes there are of each octave of sizes, without those that are too small to be searched.
fn per_octave(classes: &[Class]) -> Vec<usize> {
    let mut counts = Vec::new();
    let searched = |class: &&Class| class.events.len() as u64 >= MIN_OCCURRENCES;
    for class in classes.iter().filter(searched) {
        let octave = class.octave() as usize;
        counts.resize(counts.len().max(octave + 1), 0);
        counts[octave] += 1;
    }
    counts
}

/// The window for following a chain: that of the period covers most of a mode, not all of it. A wider one is better
/// while chance puts few events into it.
fn following(class: &Class, candidate: PeriodCandidate, span_s: f64) -> PeriodCandidate {
    let few = span_s / (8.0 * class.events.len().max(1) as f64);
    let PeriodCandidate { period_s, window_s } = candidate;
    let widest = (3.0 * window_s).min(few).min(period_s / 4.0);
    PeriodCandidate {
        period_s,
        window_s: window_s.max(widest),
    }
}

/// Drops the blocks that overlap a phase.
pub(super) fn leave_out(blocks: &mut Vec<BlockStatistics>, phases: &[Event], resolution_s: f64) {
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

/// The times at which a mode that does not stray must be, seen or not.
#[derive(Clone, Copy, Debug)]
pub(super) struct PeriodGrid {
    first_s: f64,
    period_s: f64,
    window_s: f64,
    height_ns: f64,
    /// Whether there is a grid: a straying mode has none.
    is_kept: bool,
}

impl PeriodGrid {
    pub(super) fn of(mode: &Mode, members: &[Event], candidate: PeriodCandidate) -> Self {
        let last_s = members.last().map_or(0.0, |it| it.mark_s);
        let first_s = members[0].mark_s;
        // A grid that is off by more than the window at its end is invalid.
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

    /// Removes events of about its height from a class, and returns their number. They are members that the class of
    /// the mode did not have, because noise had raised them, or because it was full.
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

/// Removes the events of a mode from a class, and returns their number. Where a phase begins and ends the level lags
/// behind, and the phase raises the events there: those that are above its height nevertheless stay, less that height.
/// A spike that recurs within a phase stays.
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
    // How much the mode raises other events; absent where it leaves none that could be distinguished: below its height
    // a phase alone makes runs.
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

#[cfg(test)]
mod tests {
    use super::*;

    /// 8,000 blocks of 0.64 s with a phase every 300 of them, and a spike every 7 s.
    fn found_twice() -> Search {
        let wave = |i: usize| if i % 300 < 20 { 400.0 } else { 0.0 } + (i % 7) as f64;
        let block = |i: usize| BlockStatistics {
            at_s: 0.64 * i as f64,
            end_s: 0.64 * (i + 1) as f64,
            median: wave(i),
            p90: wave(i) + 10.0,
        };
        let event = |i: usize| Event {
            at_s: 7.0 * i as f64,
            mark_s: 7.0 * i as f64,
            end_s: 7.0 * i as f64 + 0.01,
            height_ns: 5_000.0,
            samples: 1,
            slope_ns: 0.0,
        };
        let record = Record {
            watched_s: 5_120.0,
            interval_s: 0.01,
            level_ns: 3.0,
        };
        let collected = EventCollection {
            events: (0..731).map(event).collect(),
            watched_s: record.watched_s,
            level_ns: 64.0,
        };
        Search::new(&[collected], (0..8_000).map(block).collect(), record)
    }

    #[test]
    fn sets_are_counted_as_they_are_after_each_mode() {
        let mut search = found_twice();
        let first = search.octaves.clone();
        let mut kinds = Vec::new();
        while let Some(best) = search.best() {
            kinds.extend(search.take(best).map(|it| it.0.kind));
            assert_eq!(search.octaves, per_octave(&search.classes));
        }
        assert!(kinds.len() >= 2, "{kinds:?}");
        assert_ne!(search.octaves, first);
    }

    #[test]
    fn sets_that_are_too_small_to_be_searched_are_not_counted() {
        let mut search = found_twice();
        search.classes.truncate(1);
        search.classes[0].events.truncate(2);
        assert!(per_octave(&search.classes).is_empty());
    }
}
