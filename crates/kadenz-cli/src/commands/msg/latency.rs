//! `kadenz msg latency`: the subscribers' side, which starts the publisher.

use std::env;
use std::process::Stdio;
use std::time::Duration;

use clap::{Args, ValueEnum};
use kadenz::lab::load::{self, LoadKind, LoadOptions};
use kadenz::lab::measuring::Measuring;
use kadenz::lab::probes::{Measures, Probe, ServerKind};
use kadenz::lab::pubsub::program::ProgramPublisher;
use kadenz::lab::pubsub::{
    CHANNEL, LatencyPlan, PublishPlan, Published, Receiving, Source, can_spin, latency, run_number,
};
use kadenz::msg::provider;
use kadenz::record::run::model::{EndedBy, TuningMeasure};
use kadenz::rt::beat::Rate;
use serde::{Deserialize, Serialize};

use crate::commands::child::{self, Notes, Running};
use crate::commands::outcome::{self, OutcomeOptions};
use crate::commands::probe::{self, ProbeEndpoint};
use crate::commands::timer::BackgroundLoad;
use crate::options::{CommandWords, Defaults, MeasureOptions, Size, Span, beats, complete, word};
use crate::output::{Outcome, Reply};

/// Measure how long a message takes from one program to another on this host
///
/// Starts a publisher in a process of its own, which publishes a message on every beat. Subscribers in this process,
/// each with a bus and a thread of its own, record when they have decoded it, less its beat (series `one-way`, which
/// the deadline applies to) and less its publishing (`one-way-from-send`), and the parts of that time: `publish`,
/// `kernel-to-inlet`, `queue`, `decode`. A late beat is published late and measured against its own time. Counts
/// lost, duplicated, reordered and dropped messages.
///
/// With `--with`, `--publisher` or `--subscriber` a program of the user takes that side: in any language, with the
/// client of its own middleware. It exchanges lines over its standard input and output; a C header and a Python
/// module implement them (docs/messages-probes.md). It gets `--url` unchanged. The name of a probe of `kadenz msg
/// probes` means that probe, which is built if needed, and uses a server of its own.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  kadenz msg latency                                        LCM's multicast, 200 B at 1 kHz
  kadenz msg latency --policy fifo:80                       the same at real-time priority
  kadenz msg latency --url memq:// --receive spin           two threads of one process
  kadenz msg latency --subscribers 5 --deadline 200us       five subscribers, each judged
  kadenz msg latency --size 1MB --rate 100Hz --url 'udpm://239.255.76.67:7667?ttl=0'
  kadenz msg latency --with zmq                             libzmq through its own client: a probe of `kadenz msg probes`
  kadenz msg latency --with './my_probe --flag' --url tcp://127.0.0.1:5555
                                                            your middleware, by its own client
  kadenz msg latency --subscriber ./lcm_probe               Kadenz's publisher, your subscriber

Exit codes: 0 the deadline was kept, or none was stated; 1 it was missed, also by a message that did \
not come; 2 nothing could be measured, also where a probe cannot be built or its server is not \
installed, or a side failed in the middle: what was measured until then is kept.")]
pub(crate) struct Options {
    /// The bus [default: $LCM_DEFAULT_URL, else udpm://239.255.76.67:7667?ttl=0]
    #[arg(long, value_name = "URL")]
    url: Option<String>,

    /// Rate of the beat
    #[arg(long, value_name = "RATE", default_value = "1kHz")]
    rate: Rate,

    /// Length of an encoded message, 52B at least
    #[arg(long, value_name = "SIZE", default_value = "200B")]
    size: Size,

    /// How long to measure [default: 20s]
    #[arg(long, value_name = "SPAN", conflicts_with = "count")]
    duration: Option<Span>,

    /// How many messages, instead of a duration
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    count: Option<u64>,

    /// Messages before the first measured one
    #[arg(long, value_name = "N", default_value_t = 20)]
    warm_up: u32,

