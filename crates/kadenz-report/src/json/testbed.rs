//! The testbed that a run was taken in, as JSON.

use kadenz_record::run::testbed::Testbed;
use serde::Serialize;

use crate::summary::Summary;
use crate::verdict::testbed;

/// What was built, what ideal hosts would do there, and how late the testbed itself was.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct TestbedOutput {
    /// Name of the topology.
    pub topology: String,
    /// Folder name of the testbed's own run.
    pub run: String,
    /// The host on which was measured.
    pub host: String,
    /// All hosts.
    pub hosts: Vec<String>,
    /// All switches.
    pub switches: Vec<String>,
    /// All links.
    pub links: Vec<TestbedLinkOutput>,
    /// Round trips by the model, with ideal hosts; `null` where it could not be asked.
    pub model: Option<ModelOutput>,
    /// How much later than the topology says frames were delivered; `null` where the testbed's own
    /// run is not beside the run's folder.
    pub error: Option<ErrorOutput>,
}

/// A link.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct TestbedLinkOutput {
    /// What it joins.
    pub between: [String; 2],
    /// What it carries in bits a second.
    pub bit_s: u64,
}

/// Round trips by the model: `count` came.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct ModelOutput {
    /// Of those that came.
    #[serde(flatten)]
    pub times: TimesOutput,
    /// How many more had no answer.
    pub lost: u64,
}

/// The testbed's own error.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct ErrorOutput {
    /// Of the frames that it delivered.
    #[serde(flatten)]
    pub times: TimesOutput,
    /// Whether its run is complete; else it still stands, or was killed.
    pub complete: bool,
}

/// Times of many round trips or frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct TimesOutput {
    /// How many.
    pub count: u64,
    /// Median.
    pub p50_ns: Option<i64>,
    /// 99 %.
    pub p99_ns: Option<i64>,
    /// The largest.
    pub max_ns: Option<i64>,
}

impl TestbedOutput {
    pub(super) fn new(summary: &Summary) -> Option<Self> {
        let Testbed {
            topology,
            run,
            host,
            hosts,
            switches,
            links,
            model,
        } = testbed::of(summary)?.clone();
        let links = links.into_iter().map(|link| TestbedLinkOutput {
            between: link.between,
            bit_s: link.bit_s,
        });
        Some(Self {
            topology,
            run,
            host,
            hosts,
            switches: switches.into_iter().map(|switch| switch.name).collect(),
            links: links.collect(),
            model: model.as_ref().map(|model| ModelOutput {
                times: TimesOutput::new(testbed::by_model(model)),
                lost: model.lost,
            }),
            error: summary.testbed_error.as_ref().map(|error| ErrorOutput {
                times: TimesOutput::new(testbed::own_error(error)),
                complete: error.complete,
            }),
        })
    }
}

impl TimesOutput {
    fn new(of: testbed::Beside) -> Self {
        Self {
            count: of.count,
            p50_ns: of.p50_ns,
            p99_ns: of.p99_ns,
            max_ns: of.max_ns,
        }
    }
}
