//! Probes as arguments of commands: by name or as a command of the user, with their URL and server.

use anyhow::Context as _;
use kadenz::lab::measuring::Measuring;
use kadenz::lab::probes::{self, Measures, Probe, ProbeCommand, Server, ServerKind};
use kadenz::rt::launch::Launch;
use kadenz::rt::tuning::Policy;
use tempfile::TempDir;

use crate::options::{CommandWords, waiting};

/// URL of a probe, with the server and the folder that it needs, kept as long as it measures.
pub(super) struct ProbeEndpoint {
    /// URL in the form of the probe's middleware.
    pub(super) url: String,
    _server: Option<Server>,
    _folder: Option<TempDir>,
}

impl ProbeEndpoint {
    /// Fills `{own}`, `{folder}` and `{port}` in a URL, and starts the server.
    pub(super) fn of(
        url: &str,
        server: Option<ServerKind>,
        policy: Policy,
    ) -> anyhow::Result<Self> {
        let start =
            |kind: ServerKind| waiting(&format!("starting {kind}"), || Server::start(kind, policy));
        let server = server.map(start).transpose()?;
        let folder = url
            .contains("{folder}")
            .then(tempfile::tempdir)
            .transpose()?;
        let url = filled(url, server.as_ref(), folder.as_ref())?;
        Ok(Self {
            url,
            _server: server,
            _folder: folder,
        })
    }
}

/// The names of the probes for this measurement, for shell completion.
pub(super) fn names(measures: Measures) -> impl Iterator<Item = &'static str> {
    let all = probes::ALL.iter().filter(move |it| it.measures == measures);
    all.map(|it| it.name)
}

/// The probe of Kadenz with this name; `./lcm` is a file.
pub(super) fn named(command: &CommandWords) -> Option<&'static Probe> {
    probes::probe(command.0.first()?)
}

/// The words that start the program; a probe of that name is built first.
pub(super) fn program(command: &CommandWords) -> anyhow::Result<Vec<String>> {
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

/// A probe with the same tuning as the program's own side.
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

/// Refuses blanks in a setting: the settings of a probe are words in one line.
pub(super) fn ensure_no_blank(option: &str, value: &str) -> anyhow::Result<()> {
    let has_blank = value.contains(|it: char| it.is_whitespace() || it.is_control());
    anyhow::ensure!(
        !has_blank,
        "`--{option}` of a probe holds no blanks, as its settings are words in one line"
    );
    Ok(())
}

fn filled(url: &str, server: Option<&Server>, folder: Option<&TempDir>) -> anyhow::Result<String> {
    let mut url = url.replace("{own}", &std::process::id().to_string());
    if let Some(folder) = folder {
        url = url.replace("{folder}", &folder.path().to_string_lossy());
    }
    if url.contains("{port}") {
        let port = match server {
            Some(server) => server.port(),
            None => probes::free_port().context("cannot find a free port on loopback")?,
        };
        url = url.replace("{port}", &port.to_string());
    }
    Ok(url)
}
