//! One-way latency of messages, beside what other middlewares were measured to take.

use clap::Args;
use kadenz_msg::provider::SCHEMES;
use kadenz_record::run::messages::ONE_WAY_FROM_SEND;
use kadenz_report::statistics::Percent;
use kadenz_report::summary::{SeriesSummary, Summary};

use super::steps::Step;
use super::table::{named, table};
use super::{Output, Plan};
use crate::options::Span;
use kadenz_report::document::Document;

/// How long does a message take from one program to another, by each provider?
///
/// 200 B at 1 kHz between two processes of this host (memq: two threads), ordinary and at SCHED_FIFO 80,
/// in rounds that are interleaved, beside a table of middlewares that was measured on another small
/// virtual machine. Times are from publishing until the message is there, decoded, in microseconds;
/// of the rounds the medians, of the longest the longest.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  kadenz experiment messages                             three rounds of 20 s each, eight minutes
  kadenz experiment messages --duration 5s --rounds 1    a first look

With shared memory where the program was built with it (cargo build --features shm). Beside the bare
libraries on this machine: cargo xtask bench messages.")]
pub(crate) struct Options {
    /// How long each provider is measured in each round
    #[arg(long, value_name = "SPAN", default_value = "20s")]
    duration: Span,

    /// How many rounds
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u16).range(1..=100))]
    rounds: u16,

    #[command(flatten)]
    pub(super) output: Output,
}

/// A provider: scheme, URL, and how its row is called.
const PROVIDERS: [(&str, &str, &str); 5] = [
    ("memq", "memq://", "two threads"),
    ("shm", "shm://experiment", "shared memory"),
    ("udpm", "udpm://239.255.76.69:7672?ttl=0", "LCM's multicast"),
    ("tcpq", "tcpq://127.0.0.1:7673", "LCM's server"),
    ("zmq", "zmq://127.0.0.1:7674", "ZeroMQ's wire, TCP"),
];
/// Those that need nothing else to run.
const ALONE: [&str; 4] = ["memq", "shm", "udpm", "zmq"];

const HEAD: [&str; 3] = [
    "p50/p90/p99/p99.9/max, us",
    "published there",
    "measured here",
];

/// What was measured there: 200 B at 1 kHz for 20 s on a small shared virtual machine; ordinary, and
/// at FIFO 80 on a busier day; and the provider here that does the same.
const THERE: [(&str, &str, &str, &str); 15] = [
    ("iceoryx2 busy-poll", "0.7/1.0/3.2/7/10", "-", ""),
    (
        "shared-memory ring and futex",
        "6/8/14/59/968",
        "11/14/33/278/489",
        "",
    ),
    ("Unix datagram", "8/11/18/53/1009", "18/21/45/1045/6944", ""),
    ("eCAL SHM", "9/12/24/70/713", "13/18/38/114/535", ""),
    ("UDP", "10/13/21/61/131", "21/24/54/178/2714", ""),
    ("UDP multicast", "12/16/25/57/77", "18/21/32/111/1010", ""),
    (
        "iceoryx2 event",
        "12/14/24/66/515",
        "18/24/44/65/1962",
        "shm",
    ),
    ("TCP", "16/20/29/66/93", "29/33/42/150/1506", ""),
    (
        "CycloneDDS listener",
        "22/26/47/99/462",
        "21/29/51/93/1086",
        "",
    ),
    (
        "LCM 1.5.2",
        "29/37/67/392/1822",
        "32/41/57/207/1202",
        "udpm",
    ),
    ("LCM 1.3.1", "29/41/70/593/3275", "39/47/74/259/1170", ""),
    ("ZeroMQ tcp", "43/55/81/872", "51/63/94/376", "zmq"),
    ("nng ipc", "57/65/94/320", "49/61/83/168", ""),
    (
        "roscpp nodelay",
        "58/77/113/211/2460",
        "65/81/133/3464/10658",
        "",
    ),
    ("Zenoh tcp", "68/80/112/619", "60/72/99/394", ""),
];

pub(super) fn plan(options: &Options) -> Plan {
    let duration = options.duration;
    let there = |scheme: &str| ALONE.contains(&scheme) && SCHEMES.contains(&scheme);
    let providers = PROVIDERS.iter().filter(|(scheme, ..)| there(scheme));
    let step = move |round: u16, scheme: &str, url: &str, policy: &str, name: &str| {
        let command = format!(
            "msg latency --untold --no-samples --url {url} --rate 1kHz --size 200B --duration {duration} \
             --policy {policy}"
        );
        vec![Step::new(format!("{scheme}-{name}-{round}"), &command)]
    };
    let round = |round: u16| {
        providers.clone().flat_map(move |(scheme, url, _)| {
            [
                step(round, scheme, url, "other", "ordinary"),
                step(round, scheme, url, "fifo:80", "fifo"),
            ]
        })
    };
    Plan {
        name: "messages",
        groups: (1..=options.rounds).flat_map(round).collect(),
        tables,
    }
}

