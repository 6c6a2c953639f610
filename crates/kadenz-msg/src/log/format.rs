use std::fmt;

/// The formats of logs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Format {
    /// LCM's event log, as lcm-logger writes it.
    EventLog,
    /// MCAP, Kadenz's own choice.
    Mcap,
    /// A bag of ROS 1, version 2.0.
    Rosbag1,
    /// A bag of ROS 2 in SQLite.
    Rosbag2Sqlite,
    /// Several files that are read as one.
    Several,
}

impl Format {
    /// What a file is by its first bytes; sixteen are enough.
    #[must_use]
    pub fn of(bytes: &[u8]) -> Option<Self> {
        const BEGINNINGS: [(&[u8], Format); 4] = [
            (&[0xed, 0xa1, 0xda, 0x01], Format::EventLog),
            (b"\x89MCAP0\r\n", Format::Mcap),
            (b"#ROSBAG V2.0\n", Format::Rosbag1),
            (b"SQLite format 3\0", Format::Rosbag2Sqlite),
        ];
        let known = BEGINNINGS
            .iter()
            .find(|(begin, _)| bytes.starts_with(begin));
        known.map(|(_, format)| *format)
    }
}

impl fmt::Display for Format {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::EventLog => "LCM event log",
            Self::Mcap => "MCAP",
            Self::Rosbag1 => "ROS 1 bag",
            Self::Rosbag2Sqlite => "ROS 2 bag (sqlite3)",
            Self::Several => "several logs",
        })
    }
}
