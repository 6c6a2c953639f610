//! What a datagram is for.

/// Upper half of the first byte: our datagrams, in version 1 of the protocol.
const VERSION: u8 = 0xA0;

/// What a datagram is for: the lower half of its first byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// Controller to device: send this back.
    Probe,
    /// Device to controller: the probe, sent back.
    Reply,
    /// Controller to everyone: who is there?
    Discover,
    /// Device to controller: I am, and this is my name.
    Present,
    /// Controller to logging server: measurements.
    Batch,
    /// Logging server to controller: that batch is kept.
    BatchKept,
    /// Controller to logging server: I am going to send batches, or, with a cookie as its stamp: it is me.
    Hello,
    /// Logging server to controller: say hello with this stamp.
    Cookie,
    /// Logging server to controller: your batches are taken.
    Welcome,
    /// Logging server to controller: there is no room for you.
    Refused,
}

impl Kind {
    /// All of them.
    pub const ALL: [Self; 10] = [
        Self::Probe,
        Self::Reply,
        Self::Discover,
        Self::Present,
        Self::Batch,
        Self::BatchKept,
        Self::Hello,
        Self::Cookie,
        Self::Welcome,
        Self::Refused,
    ];

    /// The first byte of a datagram of this kind.
    #[must_use]
    pub const fn first_byte(self) -> u8 {
        let number = match self {
            Self::Probe => 1,
            Self::Reply => 2,
            Self::Discover => 3,
            Self::Present => 4,
            Self::Batch => 5,
            Self::BatchKept => 6,
            Self::Hello => 7,
            Self::Cookie => 8,
            Self::Welcome => 9,
            Self::Refused => 10,
        };
        VERSION | number
    }

    /// What the first byte of a datagram announces; `None` if it is none of ours.
    #[must_use]
    pub fn of(first_byte: u8) -> Option<Self> {
        Self::ALL
            .into_iter()
            .find(|kind| kind.first_byte() == first_byte)
    }
}

/// Whether a datagram has room for what is optional: the flags in its second byte.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Flags {
    pub(crate) token: bool,
    pub(crate) stamps: bool,
}

impl Flags {
    const TOKEN: u8 = 1;
    const STAMPS: u8 = 1 << 1;

    /// `None` if a bit is set that this version does not know: guessing would misread the rest.
    pub(crate) fn of(byte: u8) -> Option<Self> {
        let known = byte & !(Self::TOKEN | Self::STAMPS) == 0;
        known.then_some(Self {
            token: byte & Self::TOKEN != 0,
            stamps: byte & Self::STAMPS != 0,
        })
    }

    pub(crate) fn byte(self) -> u8 {
        let flag = |set, bit| if set { bit } else { 0 };
        flag(self.token, Self::TOKEN) | flag(self.stamps, Self::STAMPS)
    }
}
