//! What is wrong with a file.

use super::MAX_DEVICES;

/// Why a file is no ESI, or a device of it cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EsiError {
    /// No XML.
    #[error("it is no XML: {0}")]
    Xml(String),
    /// Another XML.
    #[error("its first element is {0}, not EtherCATInfo; is it an ESI file?")]
    Root(String),
    /// Something is missing.
    #[error("line {line}: {element} has no {missing}")]
    Missing {
        /// Where.
        line: u32,
        /// In which element.
        element: &'static str,
        /// What is missing.
        missing: &'static str,
    },
    /// Something is no number, or one that is too great.
    #[error("line {line}: \"{text}\" is no number that fits; write decimal, or #x and hexadecimal")]
    Number {
        /// Where.
        line: u32,
        /// What stands there.
        text: String,
    },
    /// More devices than anybody has.
    #[error("it describes more than {MAX_DEVICES} devices")]
    TooMany,
    /// More elements, texts or attributes than anybody writes.
    #[error(
        "it has more than 4 million elements and texts, or as many attributes, 256 attributes of one element, or \
         64 spaces of names; keep only the devices that are needed"
    )]
    Long,
    /// A device has more of something than any real one.
    #[error("line {line}: the device has more than {most} {what} up to here; name fewer")]
    TooMuch {
        /// Where.
        line: u32,
        /// What there are too many of.
        what: &'static str,
        /// Most of them.
        most: usize,
    },
    /// The objects of all devices take more memory than is given to them.
    #[error(
        "line {line}: the objects of all devices take more than 64 MiB up to here; keep only the devices \
         that are needed"
    )]
    Objects {
        /// Which object.
        line: u32,
    },
    /// A value that is to be written is no bytes.
    #[error("line {line}: it is no value; write up to 4096 bytes as pairs of hexadecimal digits")]
    Bytes {
        /// Where.
        line: u32,
    },
    /// A SyncManager lies where no controller has memory for it.
    #[error(
        "line {line}: {size} bytes from 0x{start:04X} on are no memory of a controller; write a StartAddress \
         from #x1000 on, of digital outputs #x0F00, that leaves room up to #xFFFF"
    )]
    Area {
        /// Where.
        line: u32,
        /// Its first byte.
        start: u16,
        /// How many.
        size: u16,
    },
}

impl EsiError {
    /// The line that it names.
    pub(super) fn line_mut(&mut self) -> Option<&mut u32> {
        match self {
            Self::Missing { line, .. }
            | Self::Number { line, .. }
            | Self::TooMuch { line, .. }
            | Self::Objects { line }
            | Self::Bytes { line }
            | Self::Area { line, .. } => Some(line),
            Self::Xml(_) | Self::Root(_) | Self::TooMany | Self::Long => None,
        }
    }
}
