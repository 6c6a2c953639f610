//! `kadenz camera list`.

use std::path::PathBuf;

use clap::Args;
use kadenz::camera::server::status::{self, State, Status};
use kadenz::report::document::{Answer, Document, Table, Version};
use kadenz::report::numbers;
use kadenz::rt::video;
use schemars::JsonSchema;
use serde::Serialize;

/// List the cameras that are served on this machine, with their state.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  kadenz camera list            name, state, size, rate, and losses
  kadenz camera list --json     for a script")]
pub(crate) struct Options {}

#[derive(JsonSchema, Serialize)]
pub(super) struct Cameras {
    version: Version<1>,
    cameras: Vec<Status>,
    /// Capture devices of this machine, served or not.
    devices: Vec<CaptureDevice>,
}

/// A capture device of Video4Linux2.
#[derive(JsonSchema, Serialize)]
struct CaptureDevice {
    /// Path by which `kadenz camera serve` opens the device.
    path: PathBuf,
    /// Name that the driver gives the device.
    name: String,
}

pub(super) fn run(_: &Options) -> anyhow::Result<Cameras> {
    Ok(Cameras {
        version: Version,
        cameras: status::list(),
        devices: video::devices()
            .into_iter()
            .map(|(path, name)| CaptureDevice { path, name })
            .collect(),
    })
}

impl Answer for Cameras {
    fn document(&self) -> Document {
        let devices = self.devices.iter();
        let document = Document::new().sentences(
            devices.map(|it| format!("this machine has {} ({})", it.path.display(), it.name)),
        );
        if self.cameras.is_empty() {
            let none =
                "no camera is served here; serve one with `kadenz camera serve URL --name NAME`";
            return document.sentence(none);
        }
        let table = Table::new(
            &["camera", "state", "from", "rate", "missed", "layouts"],
            3,
            self.cameras.iter().map(row).collect(),
        );
        let troubled = self.cameras.iter().filter(|it| it.state != State::Running);
        let troubles =
            troubled.filter_map(|it| Some(format!("{}: {}", it.name, it.trouble.as_ref()?)));
        document.table(table).sentences(troubles)
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

/// The word for a state in the table.
pub(super) fn state_word(state: State) -> &'static str {
    match state {
        State::Connecting => "connecting",
        State::Running => "running",
        State::Ended => "ended",
        State::Failed => "failed",
    }
}
