//! The measurement as an experiment: run folder in, completed run out.

use std::sync::Arc;
use std::sync::mpsc::{self, SyncSender};

use kadenz_msg::bus::{Bus, Publisher, Subscription, SubscriptionOptions};
use kadenz_msg::provider::{self, InletCounters, Provider};
use kadenz_record::run::folder::RunWriter;
use kadenz_record::run::messages::Messages;
use kadenz_record::run::model::{EndedBy, Run, TuningMeasure, Warning};
use kadenz_rt::clock::{self, MonotonicTime};

use super::arrivals::ArrivalCounts;
use super::probe::Probe;
use super::publisher::{Listener, Published, greet, publish_on_beat};
use super::series::{self, OF_PUBLISHER};
use super::source::{Attendant, Source};
use super::{LatencyPlan, MessagesError, Receiving};
use crate::measuring::{ExperimentError, Measuring};
use crate::measuring_threads::{self, LoopContext, Member, Watch};
use crate::session::{self, Ongoing};
use crate::stop::Stop;

/// How long it is waited between two greetings.
const BETWEEN_GREETINGS: std::time::Duration = std::time::Duration::from_millis(10);

/// Measures how long messages take from a publisher to each subscriber. The publisher is a thread of
/// this process, or `source`.
///
/// # Errors
/// [`ExperimentError`]; rights that are missing are no error but a warning in the run. Where the bus
/// cannot be opened, or no message comes through, no run folder is made.
pub fn latency(
    measuring: &Measuring,
    plan: &LatencyPlan,
    source: Option<Box<dyn Source + '_>>,
    stop: &Stop,
    watch: &mut dyn Watch,
) -> Result<Run, ExperimentError> {
    let ready = Ready::open(plan, source, stop)?;
    let mut run = session::begin(&measuring.session)?;
    let prepared = ready.prepare(measuring, &mut run)?;
    let ongoing = measuring.start(run)?;
    let ended_by = prepared.measure(measuring, &ongoing, stop, watch)?;
    Ok(ongoing.finish(ended_by)?)
}

/// A subscriber that has a bus of its own.
struct ProbeSubscriber {
    bus: Bus,
    subscription: Subscription<Probe>,
    /// Whether the kernel stamps what comes.
    stamped: bool,
}

/// Who publishes.
enum Publishing<'s> {
    Thread(Publisher<Probe>),
    Elsewhere(Box<dyn Source + 's>),
}

/// Publisher and subscribers, between which the way is open.
pub(crate) struct Ready<'s> {
    plan: LatencyPlan,
    subscribers: Vec<ProbeSubscriber>,
    publishing: Publishing<'s>,
}

impl<'s> Ready<'s> {
    /// Opens everything, and waits until a message has come to each subscriber.
    pub(crate) fn open(
        plan: &LatencyPlan,
        source: Option<Box<dyn Source + 's>>,
        stop: &Stop,
    ) -> Result<Self, MessagesError> {
        let size = plan.publish.message_bytes;
        Probe::padding_of(size).ok_or(MessagesError::Size(size))?;
        if plan.subscribers == 0 {
            return Err(MessagesError::NoSubscriber);
        }
        let provider = provider::open(&plan.url)?;
        let subscribers = (0..plan.subscribers).map(|_| ProbeSubscriber::open(plan, &provider));
        let subscribers = subscribers.collect::<Result<Vec<_>, _>>()?;
        let publishing = match source {
            Some(source) => Publishing::Elsewhere(source),
            None => {
                let bus = Bus::over(&plan.url, provider);
                Publishing::Thread(bus.publisher(&plan.channel)?)
            }
        };
        let mut ready = Self {
            plan: plan.clone(),
            subscribers,
            publishing,
        };
        ready.open_the_way(stop)?;
        Ok(ready)
    }

    fn open_the_way(&mut self, stop: &Stop) -> Result<(), MessagesError> {
        let until = clock::now() + self.plan.patience;
        let mut published = 0;
        for (at, subscriber) in self.subscribers.iter_mut().enumerate() {
            while !subscriber.has_heard(&self.plan)? {
                if let Publishing::Elsewhere(source) = &mut self.publishing
                    && source.has_ended()
                {
                    return Err(self.failed());
                }
                if clock::now() >= until || stop.requested() {
                    return Err(MessagesError::Unheard {
                        url: self.plan.url.clone(),
                        subscriber: at + 1,
                        published,
                        waited: self.plan.patience,
                    });
                }
                if let Publishing::Thread(publisher) = &mut self.publishing {
                    greet(&self.plan.publish, publisher)?;
                    published += 1;
                }
            }
        }
        Ok(())
    }

