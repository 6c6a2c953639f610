//! The offset of another host's clocks from this host's, with its bound.
//!
//! ```
//! use std::time::Duration;
//! use kadenz_msg::bus::Bus;
//! use kadenz_msg::service::clock_offset::ClockClient;
//! use kadenz_rt::tuning::Tuning;
//!
//! let bus = Bus::open("memq://")?;
//! let _server = bus.serve_clock("arm-pc", Tuning::default())?;
//! let mut clocks = ClockClient::new(&bus, "arm-pc")?;
//! let offsets = clocks.measure(Duration::from_secs(5))?;
//! // One host, one clock: zero lies within the bound.
//! assert!(offsets.monotonic.least_ns() <= 0 && 0 <= offsets.monotonic.most_ns());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! A query and its answer give four stamps: sent and returned by this clock, received and answered by the
//! other one. Nothing arrives before it is sent, so the offset is between `answered - returned` and
//! `received - sent`, whatever the way took in either direction. Each exchange gives such an interval,
//! [`OffsetFit`] intersects them, and widens the intersection by the allowed drift. The shortest round trips
//! narrow it most. Nothing is averaged, so the bound holds always: it is wrong only if a clock drifts more than
//! was allowed for, or steps, which the next exchange may show.

mod fit;

use std::time::Duration;

use kadenz_rt::clock::{self, WallTime};
use kadenz_rt::tuning::Tuning;

pub use fit::{Estimate, Exchange, FitOutcome, ImpossibleExchange, OffsetFit, OneWay};

use super::messages::{ClockQuery, ClockStamps};
use super::request::{
    CallError, Client, ClientError, RequestContext, ServeError, Server, ServiceOptions,
};
use crate::bus::Bus;

/// The default maximum drift of two clocks, in parts per million: oscillators keep 100 each from -40 to 85
/// degrees, and NTP may slew by 500.
pub const DRIFT_PPM: u32 = 700;

/// The prefix of the service's name, before the host's.
const SERVICE: &str = "KADENZ/CLOCK/";

/// The maximum length of a clock query and of its answer.
const MAX: usize = 256;

/// Queries one host for its time. As [`Client`], a call at a time.
#[derive(Debug)]
pub struct ClockClient {
    client: Client<ClockQuery, ClockStamps>,
    server: Option<i64>,
    drift_ppm: u32,
    monotonic: OffsetFit,
    wall: OffsetFit,
}

/// The offsets of a host's clocks from this host's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClockOffsets {
    /// The offset of the monotonic clock.
    pub monotonic: Estimate,
    /// The offset of the wall clock.
    pub wall: Estimate,
    /// How long the last query was under way, both ways.
    pub round_trip_ns: u64,
    /// Whether the last exchange contradicted the interval: the host or its server started again, or a clock
    /// was set. The old interval is forgotten then.
    pub restarted: bool,
}

/// The reason for which an exchange gave no offset.
#[derive(Debug, thiserror::Error)]
pub enum ClockError {
    /// There was no answer.
    #[error(transparent)]
    Call(Box<CallError>),
    /// The stamps cannot be.
    #[error(transparent)]
    Impossible(#[from] ImpossibleExchange),
}

impl Bus {
    /// Answers queries for this host's time under that name, on a thread with the given tuning.
    ///
    /// # Errors
    /// As [`Bus::serve`]; a host's name has 50 bytes at most.
    pub fn serve_clock(&self, host: &str, tuning: Tuning) -> Result<Server, ServeError> {
        let name = format!("{SERVICE}{host}");
        let answer = |_: &ClockQuery, asked: &RequestContext| Ok(stamps(asked));
        self.serve_with(&name, &options(), tuning, answer)
    }
}

fn options() -> ServiceOptions {
    ServiceOptions {
        longest_payload: MAX,
        ..ServiceOptions::default()
    }
}

/// The kernel's stamp is not used: translating it to the monotonic clock has an error of its own.
fn stamps(asked: &RequestContext) -> ClockStamps {
    let received_wall_ns = WallTime::now().as_unix_ns();
    let received = asked.delivery.info.stamps.taken;
    ClockStamps {
        received_monotonic_ns: signed(received.as_ns()),
        received_wall_ns,
        sent_wall_ns: WallTime::now().as_unix_ns(),
        sent_monotonic_ns: signed(clock::now().as_ns()),
    }
}

fn signed(ns: u64) -> i64 {
    i64::try_from(ns).unwrap_or(i64::MAX)
}

impl ClockClient {
    /// Returns a client of the host of that name, which allows for [`DRIFT_PPM`].
    ///
    /// # Errors
    /// As [`Bus::client`].
    pub fn new(bus: &Bus, host: &str) -> Result<Self, ClientError> {
        Self::with_drift(bus, host, DRIFT_PPM)
    }

