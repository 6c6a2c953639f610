//! Receiving, on the thread that waits.

use std::io::ErrorKind;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::atomic::{Ordering, fence};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use kadenz_rt::clock::{self, MonotonicTime, WallBridge};
use kadenz_rt::net::port::{
    Datagram, Inbox, MembershipState, PortOptions, PortWaker, ReceiveError as PortError, Reception,
    UdpPort,
};
use kadenz_rt::tuning::Measure;

use super::{Options, add};
use crate::arrival::{Arrival, MessageInfo, Payload, Scope, SenderId, Sequence, SourceInfo};
use crate::channel::Pattern;
use crate::loss::LossMeter;
use crate::provider::{
    Inlet, InletCounters, More, ProviderError, ReceiveError, Received, Take, Wait, Wake,
};
use crate::sync::Lock;
use crate::wire::{Added, Fragment, Packet, Reassembly, ReassemblyLimits, SELF_TEST};

/// The maximum number of datagrams of one call.
const BATCH: usize = 32;
/// The longest datagram there is.
const MAX_DATAGRAM: usize = 65_535;
/// The number of batches without a message that are taken although the time is over, for parts of long
/// messages: a flood of datagrams without a message ends there.
const MAX_LATE_BATCHES: usize = 8;
/// How often the interface is looked for.
const POLL_INTERVAL: Duration = Duration::from_secs(1);
/// The interval of looking for a missing interface.
const POLL_INTERVAL_WHILE_LOST: Duration = Duration::from_millis(100);
/// The number of senders whose numbers are followed.
const SENDERS: usize = 1024;

/// Waits at a port of its own until something is wanted; then joins the group.
#[derive(Debug)]
pub(super) struct UdpmInlet {
    options: Options,
    measures: Arc<Lock<Vec<Measure>>>,
    idle: UdpPort,
    joined: Option<UdpPort>,
    wake: Arc<UdpmWake>,
    wanted: bool,
    inbox: Inbox,
    /// The datagram of the inbox that is next.
    next: usize,
    next_look: MonotonicTime,
    is_lost: bool,
    made: MessageAssembler,
}

/// The state that makes messages of datagrams.
#[derive(Debug)]
struct MessageAssembler {
    bridge: WallBridge,
    reassembly: Reassembly,
    meter: LossMeter,
    overrun: u64,
    malformed: u64,
    rejoined: u64,
}

/// The outcome of one datagram.
enum DatagramOutcome {
    Nothing,
    Taken(More),
}

impl UdpmInlet {
    pub(super) fn new(
        options: Options,
        measures: Arc<Lock<Vec<Measure>>>,
    ) -> Result<Self, ProviderError> {
        let idle = idle_port(&options)?;
        let wake = Arc::new(UdpmWake::new(idle.waker()));
        let limits = ReassemblyLimits {
            bytes: options.reassembly,
            ..ReassemblyLimits::default()
        };
        Ok(Self {
            options,
            measures,
            idle,
            joined: None,
            wake,
            wanted: false,
            inbox: Inbox::new(1, 1),
            next: 0,
            next_look: clock::now(),
            is_lost: false,
            made: MessageAssembler {
                bridge: WallBridge::new(),
                reassembly: Reassembly::new(limits),
                meter: LossMeter::new(SENDERS),
                overrun: 0,
                malformed: 0,
                rejoined: 0,
            },
        })
    }

    fn join(&mut self) -> Result<(), ProviderError> {
        let port = self.options.open_port(&self.options.receiving())?;
        let measures = port.granted().measures.clone();
        self.measures.with(|all| add(all, measures));
        self.inbox = Inbox::new(BATCH, MAX_DATAGRAM);
        self.wake.join(port.waker());
        // A wake from before is passed on.
        let woken = self
            .idle
            .receive_batch(&mut Inbox::new(1, 1), Wait::Until(clock::now()));
        if woken == Ok(Reception::Woken) {
            self.wake.wake();
        }
        self.next_look = clock::now() + POLL_INTERVAL;
        self.joined = Some(port);
        Ok(())
    }

    /// Discards datagrams that arrived while no channel was wanted; their numbers count.
    fn reset_state(&mut self) {
        const MAX: usize = 10_000;
        for _ in 0..MAX {
            self.deliver(&mut |_| More::GoOn);
            let port = self.joined.as_mut();
            let taken = port.map(|port| port.receive_batch(&mut self.inbox, Wait::Poll));
            self.next = 0;
            if !matches!(taken, Some(Ok(Reception::Datagrams(_)))) {
                return;
            }
        }
    }