    /// Why the source has ended before it began.
    fn failed(&mut self) -> MessagesError {
        let nobody = Publishing::Elsewhere(Box::new(Nobody));
        let failed = match std::mem::replace(&mut self.publishing, nobody) {
            Publishing::Elsewhere(source) => source.finish().err(),
            Publishing::Thread(_) => None,
        };
        let words = "it ended before it was told to begin".to_owned();
        MessagesError::Source(failed.unwrap_or(words))
    }

    /// Makes the series in the run.
    pub(crate) fn prepare(
        self,
        measuring: &Measuring,
        run: &mut RunWriter,
    ) -> Result<Prepared<'s>, ExperimentError> {
        let Self {
            plan,
            subscribers,
            publishing,
        } = self;
        let quit = Stop::default();
        let mut listeners = Vec::with_capacity(subscribers.len());
        for (at, subscriber) in subscribers.into_iter().enumerate() {
            let (recorders, names) = series::create(measuring, run, &plan, at, subscriber.stamped)?;
            let listener = Listener {
                name: series::name(at),
                bus: subscriber.bus,
                subscription: subscriber.subscription,
                receiving: plan.receiving,
                arrivals: ArrivalCounts::new(plan.publish.run, plan.publish.count),
                recorders,
                quit: quit.clone(),
                before: InletCounters::default(),
                trouble: None,
            };
            listeners.push((listener, names));
        }
        Ok(Prepared {
            plan,
            listeners,
            publishing,
            quit,
        })
    }
}

/// Stands where a source was.
struct Nobody;

impl Source for Nobody {
    fn begin(&mut self) -> std::io::Result<()> {
        Ok(())
    }

    fn has_ended(&mut self) -> bool {
        true
    }

    fn end(&mut self) {}

    fn finish(self: Box<Self>) -> Result<(Published, Vec<TuningMeasure>), String> {
        Err("there is none".to_owned())
    }
}

impl ProbeSubscriber {
    fn open(plan: &LatencyPlan, provider: &Arc<dyn Provider>) -> Result<Self, MessagesError> {
        let bus = Bus::over(&plan.url, Arc::clone(provider));
        let options = SubscriptionOptions {
            queue: plan.queue,
            room: plan.publish.message_bytes,
            ..SubscriptionOptions::default()
        };
        let subscription = bus.subscribe_with::<Probe>(&plan.channel, &options)?;
        Ok(Self {
            bus,
            subscription,
            stamped: false,
        })
    }

    /// Whether a message of this measurement came, within the time between two greetings.
    fn has_heard(&mut self, plan: &LatencyPlan) -> Result<bool, MessagesError> {
        let mut probe = Probe::default();
        // An error may pass: an interface that is just coming up. If it stays, nothing is heard.
        let Ok(Some(delivery)) = self.subscription.recv_into(&mut probe, BETWEEN_GREETINGS) else {
            return Ok(false);
        };
        self.stamped = delivery.stamps.kernel.is_some();
        Ok(probe.run == plan.publish.run)
    }
}

/// A measurement whose series stand in a run that has not begun: it may be a part of a larger one.
pub(crate) struct Prepared<'s> {
    plan: LatencyPlan,
    listeners: Vec<(Listener, Vec<String>)>,
    publishing: Publishing<'s>,
    quit: Stop,
}

impl Prepared<'_> {
    /// Measures in a run that has begun, and writes into it what became of the messages.
    pub(crate) fn measure(
        self,
        measuring: &Measuring,
        ongoing: &Ongoing,
        stop: &Stop,
        watch: &mut dyn Watch,
    ) -> Result<EndedBy, ExperimentError> {
        let plan = self.plan;
        let (publisher, mut source) = match self.publishing {
            Publishing::Thread(publisher) => (Some(publisher), None),
            Publishing::Elsewhere(source) => (None, Some(source)),
        };
        let thread_ended = Stop::default();
        let (told, tells) = mpsc::sync_channel(1);
        let (listened, listeners) = mpsc::sync_channel(self.listeners.len());
        note_provider(ongoing, &self.listeners);
        let mut members: Vec<Member> = self
            .listeners
            .into_iter()
            .map(|listener| listening(measuring, listener, ongoing.origin, &listened))
            .collect();
        members.extend(publisher.map(|it| publishing(measuring, &plan, it, &thread_ended, told)));
        let ended_by = {
            let mut attendant = Attendant {
                watch,
                source: source.as_mut().map(|it| &mut **it as &mut dyn Source),
                stop,
                thread_ended: &thread_ended,
                quit: &self.quit,
                begun: false,
                ended_at: None,
            };
            measuring_threads::work(ongoing, members, stop, &mut attendant)?
        };
        drop(listened);
        let mut listeners: Vec<Listener> = listeners.iter().collect();
        listeners.sort_by(|a, b| a.name.len().cmp(&b.name.len()).then(a.name.cmp(&b.name)));
        let published = match source {
            Some(source) => tell_of_source(ongoing, &plan, source),
            None => tells.recv().ok(),
        };
        conclude(ongoing, &plan, listeners, published);
        Ok(ended_by)
    }
}

