//! The report of the axes of a loop.

use std::fmt;

use kadenz_ethercat::motion::{AxisGroup, MotionHandle};

/// The axes of a motion, at the end of their loop. It displays as one line.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize)]
pub struct AxesReport {
    /// Each of them.
    pub axes: Vec<AxisReport>,
    /// How often all axes were stopped.
    pub stops: u64,
    /// Why they were stopped at the end; `None` where they were not.
    pub stopped: Option<String>,
}

/// How well an axis followed its trajectory.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
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
    /// After the loop.
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
        write!(f, "{} axes", self.axes.len())?;
        match worst {
            None => {}
            Some(_) if self.axes.iter().all(|it| it.cycles == 0) => {
                write!(f, ", none of which was moved")?;
            }
            Some(worst) => write!(
                f,
                "; the one at position {} was furthest from its way, by {:.2} mrad, {:.2} mrad in the root mean square",
                worst.position,
                worst.greatest_error_rad * 1e3,
                worst.rms_error_rad * 1e3,
            )?,
        }
        match self.stops {
            0 => Ok(()),
            stops => write!(f, "; all were stopped {stops} times"),
        }
    }
}
