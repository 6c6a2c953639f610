use crate::clock::{PhcTime, WallTime};

/// Who noted when a datagram passed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum StampSource {
    /// The kernel, on the wall clock.
    Software,
    /// The network card, on its own clock.
    Hardware,
}

/// One stamp, with the clock that it is on.
///
/// [`WallBridge`](crate::clock::WallBridge) brings a software stamp to the sleep clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum KernelStamp {
    /// The kernel's, on the wall clock.
    Software(WallTime),
    /// The network card's, on its own clock.
    Hardware(PhcTime),
}

impl KernelStamp {
    /// Who took it.
    #[must_use]
    pub const fn source(self) -> StampSource {
        match self {
            Self::Software(_) => StampSource::Software,
            Self::Hardware(_) => StampSource::Hardware,
        }
    }
}

/// The stamps that one received datagram carries.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Stamps {
    /// When the driver handed it to the kernel.
    pub software: Option<WallTime>,
    /// When the card saw it on the wire.
    pub hardware: Option<PhcTime>,
}

impl Stamps {
    /// The stamp that was taken closest to the wire.
    #[must_use]
    pub fn closest(self) -> Option<KernelStamp> {
        let software = self.software.map(KernelStamp::Software);
        self.hardware.map(KernelStamp::Hardware).or(software)
    }
}

/// Which datagram of a port: the first it tried to send is 0, and each one counts on, also one that was
/// refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct TransmitKey(u64);

impl TransmitKey {
    /// The key of the datagram number `ordinal`, from 0.
    #[must_use]
    pub const fn new(ordinal: u64) -> Self {
        Self(ordinal)
    }

    /// How many datagrams the port had tried to send before this one.
    #[must_use]
    pub const fn ordinal(self) -> u64 {
        self.0
    }
}

/// When a datagram left.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct TransmitStamp {
    /// Which datagram.
    pub key: TransmitKey,
    /// When it was handed to the driver, or seen by the card.
    pub when: KernelStamp,
}