/// The thread of one subscriber.
fn listening(
    measuring: &Measuring,
    (mut listener, names): (Listener, Vec<String>),
    origin: MonotonicTime,
    listened: &SyncSender<Listener>,
) -> Member {
    let listened = listened.clone();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let work = move |_: &mut LoopContext<'_>| {
        listener.run(origin);
        // Gone only if the main thread has failed.
        let _ = listened.send(listener);
    };
    measuring.member(&names, Box::new(work))
}

/// The thread that publishes.
fn publishing(
    measuring: &Measuring,
    plan: &LatencyPlan,
    mut publisher: Publisher<Probe>,
    ended: &Stop,
    told: SyncSender<Published>,
) -> Member {
    let (plan, ended) = (plan.publish, ended.clone());
    let work = move |context: &mut LoopContext<'_>| {
        let published = publish_on_beat(&plan, &mut publisher, context);
        let _ = told.send(published);
        ended.request();
    };
    measuring.member(&OF_PUBLISHER, Box::new(work))
}

/// What the provider asked of the system and did not get: a receive buffer, above all.
fn note_provider(ongoing: &Ongoing, listeners: &[(Listener, Vec<String>)]) {
    let Some((listener, names)) = listeners.first() else {
        return;
    };
    let measures = listener.bus.measures();
    let measures: Vec<TuningMeasure> = measures.iter().map(session::measure_of).collect();
    for warning in measuring_threads::refusals(&measures) {
        ongoing.running.add_warning(warning);
    }
    for name in names {
        ongoing.running.add_series_tuning(name, measures.clone());
    }
}

/// What a publisher elsewhere says of itself; nothing if it failed, which the run then says.
fn tell_of_source(
    ongoing: &Ongoing,
    plan: &LatencyPlan,
    source: Box<dyn Source + '_>,
) -> Option<Published> {
    match source.finish() {
        Ok((published, measures)) => {
            for warning in measuring_threads::refusals(&measures) {
                ongoing.running.add_warning(warning);
            }
            for name in OF_PUBLISHER {
                ongoing.running.add_series_tuning(name, measures.clone());
            }
            Some(published)
        }
        Err(said) => {
            ongoing.running.add_warning(Warning {
                id: "publisher_failed".to_owned(),
                text: format!(
                    "the publisher on {} failed ({said}): what it did not publish any more is \
                     counted as lost",
                    plan.url
                ),
                remedy: None,
                ..Warning::default()
            });
            None
        }
    }
}

/// Writes down what became of the messages.
fn conclude(
    ongoing: &Ongoing,
    plan: &LatencyPlan,
    listeners: Vec<Listener>,
    published: Option<Published>,
) {
    let published = published.unwrap_or(Published {
        published: plan.publish.count,
        refused: 0,
    });
    for listener in &listeners {
        let Some((error, count)) = &listener.trouble else {
            continue;
        };
        ongoing.running.add_warning(Warning {
            id: "receiving_failed".to_owned(),
            text: format!("{}: receiving failed {count} times: {error}", listener.name),
            remedy: None,
            ..Warning::default()
        });
    }
    let close = |listener: Listener| listener.close(published.published);
    let messages = Messages {
        url: plan.url.clone(),
        message_bytes: plan.publish.message_bytes as u64,
        published: published.published,
        refused: published.refused,
        subscribers: listeners.into_iter().map(close).collect(),
    };
    ongoing.running.update(|run| run.messages = Some(messages));
}

/// A number that no other measurement of today has.
#[must_use]
pub fn run_number() -> i64 {
    let time = clock::now().as_ns();
    let mixed = (time ^ (u64::from(std::process::id()) << 40)).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    (mixed >> 1).cast_signed()
}

/// Spinning takes a CPU; where there is no other, the publisher never runs.
#[must_use]
pub fn can_spin(receiving: Receiving, subscribers: usize, cpus: usize) -> bool {
    receiving == Receiving::Blocking || subscribers < cpus
}
