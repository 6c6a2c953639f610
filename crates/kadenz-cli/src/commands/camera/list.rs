//! `kadenz camera list`.

use clap::Args;
use kadenz_camera::server::status::{self, State, Status};
use kadenz_report::document::{Answer, Document, Table, Version};
use kadenz_report::numbers;
use schemars::JsonSchema;
use serde::Serialize;

use crate::output::{self, Outcome};

/// Which cameras are served on this machine, and how are they?
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  kadenz camera list            name, state, size, rate, and what was lost
  kadenz camera list --json     for a script")]
pub(crate) struct Options {}

#[derive(JsonSchema, Serialize)]
pub(super) struct Cameras {
    version: Version<1>,
    cameras: Vec<Status>,
}

pub(super) fn run(_: &Options) -> anyhow::Result<Outcome> {
    output::answer(&Cameras {
        version: Version,
        cameras: status::list(),
    })?;
    Ok(Outcome::Kept)
}

impl Answer for Cameras {
    fn document(&self) -> Document {
        if self.cameras.is_empty() {
            let none =
                "no camera is served here; serve one with `kadenz camera serve URL --name NAME`";
            return Document::new().sentence(none);
        }
        let table = Table::new(
            &["camera", "state", "from", "rate", "missed", "layouts"],
            3,
            self.cameras.iter().map(row).collect(),
        );
        let troubled = self.cameras.iter().filter(|it| it.state != State::Running);
        troubled
            .filter_map(|it| Some(format!("{}: {}", it.name, it.trouble.as_ref()?)))
            .fold(Document::new().table(table), Document::sentence)
    }
}

fn row(camera: &Status) -> Vec<String> {
    let what = match camera.description.is_empty() {
        true => camera.url.clone(),
        false => camera.description.clone(),
    };
    vec![
        camera.name.clone(),
        state_word(camera.state).to_owned(),
        what,
        format!("{:.1} Hz", camera.rate_hz),
        numbers::thousands(camera.counts.missed + camera.counts.skipped),
        camera.layouts.join(" "),
    ]
}

/// A state as people read it.
pub(super) fn state_word(state: State) -> &'static str {
    match state {
        State::Connecting => "connecting",
        State::Running => "running",
        State::Ended => "ended",
        State::Failed => "failed",
    }
}
