//! Lets one of them measure.

use anyhow::{Context, Result, bail};
use serde_json::Value;

use super::roster::{Contestant, Player};
use super::{Arena, FEATURES, Load, Scheduling};
use crate::bench::absent;
use crate::process;

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
    /// Whether its program and its server are there; what is missing has been said.
    pub fn can_play(&self, arena: &Arena<'_>) -> bool {
        let is_served = self.server.is_none_or(|kind| arena.server(kind).is_some());
        let is_built = match self.player {
            Player::Ours => true,
            Player::OursBehind(feature) => FEATURES.contains(&feature),
            Player::Peer(peer) => arena.peers.program(peer).is_some(),
        };
        is_served && is_built
    }

    /// Measures once, while its server, if it has one, is awake.
    pub fn play(&self, arena: &Arena<'_>, load: Load) -> Result<Seen> {
        let measure = |port: u16| match self.player {
            Player::Peer(peer) => bare(arena, load, peer, &self.place(arena, port)),
            Player::Ours => ours(arena, load, &self.place(arena, port), false),
            Player::OursBehind(_) => ours(arena, load, &self.place(arena, port), true),
        };
        let seen = match self.server {
            None => measure(0),
            Some(kind) => match arena.server(kind) {
                None => bail!("{}: its server is not there", self.name),
                Some(server) => {
                    let mut server = server.borrow_mut();
                    let port = server.port;
                    server.awake(|| measure(port))
                }
            },
        };
        seen.with_context(|| format!("{} could not measure", self.name))
    }

    /// Where they meet.
    fn place(&self, arena: &Arena<'_>, port: u16) -> String {
        self.url
            .replace("{own}", &std::process::id().to_string())
            .replace("{folder}", &arena.folder.to_string_lossy())
            .replace("{port}", &port.to_string())
    }
}

fn bare(arena: &Arena<'_>, load: Load, peer: &str, place: &str) -> Result<Seen> {
    let program = arena.peers.program(peer).context("it was not built")?;
    let count = load.rate * arena.seconds;
    let interval_ns = 1_000_000_000 / load.rate;
    let mut command = arena.command(&program.to_string_lossy(), true);
    command.arg(place).args([
        count.to_string(),
        load.bytes.to_string(),
        interval_ns.to_string(),
    ]);
    let said = process::output(command.env("ROS_LOG_DIR", &arena.folder))?;
    of_peer(&serde_json::from_str(&said).context("it said no JSON")?)
}

/// Ours schedules the threads that it knows; the library's own are scheduled from outside.
fn ours(arena: &Arena<'_>, load: Load, place: &str, has_threads: bool) -> Result<Seen> {
    let run = absent(&arena.folder.join("run"))?;
    let mut command = arena.command(&arena.program.to_string_lossy(), has_threads);
    command.args(["msg", "latency", "--json", "--no-samples", "--url", place]);
    command.arg(format!("--rate={}Hz", load.rate));
    command.arg(format!("--size={}B", load.bytes));
    command.arg(format!("--count={}", load.rate * arena.seconds));
    if arena.scheduling == Scheduling::Fifo {
        command.arg("--policy=fifo:80");
    }
    let said = process::answer(command.arg("--out").arg(&run))?;
    of_ours(&serde_json::from_str(&said).context("it said no JSON")?)
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
}
