//! Who plays: ours by URL, and the bare libraries.

use anyhow::{Context, Result};
use serde_json::Value;

use super::{Arena, Load, Scheduling};
use crate::bench::absent;
use crate::process;

/// What measures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Contestant {
    /// LCM's multicast, ours.
    Udpm,
    /// The system's liblcm.
    Liblcm,
    /// A newer liblcm.
    LiblcmOfPypi,
    /// Shared memory, ours.
    Shm,
    /// iceoryx2 by itself.
    Iceoryx2,
    /// Shared memory with spinning receivers, ours.
    ShmPolled,
    /// iceoryx2 by itself, spinning.
    Iceoryx2Polled,
    /// ZeroMQ's wire, ours.
    Zmq,
    /// libzmq by itself.
    Libzmq,
    /// nng by itself.
    Nng,
    /// Cyclone DDS by itself.
    CycloneDds,
    /// Zenoh by itself.
    ZenohAlone,
    /// Within one process, ours.
    Memq,
}

/// What one of them saw.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Seen {
    /// Messages that came.
    pub count: u64,
    /// Messages that did not.
    pub lost: u64,
    /// Percentiles, where there are messages enough: 50, 90, 99 and 99.9.
    pub percentiles_ns: [Option<u64>; 4],
    /// The longest.
    pub max_ns: Option<u64>,
}

impl Contestant {
    /// All, in the order of the first round.
    pub const ALL: [Self; 13] = [
        Self::Udpm,
        Self::Liblcm,
        Self::LiblcmOfPypi,
        Self::Shm,
        Self::Iceoryx2,
        Self::ShmPolled,
        Self::Iceoryx2Polled,
        Self::Zmq,
        Self::Libzmq,
        Self::Nng,
        Self::CycloneDds,
        Self::ZenohAlone,
        Self::Memq,
    ];

    /// Those on LCM's wire.
    pub const MULTICAST: [Self; 3] = [Self::Udpm, Self::Liblcm, Self::LiblcmOfPypi];

    /// As the table calls it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Udpm => "udpm",
            Self::Liblcm => "liblcm",
            Self::LiblcmOfPypi => "liblcm 1.5.3",
            Self::Shm => "shm",
            Self::Iceoryx2 => "iceoryx2",
            Self::ShmPolled => "shm polled",
            Self::Iceoryx2Polled => "iceoryx2 polled",
            Self::Zmq => "zmq",
            Self::Libzmq => "libzmq",
            Self::Nng => "nng",
            Self::CycloneDds => "Cyclone DDS",
            Self::ZenohAlone => "Zenoh",
            Self::Memq => "memq",
        }
    }

    /// The peer that plays it; none of ours.
    const fn peer(self) -> Option<&'static str> {
        match self {
            Self::Udpm | Self::Shm | Self::ShmPolled | Self::Zmq | Self::Memq => None,
            Self::Iceoryx2Polled => Some("iceoryx2"),
            _ => Some(self.name()),
        }
    }

    /// Where they meet. Groups and ports are of the benchmark's own; large messages get the same
    /// receive buffers.
    fn url(self, arena: &Arena<'_>) -> String {
        let own = std::process::id();
        match self {
            Self::Udpm | Self::Liblcm | Self::LiblcmOfPypi => {
                "udpm://239.255.76.68:7668?ttl=0&recv_buf_size=33554432".to_owned()
            }
            Self::Shm => format!("shm://bench-{own}"),
            Self::Iceoryx2 => format!("peer-{own}"),
            Self::ShmPolled => format!("shm://bench-polled-{own}?wait=poll"),
            Self::Iceoryx2Polled => format!("peer-polled-{own}?wait=poll"),
            Self::Zmq => "zmq://127.0.0.1:7669".to_owned(),
            Self::Libzmq => "tcp://127.0.0.1:7670".to_owned(),
            Self::Nng => format!("ipc://{}", arena.folder.join("nng").display()),
            Self::CycloneDds => "peer".to_owned(),
            Self::ZenohAlone => "tcp/127.0.0.1:7671".to_owned(),
            Self::Memq => "memq://".to_owned(),
        }
    }

    /// Whether its library is there.
    pub fn can_play(self, arena: &Arena<'_>) -> bool {
        let peer = self.peer();
        peer.is_none_or(|peer| arena.peers.program(peer).is_some())
    }

    /// Measures once.
    pub fn play(self, arena: &Arena<'_>, load: Load) -> Result<Seen> {
        let seen = match self.peer() {
            Some(peer) => self.bare(arena, load, peer),
            None => self.ours(arena, load),
        };
        seen.with_context(|| format!("{} could not measure", self.name()))
    }

    fn bare(self, arena: &Arena<'_>, load: Load, peer: &str) -> Result<Seen> {
        let program = arena.peers.program(peer).context("it was not built")?;
        let mut command = match arena.scheduling {
            Scheduling::Ordinary => arena.repository.command("env"),
            Scheduling::Fifo => {
                let mut chrt = arena.repository.command("chrt");
                chrt.args(["--fifo", "80"]);
                chrt
            }
        };
        let count = load.rate * arena.seconds;
        let interval_ns = 1_000_000_000 / load.rate;
        command.arg(program).arg(self.url(arena));
        command.args([
            count.to_string(),
            load.bytes.to_string(),
            interval_ns.to_string(),
        ]);
        let said = process::output(&mut command)?;
        of_peer(&serde_json::from_str(&said).context("it said no JSON")?)
    }

    fn ours(self, arena: &Arena<'_>, load: Load) -> Result<Seen> {
        let run = absent(&arena.folder.join("run"))?;
        let mut command = arena.repository.command(&arena.program.to_string_lossy());
        command.args(["msg", "latency", "--json", "--no-samples", "--url"]);
        command.arg(self.url(arena));
        command.arg(format!("--rate={}Hz", load.rate));
        command.arg(format!("--size={}B", load.bytes));
        command.arg(format!("--count={}", load.rate * arena.seconds));
        if arena.scheduling == Scheduling::Fifo {
            command.arg("--policy=fifo:80");
        }
        let said = process::answer(command.arg("--out").arg(&run))?;
        of_ours(&serde_json::from_str(&said).context("it said no JSON")?)
    }
}

