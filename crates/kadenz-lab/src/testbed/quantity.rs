//! Quantities of a network with their units, exact: `20.32us`, `100Mbit/s`, `1.6MB`, `2m`.
//!
//! A bit takes 10,000 ps at 100 Mbit/s and 100 ps at 10 Gbit/s, so times are whole picoseconds here: results equal
//! those computed by hand to the digit, without rounding.

use std::fmt;
use std::num::NonZeroU64;
use std::ops::{Add, AddAssign, Mul};
use std::str::FromStr;

pub use kadenz_rt::units::{ByteSize, ParseQuantityError};
use kadenz_rt::units::{Kind, TIME};

/// A span or a point of time in picoseconds, 213 days at most.
///
/// ```
/// use kadenz_lab::testbed::Picoseconds;
///
/// let hop: Picoseconds = "20.32us".parse()?;
/// assert_eq!(hop.as_ps(), 20_320_000);
/// assert_eq!((hop * 4).to_string(), "81.28us");
/// # Ok::<(), kadenz_lab::testbed::ParseQuantityError>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Picoseconds(u64);

/// The speed of a link, in bits per second.
///
/// ```
/// use kadenz_lab::testbed::LinkSpeed;
///
/// let speed: LinkSpeed = "100Mbit/s".parse()?;
/// assert_eq!(speed, "100M".parse()?);
/// assert_eq!(speed.time_of(254).as_ns_f64(), 20_320.0);
/// # Ok::<(), kadenz_lab::testbed::ParseQuantityError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LinkSpeed(NonZeroU64);

const SPAN: Kind = Kind {
    what: "span of time",
    example: "4us",
    units: TIME,
};

const SPEED: Kind = Kind {
    what: "link speed",
    example: "100Mbit/s",
    units: &[
        ("bit/s", 1),
        ("kbit/s", 1_000),
        ("Mbit/s", 1_000_000),
        ("Gbit/s", 1_000_000_000),
        ("M", 1_000_000),
        ("G", 1_000_000_000),
    ],
};

/// In picoseconds a metre: light in twisted pair at about two thirds of its speed in vacuum; ANSI/TIA-568 allows 5.56
/// ns at most, and cables have 5 ns.
const CABLE: Kind = Kind {
    what: "cable",
    example: "2m or 10ns",
    units: &[
        ("m", 5_000),
        ("km", 5_000_000),
        ("ps", 1),
        ("ns", 1_000),
        ("us", 1_000_000),
    ],
};

impl Picoseconds {
    /// No time at all.
    pub const ZERO: Self = Self(0);
    /// A time later than every other.
    pub const NEVER: Self = Self(u64::MAX);

    /// A span of this many picoseconds.
    #[must_use]
    pub const fn from_ps(ps: u64) -> Self {
        Self(ps)
    }

    /// A span of this many nanoseconds; saturates at 213 days.
    #[must_use]
    pub const fn from_ns(ns: u64) -> Self {
        Self(ns.saturating_mul(1000))
    }

    /// The span in picoseconds.
    #[must_use]
    pub const fn as_ps(self) -> u64 {
        self.0
    }

    /// In nanoseconds, rounded up, so that an event never seems to happen earlier than it does.
    #[must_use]
    pub const fn as_ns(self) -> u64 {
        self.0.div_ceil(1000)
    }

    /// In nanoseconds, with the fraction.
    #[must_use]
    pub const fn as_ns_f64(self) -> f64 {
        self.0 as f64 / 1000.0
    }

    /// Time since `earlier`; zero when it is later.
    #[must_use]
    pub const fn since(self, earlier: Self) -> Self {
        Self(self.0.saturating_sub(earlier.0))
    }

    /// Reads the length of a cable: in metres, 5 ns each, or as a span.
    ///
    /// # Errors
    /// [`ParseQuantityError`].
    pub(crate) fn of_cable(text: &str) -> Result<Self, ParseQuantityError> {
        CABLE.read(text).map(Self)
    }
}

impl LinkSpeed {
    /// The speeds of robots' networks lie between these limits, in bits per second.
    const MIN: u64 = 1_000_000;
    const MAX: u64 = 400_000_000_000;

    /// A speed of this many megabits per second, 1 to 400,000.
    #[must_use]
    pub(crate) const fn mbit(megabits: u64) -> Option<Self> {
        let bits = megabits.saturating_mul(1_000_000);
        if bits < Self::MIN || bits > Self::MAX {
            return None;
        }
        match NonZeroU64::new(bits) {
            Some(bits) => Some(Self(bits)),
            None => None,
        }
    }

    /// In bits a second.
    #[must_use]
    pub const fn bits_per_second(self) -> u64 {
        self.0.get()
    }

    /// How long this many bytes take, rounded up to a picosecond where the speed does not divide them.
    #[must_use]
    pub const fn time_of(self, bytes: u64) -> Picoseconds {
        let bits = bytes as u128 * 8 * 1_000_000_000_000;
        Picoseconds((bits.div_ceil(self.0.get() as u128)) as u64)
    }
}

