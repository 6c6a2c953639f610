//! Stretches of time in which the level is raised, at scales from two blocks to a third of a record.

use super::baseline::{BlockStatistics, coarser, median};
use super::events::Event;

/// Blocks of the running median with which a stretch is compared. A phase of up to a third of them does not raise it.
const WINDOW: usize = 96;

/// Factor from one scale to the next.
const FACTOR: usize = 4;

/// Fewest blocks of a scale: three phases must fit.
const MIN_BLOCKS: usize = 12;

/// Fewest blocks of a phase: a single one is a burst.
const MIN_IN_PHASE: usize = 2;

/// The lowest threshold in deviations of the block medians, and the number of thresholds, an octave apart.
const LOWEST: f64 = 2.0;
const THRESHOLDS: i32 = 7;

/// Phases of one scale above one threshold.
#[derive(Clone, Debug)]
pub(super) struct Phases {
    /// Length of a block, which is the resolution of starts and ends.
    pub(super) block_s: f64,
    /// In order of time.
    pub(super) events: Vec<Event>,
}

/// The phases of a record at every scale and threshold.
pub(super) fn phases(blocks: &[BlockStatistics], interval_s: f64) -> Vec<Phases> {
    let mut all = Vec::new();
    let mut scale = blocks.to_vec();
    let block_s = length_of(blocks);
    while scale.len() >= MIN_BLOCKS {
        let above = above_running_median(&scale);
        let deviation = deviation(&above);
        let coarse_s = length_of(&scale);
        for octave in 0..THRESHOLDS {
            let threshold = LOWEST * deviation * 2_f64.powi(octave);
            let events = raised(&scale, &above, threshold, interval_s);
            if events.is_empty() {
                break;
            }
            all.push(fine(events, blocks, coarse_s, block_s));
        }
        scale = coarser(&scale, FACTOR);
    }
    all
}

/// The median length of a block.
fn length_of(blocks: &[BlockStatistics]) -> f64 {
    let mut lengths: Vec<f64> = blocks.iter().map(|it| it.end_s - it.at_s).collect();
    median(&mut lengths).unwrap_or(0.0)
}

/// Each block's median less the median of the [`WINDOW`] around it.
fn above_running_median(blocks: &[BlockStatistics]) -> Vec<f64> {
    let width = WINDOW.min(blocks.len());
    let mut sorted: Vec<f64> = blocks[..width].iter().map(|it| it.median).collect();
    sorted.sort_by(f64::total_cmp);
    let mut start = 0;
    let mut above = Vec::with_capacity(blocks.len());
    for (index, block) in blocks.iter().enumerate() {
        let wanted = index.saturating_sub(width / 2).min(blocks.len() - width);
        while start < wanted {
            exchange(
                &mut sorted,
                blocks[start].median,
                blocks[start + width].median,
            );
            start += 1;
        }
        above.push(block.median - sorted[width / 2]);
    }
    above
}

/// Puts `new` into a sorted list in place of `old`, which it holds.
fn exchange(sorted: &mut Vec<f64>, old: f64, new: f64) {
    let place = |list: &[f64], value: f64| list.partition_point(|it| it.total_cmp(&value).is_lt());
    let out = place(sorted, old);
    sorted.remove(out);
    let into = place(sorted, new);
    sorted.insert(into, new);
}

/// The deviation of blocks: 1.4826 times the median of the magnitudes, which is the standard deviation where they are
/// normally distributed. Where most are equal, because of a coarse clock, half its step.
fn deviation(above: &[f64]) -> f64 {
    let mut magnitudes: Vec<f64> = above.iter().map(|it| it.abs()).collect();
    let middle = median(&mut magnitudes).unwrap_or(0.0);
    if middle > 0.0 {
        return 1.4826 * middle;
    }
    let step = magnitudes.into_iter().filter(|it| *it > 0.0);
    step.min_by(f64::total_cmp).map_or(0.0, |step| step / 2.0)
}

/// Stretches above `threshold`, each as far as its blocks stay above half of it; one lower block does not end it.
fn raised(
    blocks: &[BlockStatistics],
    above: &[f64],
    threshold: f64,
    interval_s: f64,
) -> Vec<Event> {
    let mut events = Vec::new();
    let mut index = 0;
    while index < above.len() {
        if above[index] <= threshold || threshold <= 0.0 {
            index += 1;
            continue;
        }
        let stays = |place: usize| above.get(place).is_some_and(|it| *it > threshold / 2.0);
        let mut from = index;
        while from > 0 && stays(from - 1) {
            from -= 1;
        }
        let mut to = index + 1;
        while stays(to) || (to + 1 < above.len() && stays(to + 1)) {
            to += 1;
        }
        if to - from >= MIN_IN_PHASE && to - from <= WINDOW / 3 + 1 {
            events.push(event(blocks, from, to, interval_s));
        }
        index = to;
    }
    events
}

/// The phase of blocks `from..to`. Its height is that of the 90th percentile, which detects a phase that adds "up to"
/// an amount as well as one that always adds the same.
fn event(blocks: &[BlockStatistics], from: usize, to: usize, interval_s: f64) -> Event {
    const AROUND: usize = 8;
    let before = &blocks[from.saturating_sub(AROUND + 1)..from.saturating_sub(1)];
    let after = &blocks[(to + 1).min(blocks.len())..(to + 1 + AROUND).min(blocks.len())];
    let p90 = |blocks: &mut dyn Iterator<Item = &BlockStatistics>| {
        median(&mut blocks.map(|it| it.p90).collect::<Vec<_>>()).unwrap_or(0.0)
    };
    let height_ns = p90(&mut blocks[from..to].iter()) - p90(&mut before.iter().chain(after));
    let (at_s, end_s) = (blocks[from].at_s, blocks[to - 1].end_s);
    Event {
        at_s,
        mark_s: at_s,
        end_s,
        height_ns,
        samples: ((end_s - at_s) / interval_s).round() as u32,
        slope_ns: 0.0,
    }
}

