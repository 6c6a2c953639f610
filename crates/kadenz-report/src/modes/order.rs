//! Puts points back in order of time, as far as a bounded number of them reaches.

use std::collections::VecDeque;

use super::Point;

/// Times that are held back: an answer that is recorded late may be overtaken by so many others. At
/// 1 kHz that is four seconds, longer than a probe waits for an answer.
pub(super) const HELD: usize = 4096;

/// Holds points back until none that is earlier can be expected. Of several at one time, as the devices
/// that answer one beat, the highest value stands for all. Holds 64 KiB, moves half of it at worst.
#[derive(Debug, Default)]
pub(super) struct Order {
    /// Ascending, each time once.
    held: VecDeque<Point>,
    /// The time that was given back last; earlier ones, and others of this one, come too late.
    given: Option<i64>,
    /// Points that came too late.
    overtaken: u64,
}

impl Order {
    /// Takes a point; gives back the earliest once more than [`HELD`] times wait.
    pub(super) fn take(&mut self, point: Point) -> Option<Point> {
        if self.given.is_some_and(|given| point.at_ns <= given) {
            self.overtaken += 1;
            return None;
        }
        // Nearly all points are the latest so far: the search for their place ends at once.
        let at = match self.held.back() {
            Some(last) if point.at_ns <= last.at_ns => {
                self.held.partition_point(|it| it.at_ns < point.at_ns)
            }
            _ => self.held.len(),
        };
        match self.held.get_mut(at).filter(|it| it.at_ns == point.at_ns) {
            Some(same) => same.value_ns = same.value_ns.max(point.value_ns),
            None => self.held.insert(at, point),
        }
        if self.held.len() > HELD {
            self.give()
        } else {
            None
        }
    }

    /// The earliest point that is held.
    pub(super) fn give(&mut self) -> Option<Point> {
        let point = self.held.pop_front()?;
        self.given = Some(point.at_ns);
        Some(point)
    }

    /// How many points came too late to be put in order.
    pub(super) fn overtaken(&self) -> u64 {
        self.overtaken
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn point(at_ns: i64, value_ns: i64) -> Point {
        Point { at_ns, value_ns }
    }

    fn ordered(points: &[Point]) -> (Vec<Point>, u64) {
        let mut order = Order::default();
        let mut given: Vec<Point> = points.iter().filter_map(|it| order.take(*it)).collect();
        given.extend(std::iter::from_fn(|| order.give()));
        (given, order.overtaken())
    }

    #[test]
    fn an_overtaken_point_is_put_back_and_the_highest_of_a_time_stands() {
        let taken = [
            point(3, 1),
            point(1, 2),
            point(2, 5),
            point(2, 9),
            point(2, 7),
        ];
        let wanted = vec![point(1, 2), point(2, 9), point(3, 1)];
        assert_eq!(ordered(&taken), (wanted, 0));
    }

    #[test]
    fn what_is_overtaken_by_more_than_is_held_is_counted() {
        let reach = HELD as i64;
        let mut taken: Vec<Point> = (1..=reach).map(|at| point(at, 0)).collect();
        taken.push(point(0, 1));
        let (given, overtaken) = ordered(&taken);
        assert_eq!(
            (given.len(), given[0], overtaken),
            (HELD + 1, point(0, 1), 0)
        );

        taken.insert(HELD, point(reach + 1, 0));
        taken.insert(HELD + 1, point(1, 8));
        let (given, overtaken) = ordered(&taken);
        assert_eq!((given.len(), overtaken), (HELD + 1, 2));
        assert!(given.is_sorted_by(|a, b| a.at_ns < b.at_ns));
    }
}
