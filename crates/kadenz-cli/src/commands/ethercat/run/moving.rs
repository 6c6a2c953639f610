//! What became of the axes.

use kadenz_ethercat::motion::{AxisGroup, MotionHandle};
use serde::Serialize;

/// The axes at the end, as `run.json` keeps them.
#[derive(Clone, Debug, Default, Serialize)]
pub(super) struct Moved {
    axes: Vec<MovedAxis>,
    /// How often all were stopped.
    stops: u64,
    /// Why they stood at the end; `null` where they did not.
    stopped: Option<String>,
}

#[derive(Clone, Debug, Serialize)]
struct MovedAxis {
    position: usize,
    cycles: u64,
    greatest_error_rad: f64,
    rms_error_rad: f64,
}

impl Moved {
    /// After the loop.
    pub(super) fn of(group: &AxisGroup<'_>, handle: &MotionHandle) -> Self {
        let status = handle.status();
        let axes = group.runners().iter().map(|it| {
            let tracking = it.tracking();
            MovedAxis {
                position: it.axis().device(),
                cycles: tracking.cycles,
                greatest_error_rad: tracking.greatest,
                rms_error_rad: tracking.root_mean_square(),
            }
        });
        Self {
            axes: axes.collect(),
            stops: group.stops(),
            stopped: status.and_then(|it| it.stopped).map(|it| it.why),
        }
    }

    /// Why all axes stood at the end.
    pub(super) fn stopped(&self) -> Option<&str> {
        self.stopped.as_deref()
    }

    /// A sentence for people; `None` without axes.
    pub(super) fn words(&self) -> Option<String> {
        let worst = self
            .axes
            .iter()
            .max_by(|a, b| a.greatest_error_rad.total_cmp(&b.greatest_error_rad))?;
        let stops = match self.stops {
            0 => String::new(),
            stops => format!("; all were stopped {stops} times"),
        };
        let played = self.axes.iter().map(|it| it.cycles).max().unwrap_or(0);
        Some(match played {
            0 => format!("{} axes, none of which was moved{stops}\n", self.axes.len()),
            _ => format!(
                "{} axes; the one at position {} was furthest from its way, by {:.2} mrad, {:.2} mrad in the \
                 root mean square{stops}\n",
                self.axes.len(),
                worst.position,
                worst.greatest_error_rad * 1e3,
                worst.rms_error_rad * 1e3,
            ),
        })
    }
}
