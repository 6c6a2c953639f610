//! The measurement as an experiment: run folder in, completed run out.

use std::sync::mpsc::{self, SyncSender};

use kadenz_msg::bus::{Bus, Publisher};
use kadenz_msg::provider;
use kadenz_record::run::folder::RunWriter;
use kadenz_record::run::messages::{Messages, PUBLISH_LATENESS};
use kadenz_record::run::model::{EndedBy, Run, Warning};
use kadenz_rt::clock::{self, MonotonicTime};

use super::latency_probe::LatencyProbe;
use super::listener::Listener;
use super::publisher::{Published, greet, publish_on_beat};
use super::publisher::{PublishingControl, Source};
use super::series::{self, OF_PUBLISHER, SubscriberRecorders};
use super::{LatencyPlan, MessagesError, Receiving};
use crate::measuring::{ExperimentError, Measuring, unique_number};
use crate::measuring_threads::{self, LoopContext, Member, Watch};
use crate::session::{self, Ongoing};
use crate::stop::Stop;

/// Measures how long messages take from a publisher to each subscriber. The publisher is a thread of
/// this process, or `source`.
///
/// # Errors
/// [`ExperimentError`]; rights that are missing are not an error but a warning in the run. Where the bus
/// cannot be opened, or no message comes through, no run folder is made.
pub fn latency(
    measuring: &Measuring,
    plan: &LatencyPlan,
    source: Option<Box<dyn Source + '_>>,
    stop: &Stop,
    watch: &mut dyn Watch,
) -> Result<Run, ExperimentError> {
    let ready = PubSubConnection::open(plan, source, stop)?;
    let mut run = session::begin(&measuring.session)?;
    let prepared = ready.prepare(measuring, &mut run)?;
    let ongoing = measuring.start(run)?;
    let ended_by = prepared.measure(measuring, &ongoing, stop, watch)?;
    Ok(ongoing.finish(ended_by)?)
}

/// The publishing side.
enum Publishing<'s> {
    Thread(Publisher<LatencyProbe>),
    Elsewhere(Box<dyn Source + 's>),
}

/// Publisher and subscribers, of which each subscriber has received a message.
pub(crate) struct PubSubConnection<'s> {
    plan: LatencyPlan,
    listeners: Vec<Listener>,
    publishing: Publishing<'s>,
}

impl<'s> PubSubConnection<'s> {
    /// Opens everything, and waits until a message has come to each subscriber.
    pub(crate) fn open(
        plan: &LatencyPlan,
        source: Option<Box<dyn Source + 's>>,
        stop: &Stop,
    ) -> Result<Self, MessagesError> {
        let size = plan.publish.message_bytes;
        LatencyProbe::padding_of(size).ok_or(MessagesError::Size(size))?;
        if plan.subscribers == 0 {
            return Err(MessagesError::NoSubscriber);
        }
        // The URL of a probe's middleware belongs to no provider.
        let by_probes = plan.subscriber.is_some() && source.is_some();
        let provider = (!by_probes)
            .then(|| provider::open(&plan.url))
            .transpose()?;
        let listeners = (0..plan.subscribers).map(|at| Listener::open(plan, at, provider.as_ref()));
        let listeners = listeners.collect::<Result<Vec<_>, _>>()?;
        let publishing = match (source, provider) {
            (Some(source), _) => Publishing::Elsewhere(source),
            (None, provider) => {
                let provider = provider.ok_or(MessagesError::NoSubscriber)?;
                let bus = Bus::over(&plan.url, provider);
                Publishing::Thread(bus.publisher(&plan.channel)?)
            }
        };
        let mut ready = Self {
            plan: plan.clone(),
            listeners,
            publishing,
        };
        match ready.connect_all(stop)? {
            true => Ok(ready),
            false => Err(ready.failed()),
        }
    }

    /// Waits until every subscriber has heard the publisher; false if a source ended before that.
    fn connect_all(&mut self, stop: &Stop) -> Result<bool, MessagesError> {
        let until = clock::now() + self.plan.timeout;
        let mut published = 0;
        for (at, listener) in self.listeners.iter_mut().enumerate() {
            while !listener.has_heard(&self.plan)? {
                if let Publishing::Elsewhere(source) = &mut self.publishing
                    && source.has_ended()
                {
                    return Ok(false);
                }
                if clock::now() >= until || stop.requested() {
                    return Err(MessagesError::Unheard {
                        url: self.plan.url.clone(),
                        subscriber: at + 1,
                        published,
                        waited: self.plan.timeout,
                    });
                }
                if let Publishing::Thread(publisher) = &mut self.publishing {
                    greet(&self.plan.publish, publisher)?;
                    published += 1;
                }
            }
        }
        Ok(true)
    }

    /// The error of a source that ended before the start.
    fn failed(self) -> MessagesError {
        let failed = match self.publishing {
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
    ) -> Result<LatencySetup<'s>, ExperimentError> {
        let Self {
            plan,
            listeners,
            publishing,
        } = self;
        let quit = Stop::default();
        let mut measured = Vec::with_capacity(listeners.len());
        for (at, listener) in listeners.into_iter().enumerate() {
            let (recorders, series) = series::create(measuring, run, &plan, at, listener.stages())?;
            measured.push(Measured {
                listener,
                recorders,
                series,
                quit: quit.clone(),
            });
        }
        Ok(LatencySetup {
            plan,
            measured,
            publishing,
            quit,
        })
    }
}

/// A subscriber and the series that it fills.
struct Measured {
    listener: Listener,
    recorders: SubscriberRecorders,
    series: Vec<String>,
    /// Requested when no more messages will come.
    quit: Stop,
}

