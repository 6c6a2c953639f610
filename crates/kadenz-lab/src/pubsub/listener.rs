//! The subscribers of a measurement: each with a bus of its own in this process, or a probe.

use std::sync::Arc;
use std::time::Duration;

use kadenz_msg::bus::{Bus, RecvError, Subscription, SubscriptionOptions};
use kadenz_msg::provider::{InletCounters, Provider};
use kadenz_record::run::messages::Subscriber;
use kadenz_record::run::model::Warning;
use kadenz_rt::clock::{self, MonotonicTime};

use super::arrivals::{ArrivalCounts, ArrivalKind};
use super::latency_probe::LatencyProbe;
use super::program::ProgramListener;
use super::series::{self, Stages, SubscriberRecorders};
use super::{LatencyPlan, MessagesError, Receiving};
use crate::stop::Stop;

/// How long a subscriber waits between two greetings.
pub(super) const GREETING_INTERVAL: Duration = Duration::from_millis(10);
/// How long a wait lasts before the subscriber checks whether more messages will come.
const POLL_INTERVAL: Duration = Duration::from_millis(50);
/// A pause after an error, which would otherwise recur at once.
const PAUSE: Duration = Duration::from_millis(5);
/// How long messages that wait are read after the end, where others come meanwhile.
const DRAIN: Duration = Duration::from_secs(1);

/// A subscriber of the channel under measurement, and where it runs.
pub(super) enum Listener {
    /// With a bus in this process.
    Bus(Box<BusListener>),
    /// A probe: the program of another middleware.
    Program(Box<ProgramListener>),
}

impl Listener {
    /// Subscribes: by `provider`, where the plan names no probe.
    pub(super) fn open(
        plan: &LatencyPlan,
        at: usize,
        provider: Option<&Arc<dyn Provider>>,
    ) -> Result<Self, MessagesError> {
        let name = series::name(at);
        match (&plan.subscriber, provider) {
            (Some(command), _) => {
                let program = ProgramListener::start(command, plan, name)?;
                Ok(Self::Program(Box::new(program)))
            }
            (None, Some(provider)) => {
                let bus = Bus::over(&plan.url, Arc::clone(provider));
                Ok(Self::Bus(Box::new(BusListener::open(plan, name, bus)?)))
            }
            (None, None) => Err(MessagesError::NoSubscriber),
        }
    }

    /// Whether a message of this measurement came within the time between two greetings.
    pub(super) fn has_heard(&mut self, plan: &LatencyPlan) -> Result<bool, MessagesError> {
        match self {
            Self::Bus(it) => Ok(it.has_heard(plan)),
            Self::Program(it) => it.has_heard(GREETING_INTERVAL),
        }
    }

    pub(super) fn name(&self) -> &str {
        match self {
            Self::Bus(it) => &it.name,
            Self::Program(it) => &it.name,
        }
    }

    /// The stages of a message's way that the subscriber can distinguish.
    pub(super) fn stages(&self) -> Stages {
        match self {
            Self::Bus(it) if it.stamped => Stages::FromKernel,
            Self::Bus(_) => Stages::FromInlet,
            Self::Program(_) => Stages::None,
        }
    }

    /// Receives until every message has come, or until `quit` is requested, as no more will come.
    ///
    /// # Real-time safety
    /// With a bus: no allocation and no lock but priority-inheriting ones; its system calls are the
    /// provider's. A probe has its own loop, and this one is not real-time safe.
    pub(super) fn run(
        &mut self,
        recorders: &mut SubscriberRecorders,
        quit: &Stop,
        origin: MonotonicTime,
    ) {
        match self {
            Self::Bus(it) => it.run(recorders, quit, origin),
            Self::Program(it) => it.run(recorders, quit, origin),
        }
    }

    /// Whether it ended before the order to end.
    pub(super) fn has_failed(&self) -> bool {
        match self {
            Self::Bus(_) => false,
            Self::Program(it) => it.has_failed(),
        }
    }