    /// How many subscribers
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=200))]
    subscribers: u16,

    /// How a subscriber waits for a message
    #[arg(long, value_name = "HOW", default_value = "block")]
    receive: MessageReceiveOption,

    /// How many messages may wait for a subscriber; when more wait, the oldest is dropped
    #[arg(long, value_name = "N", default_value_t = 30, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    queue: u32,

    /// Channel to measure on
    #[arg(long, value_name = "CHANNEL", default_value = CHANNEL)]
    channel: String,

    /// Publish from a thread of this process instead of a separate process; memq:// always does so
    #[arg(long)]
    in_process: bool,

    /// Program that publishes and, started once for each subscriber, receives
    #[arg(long, value_name = "COMMAND", conflicts_with_all = ["publisher", "subscriber", "in_process"], help_heading = "Probes",
          hide_possible_values = true,
          value_parser = complete::<CommandWords>(probe::names(Measures::Messages)))]
    with: Option<CommandWords>,

    /// Program that publishes
    #[arg(
        long,
        value_name = "COMMAND",
        conflicts_with = "in_process",
        help_heading = "Probes",
        hide_possible_values = true,
          value_parser = complete::<CommandWords>(probe::names(Measures::Messages)))]
    publisher: Option<CommandWords>,

    /// Program that receives, started once for each subscriber
    #[arg(long, value_name = "COMMAND", help_heading = "Probes", hide_possible_values = true,
          value_parser = complete::<CommandWords>(probe::names(Measures::Messages)))]
    subscriber: Option<CommandWords>,

    /// Keep every CPU busy at ordinary priority meanwhile, or leave the machine idle
    #[arg(long, value_name = "LOAD", default_value = "idle")]
    load: BackgroundLoad,

    /// Print no table: the run is a part of a larger one
    #[arg(long, hide = true)]
    untold: bool,

    /// Start this server first, on loopback; `{port}` in the URL is its port
    #[arg(long, value_name = "SERVER", value_parser = complete::<ServerKind>(ServerKind::ALL), help_heading = "Probes")]
    serve: Option<ServerKind>,

    #[command(flatten)]
    measure: MeasureOptions,
}

/// How a subscriber receives.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum MessageReceiveOption {
    /// The kernel wakes its thread
    Block,
    /// Its thread polls continuously, and keeps its CPU busy
    Spin,
}

/// Line that the publisher prints on standard output at its end.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct PublisherReport {
    pub(super) published: Published,
    pub(super) tuning: Vec<TuningMeasure>,
}

/// Command that begins the beat, on the publisher's standard input.
pub(super) const BEGIN: &str = "begin";

/// Timeout of the first message.
const TIMEOUT: Duration = Duration::from_secs(10);

pub(crate) fn run(options: &Options) -> anyhow::Result<Reply> {
    let sides = Sides::of(options)?;
    let mut plan = options.plan(sides.place.url.clone())?;
    let in_process = options.in_process || plan.url.starts_with("memq:");
    let measuring = options.measuring(&plan, &sides, in_process)?;
    let folder = measuring.session.out.clone();
    let stop = options.measure.stop()?;
    let subscriber = sides.subscriber.as_deref();
    plan.subscriber = subscriber.map(|words| probe::command(words, &measuring));
    let source: Option<Box<dyn Source>> = match &sides.publisher {
        Some(words) => {
            let command = probe::command(words, &measuring);
            Some(Box::new(ProgramPublisher::start(&command, &plan)?))
        }
        None if in_process => None,
        None => Some(Box::new(Publisher::start(&plan, &measuring)?)),
    };
    let busy = || load::start(&[LoadKind::Cpu], &LoadOptions::default());
    let _load = (options.load == BackgroundLoad::Busy)
        .then(busy)
        .transpose()?;
    let total = Some(plan.publish.total());
    let run = outcome::measured("measuring messages", total, &folder, |progress| {
        latency(&measuring, &plan, source, &stop, progress)
    })?;
    let reply = match options.untold {
        true => Outcome::Kept.into(),
        false => outcome::report_run(OutcomeOptions::of(&folder, &options.measure))?,
    };
    // A warning of the run names the side.
    Ok(reply.map_outcome(|it| it.or_incomplete(run.ended_by == Some(EndedBy::Failed))))
}

