//! The device's side: the echo, which sends a probe back to its sender.

use core::num::NonZeroU32;

use crate::wire::{
    DeviceStamps, Flags, Header, Kind, Name, Packet, Token, read_stamps, write_stamps, write_tag,
};

/// What the caller must do about a received datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// Send the first so many bytes of the buffer back to the sender of the question, after
    /// [`Echo::stamp_departure`]. Never more than were received.
    Reply(usize),
    /// Send nothing, for this reason.
    Silent(SilenceReason),
}

/// Why a datagram is not answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SilenceReason {
    /// It is not a datagram of this protocol.
    Malformed,
    /// It is not a question: answers to answers would go back and forth forever.
    NotAQuestion,
    /// Its sender does not know the token.
    WrongToken,
    /// More questions came than the rate allows.
    TooFast,
}

/// What an [`Echo`] did so far. The numbers stay at their largest value instead of restarting.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "schema", derive(serde::Serialize, schemars::JsonSchema))]
pub struct EchoCounts {
    /// Questions that were answered.
    pub answered: u64,
    /// Datagrams of other programs, and broken ones.
    pub malformed: u64,
    /// Answers and batches that came here by mistake.
    pub not_a_question: u64,
    /// Questions without the right token.
    pub wrong_token: u64,
    /// Questions beyond the rate.
    pub too_fast: u64,
}

impl EchoCounts {
    fn count(&mut self, answer: Answer) {
        let counter = match answer {
            Answer::Reply(_) => &mut self.answered,
            Answer::Silent(SilenceReason::Malformed) => &mut self.malformed,
            Answer::Silent(SilenceReason::NotAQuestion) => &mut self.not_a_question,
            Answer::Silent(SilenceReason::WrongToken) => &mut self.wrong_token,
            Answer::Silent(SilenceReason::TooFast) => &mut self.too_fast,
        };
        *counter = counter.saturating_add(1);
    }
}

/// The device's side: takes a datagram, and writes the answer into the same buffer.
///
/// It keeps no state of its peers, so no peer can exhaust its memory.
///
/// ```
/// use kadenz_udp::device::{Answer, Echo, Policy, SilenceReason};
///
/// let mut echo = Echo::new(Policy::default());
/// let mut probe = [0xA1, 0, 0, 0, 0, 7, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 3, 232];
/// assert_eq!(echo.on_datagram(0, &mut probe), Answer::Reply(18));
/// assert_eq!(echo.on_datagram(0, &mut probe), Answer::Silent(SilenceReason::NotAQuestion), "it is a reply now");
/// assert_eq!(echo.counts().answered, 1);
/// ```
///
/// # Real-time safety
/// Real-time safe: allocates nothing, waits for nothing, and takes a time that is bounded by the length
/// of the datagram.
#[derive(Clone, Debug)]
pub struct Echo {
    token: Option<Token>,
    rate: Option<RateLimit>,
    name: Name,
    counts: EchoCounts,
}

impl Echo {
    /// Makes a device that answers by this policy.
    #[must_use]
    pub fn new(policy: Policy) -> Self {
        Self {
            token: policy.token,
            rate: policy.rate.map(RateLimit::new),
            name: policy.name,
            counts: EchoCounts::default(),
        }
    }

    /// Handles a datagram that came in at `now_ns` of the device's own monotonic clock.
    ///
    /// The answer is written over the question. Call [`stamp_departure`](Self::stamp_departure) on
    /// it right before it is sent; without that, an answer with device stamps has no right tag.
    pub fn on_datagram(&mut self, now_ns: u64, datagram: &mut [u8]) -> Answer {
        self.on_stamped_datagram(now_ns, now_ns, datagram)
    }

    /// As [`on_datagram`](Self::on_datagram), for a device whose stamps are on another clock: the datagram came in
    /// at `received_ns` of that one, as on a wall clock that PTP synchronises with the controller's. A step of it
    /// then does not change the rate limit, which uses `now_ns`.
    pub fn on_stamped_datagram(
        &mut self,
        now_ns: u64,
        received_ns: u64,
        datagram: &mut [u8],
    ) -> Answer {
        let answer = self.answer(now_ns, received_ns, datagram);
        self.counts.count(answer);
        answer
    }

    /// Writes the departure time into an answer, and tags it again. Does nothing where the question did not request
    /// the device's stamps, or where `datagram` is not an answer.
    pub fn stamp_departure(&self, now_ns: u64, datagram: &mut [u8]) {
        let Ok(header) = Header::read(datagram) else {
            return;
        };
        let is_answer = matches!(header.kind, Kind::Reply | Kind::Present);
        if is_answer && header.flags.stamps {
            let stamps = DeviceStamps {
                transmitted_ns: now_ns,
                ..read_stamps(datagram)
            };
            write_stamps(datagram, stamps);
            self.write_tag(header.flags, datagram);
        }
    }

    /// The counts so far.
    #[must_use]
    pub fn counts(&self) -> EchoCounts {
        self.counts
    }