    /// Looks for the interface, when it is time; an error when it has just disappeared.
    fn look_for_interface(&mut self, now: MonotonicTime) -> Result<(), ReceiveError> {
        let Some(port) = self.joined.as_mut().filter(|_| now >= self.next_look) else {
            return Ok(());
        };
        self.made.reassembly.expire(now);
        let had = !self.is_lost;
        match port.renew_membership() {
            MembershipState::Kept => {}
            MembershipState::Regained => self.made.rejoined += 1,
            MembershipState::Lost => {
                self.is_lost = true;
                self.next_look = now + POLL_INTERVAL_WHILE_LOST;
                if had {
                    return Err(ReceiveError::Interface(ErrorKind::NetworkDown));
                }
                return Ok(());
            }
        }
        self.is_lost = false;
        self.next_look = now + POLL_INTERVAL;
        Ok(())
    }

    /// Hands over the rest of the inbox; returns the number of messages.
    fn deliver(&mut self, take: Take<'_>) -> usize {
        let mut count = 0;
        for mut datagram in self.inbox.datagrams().skip(self.next) {
            self.next += 1;
            if let DatagramOutcome::Taken(more) = self.made.take(&mut datagram, take) {
                count += 1;
                if more == More::Enough {
                    break;
                }
            }
        }
        count
    }

    fn fill_inbox(&mut self, wait: Wait) -> Result<Reception, ReceiveError> {
        self.next = 0;
        let port = self.joined.as_mut().unwrap_or(&mut self.idle);
        match port.receive_batch(&mut self.inbox, wait) {
            Ok(reception) => Ok(reception),
            // The network's errors about sent datagrams concern no received one.
            Err(PortError::Refused | PortError::Unreachable) => Ok(Reception::Interrupted),
            Err(PortError::InterfaceDown) => Err(ReceiveError::Interface(ErrorKind::NetworkDown)),
            Err(PortError::Other { errno }) => {
                let kind = std::io::Error::from_raw_os_error(errno).kind();
                Err(ReceiveError::Interface(kind))
            }
        }
    }
}

impl Inlet for UdpmInlet {
    fn want(&mut self, patterns: &[Pattern]) -> Result<(), ProviderError> {
        let wanted = !patterns.is_empty();
        if wanted && self.joined.is_none() {
            self.join()?;
        } else if wanted && !self.wanted {
            self.reset_state();
        }
        self.wanted = wanted;
        Ok(())
    }

    fn receive(&mut self, wait: Wait, take: Take<'_>) -> Result<Received, ReceiveError> {
        let mut late = 0;
        loop {
            let count = self.deliver(take);
            if count > 0 {
                return Ok(Received::Messages(count));
            }
            let now = clock::now();
            let is_over = match wait {
                Wait::Poll => true,
                Wait::Until(deadline) => deadline <= now,
                Wait::Forever => false,
            };
            late += usize::from(is_over);
            if late > MAX_LATE_BATCHES {
                return Ok(Received::Nothing);
            }
            self.look_for_interface(now)?;
            let (wait_now, is_last) = match wait {
                Wait::Poll => (Wait::Poll, true),
                _ if self.joined.is_none() => (wait, true),
                Wait::Until(deadline) if deadline <= self.next_look => (wait, true),
                Wait::Until(_) | Wait::Forever => (Wait::Until(self.next_look), false),
            };
            match self.fill_inbox(wait_now)? {
                Reception::Datagrams(_) if self.joined.is_none() => self.inbox.clear(),
                Reception::Datagrams(_) => {}
                Reception::Nothing if is_last => return Ok(Received::Nothing),
                Reception::Nothing => {}
                Reception::Woken | Reception::Interrupted => return Ok(Received::Woken),
            }
        }
    }

    fn waker(&self) -> Arc<dyn Wake> {
        Arc::clone(&self.wake) as Arc<dyn Wake>
    }

    fn counters(&self) -> InletCounters {
        let reassembly = self.made.reassembly.counters();
        let numbers = self.made.meter.total();
        InletCounters {
            overrun: self.made.overrun,
            incomplete: reassembly.incomplete,
            malformed: self.made.malformed + reassembly.inconsistent + reassembly.too_long,
            lost: numbers.lost,
            duplicated: numbers.duplicated,
            reordered: numbers.reordered,
            restarted: numbers.restarted,
            rejoined: self.made.rejoined,
        }
    }

