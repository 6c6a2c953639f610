//! The camera of a check: a run beside the check's own, with the budget of a frame's age.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use kadenz::camera::client::{Camera, OpenOptions};
use kadenz::camera::source::without_credentials;
use kadenz::lab::camera::{CameraPlan, experiment};
use kadenz::lab::check::CheckPlan;
use kadenz::lab::stop::Stop;

use crate::commands::outcome;
use crate::options::{Span, waiting};

/// Camera that the check includes.
#[derive(Clone, Debug, Args)]
pub(crate) struct CameraOption {
    /// Take the frames of this camera too, for a fifth of the duration, and show the parts of their age
    #[arg(long, value_name = "URL|NAME", help_heading = "Camera")]
    camera: Option<String>,

    /// The greatest age of a frame when a program has it
    #[arg(
        long,
        value_name = "SPAN",
        default_value = "66.667ms",
        requires = "camera",
        help_heading = "Camera"
    )]
    camera_deadline: Span,
}

impl CameraOption {
    /// Checks that the camera answers, before the check spends a minute.
    pub(super) fn must_answer(&self) -> anyhow::Result<()> {
        if let Some(camera) = &self.camera {
            open(camera)?;
        }
        Ok(())
    }

    /// How long to take its frames.
    pub(super) fn duration(&self, plan: &CheckPlan) -> Duration {
        match self.camera {
            Some(_) => plan.duration / 5,
            None => Duration::ZERO,
        }
    }

    /// Takes frames into a run of their own, if a camera was named; returns its folder.
    pub(super) fn measure(&self, plan: &CheckPlan, stop: &Stop) -> anyhow::Result<Option<PathBuf>> {
        let Some(camera) = &self.camera else {
            return Ok(None);
        };
        if stop.requested() {
            return Ok(None);
        }
        let mut measuring = plan.measuring.clone();
        let folder = &plan.measuring.session.out;
        let mut name = folder.file_name().unwrap_or_default().to_owned();
        name.push("-camera");
        measuring.session.out = folder.with_file_name(name);
        measuring.session.experiment = "check-camera";
        measuring.session.examine = false;
        measuring.deadline = Some(self.camera_deadline.0);
        let out = measuring.session.out.clone();
        let taking = CameraPlan {
            duration: self.duration(plan),
            poll: None,
            barcode: false,
            advise: true,
        };
        let camera = open(camera)?;
        outcome::measured("taking frames", Some(taking.duration), &out, |progress| {
            experiment(camera, &taking, &measuring, stop, progress)
        })?;
        Ok(Some(out))
    }
}

fn open(camera: &str) -> anyhow::Result<Camera> {
    let shown = without_credentials(camera);
    let words = format!("waiting for the first frame of {shown}");
    let opened = waiting(&words, || {
        Camera::open_with(camera, &OpenOptions::default())
    });
    Ok(opened?)
}
