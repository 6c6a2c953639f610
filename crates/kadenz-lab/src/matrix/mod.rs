//! Which real-time measure reduces which latency, on this machine?
//!
//! The matrix of \[Yoon2009\], section 3: a beat is kept under each combination of priority, locked memory, CPU
//! shield and spinning sleep, on an idle machine and on one under heavy load. Yoon measured its
//! cells one after another; here they take turns in short rounds, so that a machine that drifts
//! spoils none of them alone.
//!
//! This module plans the rounds, collects their results in one run, and continues where an earlier attempt ended. The
//! caller measures each round: [`Rounds`].

mod experiment;

use kadenz_record::run::matrix::{Combination, Load};
use kadenz_rt::random::Random;

pub use crate::lock::LockError;
pub use experiment::{MatrixError, MatrixPlan, Rounds, measure, series_names};

// The order in which cells are measured.

/// One cell's turn in one round.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Visit {
    /// The load during the round.
    pub load: Load,
    /// The round, from 0.
    pub round: u32,
    /// The measures in force.
    pub cell: Combination,
}

/// The order of all visits: one load after the other, in each round every cell once, each round in another order, so
/// that no cell always follows the same one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Schedule {
    /// The loads, in turn.
    pub loads: Vec<Load>,
    /// The cells of every round.
    pub cells: Vec<Combination>,
    /// How often each cell is visited under each load.
    pub rounds: u32,
}

impl Schedule {
    /// All visits in order.
    ///
    /// ```
    /// use kadenz_lab::matrix::Schedule;
    /// use kadenz_record::run::matrix::{Combination, Load};
    ///
    /// let schedule = Schedule {
    ///     loads: vec![Load::Unloaded, Load::Heavy],
    ///     cells: Combination::YOON2009.to_vec(),
    ///     rounds: 36,
    /// };
    /// assert_eq!(schedule.visits().count(), 2 * 9 * 36);
    /// ```
    pub fn visits(&self) -> impl Iterator<Item = Visit> + '_ {
        self.loads
            .iter()
            .flat_map(|&load| (0..self.rounds).map(move |round| (load, round)))
            .flat_map(|(load, round)| {
                let cells = shuffled(&self.cells, u64::from(round));
                let visit = move |cell| Visit { load, round, cell };
                cells.into_iter().map(visit)
            })
    }
}

/// The cells in an order that depends on `seed` alone (Fisher and Yates).
fn shuffled(cells: &[Combination], seed: u64) -> Vec<Combination> {
    let mut random = Random::new(seed);
    let mut cells = cells.to_vec();
    for last in (1..cells.len()).rev() {
        let place = random.below(last as u64 + 1);
        cells.swap(last, place as usize);
    }
    cells
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    fn schedule(rounds: u32) -> Schedule {
        Schedule {
            loads: vec![Load::Unloaded, Load::Heavy],
            cells: Combination::YOON2009.to_vec(),
            rounds,
        }
    }

    #[test]
    fn every_cell_has_one_turn_in_every_round() {
        let visits: Vec<Visit> = schedule(5).visits().collect();
        assert_eq!(visits.len(), 90);
        assert_eq!(visits.iter().collect::<HashSet<_>>().len(), 90);
        for round in visits.chunks(9) {
            let first = (round[0].load, round[0].round);
            assert!(round.iter().all(|it| (it.load, it.round) == first));
        }
        assert!(visits[..45].iter().all(|it| it.load == Load::Unloaded));
    }

    #[test]
    fn the_same_schedule_gives_the_same_order_so_that_it_can_be_resumed() {
        assert!(schedule(4).visits().eq(schedule(4).visits()));
        let longer: Vec<Visit> = schedule(6).visits().take(36).collect();
        assert!(schedule(4).visits().take(36).eq(longer));
    }

    /// Over many rounds a cell must not always come early, nor always after the same other one.
    #[test]
    fn no_cell_has_a_place_of_its_own() {
        let visits: Vec<Visit> = schedule(200).visits().take(200 * 9).collect();
        for cell in Combination::YOON2009 {
            let places = visits.iter().enumerate();
            let sum: usize = places
                .filter(|(_, it)| it.cell == cell)
                .map(|(place, _)| place % 9)
                .sum();
            let mean = sum as f64 / 200.0;
            assert!((3.4..4.6).contains(&mean), "{cell} stands at {mean}");
        }
        let pairs: HashSet<_> = visits
            .windows(2)
            .map(|it| (it[0].cell, it[1].cell))
            .collect();
        assert!(pairs.len() >= 72, "{}", pairs.len());
    }
}
