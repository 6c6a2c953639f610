//! Sets of events that may be one mode.

use super::baseline::BlockStatistics;
use super::events::{Event, EventCollection};
use super::phases::{Phases, phases};
use super::search::Record;

/// Step of heights: a little wider than the spread of a mode that is "always at 210 us".
const STEP: f64 = 0.04;

/// Clusters of heights that are taken from one level.
const MAX_CLUSTERS: usize = 3;

/// Events of about one height, or from one scale.
#[derive(Clone, Debug)]
pub(super) struct Class {
    /// In order of time.
    pub(super) events: Vec<Event>,
    /// Resolution of the times.
    pub(super) resolution_s: f64,
    /// How long events were taken, in seconds.
    pub(super) watched_s: f64,
    /// Whether these are phases.
    pub(super) phases: bool,
    /// Minimum height of a run above the level.
    pub(super) level_ns: f64,
}

/// The classes of all collections.
pub(super) fn classes(collections: &[EventCollection], record: Record) -> Vec<Class> {
    let mut all = Vec::new();
    for step in collections {
        let class = |events: Vec<Event>| Class {
            events,
            resolution_s: record.interval_s,
            watched_s: step.watched_s,
            phases: false,
            level_ns: step.level_ns,
        };
        let ramps = step.events.iter().filter(|it| it.slope_ns > 0.0);
        all.push(class(step.events.clone()));
        all.push(class(ramps.copied().collect()));
        all.extend(clusters(&step.events).into_iter().map(class));
    }
    distinct(all)
}

/// The classes of phases.
pub(super) fn of_phases(blocks: &[BlockStatistics], record: Record) -> Vec<Class> {
    let class = |it: Phases| Class {
        events: it.events,
        resolution_s: it.block_s,
        watched_s: record.watched_s,
        phases: true,
        level_ns: 0.0,
    };
    let found = phases(blocks, record.interval_s);
    distinct(found.into_iter().map(class).collect())
}

/// Keeps one of the classes with the same times: of phases the first, which is the finest, and of runs the last, which
/// was taken at the highest level, where no noise beside an event lengthens it; except for one whose ramps no longer
/// look like ramps.
fn distinct(classes: Vec<Class>) -> Vec<Class> {
    let mut distinct: Vec<Class> = Vec::new();
    for class in classes {
        if class.events.len() < 3 {
            continue;
        }
        match distinct.iter_mut().find(|it| it.same_times(&class)) {
            Some(same) if !class.phases && same.ramps() <= class.ramps() => *same = class,
            Some(_) => {}
            None => distinct.push(class),
        }
    }
    distinct
}

impl Class {
    /// Whether two classes hold the same events: phases begin a block earlier at a lower threshold.
    fn same_times(&self, other: &Self) -> bool {
        let slack = if self.phases {
            2.5 * self.resolution_s
        } else {
            0.0
        };
        let near = |(a, b): (&Event, &Event)| (a.mark_s - b.mark_s).abs() <= slack;
        self.phases == other.phases
            && self.events.len() == other.events.len()
            && self.events.iter().zip(&other.events).all(near)
    }

    /// The times from which periods are counted.
    pub(super) fn times(&self) -> Vec<f64> {
        self.events.iter().map(|it| it.mark_s).collect()
    }

    fn ramps(&self) -> usize {
        let ramps = self.events.iter().filter(|it| it.slope_ns > 0.0);
        ramps.count()
    }

    /// The octave of sizes to which the class belongs; 0 from three events on.
    pub(super) fn octave(&self) -> u32 {
        (self.events.len() / 3).max(1).ilog2()
    }
}

/// Events whose heights are more frequent than those a little lower and higher.
fn clusters(events: &[Event]) -> Vec<Vec<Event>> {
    let bin = |event: &Event| (event.height_ns.max(1.0).ln() / STEP) as usize;
    let bins = events
        .iter()
        .map(bin)
        .max()
        .map_or(0, |highest| highest + 10);
    let mut counts = vec![0.0_f64; bins];
    events.iter().for_each(|event| counts[bin(event)] += 1.0);
    let sum = |from: usize, to: usize| counts[from.min(bins)..to.min(bins)].iter().sum::<f64>();
    let mut peaks: Vec<(f64, usize)> = (9..bins)
        .filter_map(|at| {
            let inside = sum(at - 1, at + 2);
            // Compared with the denser side, so that the edge of a level is not a cluster.
            let around = sum(at - 8, at - 1).max(sum(at + 2, at + 9)) * 3.0 / 7.0;
            let excess = inside - around;
            (inside >= 3.0 && excess > 4.0 * (around + 1.0).sqrt()).then_some((excess, at))
        })
        .collect();
    peaks.sort_by(|a, b| b.0.total_cmp(&a.0));
    let mut taken: Vec<usize> = Vec::new();
    for (_, at) in peaks {
        if taken.len() < MAX_CLUSTERS && taken.iter().all(|it| it.abs_diff(at) > 2) {
            taken.push(at);
        }
    }
    let cluster = |at: usize| -> Vec<Event> {
        let inside = |event: &&Event| (at - 1..at + 2).contains(&bin(event));
        events.iter().filter(inside).copied().collect()
    };
    taken.into_iter().map(cluster).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(at: u32, height_ns: f64) -> Event {
        Event {
            mark_s: f64::from(at),
            height_ns,
            ..Event::default()
        }
    }

    #[test]
    fn a_narrow_cluster_stands_out_of_a_wide_tail() {
        let tail = (0..2000).map(|i| event(i, 4_000.0 * 1.0015_f64.powi(i as i32)));
        let mode = (0..300).map(|i| event(7 * i, 16_200.0 + f64::from(i % 5) * 100.0));
        let events: Vec<Event> = tail.chain(mode).collect();
        let found = clusters(&events);
        assert_eq!(found.len(), 1);
        let mode = found[0].iter().filter(|it| it.mark_s % 7.0 == 0.0).count();
        assert!(mode >= 300 && found[0].len() < 420, "{}", found[0].len());
    }

    #[test]
    fn sets_with_equal_times_are_one_class() {
        let step = EventCollection {
            events: (0..5).map(|i| event(i, 1e6)).collect(),
            watched_s: 10.0,
            level_ns: 64.0,
        };
        let record = Record {
            watched_s: 10.0,
            interval_s: 0.01,
            level_ns: 0.0,
        };
        let found = classes(&[step.clone(), step], record);
        assert_eq!(found.len(), 1);
        assert_eq!((found[0].watched_s, found[0].octave()), (10.0, 0));
    }
}
