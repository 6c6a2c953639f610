//! The report of the axes of a loop.

use std::fmt;

use kadenz_ethercat::motion::{AxisGroup, MotionHandle};
use kadenz_record::numbers;

/// The axes of a motion, at the end of their loop. It displays as one line.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AxesReport {
    /// One report per axis, in the order of the group.
    pub axes: Vec<AxisReport>,
    /// How often all axes were stopped.
    pub stops: u64,
    /// Why they were stopped at the end; `None` where they were not.
    pub stopped: Option<String>,
}

/// How well an axis followed its trajectory.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AxisReport {
    /// The position of its drive.
    pub position: usize,
    /// Cycles in which it followed a trajectory.
    pub cycles: u64,
    /// The greatest distance from the trajectory, in rad.
    pub greatest_error_rad: f64,
    /// The root mean square of the distances, in rad.
    pub rms_error_rad: f64,
}

impl AxesReport {
    pub(super) fn of(group: &AxisGroup<'_>, handle: &MotionHandle) -> Self {
        let status = handle.status();
        let axes = group.runners().iter().map(|it| {
            let tracking = it.tracking();
            AxisReport {
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
}

impl fmt::Display for AxesReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let all = self.axes.iter();
        let worst = all.max_by(|a, b| a.greatest_error_rad.total_cmp(&b.greatest_error_rad));
        match self.axes.len() {
            1 => f.write_str("1 axis")?,
            count => write!(f, "{count} axes")?,
        }
        match worst {
            None => {}
            Some(_) if self.axes.iter().all(|it| it.cycles == 0) => {
                write!(f, "; no axis was moved")?;
            }
            Some(worst) => write!(
                f,
                "; largest following error: position {}, {:.2} mrad (RMS {:.2} mrad)",
                worst.position,
                worst.greatest_error_rad * 1e3,
                worst.rms_error_rad * 1e3,
            )?,
        }
        match self.stops {
            0 => Ok(()),
            stops => write!(f, "; all were stopped {}", numbers::counted(stops, "time")),
        }
    }
}