fn of_peer(said: &Value) -> Result<Seen> {
    let number = |name: &str| said[name].as_u64();
    let names = ["p50_ns", "p90_ns", "p99_ns", "p99_9_ns"];
    Ok(Seen {
        count: number("count").context("it counted nothing")?,
        lost: number("lost").unwrap_or(0),
        percentiles_ns: names.map(number),
        max_ns: number("max_ns"),
    })
}

fn of_ours(said: &Value) -> Result<Seen> {
    let series = said["series"].as_array().into_iter().flatten();
    let mut series = series.filter(|it| it["name"] == "one-way-from-send");
    let series = series
        .next()
        .context("it has no series one-way-from-send")?;
    let percentile = |name: &str| series["percentiles"][name].as_u64();
    let subscribers = &said["runs"][0]["messages"]["subscribers"];
    Ok(Seen {
        count: series["count"].as_u64().context("it counted nothing")?,
        lost: subscribers[0]["lost"].as_u64().unwrap_or(0),
        percentiles_ns: ["50", "90", "99", "99.9"].map(percentile),
        max_ns: series["max_ns"].as_u64(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn both_tell_the_same() {
        let of_peer = of_peer(&json!({
            "count": 9, "lost": 1, "p50_ns": 5, "p90_ns": 6, "p99_ns": 7, "p99_9_ns": 8, "max_ns": 8,
        }));
        let percentiles = json!({ "50": 5, "90": 6, "99": 7, "99.9": 8 });
        let of_ours = of_ours(&json!({
            "runs": [{ "messages": { "subscribers": [{ "lost": 1 }] } }],
            "series": [
                { "name": "one-way", "count": 3 },
                { "name": "one-way-from-send", "count": 9, "max_ns": 8, "percentiles": percentiles },
            ],
        }));
        assert_eq!(of_peer.expect("is told"), of_ours.expect("is told"));
    }

    #[test]
    fn each_of_ours_plays_by_itself_and_each_peer_has_a_name_of_its_own() {
        let ours = Contestant::ALL.iter().filter(|it| it.peer().is_none());
        assert_eq!(ours.count(), 5);
        let names: std::collections::BTreeSet<_> =
            Contestant::ALL.iter().map(|it| it.name()).collect();
        assert_eq!(names.len(), Contestant::ALL.len());
    }
}
