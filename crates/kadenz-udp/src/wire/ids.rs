//! Numbers that a datagram carries, each a type of its own so that none is taken for another.

/// Which run a datagram belongs to: drawn anew for each run, so that late answers to an earlier run
/// are told apart.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RunId(pub u32);

/// Which datagram of its run: counts from any number, one more each, and wraps.
///
/// Compared by [`distance_from`](Self::distance_from) and not by `<`, because it wraps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Sequence(pub u32);

impl Sequence {
    /// The next one.
    #[must_use]
    pub const fn next(self) -> Self {
        Self(self.0.wrapping_add(1))
    }

    /// How many steps this one is after `other`, negative if before it (serial number arithmetic,
    /// RFC 1982 section 3.2).
    ///
    /// ```
    /// use kadenz_udp::wire::Sequence;
    ///
    /// assert_eq!(Sequence(1).distance_from(Sequence(u32::MAX)), 2);
    /// assert_eq!(Sequence(u32::MAX).distance_from(Sequence(1)), -2);
    /// ```
    #[must_use]
    pub const fn distance_from(self, other: Self) -> i32 {
        self.0.wrapping_sub(other.0).cast_signed()
    }
}

/// When a datagram was handed to the network: nanoseconds of the sender's own monotonic clock.
///
/// Only the sender can make sense of it; everyone else sends it back as it came.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Stamp(pub u64);

/// When a device received a datagram and when it answered: nanoseconds of its own monotonic clock.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct DeviceStamps {
    /// When the question came in.
    pub received_ns: u64,
    /// When the answer went out.
    pub transmitted_ns: u64,
}

impl DeviceStamps {
    /// What a request holds in their place, and what a device leaves that has no clock.
    pub const ABSENT: Self = Self {
        received_ns: 0,
        transmitted_ns: 0,
    };

    /// How long the device held the question, in ns of its own clock; 0 if it claims to have
    /// answered before it was asked.
    #[must_use]
    pub const fn held_ns(&self) -> u64 {
        self.transmitted_ns.saturating_sub(self.received_ns)
    }
}
