//! `file://path?mode=r|w|a&speed=&start_timestamp=&loop=`: a log as a bus.
//!
//! Reading, it delivers the messages of the log at the times of the log, divided by `speed`; 0 and below
//! means as fast as the subscriber takes them, and `start_timestamp` begins at so many microseconds since
//! 1970. Order is kept and nothing is lost, as it waits for its subscriber; a message that is late makes none
//! of the next ones late. At the end of the log no more messages arrive, unless `loop=yes`.
//!
//! Writing, published messages go into LCM's event log, or into MCAP if the name ends in `.mcap`, under a
//! lock and through the kernel's cache: not for a real-time path; use [`Recorder`] there.
//! `mode=a` goes on behind an event log's last event.
//!
//! [`Recorder`]: crate::log::record::Recorder

mod inlet;
mod outlet;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use inlet::FileInlet;
use kadenz_rt::clock::WallTime;
use outlet::{FileOutlet, OutletLog};

use super::parameters::Address;
use super::stream::Buffered;
use super::{
    BackPressure, DeliveryOrder, Discovery, Guarantees, History, Inlet, Loss, Outlet, Provider,
    ProviderError,
};
use crate::log::play::{PlayOptions, Player};
use crate::log::{self, Format, LogError, LogWriter};

/// A log as a bus.
#[derive(Debug)]
pub struct FileProvider {
    address: Address,
    path: PathBuf,
    role: Role,
}

#[derive(Debug)]
enum Role {
    Reads(PlayOptions),
    Writes(Arc<OutletLog>),
}

#[derive(Clone, Copy)]
enum Mode {
    Read,
    Write,
    Append,
}

impl FileProvider {
    /// Opens the log that a URL names: for writing right away, for reading by each inlet.
    ///
    /// # Errors
    /// If the URL has an invalid parameter, or the file cannot be made.
    pub fn open(address: &Address) -> Result<Self, ProviderError> {
        let mut parameters = address.parameters();
        let modes = [("r", Mode::Read), ("w", Mode::Write), ("a", Mode::Append)];
        let mode = parameters.choice("mode", &modes)?.unwrap_or(Mode::Read);
        let speed = parameters.text("speed").map(str::parse::<f64>).transpose();
        let speed = speed.ok().filter(|it| it.is_none_or(f64::is_finite));
        let speed = speed.ok_or_else(|| {
            address.wrong(
                "the speed is not a number",
                "give 1, 0.5 or the like; 0 for no pauses",
            )
        })?;
        let start_us = parameters.number("start_timestamp", 0..=i64::MAX as u64 / 1000)?;
        let looped = parameters.switch("loop")?.unwrap_or(false);
        parameters.finish()?;
        let path = PathBuf::from(address.location());
        if path.as_os_str().is_empty() {
            return Err(address.wrong("it names no file", "write file:///path/to/log"));
        }
        let role = match mode {
            Mode::Read => Role::Reads(PlayOptions {
                speed: speed.unwrap_or(1.0).max(0.0),
                from: start_us.map(|us| WallTime::from_unix_ns(us as i64 * 1000)),
                looped,
                ..PlayOptions::default()
            }),
            Mode::Write => Role::Writes(OutletLog::over(create(&path), address)?),
            Mode::Append => Role::Writes(OutletLog::over(append(&path), address)?),
        };
        let address = address.clone();
        Ok(Self {
            address,
            path,
            role,
        })
    }
}

fn create(path: &Path) -> Result<Box<dyn LogWriter>, LogError> {
    log::create(path, Format::of_name(path))
}

fn append(path: &Path) -> Result<Box<dyn LogWriter>, LogError> {
    let length = std::fs::metadata(path).map_or(0, |facts| facts.len());
    if length == 0 {
        return create(path);
    }
    log::append(path)
}

impl Provider for FileProvider {
    fn guarantees(&self) -> Guarantees {
        Guarantees {
            order: DeliveryOrder::Kept,
            loss: Loss::None,
            back_pressure: BackPressure::None,
            history: History::Everything,
            discovery: Discovery::File,
            longest_payload: i32::MAX as usize,
            real_time: false,
            zero_copy: false,
        }
    }

    fn outlet(&self) -> Result<Box<dyn Outlet>, ProviderError> {
        match &self.role {
            Role::Writes(shared) => {
                Ok(Buffered::outlet(FileOutlet(Arc::clone(shared)), usize::MAX))
            }
            Role::Reads(_) => Err(self
                .address
                .wrong("it is read", "write by ?mode=w or ?mode=a")),
        }
    }

    fn inlet(&self) -> Result<Box<dyn Inlet>, ProviderError> {
        let options = match &self.role {
            Role::Reads(options) => options.clone(),
            Role::Writes(_) => return Ok(Box::new(FileInlet::silent(&self.path))),
        };
        let failed = |error: LogError| {
            let remedy = "`kadenz log info` describes a log";
            self.address.wrong(error.to_string(), remedy)
        };
        let reader = log::open(&self.path).map_err(failed)?;
        let player = Player::new(reader, options).map_err(failed)?;
        Ok(Box::new(FileInlet::playing(&self.path, player)))
    }
}

#[cfg(test)]
mod tests;