impl Options {
    fn plan(&self, url: String) -> anyhow::Result<LatencyPlan> {
        let receiving = match self.receive {
            MessageReceiveOption::Block => Receiving::Blocking,
            MessageReceiveOption::Spin => Receiving::Spinning,
        };
        let cpus = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        let subscribers = usize::from(self.subscribers);
        let duration = self.duration.map_or(Duration::from_secs(20), |span| span.0);
        anyhow::ensure!(
            can_spin(receiving, subscribers, cpus),
            "`--receive spin` keeps a CPU busy for each of {subscribers} subscribers and this program may use \
             {cpus}, one of which the publisher needs; take fewer, or `--receive block`"
        );
        Ok(LatencyPlan {
            url,
            channel: self.channel.clone(),
            publish: PublishPlan {
                run: run_number(),
                interval: self.rate.interval(),
                warm_up: self.warm_up,
                count: beats(self.rate, self.count, duration)?,
                message_bytes: usize::try_from(self.size.0)?,
            },
            subscribers,
            subscriber: None,
            receiving,
            queue: self.queue as usize,
            timeout: TIMEOUT,
        })
    }

    fn measuring(
        &self,
        plan: &LatencyPlan,
        sides: &Sides,
        in_process: bool,
    ) -> anyhow::Result<Measuring> {
        let mut measuring = self.measure.measuring(&Defaults::of("msg-latency"))?;
        let session = &mut measuring.session;
        session.set("url", plan.url.clone());
        session.set("channel", plan.channel.clone());
        session.set("rate", format!("{:#}", self.rate));
        session.set("size", self.size.to_string());
        session.set("count", plan.publish.count);
        session.set("warm_up", plan.publish.warm_up);
        session.set("subscribers", plan.subscribers);
        session.set("receive", word(&self.receive));
        session.set("queue", plan.queue);
        session.set("in_process", in_process);
        session.set("load", word(&self.load));
        for (name, command) in [
            ("publisher", &sides.publisher),
            ("subscriber", &sides.subscriber),
        ] {
            if let Some(command) = command {
                session.set(name, command.join(" "));
            }
        }
        Ok(measuring)
    }
}

/// The publisher's process.
struct Publisher(Running);

impl Publisher {
    fn start(plan: &LatencyPlan, measuring: &Measuring) -> anyhow::Result<Self> {
        let publish = &plan.publish;
        let mut words = vec!["msg".to_owned(), "latency-publisher".to_owned()];
        let mut with = |name: &str, value: String| words.push(format!("--{name}={value}"));
        with("url", plan.url.clone());
        with("channel", plan.channel.clone());
        with("run", publish.run.to_string());
        with("beat", Span(publish.interval.as_duration()).to_string());
        with("warm-up", publish.warm_up.to_string());
        with("count", publish.count.to_string());
        with("bytes", publish.message_bytes.to_string());
        words.extend(MeasureOptions::tuning_words(measuring));
        Ok(Self(child::start(&words, Stdio::piped(), Notes::Kept)?))
    }
}

impl Source for Publisher {
    fn begin(&mut self) -> std::io::Result<()> {
        self.0.send_line(BEGIN)
    }

    fn has_ended(&mut self) -> bool {
        !self.0.runs()
    }

    fn end(&mut self) {
        self.0.end();
    }

    fn finish(self: Box<Self>) -> Result<(Published, Vec<TuningMeasure>), String> {
        let said = self.0.finish().map_err(|error| error.to_string())?;
        let report: Result<PublisherReport, _> = serde_json::from_slice(&said.stdout);
        let report = report.map_err(|_| {
            let notes = String::from_utf8_lossy(&said.stderr);
            let notes = notes.trim().trim_start_matches("kadenz: ").to_owned();
            match notes.is_empty() {
                true => said.status.to_string(),
                false => notes,
            }
        })?;
        Ok((report.published, report.tuning))
    }
}