/// Phases with their edges resolved to the finest block, where most of them are visible there.
fn fine(events: Vec<Event>, blocks: &[BlockStatistics], coarse_s: f64, block_s: f64) -> Phases {
    let refined: Vec<Event> = events
        .iter()
        .filter_map(|event| refined(event, blocks, coarse_s, block_s))
        .collect();
    // If some were on the grid of the coarse blocks and some not, their differences would make a period of their own.
    if refined.len() * 10 < events.len() * 9 {
        return Phases {
            block_s: coarse_s,
            events,
        };
    }
    Phases {
        block_s,
        events: refined,
    }
}

/// A phase that begins and ends where the median of the finest blocks passes half of its rise; absent where it does not
/// rise there. A block with half of its samples raised passes it, so that starts and ends are as often early as late.
fn refined(
    event: &Event,
    blocks: &[BlockStatistics],
    coarse_s: f64,
    block_s: f64,
) -> Option<Event> {
    let from = |at_s: f64| blocks.partition_point(|it| it.at_s < at_s);
    let level = |from_s: f64, to_s: f64| {
        let part = &blocks[from(from_s)..from(to_s).max(from(from_s))];
        median(&mut part.iter().map(|it| it.median).collect::<Vec<_>>())
    };
    let (at_s, end_s) = (event.at_s, event.end_s);
    let inside = level(at_s, end_s)?;
    let limit = |outside: f64| (outside < inside).then(|| f64::midpoint(outside, inside));
    let before = level(at_s - 3.0 * coarse_s, at_s - coarse_s);
    let after = level(end_s + coarse_s, end_s + 3.0 * coarse_s);
    // At the start or the end of a record there is only one side.
    let (before, after) = (limit(before.or(after)?)?, limit(after.or(before)?)?);
    let is_high = |place: usize, limit: f64| blocks.get(place).is_some_and(|it| it.median > limit);
    let reach_s = coarse_s.max(2.0 * block_s);
    let middle = from(f64::midpoint(at_s, end_s));
    let start = (from(at_s - reach_s)..=middle)
        .find(|&place| is_high(place, before) && is_high(place + 1, before))?;
    let end = (middle..from(end_s + reach_s))
        .rev()
        .find(|&place| place > start && is_high(place, after) && is_high(place - 1, after))?;
    let interval_s = (end_s - at_s) / f64::from(event.samples.max(1));
    let (at_s, end_s) = (blocks[start].at_s, blocks[end].end_s);
    Some(Event {
        at_s,
        mark_s: at_s,
        end_s,
        samples: ((end_s - at_s) / interval_s).round() as u32,
        ..*event
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(medians: impl Iterator<Item = f64>) -> Vec<BlockStatistics> {
        let block = |(index, median): (usize, f64)| BlockStatistics {
            at_s: index as f64,
            end_s: index as f64 + 1.0,
            median,
            p90: median + 10.0,
        };
        medians.enumerate().map(block).collect()
    }

    #[test]
    fn a_phase_is_found_at_its_scale_with_its_height() {
        let wave = |i: usize| if i % 300 < 20 { 400.0 } else { 0.0 } + (i % 7) as f64;
        let found = phases(&record((0..3000).map(wave)), 0.01);
        let events = &found[0].events;
        assert_eq!(events.len(), 10);
        assert_eq!((events[1].at_s, events[1].end_s), (300.0, 320.0));
        assert!((events[1].height_ns - 400.0).abs() < 4.0, "{:?}", events[1]);
        assert_eq!(events[1].samples, 2000);
    }

    #[test]
    fn drift_and_single_blocks_are_no_phases() {
        let drift = |i: usize| i as f64 + if i % 50 == 49 { 900.0 } else { (i % 3) as f64 };
        let blocks = record((0..1000).map(drift));
        let above = above_running_median(&blocks);
        assert!(raised(&blocks, &above, 20.0, 0.01).is_empty());
    }

    #[test]
    fn a_phase_that_only_a_coarse_scale_sees_begins_where_it_begins() {
        let wave = |i: usize| if i % 600 >= 130 && i % 600 < 280 { 400.0 } else { 0.0 } + (i % 7) as f64;
        let found = phases(&record((0..6000).map(wave)), 0.01);
        let exact = |it: &&Event| (it.at_s % 600.0, it.end_s % 600.0) == (130.0, 280.0);
        let most = found
            .iter()
            .map(|it| it.events.iter().filter(exact).count());
        assert!(most.max() >= Some(9), "{found:?}");
    }

    #[test]
    fn the_running_median_is_that_of_a_sort() {
        let values = |i: usize| ((i * 7919) % 1013) as f64;
        let blocks = record((0..300).map(values));
        let above = above_running_median(&blocks);
        for (index, it) in above.iter().enumerate() {
            let start = index.saturating_sub(WINDOW / 2).min(300 - WINDOW);
            let mut window: Vec<f64> = (start..start + WINDOW).map(values).collect();
            window.sort_by(f64::total_cmp);
            assert_eq!(*it, values(index) - window[WINDOW / 2]);
        }
    }
}
