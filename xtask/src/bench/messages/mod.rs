//! One-way latency of messages beside the bare libraries, interleaved.
//!
//! A shared machine drifts within minutes, so every round lets all measure, each round begins with
//! another of them, and ratios are taken within a round. All do the same: a publisher and a subscriber
//! in two processes, a message on every beat, from the call that publishes until the subscriber holds
//! it (ours: decoded). Whose library is not there is left out, which is said.

mod contestant;
mod peers;
mod table;

use std::path::PathBuf;

use anyhow::{Context, Result, bail};

use super::figure::Figure;
use super::{Wishes, must};
use crate::repository::Repository;
use contestant::{Contestant, Seen};

/// Length of each measurement, unless something else is wished.
const SECONDS: u32 = 5;
/// Rounds, unless something else is wished.
const ROUNDS: u32 = 5;

/// How all of them are scheduled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scheduling {
    /// As ordinary processes.
    Ordinary,
    /// `SCHED_FIFO` 80, all threads.
    Fifo,
}

/// What is published.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Load {
    /// Bytes of a message.
    pub bytes: u64,
    /// Messages a second.
    pub rate: u32,
}

/// A controller's messages.
const SMALL: Load = Load {
    bytes: 200,
    rate: 1000,
};
/// Images, and clouds of points.
const LARGE: [Load; 2] = [
    Load {
        bytes: 1_000_000,
        rate: 100,
    },
    Load {
        bytes: 10_000_000,
        rate: 10,
    },
];

/// The table of a match.
pub struct Arena<'a> {
    /// Commands run there.
    pub repository: &'a Repository,
    /// Our release build, with shared memory.
    pub program: PathBuf,
    /// Where runs are written and sockets lie.
    pub folder: PathBuf,
    /// The peers that could be built.
    pub peers: peers::Peers,
    /// For all of them.
    pub scheduling: Scheduling,
    /// Length of each measurement.
    pub seconds: u32,
}

/// What all of them measured in a round, in their order.
pub struct Round {
    seen: Vec<Option<Seen>>,
}

/// 200 B at 1 kHz, as ordinary processes.
pub fn ordinary(repository: &Repository, wishes: &Wishes) -> Result<Figure> {
    small(repository, wishes, Scheduling::Ordinary)
}

/// 200 B at 1 kHz, all of them at `SCHED_FIFO`.
pub fn fifo(repository: &Repository, wishes: &Wishes) -> Result<Figure> {
    small(repository, wishes, Scheduling::Fifo)
}

fn small(repository: &Repository, wishes: &Wishes, scheduling: Scheduling) -> Result<Figure> {
    let arena = Arena::open(repository, wishes, scheduling)?;
    let contestants: Vec<Contestant> = Contestant::ALL
        .into_iter()
        .filter(|it| it.can_play(&arena))
        .collect();
    let rounds = play_rounds(wishes, &arena, &contestants, SMALL)?;
    Ok(table::figure(&contestants, &rounds, &arena, SMALL))
}

/// 1 MB at 100 Hz and 10 MB at 10 Hz by multicast: what is lost, and how much comes.
pub fn large(repository: &Repository, wishes: &Wishes) -> Result<Figure> {
    let arena = Arena::open(repository, wishes, Scheduling::Ordinary)?;
    let contestants: Vec<Contestant> = Contestant::MULTICAST
        .into_iter()
        .filter(|it| it.can_play(&arena))
        .collect();
    let mut all = Vec::new();
    for load in LARGE {
        all.push((load, play_rounds(wishes, &arena, &contestants, load)?));
    }
    Ok(table::of_large(&contestants, &all, &arena))
}

impl<'a> Arena<'a> {
    fn open(repository: &'a Repository, wishes: &Wishes, scheduling: Scheduling) -> Result<Self> {
        let mut build = repository.command("cargo");
        build.args([
            "build",
            "--release",
            "-p",
            "kadenz-cli",
            "--features",
            "shm",
        ]);
        must(&mut build)?;
        let folder = repository.target().join("bench/messages");
        std::fs::create_dir_all(&folder)
            .with_context(|| format!("cannot make {}", folder.display()))?;
        Ok(Self {
            repository,
            program: repository.target().join("release/kadenz"),
            folder,
            peers: peers::Peers::build(repository)?,
            scheduling,
            seconds: wishes.seconds.unwrap_or(SECONDS),
        })
    }
}

fn play_rounds(
    wishes: &Wishes,
    arena: &Arena<'_>,
    contestants: &[Contestant],
    load: Load,
) -> Result<Vec<Round>> {
    let rounds = wishes.rounds.unwrap_or(ROUNDS);
    let rounds: Vec<Round> = (0..rounds)
        .map(|round| {
            eprintln!("round {} of {rounds}, {} B", round + 1, load.bytes);
            play(round, contestants, |it| it.play(arena, load))
        })
        .collect();
    let nobody = |round: &Round| round.seen.iter().all(Option::is_none);
    if rounds.iter().all(nobody) {
        bail!("nobody could measure anything; what they said stands above");
    }
    Ok(rounds)
}

/// Lets all measure, each round beginning with another.
fn play(
    round: u32,
    contestants: &[Contestant],
    mut run: impl FnMut(Contestant) -> Result<Seen>,
) -> Round {
    let mut seen = vec![None; contestants.len()];
    for turn in 0..contestants.len() {
        let place = (turn + round as usize) % contestants.len();
        match run(contestants[place]) {
            Ok(it) => seen[place] = Some(it),
            Err(error) => eprintln!("{error:#}"),
        }
    }
    Round { seen }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_round_begins_with_another_and_who_fails_leaves_the_others_their_places() {
        let contestants = [Contestant::Udpm, Contestant::Liblcm, Contestant::Zmq];
        for round in 0..3 {
            let mut order = Vec::new();
            let played = play(round, &contestants, |contestant| {
                order.push(contestant);
                match contestant {
                    Contestant::Liblcm => bail!("no route"),
                    other => Ok(Seen {
                        count: other as u64,
                        ..Seen::default()
                    }),
                }
            });
            assert_eq!(order[0], contestants[round as usize]);
            assert_eq!(played.seen[1], None);
            let zmq = played.seen[2].map(|it| it.count);
            assert_eq!(zmq, Some(Contestant::Zmq as u64));
        }
    }
}