/// The sides of a measurement, ready to be started.
struct Sides {
    /// The publishing program; `None` for Kadenz's own.
    publisher: Option<Vec<String>>,
    /// The receiving program; `None` for Kadenz's own threads.
    subscriber: Option<Vec<String>>,
    /// URL of both sides, with its server, kept as long as they measure.
    place: ProbeEndpoint,
}

impl Sides {
    /// Builds the named probes, and starts their server.
    fn of(options: &Options) -> anyhow::Result<Self> {
        let with = options.with.as_ref();
        let publisher = options.publisher.as_ref().or(with);
        let subscriber = options.subscriber.as_ref().or(with);
        if subscriber.is_some() {
            ensure_ours_is_not_asked_for(options)?;
        }
        let programs = [publisher, subscriber].into_iter().flatten();
        programs.clone().try_for_each(ensure_it_exists)?;
        let named: Vec<&Probe> = programs.filter_map(probe::named).collect();
        for probe in &named {
            ensure_it_fits(probe, options)?;
        }
        let named = named.first();
        let publisher = publisher.map(probe::program).transpose()?;
        let subscriber = subscriber.map(probe::program).transpose()?;
        let (url, server) = match (&options.url, named) {
            (Some(url), _) => (url.clone(), options.serve),
            (None, Some(probe)) => (probe.url.to_owned(), options.serve.or(probe.server)),
            (None, None) => (provider::default_url(), options.serve),
        };
        let place = ProbeEndpoint::of(&url, server, options.measure.policy())?;
        if publisher.is_some() || subscriber.is_some() {
            probe::ensure_no_blank("url", &place.url)?;
            probe::ensure_no_blank("channel", &options.channel)?;
        }
        Ok(Self {
            publisher,
            subscriber,
            place,
        })
    }
}

/// Refuses a word that names neither a probe nor a program.
fn ensure_it_exists(command: &CommandWords) -> anyhow::Result<()> {
    let word = command.0.first().map_or("", String::as_str);
    let path = env::var_os("PATH").unwrap_or_default();
    let file = format!("{word}{}", env::consts::EXE_SUFFIX);
    let is_there = probe::named(command).is_some()
        || word.contains(std::path::is_separator)
        || env::split_paths(&path).any(|it| it.join(word).is_file() || it.join(&file).is_file());
    anyhow::ensure!(
        is_there,
        "`{word}` is neither a probe nor a program on the path; the probes are {}, and `./{word}` would be a program in \
         this folder",
        probe::names(Measures::Messages)
            .collect::<Vec<_>>()
            .join(", ")
    );
    Ok(())
}

fn ensure_it_fits(probe: &Probe, options: &Options) -> anyhow::Result<()> {
    anyhow::ensure!(
        probe.measures == Measures::Messages,
        "the probe `{}` sets timers: kadenz timer cyclic --with {}",
        probe.name,
        probe.name
    );
    anyhow::ensure!(
        options.subscribers <= probe.max_subscribers,
        "the probe `{}` takes `--subscribers {}` at most",
        probe.name,
        probe.max_subscribers
    );
    anyhow::ensure!(
        options.size.0 <= probe.max_bytes as u64,
        "the probe `{}` takes messages of at most {} B; take a smaller `--size`",
        probe.name,
        probe.max_bytes
    );
    Ok(())
}

fn ensure_ours_is_not_asked_for(options: &Options) -> anyhow::Result<()> {
    anyhow::ensure!(
        options.receive == MessageReceiveOption::Block,
        "a probe waits for messages as its own code states: leave `--receive` out"
    );
    anyhow::ensure!(
        !options.measure.has_shield(),
        "`--shield` holds for threads of this program; to keep a probe on CPUs take `--cpus`"
    );
    Ok(())
}