    fn losses(&self) -> Option<&LossMeter> {
        Some(&self.made.meter)
    }
}

impl MessageAssembler {
    fn take(&mut self, datagram: &mut Datagram<'_>, take: Take<'_>) -> DatagramOutcome {
        if let Some(dropped) = datagram.dropped_before {
            self.overrun = self.overrun.max(dropped);
        }
        let sender = sender_of(datagram.from);
        let kernel = datagram.stamps.software;
        let kernel = kernel
            .and_then(|stamp| self.bridge.translate(stamp))
            .map(|it| it.at);
        match Packet::parse(datagram.bytes) {
            Ok(Packet::Short {
                sequence,
                channel,
                payload,
            }) => {
                let sequence = numbered(sequence);
                self.meter.note(sender, sequence, channel);
                if channel == SELF_TEST {
                    return DatagramOutcome::Nothing;
                }
                DatagramOutcome::Taken(take(Arrival {
                    channel,
                    payload: Payload::Borrowed(payload),
                    info: info(sender, sequence, kernel),
                }))
            }
            Ok(Packet::Fragment(fragment)) => self.take_fragment(sender, &fragment, kernel, take),
            Err(_) => {
                self.malformed += 1;
                DatagramOutcome::Nothing
            }
        }
    }

    fn take_fragment(
        &mut self,
        sender: SenderId,
        fragment: &Fragment<'_>,
        kernel: Option<MonotonicTime>,
        take: Take<'_>,
    ) -> DatagramOutcome {
        let added = self.reassembly.add(sender, fragment, clock::now(), kernel);
        let Added::Complete(whole) = added else {
            return DatagramOutcome::Nothing;
        };
        let sequence = numbered(fragment.sequence);
        let channel = whole.channel.as_str();
        self.meter.note(sender, sequence, channel);
        DatagramOutcome::Taken(take(Arrival {
            channel,
            payload: Payload::Owned(whole.payload),
            info: info(sender, sequence, whole.kernel),
        }))
    }
}

/// Returns a port to wait at while no channel is wanted: datagrams to it are discarded.
fn idle_port(options: &Options) -> Result<UdpPort, ProviderError> {
    let anywhere = PortOptions {
        local: SocketAddr::from((Ipv4Addr::UNSPECIFIED, 0)),
        ..PortOptions::default()
    };
    // If the loopback interface is down, it has no address to listen on.
    UdpPort::open(&PortOptions::default()).or_else(|_| options.open_port(&anywhere))
}

fn numbered(number: u32) -> Sequence {
    let scope = Scope::Sender;
    Sequence { number, scope }
}

fn info(sender: SenderId, sequence: Sequence, kernel: Option<MonotonicTime>) -> MessageInfo {
    let mut info = MessageInfo::now(SourceInfo::new(sender, Some(sequence)));
    info.stamps.kernel = kernel;
    info
}

/// A sender is a socket: an address and a port.
pub(super) fn sender_of(from: SocketAddr) -> SenderId {
    let ip = match from.ip() {
        IpAddr::V4(ip) => u128::from(ip.to_bits()),
        IpAddr::V6(ip) => ip.to_bits(),
    };
    SenderId(ip.rotate_left(16) ^ u128::from(from.port()))
}

// Ending an inlet's wait, before and after it has joined.

/// Wakes the port at which an inlet waits until it joins, and then the one that joined. Either side first
/// publishes its own step and then reads the other's, so that no wake is lost between the two.
#[derive(Debug)]
pub(super) struct UdpmWake {
    idle: PortWaker,
    joined: OnceLock<PortWaker>,
}

impl UdpmWake {
    pub(super) fn new(idle: PortWaker) -> Self {
        let joined = OnceLock::new();
        Self { idle, joined }
    }

    pub(super) fn join(&self, waker: PortWaker) {
        // A second waker would be of the same port.
        let _ = self.joined.set(waker);
        fence(Ordering::SeqCst);
    }
}

impl Wake for UdpmWake {
    fn wake(&self) {
        self.idle.wake();
        fence(Ordering::SeqCst);
        if let Some(joined) = self.joined.get() {
            joined.wake();
        }
    }
}
