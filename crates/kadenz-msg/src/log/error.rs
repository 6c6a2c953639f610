use std::io;
use std::path::PathBuf;

use super::Format;

/// The reason for which a log cannot be read or written.
#[derive(Debug, thiserror::Error)]
pub enum LogError {
    /// The file system refused.
    #[error("{}: {source}", path.display())]
    File {
        /// The path of the file.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// Reading or writing failed in the middle.
    #[error("the log cannot be read or written any further: {0}")]
    Io(#[from] io::Error),
    /// The file has none of the formats.
    #[error(
        "{} is not a valid log: it begins like none of LCM's event logs, MCAP, ROS 1's bags and ROS 2's",
        path.display()
    )]
    NoLog {
        /// The path of the file.
        path: PathBuf,
    },
    /// The file begins like a log and is damaged.
    #[error(
        "the {format} is damaged at byte {offset}: {what}; `kadenz log recover` saves the rest"
    )]
    Damaged {
        /// The format by its first bytes.
        format: Format,
        /// Bytes from the start of the file.
        offset: u64,
        /// A description of the damage.
        what: &'static str,
    },
    /// A kind of log that Kadenz does not read.
    #[error("{what} cannot be read: {remedy}")]
    Unsupported {
        /// The kind of log, in words.
        what: String,
        /// What the user can do instead.
        remedy: &'static str,
    },
    /// The message is of no known type.
    #[error(transparent)]
    Undecodable(#[from] super::NoJson),
    /// A table holds messages of one type.
    #[error(
        "one table holds messages of one type, and those here are of {}, the last on {channel:?}: choose \
         by --channel, or name a folder, which gets a file a channel", types.join(" and ")
    )]
    SeveralTypes {
        /// The types that were met.
        types: Vec<String>,
        /// The channel of the last one.
        channel: String,
    },
    /// There are too many channels for a file each.
    #[error("more than {most} channels would get a file each; choose some by --channel")]
    TooManyTables {
        /// How many files there may be.
        most: usize,
    },
    /// The log holds more than its length allows.
    #[error(
        "more than {allowed} bytes would come out of a log of {length}: so do logs that were made to \
         fill memory or a disk. Where you trust it, raise --max-expansion, which is how many times \
         its own length a log may become"
    )]
    Expands {
        /// How many bytes were allowed.
        allowed: u64,
        /// How long the log is, in bytes.
        length: u64,
    },
    /// The existing file cannot be continued.
    #[error(
        "{format} cannot be appended to: write a new file, and put both together by `kadenz log merge`"
    )]
    NoAppending {
        /// The format of the existing file.
        format: Format,
    },
    /// The format cannot hold the message.
    #[error("{format} cannot hold a message of {channel:?}: {what}")]
    Unfit {
        /// The format that was to be written.
        format: Format,
        /// The channel of the message.
        channel: String,
        /// Why the format cannot hold it.
        what: &'static str,
    },
    /// The disk is full. Everything written before stays readable; the message was not taken, and a later
    /// call may succeed.
    #[error("no room on the disk: {0}")]
    NoRoom(io::Error),
    /// The log was brought to its end before.
    #[error("the log is finished; create another one")]
    Finished,
    /// The log is at its end, and its last messages had to make room for the index.
    #[error(
        "the disk is full: {messages} messages made room for the index; make room and record again"
    )]
    GaveUp {
        /// Number of messages that were given up for the index.
        messages: u64,
    },
    /// The log could not be brought to its end.
    #[error(
        "the log has no end, and its last {given_up} messages are not in it: {source}; \
         `kadenz log recover` saves the rest"
    )]
    NoEnd {
        /// How many messages were taken and are not in the log.
        given_up: u64,
        /// The error that prevented the write.
        source: Box<LogError>,
    },
}

impl LogError {
    /// Returns whether the error is a full disk or a used-up quota, which may pass.
    #[must_use]
    pub(crate) fn is_no_room(&self) -> bool {
        matches!(self, Self::NoRoom(_))
    }

    pub(crate) fn no_end(given_up: u64, source: Self) -> Self {
        let source = Box::new(source);
        Self::NoEnd { given_up, source }
    }

    /// Returns the error of a failed write.
    pub(crate) fn of_write(source: io::Error) -> Self {
        match source.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => Self::NoRoom(source),
            io::ErrorKind::FileTooLarge => Self::NoRoom(source),
            _ => Self::Io(source),
        }
    }

    pub(crate) fn at(path: &std::path::Path) -> impl FnOnce(io::Error) -> Self + '_ {
        move |source| Self::File {
            path: path.to_owned(),
            source,
        }
    }
}
