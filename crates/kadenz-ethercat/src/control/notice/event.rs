//! Events on a segment, for programs and as text for people.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::wire::{AlStatus, AlStatusCode};

/// The SubDevice that a notice concerns.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct NoticeDevice {
    /// Its number among the devices that were configured, from 0.
    pub device: usize,
    /// The long name of the device by its SII, else the short one; empty where it has none.
    pub name: String,
    /// The station address that the MainDevice gave it.
    pub station: u16,
}

impl fmt::Display for NoticeDevice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            device,
            name,
            station,
        } = self;
        write!(f, "SubDevice {device} ({name}, 0x{station:04X})")
    }
}

/// An event. States are AL status words: see [`AlStatus`](crate::wire::AlStatus).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum Event {
    /// No frame comes back.
    WireLost,
    /// Frames come back again.
    WireBack,
    /// A device does not answer any more.
    Lost,
    /// A device answers again, at that position.
    Back {
        /// The position at which it answers now.
        position: u16,
        /// Whether it had kept its power: it still had its address.
        powered: bool,
    },
    /// A device is in another state.
    State {
        /// The AL status before.
        from: u16,
        /// The AL status now.
        to: u16,
        /// The AL status code: the reason of an error; 0 for none.
        code: u16,
    },
    /// A device did not reach a state in time, or refuses the settings for it.
    Stuck {
        /// The state's number.
        wanted: u8,
        /// How many tries in a row failed.
        tries: u32,
    },
    /// The set-up in PREOP failed.
    Setup {
        /// Why the set-up failed, in words.
        why: String,
    },
    /// A port has no link any more.
    LinkDown {
        /// The port of the device, 0 to 3.
        port: u8,
    },
    /// A port has a link again.
    LinkUp {
        /// The port of the device, 0 to 3.
        port: u8,
    },
    /// Counters of a port have risen: its cable or plug is faulty.
    PortErrors {
        /// The port of the device, 0 to 3.
        port: u8,
        /// Invalid frames.
        invalid: u32,
        /// Physical errors.
        physical: u32,
        /// Errors that a SubDevice before it has found.
        forwarded: u32,
        /// Lost links.
        lost_links: u32,
    },
    /// A device sent an emergency.
    Emergency {
        /// The error code; 0 for the end of an error.
        code: u16,
        /// The error register, object 0x1001.
        register: u8,
        /// The vendor's own data.
        data: [u8; 5],
    },
    /// A device is at another place than at the start, relative to the others.
    Moved {
        /// Position at the start.
        from: u16,
        /// The position now.
        to: u16,
    },
    /// Another device of the same kind is in its place, and is used.
    Replaced {
        /// Serial number of the former device.
        serial: u32,
        /// Serial number of the present device.
        now: u32,
    },
    /// A SubDevice is on the wire that was not configured.
    Unknown {
        /// The position of the device.
        position: u16,
        /// Vendor, product, revision and serial number; `None` where its EEPROM does not answer.
        identity: Option<[u32; 4]>,
    },
    /// An unknown SubDevice has gone.
    UnknownGone {
        /// The position at which it was.
        position: u16,
    },
    /// Frames came back with a wrong working counter.
    WorkingCounter {
        /// Number of frames, since the last notice of this kind.
        frames: u64,
        /// The working counter of the last one.
        got: u32,
        /// The expected working counter.
        expected: u32,
    },
    /// Frames failed, counted since the last notice of this kind.
    Frames {
        /// Frames that did not come back in their cycle.
        lost: u64,
        /// Frames that the wire did not take.
        refused: u64,
        /// Frames that came back too late, or twice.
        late: u64,
        /// Frames of other programs.
        foreign: u64,
        /// Frames that came back cut short or changed.
        damaged: u64,
    },
}

impl fmt::Display for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::WireLost => f.write_str("no frame comes back; is the cable plugged in?"),
            Self::WireBack => f.write_str("frames come back"),
            Self::Lost => f.write_str("lost"),
            Self::Back { position, powered } => {
                let power = if *powered {
                    ""
                } else {
                    ", after its power was off"
                };
                write!(f, "back at position {position}{power}")
            }
            Self::State { from, to, code } => {
                write!(f, "{} -> {}", AlStatus(*from), AlStatus(*to))?;
                match code {
                    0 => Ok(()),
                    code => write!(f, ": {}", AlStatusCode(*code)),
                }
            }
            Self::Stuck { wanted, tries } => {
                write!(
                    f,
                    "did not come to {} ({tries} tries)",
                    AlStatus(u16::from(*wanted))
                )
            }
            Self::Setup { why } => write!(f, "its setup failed: {why}"),
            Self::LinkDown { port } => write!(f, "link down at port {port}"),
            Self::LinkUp { port } => write!(f, "link up at port {port}"),
            Self::Emergency {
                code,
                register,
                data,
            } => write!(
                f,
                "emergency 0x{code:04X}, error register 0x{register:02X}, data {data:02X?}"
            ),
            Self::Moved { from, to } => write!(f, "moved from position {from} to {to}"),
            Self::Replaced { serial, now } => {
                write!(f, "replaced: serial number {now}, was {serial}")
            }
            other => other.of_segment(f),
        }
    }
}

impl Event {
    fn of_segment(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::PortErrors {
                port,
                invalid,
                physical,
                forwarded,
                lost_links,
            } => write!(
                f,
                "port {port}: {invalid} invalid frames, {physical} physical errors, {forwarded} forwarded errors, {lost_links} lost links"
            ),
            Self::Unknown {
                position,
                identity: Some([vendor, product, revision, serial]),
            } => write!(
                f,
                "an unknown SubDevice at position {position}: 0x{vendor:08X}:0x{product:08X}:0x{revision:08X}, serial number {serial}"
            ),
            Self::Unknown { position, .. } => {
                write!(
                    f,
                    "an unknown SubDevice at position {position}, whose EEPROM does not answer"
                )
            }
            Self::UnknownGone { position } => {
                write!(f, "the unknown SubDevice at position {position} is gone")
            }
            Self::WorkingCounter {
                frames,
                got,
                expected,
            } => write!(
                f,
                "{frames} frames with a wrong working counter, the last {got}, not {expected}"
            ),
            Self::Frames {
                lost,
                refused,
                late,
                foreign,
                damaged,
            } => write!(
                f,
                "frames: {lost} lost, {refused} refused, {late} late, {foreign} foreign, {damaged} damaged"
            ),
            _ => Ok(()),
        }
    }
}