    /// Warnings for the run.
    pub(super) fn warnings(&self) -> Vec<Warning> {
        match self {
            Self::Bus(it) => it.warning().into_iter().collect(),
            Self::Program(it) => it.warnings(),
        }
    }

    /// Counts what became of the first `published` messages.
    pub(super) fn close(self, published: u64) -> Subscriber {
        match self {
            Self::Bus(it) => it.close(published),
            Self::Program(it) => it.close(published),
        }
    }
}

/// A subscriber in this process.
pub(super) struct BusListener {
    pub(super) name: String,
    pub(super) bus: Bus,
    subscription: Subscription<LatencyProbe>,
    /// Whether the kernel stamps received messages.
    stamped: bool,
    receiving: Receiving,
    arrivals: ArrivalCounts,
    /// Counts before the measurement: greetings may have come too fast.
    before: InletCounters,
    /// The last error while receiving, and how many there were.
    trouble: Option<(RecvError, u64)>,
}

impl BusListener {
    pub(super) fn open(plan: &LatencyPlan, name: String, bus: Bus) -> Result<Self, MessagesError> {
        let options = SubscriptionOptions {
            queue: plan.queue,
            room: plan.publish.message_bytes,
            ..SubscriptionOptions::default()
        };
        let subscription = bus.subscribe_with::<LatencyProbe>(&plan.channel, &options)?;
        Ok(Self {
            name,
            bus,
            subscription,
            stamped: false,
            receiving: plan.receiving,
            arrivals: ArrivalCounts::new(plan.publish.run, plan.publish.count),
            before: InletCounters::default(),
            trouble: None,
        })
    }

    pub(super) fn has_heard(&mut self, plan: &LatencyPlan) -> bool {
        let mut probe = LatencyProbe::default();
        // An error may be temporary: an interface that is just coming up. If it stays, no message comes.
        let Ok(Some(delivery)) = self.subscription.recv_into(&mut probe, GREETING_INTERVAL) else {
            return false;
        };
        self.stamped = delivery.info.stamps.kernel.is_some();
        probe.run == plan.publish.run
    }

    pub(super) fn run(
        &mut self,
        recorders: &mut SubscriberRecorders,
        quit: &Stop,
        origin: MonotonicTime,
    ) {
        let timeout = match self.receiving {
            Receiving::Blocking => POLL_INTERVAL,
            Receiving::Spinning => Duration::ZERO,
        };
        self.before = self.bus.inlet_counters();
        let mut probe = LatencyProbe::default();
        let mut end = None;
        while !self.arrivals.is_complete() {
            // Messages of others on the channel may come without a pause.
            if quit.requested() && clock::now() > *end.get_or_insert_with(|| clock::now() + DRAIN) {
                return;
            }
            match self.subscription.recv_into(&mut probe, timeout) {
                Ok(Some(delivery)) => {
                    if self.arrivals.count(&probe) == ArrivalKind::First {
                        recorders.record(&probe, &delivery, origin);
                    }
                }
                Ok(None) if quit.requested() => return,
                Ok(None) => {}
                Err(RecvError::Decode { .. }) => self.arrivals.count_foreign(),
                Err(error) => {
                    let count = self.trouble.take().map_or(0, |(_, count)| count);
                    self.trouble = Some((error, count + 1));
                    if quit.requested() {
                        return;
                    }
                    std::thread::sleep(PAUSE);
                }
            }
        }
    }

    fn warning(&self) -> Option<Warning> {
        let (error, count) = self.trouble.as_ref()?;
        Some(Warning::new(
            "receiving_failed",
            format!("{}: receiving failed {count} times: {error}", self.name),
            None,
        ))
    }

    pub(super) fn close(self, published: u64) -> Subscriber {
        let counters = self.subscription.counters();
        let inlet = self.bus.inlet_counters();
        Subscriber {
            dropped: counters.dropped_oldest + counters.dropped_newest,
            overrun: inlet.overrun.saturating_sub(self.before.overrun),
            incomplete: inlet.incomplete.saturating_sub(self.before.incomplete),
            ..self.arrivals.close(&self.name, published)
        }
    }
}
