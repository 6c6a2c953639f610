//! Source of the load: this program, or another one.

use anyhow::Context as _;
use kadenz::lab::load::{
    self, ForeignLoad, ForeignProgram, LoadKind, LoadOptions, LoadRates, RunningLoad,
};

/// Load that continues until it is dropped.
pub(super) enum Work {
    /// Threads of this program.
    Own(RunningLoad),
    /// Another program.
    Foreign(ForeignLoad),
}

impl Work {
    pub(super) fn start(
        with: Option<ForeignProgram>,
        kinds: &[LoadKind],
        options: &LoadOptions,
    ) -> anyhow::Result<Self> {
        Ok(match with {
            None => Self::Own(load::start(kinds, options)?),
            Some(program) => Self::Foreign(ForeignLoad::start(program, kinds, options)?),
        })
    }

    /// The requested loads, a line each.
    pub(super) fn asked(&self) -> String {
        let line = |kind: LoadKind, asked: &str| format!("{kind}: {asked}");
        let lines: Vec<String> = match self {
            Self::Own(load) => {
                let loads = load.rates().into_iter();
                loads.map(|load| line(load.kind, &load.asked)).collect()
            }
            Self::Foreign(load) => load
                .asked()
                .map(|(kind, asked)| line(kind, asked))
                .collect(),
        };
        lines.join("\n")
    }

    /// The work measured so far; another program reports only at its end.
    pub(super) fn rates(&self) -> Vec<LoadRates> {
        match self {
            Self::Own(load) => load.rates(),
            Self::Foreign(_) => Vec::new(),
        }
    }

    /// Whether it has ended by itself.
    pub(super) fn has_ended(&mut self) -> bool {
        match self {
            Self::Own(_) => false,
            Self::Foreign(load) => load.has_ended(),
        }
    }

    pub(super) fn stop(self) -> anyhow::Result<Vec<LoadRates>> {
        match self {
            Self::Own(load) => Ok(load.stop()),
            Self::Foreign(load) => load.stop().context("cannot read what it measured"),
        }
    }
}
