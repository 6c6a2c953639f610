//! Probes as the sides of a measurement.

mod publisher;
mod subscriber;

pub use publisher::ProgramPublisher;
pub(super) use subscriber::ProgramListener;

use super::LatencyPlan;
use crate::probes::protocol::{ProbeRole, Settings};

/// What a side is told.
fn settings(role: ProbeRole, plan: &LatencyPlan) -> Settings {
    let publish = &plan.publish;
    Settings::new(role)
        .with("url", &plan.url)
        .with("channel", &plan.channel)
        .with("queue", plan.queue)
        .with("run", publish.run)
        .with("interval_ns", publish.interval.as_duration().as_nanos())
        .with("warm_up", publish.warm_up)
        .with("count", publish.count)
        .with("bytes", publish.message_bytes)
}