/// A measurement whose series exist in a run that has not begun; the run may hold other measurements, too.
pub(crate) struct LatencySetup<'s> {
    plan: LatencyPlan,
    measured: Vec<Measured>,
    publishing: Publishing<'s>,
    quit: Stop,
}

impl LatencySetup<'_> {
    /// Measures in a run that has begun, and writes the counts of the messages into it.
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
        let (counts_sender, counts) = mpsc::sync_channel(1);
        let (listened, listeners) = mpsc::sync_channel(self.measured.len());
        note_measures(ongoing, &self.measured);
        note_middleware(ongoing, source.as_deref(), &self.measured);
        let mut members: Vec<Member> = self
            .measured
            .into_iter()
            .map(|measured| listening(measuring, measured, ongoing.origin, &listened))
            .collect();
        members.extend(
            publisher.map(|it| publishing(measuring, &plan, it, &thread_ended, counts_sender)),
        );
        let ended_by = {
            let mut attendant = PublishingControl {
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
        listeners.sort_by(|a, b| (a.name().len(), a.name()).cmp(&(b.name().len(), b.name())));
        let published = match source {
            Some(source) => note_source(ongoing, &plan, source),
            None => counts.recv().ok(),
        };
        let has_failed = published.is_none() || listeners.iter().any(Listener::has_failed);
        conclude(ongoing, &plan, listeners, published);
        Ok(match has_failed {
            true => EndedBy::Failed,
            false => ended_by,
        })
    }
}

/// The thread of one subscriber.
fn listening(
    measuring: &Measuring,
    mut measured: Measured,
    origin: MonotonicTime,
    listened: &SyncSender<Listener>,
) -> Member {
    let listened = listened.clone();
    let series = std::mem::take(&mut measured.series);
    let is_probe = matches!(measured.listener, Listener::Program(_));
    let work = move |_: &mut LoopContext<'_>| {
        let Measured {
            mut listener,
            mut recorders,
            quit,
            ..
        } = measured;
        listener.run(&mut recorders, &quit, origin);
        // The receiver is gone only if the main thread has failed.
        let _ = listened.send(listener);
    };
    let names: Vec<&str> = series.iter().map(String::as_str).collect();
    match is_probe {
        true => measuring.attending(work),
        false => measuring.member(&names, work),
    }
}

/// The thread that publishes.
fn publishing(
    measuring: &Measuring,
    plan: &LatencyPlan,
    mut publisher: Publisher<LatencyProbe>,
    ended: &Stop,
    counts: SyncSender<Published>,
) -> Member {
    let (plan, ended) = (plan.publish, ended.clone());
    let work = move |context: &mut LoopContext<'_>| {
        let published = publish_on_beat(&plan, &mut publisher, context);
        let _ = counts.send(published);
        ended.request();
    };
    measuring.member(&OF_PUBLISHER, work)
}

/// Notes what the provider requested of the system and did not get, above all a receive buffer, and what each probe
/// requested.
fn note_measures(ongoing: &Ongoing, measured: &[Measured]) {
    let mut is_first = true;
    for it in measured {
        let measures = match &it.listener {
            Listener::Program(program) => program.measures().to_vec(),
            // All subscribers have the same provider.
            Listener::Bus(listener) if std::mem::take(&mut is_first) => {
                session::measures_of(&listener.bus.measures())
            }
            Listener::Bus(_) => continue,
        };
        ongoing.note_tuning(&it.series, &measures);
    }
}

/// Notes the middleware that the probes report.
fn note_middleware(ongoing: &Ongoing, source: Option<&dyn Source>, measured: &[Measured]) {
    let publisher = source.and_then(Source::middleware);
    let subscriber = measured.first().and_then(|it| match &it.listener {
        Listener::Program(program) => Some(program.middleware()),
        Listener::Bus(_) => None,
    });
    let sides = [
        ("publisher_middleware", publisher),
        ("subscriber_middleware", subscriber),
    ];
    for (name, middleware) in sides {
        if let Some(middleware) = middleware {
            let (name, middleware) = (name.to_owned(), middleware.into());
            ongoing.running.update(|run| {
                run.parameters.insert(name, middleware);
            });
        }
    }
}

/// Notes what another process reports of its publishing; nothing if it failed, which the run then reports.
fn note_source(
    ongoing: &Ongoing,
    plan: &LatencyPlan,
    mut source: Box<dyn Source + '_>,
) -> Option<Published> {
    ongoing.running.add_warnings(source.notes());
    match source.finish() {
        Ok((published, measures)) => {
            ongoing.note_tuning(OF_PUBLISHER, &measures);
            if published.not_run > 0 {
                let warning = measuring_threads::not_run(PUBLISH_LATENESS, published.not_run);
                ongoing.running.add_warning(warning);
            }
            Some(published)
        }
        Err(said) => {
            ongoing.running.add_warning(Warning::new(
                "publisher_failed",
                format!(
                    "the publisher on {} failed ({said}): what it did not publish any more is \
                     counted as lost",
                    plan.url
                ),
                None,
            ));
            None
        }
    }
}

/// Writes the counts of the messages into the run.
fn conclude(
    ongoing: &Ongoing,
    plan: &LatencyPlan,
    listeners: Vec<Listener>,
    published: Option<Published>,
) {
    let published = published.unwrap_or(Published {
        published: plan.publish.count,
        ..Published::default()
    });
    ongoing
        .running
        .add_warnings(listeners.iter().flat_map(Listener::warnings));
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
    (unique_number() >> 1).cast_signed()
}

/// Whether subscribers may spin: spinning takes a CPU, and without another one the publisher never runs.
#[must_use]
pub fn can_spin(receiving: Receiving, subscribers: usize, cpus: usize) -> bool {
    receiving == Receiving::Blocking || subscribers < cpus
}
