//! What the JSON says, as types. Its fields are explained in the documentation of irtt.

use serde::Deserialize;

#[derive(Deserialize, Default)]
pub(super) struct Version {
    #[serde(default)]
    pub(super) irtt: String,
    #[serde(default)]
    pub(super) json_format: u64,
}

#[derive(Deserialize)]
pub(super) struct Config {
    pub(super) params: Option<Parameters>,
}

#[derive(Deserialize)]
pub(super) struct Parameters {
    pub(super) interval: Option<u64>,
    pub(super) length: Option<u64>,
}

#[derive(Deserialize, Default)]
pub(super) struct Stats {
    #[serde(default)]
    pub(super) duplicates: u64,
    #[serde(default)]
    pub(super) late_packets: u64,
}

#[derive(Deserialize)]
pub(super) struct RoundTrip {
    pub(super) seqno: u64,
    #[serde(default)]
    pub(super) lost: Lost,
    pub(super) timestamps: Timestamps,
    pub(super) delay: Delay,
}

#[derive(Deserialize)]
#[serde(untagged)]
pub(super) enum Lost {
    Plain(bool),
    Way(String),
}

impl Default for Lost {
    fn default() -> Self {
        Self::Plain(false)
    }
}

#[derive(Deserialize)]
pub(super) struct Timestamps {
    pub(super) client: Ends,
}

#[derive(Deserialize)]
pub(super) struct Ends {
    #[serde(default)]
    pub(super) receive: Time,
    #[serde(default)]
    pub(super) send: Time,
}

#[derive(Deserialize, Default, Clone, Copy)]
pub(super) struct Time {
    #[serde(default)]
    pub(super) wall: i64,
    #[serde(default)]
    pub(super) monotonic: i64,
}

impl Time {
    /// The monotonic time, or the wall time if the clock was chosen so.
    pub(super) fn ns(self) -> i64 {
        if self.monotonic == 0 {
            self.wall
        } else {
            self.monotonic
        }
    }
}

#[derive(Deserialize)]
pub(super) struct Delay {
    pub(super) rtt: Option<i64>,
    pub(super) send: Option<i64>,
    pub(super) receive: Option<i64>,
}
