//! One-way latency of messages beside the bare libraries, interleaved.
//!
//! A shared machine drifts within minutes, so every round lets all measure, each round begins with
//! another of them, and ratios are taken within a round. All do the same: a publisher and a subscriber
//! in two processes, a message on every beat, from the call that publishes until the subscriber holds
//! it (ours: decoded). Whose library or server is not there is left out, which is said. Servers sleep
//! while those who need none measure.

mod contestant;
mod peers;
mod roster;
mod servers;
mod table;

use std::cell::RefCell;
use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result, bail};

use super::figure::Figure;
use super::{Wishes, must};
use crate::repository::Repository;
use contestant::Seen;
use roster::{Contestant, Group};
use servers::{Kind, Server};

/// Length of each measurement, unless something else is wished.
const SECONDS: u32 = 5;
/// Rounds, unless something else is wished.
const ROUNDS: u32 = 5;

/// The features that our program is built with.
const FEATURES: [&str; 3] = ["shm", "zenoh", "dds"];

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

/// Where they measure.
pub struct Arena<'a> {
    /// Commands run there.
    pub repository: &'a Repository,
    /// Our release build, with all [`FEATURES`].
    pub program: PathBuf,
    /// Where runs are written and sockets lie.
    pub folder: PathBuf,
    /// The peers that could be built.
    pub peers: peers::Peers,
    /// For all of them.
    pub scheduling: Scheduling,
    /// Length of each measurement.
    pub seconds: u32,
    servers: Vec<RefCell<Server>>,
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
    let chosen = chosen(wishes, |_| true)?;
    let arena = Arena::open(repository, wishes, scheduling, &chosen)?;
    let contestants = arena.fit(&chosen);
    let rounds = play_rounds(wishes, &arena, &contestants, SMALL)?;
    Ok(table::figure(&contestants, &rounds, &arena, SMALL))
}

/// 1 MB at 100 Hz and 10 MB at 10 Hz, by multicast unless others are wished: what is lost, and how
/// much comes.
pub fn large(repository: &Repository, wishes: &Wishes) -> Result<Figure> {
    let chosen = chosen(wishes, |it| it.group == Group::Multicast)?;
    let arena = Arena::open(repository, wishes, Scheduling::Ordinary, &chosen)?;
    let contestants = arena.fit(&chosen);
    let mut all = Vec::new();
    for load in LARGE {
        all.push((load, play_rounds(wishes, &arena, &contestants, load)?));
    }
    Ok(table::of_large(&contestants, &all, &arena))
}

/// Those that `--only` means, or those that play without it.
fn chosen(wishes: &Wishes, usual: impl Fn(&Contestant) -> bool) -> Result<Vec<Contestant>> {
    let only: Vec<String> = wishes.only.iter().map(|it| it.to_lowercase()).collect();
    for word in &only {
        if !roster::ALL.iter().any(|it| it.is_meant_by(word)) {
            let names = roster::ALL.map(|it| it.name.to_lowercase().replace(' ', "-"));
            let groups = Group::ALL.map(Group::name);
            bail!(
                "nobody is called {word:?}; there are {}, and the groups {}",
                names.join(", "),
                groups.join(", ")
            );
        }
    }
    let is_chosen = |it: &Contestant| match only.is_empty() {
        true => usual(it),
        false => only.iter().any(|word| it.is_meant_by(word)),
    };
    Ok(roster::ALL.into_iter().filter(is_chosen).collect())
}

impl<'a> Arena<'a> {
    fn open(
        repository: &'a Repository,
        wishes: &Wishes,
        scheduling: Scheduling,
        chosen: &[Contestant],
    ) -> Result<Self> {
        let mut build = repository.command("cargo");
        build.args(["build", "--release", "-p", "kadenz-cli", "--features"]);
        must(build.arg(FEATURES.join(",")))?;
        let folder = repository.target().join("bench/messages");
        std::fs::create_dir_all(&folder)
            .with_context(|| format!("cannot make {}", folder.display()))?;
        let mut arena = Self {
            repository,
            program: repository.target().join("release/kadenz"),
            folder,
            peers: peers::Peers::build(repository, chosen)?,
            scheduling,
            seconds: wishes.seconds.unwrap_or(SECONDS),
            servers: Vec::new(),
        };
        for kind in [Kind::Tcpq, Kind::RabbitMq, Kind::RosMaster] {
            if chosen.iter().any(|it| it.server == Some(kind)) {
                arena.serve(kind);
            }
        }
        Ok(arena)
    }

    fn serve(&mut self, kind: Kind) {
        match Server::start(kind, self.repository, &self.folder, self.scheduling) {
            Ok(server) => self.servers.push(RefCell::new(server)),
            Err(error) => eprintln!("left out: {kind:?}: {error:#} ({})", kind.remedy()),
        }
    }

    /// Those whose program and server are there.
    fn fit(&self, chosen: &[Contestant]) -> Vec<Contestant> {
        let fit = chosen.iter().filter(|it| it.can_play(self));
        fit.copied().collect()
    }

    fn server(&self, kind: Kind) -> Option<&RefCell<Server>> {
        self.servers.iter().find(|it| it.borrow().kind == kind)
    }

    /// A program, all of whose threads are scheduled as all contestants are where that is asked for.
    fn command(&self, program: &str, all_threads: bool) -> Command {
        if self.scheduling == Scheduling::Ordinary || !all_threads {
            return self.repository.command(program);
        }
        let mut chrt = self.repository.command("chrt");
        chrt.args(["--fifo", "80", program]);
        chrt
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
    mut run: impl FnMut(&Contestant) -> Result<Seen>,
) -> Round {
    let mut seen = vec![None; contestants.len()];
    for turn in 0..contestants.len() {
        let place = (turn + round as usize) % contestants.len();
        match run(&contestants[place]) {
            Ok(it) => seen[place] = Some(it),
            Err(error) => eprintln!("{error:#}"),
        }
    }
    Round { seen }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wishes(only: &str) -> Wishes {
        crate::bench::read(&["messages".into(), "--only".into(), only.into()])
            .expect("known options")
    }

    #[test]
    fn who_is_unknown_is_told_whom_there_is() {
        let error = chosen(&wishes("udpn"), |_| true).expect_err("a misspelling");
        assert!(error.to_string().contains("udpm, liblcm"), "{error}");
    }

    #[test]
    fn each_round_begins_with_another_and_who_fails_leaves_the_others_their_places() {
        let all = chosen(&wishes("udpm,liblcm,zmq"), |_| false).expect("they are known");
        for round in 0..3 {
            let mut order = Vec::new();
            let played = play(round, &all, |contestant| {
                order.push(*contestant);
                match contestant.name {
                    "liblcm" => bail!("no route"),
                    name => Ok(Seen {
                        count: name.len() as u64,
                        ..Seen::default()
                    }),
                }
            });
            assert_eq!(order[0], all[round as usize]);
            assert_eq!(played.seen[1], None);
            let zmq = played.seen[2].map(|it| it.count);
            assert_eq!(zmq, Some(3));
        }
    }
}