impl FromStr for Picoseconds {
    type Err = ParseQuantityError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        SPAN.read(text).map(Self)
    }
}

impl FromStr for LinkSpeed {
    type Err = ParseQuantityError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let bits = SPEED.read(text)?;
        let known = (Self::MIN..=Self::MAX).contains(&bits);
        NonZeroU64::new(bits)
            .filter(|_| known)
            .map(Self)
            .ok_or_else(|| SPEED.error(text, "Ethernet has from 1Mbit/s to 400Gbit/s"))
    }
}

impl fmt::Display for Picoseconds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (scale, unit) = match self.0 {
            0..1_000 => (1, "ps"),
            1_000..1_000_000 => (1_000, "ns"),
            1_000_000..1_000_000_000 => (1_000_000, "us"),
            1_000_000_000..1_000_000_000_000 => (1_000_000_000, "ms"),
            _ => (1_000_000_000_000, "s"),
        };
        let (whole, rest) = (self.0 / scale, self.0 % scale);
        if rest == 0 {
            return write!(f, "{whole}{unit}");
        }
        let digits = scale.ilog10() as usize;
        let fraction = format!("{rest:0digits$}");
        write!(f, "{whole}.{}{unit}", fraction.trim_end_matches('0'))
    }
}

impl fmt::Display for LinkSpeed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bits = self.0.get();
        for (scale, unit) in [
            (1_000_000_000, "Gbit/s"),
            (1_000_000, "Mbit/s"),
            (1_000, "kbit/s"),
        ] {
            if bits.is_multiple_of(scale) {
                return write!(f, "{}{unit}", bits / scale);
            }
        }
        write!(f, "{bits}bit/s")
    }
}

impl Add for Picoseconds {
    type Output = Self;

    /// Adds; a sum beyond the largest span becomes [`Picoseconds::NEVER`].
    fn add(self, more: Self) -> Self {
        Self(self.0.saturating_add(more.0))
    }
}

impl AddAssign for Picoseconds {
    fn add_assign(&mut self, more: Self) {
        *self = *self + more;
    }
}

impl Mul<u64> for Picoseconds {
    type Output = Self;

    /// Multiplies; a product beyond the largest span becomes [`Picoseconds::NEVER`].
    fn mul(self, times: u64) -> Self {
        Self(self.0.saturating_mul(times))
    }
}

impl std::iter::Sum for Picoseconds {
    fn sum<I: Iterator<Item = Self>>(all: I) -> Self {
        all.fold(Self::ZERO, Self::add)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantities_are_exact() {
        let span = |text: &str| text.parse::<Picoseconds>().unwrap().as_ps();
        assert_eq!(span("20.32us"), 20_320_000);
        assert_eq!(span("0.001 ns"), 1);
        assert_eq!(span("2.90us"), 2_900_000);
        let speed = |text: &str| text.parse::<LinkSpeed>().unwrap().bits_per_second();
        assert_eq!(speed("2.5Gbit/s"), 2_500_000_000);
        assert_eq!(speed("1G"), 1_000_000_000);
        assert_eq!("1.6MB".parse(), Ok(ByteSize(1_600_000)));
        assert_eq!(Picoseconds::of_cable("2m"), Ok(Picoseconds::from_ns(10)));
        assert_eq!(Picoseconds::of_cable("10ns"), Ok(Picoseconds::from_ns(10)));
    }

    #[test]
    fn nonsense_is_refused_with_an_example() {
        for text in [
            "", "us", "4", "-4us", "4 parsec", "0.0001ps", "1..2us", ".us",
        ] {
            let error = text.parse::<Picoseconds>().unwrap_err().to_string();
            assert!(error.contains("4us"), "{error}");
        }
        for text in [
            "0M",
            "100",
            "100Mb",
            "999Gbit/s",
            "99999999999999999999999G",
        ] {
            assert!(text.parse::<LinkSpeed>().is_err(), "{text}");
        }
        assert!("99999999999999999999h".parse::<Picoseconds>().is_err());
    }

    #[test]
    fn what_is_shown_can_be_read_again() {
        for ps in [
            0,
            1,
            999,
            1_000,
            20_320_000,
            81_280_000,
            1_000_000_000_001,
            u64::MAX,
        ] {
            let shown = Picoseconds::from_ps(ps).to_string();
            assert_eq!(shown.parse(), Ok(Picoseconds::from_ps(ps)), "{shown}");
        }
        for text in ["100Mbit/s", "1Gbit/s", "2500Mbit/s", "10Gbit/s"] {
            let speed: LinkSpeed = text.parse().unwrap();
            assert_eq!(speed.to_string(), text);
        }
    }

    #[test]
    fn a_speed_that_does_not_divide_is_rounded_up() {
        let speed: LinkSpeed = "3Mbit/s".parse().unwrap();
        assert_eq!(speed.time_of(1).as_ps(), 2_666_667);
    }
}
