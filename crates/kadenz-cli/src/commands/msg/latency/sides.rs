//! The publisher and the subscribers of a measurement, and their URL.

use std::env;

use kadenz::lab::probes::{Measures, Probe};
use kadenz::msg::provider;

use super::{MessageReceiveOption, Options};
use crate::commands::probe::{self, ProbeEndpoint};
use crate::options::CommandWords;

/// The sides of a measurement, ready to be started.
pub(super) struct Sides {
    /// The publishing program; `None` for Kadenz's own.
    pub(super) publisher: Option<Vec<String>>,
    /// The receiving program; `None` for Kadenz's own threads.
    pub(super) subscriber: Option<Vec<String>>,
    /// URL of both sides, with its server, kept as long as they measure.
    pub(super) place: ProbeEndpoint,
}

impl Sides {
    /// Builds the named probes, and starts their server.
    pub(super) fn of(options: &Options) -> anyhow::Result<Self> {
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