    /// As [`ClockClient::new`], for clocks that drift apart by at most that many parts per million.
    ///
    /// # Errors
    /// As [`Bus::client`].
    pub fn with_drift(bus: &Bus, host: &str, drift_ppm: u32) -> Result<Self, ClientError> {
        Ok(Self {
            client: bus.client_with(&format!("{SERVICE}{host}"), &options())?,
            server: None,
            drift_ppm,
            monotonic: OffsetFit::new(drift_ppm),
            wall: OffsetFit::new(drift_ppm),
        })
    }

    /// Makes one exchange, and returns the offsets by all exchanges together. Call it every few seconds: the
    /// bound widens with time.
    ///
    /// # Errors
    /// If there is no answer in time, or its stamps are impossible. The interval stays.
    pub fn measure(&mut self, timeout: Duration) -> Result<ClockOffsets, ClockError> {
        let wall_sent = WallTime::now().as_unix_ns();
        let sent = signed(clock::now().as_ns());
        let query = ClockQuery { sent_ns: sent };
        let answer = self.client.ask(&query, timeout);
        let answer = answer.map_err(|error| ClockError::Call(Box::new(error)))?;
        let wall_returned = WallTime::now().as_unix_ns();
        let returned = signed(answer.delivery.info.stamps.taken.as_ns());
        let stamps = answer.reply;
        let monotonic = Exchange {
            sent_ns: sent,
            received_ns: stamps.received_monotonic_ns,
            answered_ns: stamps.sent_monotonic_ns,
            returned_ns: returned,
        };
        let wall = Exchange {
            sent_ns: wall_sent,
            received_ns: stamps.received_wall_ns,
            answered_ns: stamps.sent_wall_ns,
            returned_ns: wall_returned,
        };
        let is_other = self.server.is_some_and(|it| it != answer.server);
        let offsets = self.add(monotonic, wall, is_other)?;
        self.server = Some(answer.server);
        Ok(offsets)
    }

    /// Adds to both or to none: both intervals stay if either exchange is impossible.
    fn add(
        &mut self,
        monotonic: Exchange,
        wall: Exchange,
        is_other: bool,
    ) -> Result<ClockOffsets, ImpossibleExchange> {
        let (mut monotonics, mut walls) = if is_other {
            let none = || OffsetFit::new(self.drift_ppm);
            (none(), none())
        } else {
            (self.monotonic.clone(), self.wall.clone())
        };
        let added = [monotonics.add(monotonic)?, walls.add(wall)?];
        (self.monotonic, self.wall) = (monotonics, walls);
        Ok(ClockOffsets {
            monotonic: self.monotonic.known_after(monotonic),
            wall: self.wall.known_after(wall),
            round_trip_ns: monotonic.round_trip_ns(),
            restarted: is_other || added.contains(&FitOutcome::Restarted),
        })
    }

    /// Returns the fit of the monotonic clocks' offset.
    #[must_use]
    pub fn monotonic(&self) -> &OffsetFit {
        &self.monotonic
    }

    /// Returns the fit of the wall clocks' offset.
    #[must_use]
    pub fn wall(&self) -> &OffsetFit {
        &self.wall
    }
}