    fn answer(&mut self, now_ns: u64, received_ns: u64, datagram: &mut [u8]) -> Answer {
        let Ok(packet) = Packet::parse(datagram) else {
            return Answer::Silent(SilenceReason::Malformed);
        };
        let mut header = packet.header;
        header.kind = match header.kind {
            Kind::Probe => Kind::Reply,
            Kind::Discover => Kind::Present,
            _ => return Answer::Silent(SilenceReason::NotAQuestion),
        };
        if !packet.is_made_with(self.token.as_ref()) {
            return Answer::Silent(SilenceReason::WrongToken);
        }
        // The rate limit comes last, so that peers without the token cannot use up the rate of those with it.
        if self.rate.as_mut().is_some_and(|it| !it.passes(now_ns)) {
            return Answer::Silent(SilenceReason::TooFast);
        }
        self.make_answer(header, received_ns, datagram);
        Answer::Reply(datagram.len())
    }

    /// Turns a question into its answer, which has this header and the same length.
    fn make_answer(&self, header: Header, received_ns: u64, datagram: &mut [u8]) {
        header.write(datagram);
        if header.kind == Kind::Present {
            let body = header.flags.body(datagram.len());
            self.name.write(datagram.get_mut(body).unwrap_or_default());
        }
        if header.flags.stamps {
            let stamps = DeviceStamps {
                received_ns,
                transmitted_ns: 0,
            };
            write_stamps(datagram, stamps);
        } else {
            self.write_tag(header.flags, datagram);
        }
    }

    fn write_tag(&self, flags: Flags, datagram: &mut [u8]) {
        write_tag(self.token.as_ref().filter(|_| flags.token), datagram);
    }
}

// The peers that a device answers, and how often.

/// The peers that a device answers, the rate limit, and the device's name. By default it answers every peer,
/// without limit.
#[derive(Clone, Debug, Default)]
pub struct Policy {
    /// The device answers only peers that know this token. Without a token it answers only questions without a tag:
    /// it could not tag an answer.
    pub token: Option<Token>,
    /// The limit of answers a second, over all peers.
    pub rate: Option<PerSecond>,
    /// The name that the device sends to controllers that look for devices.
    pub name: Name,
}

/// The cost of one answer; each nanosecond earns the rate, so that no rate is rounded.
const COST: u64 = 1_000_000_000;

/// A rate limit: so many a second, and so many at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PerSecond {
    rate: NonZeroU32,
    burst: NonZeroU32,
}

impl PerSecond {
    /// A limit of `rate` a second, and as many at once after a second of silence.
    #[must_use]
    pub const fn new(rate: NonZeroU32) -> Self {
        Self { rate, burst: rate }
    }

    /// The same rate, and at most `burst` at once.
    #[must_use]
    pub const fn with_burst(self, burst: NonZeroU32) -> Self {
        Self { burst, ..self }
    }

    /// How many a second.
    #[must_use]
    pub const fn rate(self) -> NonZeroU32 {
        self.rate
    }

    /// How many at once.
    #[must_use]
    pub const fn burst(self) -> NonZeroU32 {
        self.burst
    }

    /// The credit of a full bucket.
    fn most_credit(self) -> u64 {
        u64::from(self.burst.get()) * COST
    }
}

/// A token bucket: it starts full, and in any span of `s` seconds passes at most `burst + s * rate`. Exact in
/// integers for every rate; a time before the last one earns nothing.
///
/// ```
/// use std::num::NonZeroU32;
/// use kadenz_udp::device::{PerSecond, RateLimit};
///
/// let ten = PerSecond::new(NonZeroU32::new(10).unwrap()).with_burst(NonZeroU32::MIN);
/// let mut limit = RateLimit::new(ten);
/// assert_eq!([0, 1, 100_000_000, 199_999_999].map(|now_ns| limit.passes(now_ns)), [true, false, true, false]);
/// ```
#[derive(Clone, Copy, Debug)]
pub struct RateLimit {
    limit: PerSecond,
    /// At most `burst * COST`, which is below 2^63.
    credit: u64,
    last_ns: u64,
}

impl RateLimit {
    /// Makes a full bucket.
    #[must_use]
    pub fn new(limit: PerSecond) -> Self {
        Self {
            limit,
            credit: limit.most_credit(),
            last_ns: 0,
        }
    }

    /// Returns whether one more may pass at `now_ns`, and if so takes it out of the bucket.
    pub fn passes(&mut self, now_ns: u64) -> bool {
        let elapsed_ns = now_ns.saturating_sub(self.last_ns);
        self.last_ns = self.last_ns.max(now_ns);
        let earned = elapsed_ns.saturating_mul(u64::from(self.limit.rate.get()));
        let credit = self
            .credit
            .saturating_add(earned)
            .min(self.limit.most_credit());
        let rest = credit.checked_sub(COST);
        self.credit = rest.unwrap_or(credit);
        rest.is_some()
    }
}
