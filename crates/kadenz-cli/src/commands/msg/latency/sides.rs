//! Who publishes and who receives, where they meet, and the server that they meet at.

use std::net::TcpListener;

use anyhow::Context as _;
use kadenz_lab::measuring::Measuring;
use kadenz_lab::probes::{self, Probe, Server, ServerKind};
use kadenz_lab::pubsub::program::ProbeCommand;
use kadenz_msg::provider;
use kadenz_rt::launch::Launch;
use kadenz_rt::tuning::Policy;
use tempfile::TempDir;

use super::{Options, ReceiveOption};
use crate::options::{CommandWords, waiting};

/// The sides of a measurement, ready to be started.
pub(super) struct Sides {
    /// The program that publishes; one of ours without.
    pub(super) publisher: Option<Vec<String>>,
    /// The program that receives; threads of ours without.
    pub(super) subscriber: Option<Vec<String>>,
    /// Where they meet.
    pub(super) url: String,
    /// What they meet at, kept as long as they measure.
    _server: Option<Server>,
    _folder: Option<TempDir>,
}

impl Sides {
    /// Builds the probes that are meant by name, and starts their server.
    pub(super) fn of(options: &Options) -> anyhow::Result<Self> {
        let with = options.with.as_ref();
        let publisher = options.publisher.as_ref().or(with);
        let subscriber = options.subscriber.as_ref().or(with);
        if subscriber.is_some() {
            ensure_ours_is_not_asked_for(options)?;
        }
        let named = [publisher, subscriber]
            .into_iter()
            .flatten()
            .find_map(named);
        if let Some(probe) = named {
            ensure_it_fits(probe, options)?;
        }
        let publisher = publisher.map(program).transpose()?;
        let subscriber = subscriber.map(program).transpose()?;
        let (url, server) = match (&options.url, named) {
            (Some(url), _) => (url.clone(), options.serve),
            (None, Some(probe)) => (probe.url.to_owned(), options.serve.or(probe.server)),
            (None, None) => (provider::default_url(), options.serve),
        };
        let server = server
            .map(|kind| start(kind, options.measure.policy()))
            .transpose()?;
        let folder = url
            .contains("{folder}")
            .then(tempfile::tempdir)
            .transpose()?;
        let url = filled(&url, server.as_ref(), folder.as_ref())?;
        if publisher.is_some() || subscriber.is_some() {
            ensure_no_blank("url", &url)?;
            ensure_no_blank("channel", &options.channel)?;
        }
        Ok(Self {
            publisher,
            subscriber,
            url,
            _server: server,
            _folder: folder,
        })
    }
}

/// A program of a side, tuned as our own side is.
pub(super) fn command(words: &[String], measuring: &Measuring) -> ProbeCommand {
    let tuning = &measuring.tuning;
    ProbeCommand {
        words: words.to_vec(),
        launch: Launch {
            policy: (tuning.policy != Policy::Other).then_some(tuning.policy),
            lock_memory: tuning.lock_memory,
            cpus: tuning.cpus.clone(),
            timer_slack_ns: tuning.timer_slack_ns,
            ..Launch::default()
        },
    }
}

/// The probe of Kadenz that a command means by its name; `./lcm` is a file.
fn named(command: &CommandWords) -> Option<&'static Probe> {
    probes::probe(command.0.first()?)
}

fn program(command: &CommandWords) -> anyhow::Result<Vec<String>> {
    let Some(probe) = named(command) else {
        return Ok(command.0.clone());
    };
    let built = waiting(&format!("building the probe `{}`", probe.name), || {
        probes::build(probe, &probes::cache())
    })?;
    let mut words = built.words;
    words.extend_from_slice(&command.0[1..]);
    Ok(words)
}

fn start(kind: ServerKind, policy: Policy) -> anyhow::Result<Server> {
    let started = waiting(&format!("starting {kind}"), || Server::start(kind, policy));
    Ok(started?)
}

/// The place with what is known only now.
fn filled(url: &str, server: Option<&Server>, folder: Option<&TempDir>) -> anyhow::Result<String> {
    let mut url = url.replace("{own}", &std::process::id().to_string());
    if let Some(folder) = folder {
        url = url.replace("{folder}", &folder.path().to_string_lossy());
    }
    if url.contains("{port}") {
        let port = match server {
            Some(server) => server.port(),
            None => free_port().context("cannot find a free port on loopback")?,
        };
        url = url.replace("{port}", &port.to_string());
    }
    Ok(url)
}

fn free_port() -> std::io::Result<u16> {
    Ok(TcpListener::bind("127.0.0.1:0")?.local_addr()?.port())
}

fn ensure_it_fits(probe: &Probe, options: &Options) -> anyhow::Result<()> {
    anyhow::ensure!(
        probe.several || options.subscribers == 1,
        "the probe `{}` has one subscriber: {} takes no more",
        probe.name,
        probe.middleware
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
        options.receive == ReceiveOption::Block,
        "a probe waits for messages as its own code says: leave `--receive` out"
    );
    anyhow::ensure!(
        !options.measure.has_shield(),
        "`--shield` holds for threads of this program; to keep a probe on CPUs take `--cpus`"
    );
    Ok(())
}

fn ensure_no_blank(option: &str, value: &str) -> anyhow::Result<()> {
    let has_blank = value.contains(|it: char| it.is_whitespace() || it.is_control());
    anyhow::ensure!(
        !has_blank,
        "`--{option}` of a probe holds no blanks, as its settings are words in one line"
    );
    Ok(())
}