fn tables(runs: &[Summary]) -> Document {
    let of = |name: &str, title: &str, published: fn(usize) -> &'static str| {
        let here = |scheme: &str| of_rounds(runs, &format!("{scheme}-{name}-"));
        let mut rows = Vec::new();
        for (at, (system, _, _, scheme)) in THERE.iter().enumerate() {
            let measured = match *scheme {
                "" => "-".to_owned(),
                scheme => here(scheme),
            };
            let system = match *scheme {
                "" => (*system).to_owned(),
                scheme => format!("{system}; here {scheme}://"),
            };
            rows.push([system, published(at).to_owned(), measured]);
        }
        for (scheme, _, words) in PROVIDERS {
            let row = here(scheme);
            if row != "-" && THERE.iter().all(|it| it.3 != scheme) {
                rows.push([format!("here {scheme}:// ({words})"), "-".to_owned(), row]);
            }
        }
        let rows = rows
            .into_iter()
            .map(|it| HEAD.into_iter().zip(it).collect());
        Document::from(title.to_owned()).table(table(rows))
    };
    let ordinary = of("ordinary", "Ordinary processes", |at| THERE[at].1);
    let fifo = of("fifo", "SCHED_FIFO 80", |at| THERE[at].2);
    ordinary.and(fifo)
}

/// The medians of the rounds of a provider, and the longest of all; `-` where it was not measured.
fn of_rounds(runs: &[Summary], prefix: &str) -> String {
    let name = |run: &Summary| run.folder.file_name().unwrap_or_default().to_owned();
    let rounds: Vec<(&Summary, &SeriesSummary)> = runs
        .iter()
        .filter(|run| name(run).to_string_lossy().starts_with(prefix))
        .filter_map(|run| Some((run, run.named(ONE_WAY_FROM_SEND)?)))
        .filter(|(_, series)| series.count > 0)
        .collect();
    let Some((_, first)) = rounds.first() else {
        return "-".to_owned();
    };
    let views = [Percent::P50, Percent::P90, Percent::P99, Percent::P99_9];
    let mut values: Vec<Option<i64>> = views
        .iter()
        .map(|view| median(rounds.iter().filter_map(|(_, it)| it.percentile(*view))))
        .collect();
    values.push(rounds.iter().filter_map(|(_, it)| it.max_ns).max());
    let words: Vec<String> = values.into_iter().map(microseconds).collect();
    let counted = rounds
        .iter()
        .filter_map(|(run, _)| run.run.messages.as_ref());
    let lost: u64 = counted.map(kadenz_report::verdict::messages::lost).sum();
    let text = match lost {
        0 => words.join("/"),
        lost => format!("{} ({lost} lost)", words.join("/")),
    };
    named(&text, first)
}

fn median(values: impl Iterator<Item = i64>) -> Option<i64> {
    let mut values: Vec<i64> = values.collect();
    values.sort_unstable();
    values.get(values.len().checked_sub(1)? / 2).copied()
}

/// As the table there writes them: whole above 10, with one digit below.
fn microseconds(ns: Option<i64>) -> String {
    match ns.map(|ns| ns as f64 / 1e3) {
        None => "-".to_owned(),
        Some(us) if us < 10.0 => format!("{us:.1}"),
        Some(us) => format!("{us:.0}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_written_as_there() {
        assert_eq!(microseconds(Some(700)), "0.7");
        assert_eq!(microseconds(Some(1_822_400)), "1822");
        assert_eq!(microseconds(None), "-");
        assert_eq!(median([3, 1, 2].into_iter()), Some(2));
        assert_eq!(median(std::iter::empty()), None);
    }

    #[test]
    fn what_was_not_measured_is_a_dash() {
        let tables = tables(&[]).markdown();
        let lcm = tables.lines().find(|line| line.contains("LCM 1.5.2"));
        let cells: Vec<&str> = lcm.unwrap().split('|').map(str::trim).collect();
        assert_eq!(cells[2..4], ["29/37/67/392/1822", "-"]);
    }
}
