//! The measurement as an experiment: run folder in, completed run out.

use std::net::IpAddr;
use std::sync::mpsc::{self, SyncSender};
use std::time::Duration;

use kadenz_record::run::folder::RunWriter;
use kadenz_record::run::model::{EndedBy, Run, TuningMeasure, Warning};
use kadenz_record::run::network::{Broadcasts, Interface, LATENESS, LostHere, Network, WirePath};
use kadenz_rt::clock::MonotonicTime;
use kadenz_rt::host::Root;
use kadenz_rt::net::counters::InterfaceCounters;
use kadenz_rt::net::interface;
use kadenz_rt::net::port::{PortOptions, UdpPort};
use kadenz_udp::wire::RunId;

use super::measurement_sender::{MeasurementSender, SentMeasurements};
use super::one_way::{self, Exchanges, OneWayEstimator};
use super::packet_counts::PacketCounts;
use super::receiver::Receiver;
use super::recorders::{ProbeRecorders, Series};
use super::sender::{self, Announced, CannotPack, Sender, departures};
use super::{Clocks, Loop, ProbePlan, SocketReceiving, trust};
use crate::measuring::{ExperimentError, Measuring, unique_number};
use crate::measuring_threads::{self, LoopContext, Member, Watch};
use crate::session::{self, Ongoing};
use crate::stop::Stop;
use crate::testbed::wire::{EthernetFrame, Payload, Tag};

/// Measures round trips to devices, and records them in a run.
///
/// ```no_run
/// use kadenz_lab::measuring::Measuring;
/// use kadenz_lab::measuring_threads::NoWatch;
/// use kadenz_lab::session::SessionPlan;
/// use kadenz_lab::stop::Stop;
/// use kadenz_lab::udp::probe::{Device, ProbePlan, probe};
/// use kadenz_rt::beat::Rate;
///
/// let arm = Device { name: "arm".to_owned(), address: "10.0.0.5:6176".parse()? };
/// let plan = ProbePlan {
///     count: Some(10_000),
///     ..ProbePlan::new(vec![arm], "1kHz".parse::<Rate>()?.interval())
/// };
/// let measuring = Measuring::new(SessionPlan::new("udp-send", "arm-run"));
/// let run = probe(&measuring, &plan, &Stop::default(), &mut NoWatch)?;
/// for series in &run.series {
///     println!("{}: {} values", series.name, series.counts.recorded);
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// [`ExperimentError`]; missing rights are not an error but a warning in the run. Where the
/// port cannot be opened or the packets not made, no run folder is made.
pub fn probe(
    measuring: &Measuring,
    plan: &ProbePlan,
    stop: &Stop,
    watch: &mut dyn Watch,
) -> Result<Run, ExperimentError> {
    let port = open(plan)?;
    let mut run = session::begin(&measuring.session)?;
    let prepared = ProbeSetup::new(measuring, plan, port, &mut run)?;
    let ongoing = measuring.start(run)?;
    let ended_by = prepared.measure(measuring, &ongoing, stop, watch)?;
    Ok(ongoing.finish(ended_by)?)
}

/// The port of a plan that can be measured.
pub(crate) fn open(plan: &ProbePlan) -> Result<UdpPort, ExperimentError> {
    if plan.devices.is_empty() {
        return Err(ExperimentError::NoDevices);
    }
    let unfit = |error: CannotPack| ExperimentError::Payload(error.to_string());
    sender::packet(plan, RunId(0)).map_err(unfit)?;
    Ok(UdpPort::open(&plan.port)?)
}

/// A measurement whose series exist in a run that has not begun; the run may hold other measurements, too.
pub(crate) struct ProbeSetup {
    plan: ProbePlan,
    id: RunId,
    sender: Sender,
    announced: Announced,
    second: UdpPort,
    port_measures: Vec<TuningMeasure>,
    recorders: ProbeRecorders,
    received: Vec<String>,
    measurement_sender: Option<MeasurementSender>,
    ways: Option<(Exchanges, OneWayEstimator)>,
}

impl ProbeSetup {
    /// Makes the series of a plan, the sender and the receiver.
    pub(crate) fn new(
        measuring: &Measuring,
        plan: &ProbePlan,
        port: UdpPort,
        run: &mut RunWriter,
    ) -> Result<Self, ExperimentError> {
        let plan = &ProbePlan {
            timeout: plan.timeout_with(measuring.deadline),
            ..plan.clone()
        };
        let series = Series::create(measuring, run, plan, &port)?;
        let id = RunId((unique_number() >> 32) as u32);
        let (announcer, announced) = departures();
        let second = port.try_clone()?;
        let port_measures = session::measures_of(&port.granted().measures);
        let resolution_ns = plan.device_resolution.as_nanos();
        let resolution_ns = u64::try_from(resolution_ns).unwrap_or(u64::MAX);
        let devices = plan.devices.len();
        let ways = series.ways;
        let ways = ways.map(|ways| one_way::one_way(devices, resolution_ns, ways));
        let sender = Sender::new(plan, id, port, announcer, series.lateness);
        let sender = sender.map_err(|error| ExperimentError::Payload(error.to_string()))?;
        Ok(Self {
            plan: plan.clone(),
            id,
            sender,
            announced,
            second,
            port_measures,
            recorders: series.recorders,
            received: series.received,
            measurement_sender: measurement_sender(plan, id)?,
            ways,
        })
    }

    /// Measures in a run that has begun, and writes the counts of the packets into it.
    pub(crate) fn measure(
        mut self,
        measuring: &Measuring,
        ongoing: &Ongoing,
        stop: &Stop,
        watch: &mut dyn Watch,
    ) -> Result<EndedBy, ExperimentError> {
        let plan = self.plan.clone();
        let before = NetworkPath::look(&plan);
        let (result, results) = mpsc::sync_channel(1);
        let (exchanges, mut estimator) = self.ways.take().unzip();
        if let (Some(estimator), Clocks::Synchronised { apart }) = (&mut estimator, plan.clocks) {
            estimator.believe(trust::synchronised(apart, ongoing.origin));
        }
        let estimator = estimator.map(|estimator| std::thread::spawn(|| estimator.run()));
        let members = self.members(measuring, ongoing, exchanges, &result);
        let ended_by = measuring_threads::work(ongoing, members, stop, watch)?;
        let mut receiver = results
            .recv()
            .map_err(|_| measuring_threads::MeasuringThreadError::Lost)?;
        ongoing.running.add_warnings(warnings(&receiver));
        if let Some(Ok(facts)) = estimator.map(std::thread::JoinHandle::join) {
            trust::note_ways(ongoing, &plan, facts);
        }
        let here = before.lost_since(&mut receiver);
        let network = Network {
            payload_bytes: u32::try_from(plan.payload_bytes).unwrap_or(u32::MAX),
            path: before.path(&plan),
            testbed: plan.wiring.testbed().cloned(),
            interface: before.interface,
            here: Some(here),
            foreign: receiver.counts.foreign(),
            broadcasts: broadcasts(&mut receiver, &plan),
            flows: receiver.counts.close(&plan.devices),
            max_loss: plan.max_loss,
        };
        ongoing.running.update(|run| run.network = Some(network));
        Ok(ended_by)
    }

    /// The threads of the measurement; notes what their socket was granted.
    fn members(
        self,
        measuring: &Measuring,
        ongoing: &Ongoing,
        exchanges: Option<Exchanges>,
        result: &SyncSender<Receiver>,
    ) -> Vec<Member> {
        let plan = &self.plan;
        let counts = PacketCounts::new(plan, self.id);
        let (second, announced) = (self.second, self.announced);
        let origin = ongoing.origin;
        let mut receiver = Receiver::new(plan, second, announced, counts, self.recorders, origin);
        if let Some(measurement_sender) = self.measurement_sender {
            receiver.measurement_sender(measurement_sender);
        }
        if let Some(exchanges) = exchanges {
            receiver.set_exchanges(exchanges);
        }
        ongoing.note_tuning(&self.received, &self.port_measures);
        let received: Vec<&str> = self.received.iter().map(String::as_str).collect();
        members(measuring, plan, (self.sender, receiver), &received, result)
    }
}

fn members(
    measuring: &Measuring,
    plan: &ProbePlan,
    (mut sender, mut receiver): (Sender, Receiver),
    received: &[&str],
    result: &SyncSender<Receiver>,
) -> Vec<Member> {
    let result = result.clone();
    let plan = plan.clone();
    if plan.on_one_thread() {
        let both = move |context: &mut LoopContext<'_>| {
            one_after_the_other(&plan, &mut sender, &mut receiver, context);
            let _ = result.send(receiver);
        };
        let mut all = vec![LATENESS];
        all.extend(received);
        return vec![measuring.member(&all, both)];
    }
    let send = move |context: &mut LoopContext<'_>| {
        sender.run(&plan, context);
        sender.over();
    };
    let receive = move |context: &mut LoopContext<'_>| {
        receiver.run(context.clock);
        // The receiver is gone only if the main thread has failed.
        let _ = result.send(receiver);
    };
    vec![
        measuring.member(&[LATENESS], send),
        measuring.member(received, receive),
    ]
}

/// The closed loop on one thread: a packet, its answers, the next beat.
pub(super) fn one_after_the_other(
    plan: &ProbePlan,
    sender: &mut Sender,
    receiver: &mut Receiver,
    context: &mut LoopContext<'_>,
) {
    while let Some(intended) = sender.next_beat(plan, context) {
        sender.await_beat(intended, context);
        let departed = sender.depart(intended, context);
        let until = listens_until(plan, intended, departed.at);
        let asks_until = match plan.receiving {
            SocketReceiving::Spinning => until.min(departed.at + receiver.spins_for),
            SocketReceiving::Blocking | SocketReceiving::BusyPoll => until,
        };
        // Its counts are recorded when there is time: none while an answer may come.
        let received = receiver.first_answer(asks_until, context.clock);
        let sequence = sender.note(&departed);
        receiver.settle(received);
        receiver.spin(sequence, asks_until, context.clock);
        match plan.looping {
            Loop::Closed => receiver.await_answers(sequence, until, context.clock),
            Loop::Open => receiver.await_outstanding(until, context.clock),
        }
        if context.stop.requested() {
            break;
        }
    }
    sender.over();
    receiver.run(context.clock);
}

/// Until when the sending thread listens for answers: not into the next beat, and not for answers that would be too
/// late.
pub(super) fn listens_until(
    plan: &ProbePlan,
    intended: MonotonicTime,
    departed: MonotonicTime,
) -> MonotonicTime {
    match plan.looping {
        Loop::Closed => intended.max(departed) + plan.interval.as_duration().min(plan.timeout),
        Loop::Open => (intended + listens_for(plan)).min(departed + plan.timeout),
    }
}

/// How long after a beat its thread may still listen and keep the next beat.
fn listens_for(plan: &ProbePlan) -> Duration {
    const BEFORE_THE_BEAT: Duration = Duration::from_micros(200);
    let interval = plan.interval.as_duration();
    interval - BEFORE_THE_BEAT.min(interval / 4)
}

/// How the devices answered together, with the time of an answer on the wire.
fn broadcasts(receiver: &mut Receiver, plan: &ProbePlan) -> Option<Broadcasts> {
    let payload = Payload::new(plan.payload_bytes as u64).ok();
    let frames = payload.into_iter().flat_map(|it| it.frames(Tag::None));
    let counted = receiver.counts.broadcasts()?;
    Some(Broadcasts {
        most_at_once: receiver.most_at_once,
        answer_bytes: frames.map(EthernetFrame::bytes_on_link).sum(),
        ..counted
    })
}

/// A connection to the logging server, where there is one.
fn measurement_sender(
    plan: &ProbePlan,
    id: RunId,
) -> Result<Option<MeasurementSender>, ExperimentError> {
    let Some(server) = plan.log else {
        return Ok(None);
    };
    let any = if server.is_ipv4() {
        "0.0.0.0:0"
    } else {
        "[::]:0"
    };
    let port = UdpPort::open(&PortOptions {
        local: any.parse().unwrap_or(server),
        peer: Some(server),
        ..PortOptions::default()
    })?;
    let measurement_sender = MeasurementSender::new(port, id, plan.token.clone());
    let mut measurement_sender =
        measurement_sender.map_err(|error| ExperimentError::Payload(error.to_string()))?;
    measurement_sender.introduce();
    Ok(Some(measurement_sender))
}

/// Warnings of the receiving side, beside its measurements.
fn warnings(receiver: &Receiver) -> Vec<Warning> {
    let mut warnings = Vec::new();
    if let Some((error, count)) = receiver.trouble {
        let text = format!("the network reported {count} errors, the last: {error}");
        warnings.push(Warning::new(
            "network_errors",
            text,
            Some("see that every device runs `kadenz udp echo` or its firmware"),
        ));
    }
    if receiver.counts.damaged() > 0 {
        let text = format!(
            "{} answers did not hold what was sent: bytes were changed on the way or in the device",
            receiver.counts.damaged()
        );
        warnings.push(Warning::new(
            "damaged",
            text,
            Some("look for a device that writes into its answers"),
        ));
    }
    if receiver.overslept > 0 {
        let text = format!(
            "{} answers came while the sending thread awaited the next beat, which is when they were timed: their \
             times are too long",
            receiver.overslept
        );
        let remedy = "receive on another thread: `--receive block`";
        warnings.push(Warning::new("overslept", text, Some(remedy)));
    }
    warnings.extend(receiver.sent_measurements().and_then(not_sent_warning));
    let lost = receiver.lost_reports();
    if lost > 0 {
        let text = format!(
            "the receiving thread stood still for so long that {lost} reports of the sender, two a beat, were lost: the \
             packets of those beats are missing from the counts and round trips, and their answers count as foreign"
        );
        let remedy = "leave the receiving thread a CPU, or lower the rate";
        warnings.push(Warning::new("unreported", text, Some(remedy)));
    }
    if let Some(stack) = receiver.stack.as_ref().filter(|stack| stack.unsplit > 0) {
        let text = format!(
            "of {} answers the parts of the time are unknown: their stamps were missing, or the wall \
             clock was set meanwhile",
            stack.unsplit
        );
        warnings.push(Warning::new(
            "unsplit",
            text,
            Some("their round trips were recorded nevertheless"),
        ));
    }
    warnings
}

/// The warning about measurements that the logging server lacks.
fn not_sent_warning(sent_measurements: SentMeasurements) -> Option<Warning> {
    let SentMeasurements {
        failed,
        batches,
        kept,
        refused,
    } = sent_measurements;
    let lacks = batches.saturating_sub(kept);
    let (text, remedy) = if refused > 0 {
        let text = format!(
            "the logging server refused this run, because it has as many controllers as it takes: it \
             lacks {lacks} of {batches} batches of measurements"
        );
        (text, "start it with a larger --max-controllers")
    } else if kept == 0 {
        let text =
            "the logging server never answered: it has no measurement of this run".to_owned();
        let remedy =
            "see that `kadenz udp log` of this version runs there, with the same --token-file";
        (text, remedy)
    } else if failed > 0 {
        let text = format!("{failed} measurements could not be sent to the logging server");
        (text, "see that `kadenz udp log` runs there all the time")
    } else if lacks > 0 {
        let text = format!(
            "the logging server did not confirm that it kept {lacks} of {batches} batches of measurements"
        );
        (text, "see its own run for what it lacks")
    } else {
        return None;
    };
    Some(Warning::new(
        "not_handed_on",
        text,
        Some(&format!("{remedy}; this run folder has them nevertheless")),
    ))
}

/// The interfaces to the devices, and the first one's earlier losses.
struct NetworkPath {
    /// The interface to the first device.
    interface: Option<Interface>,
    /// The interfaces to all devices that are reached by another one.
    others: Vec<(IpAddr, Option<Interface>)>,
    counters: Option<InterfaceCounters>,
}

impl NetworkPath {
    fn look(plan: &ProbePlan) -> Self {
        let mut addresses = plan.devices.iter().map(|device| device.address.ip());
        let name = addresses.next().and_then(interface_to);
        let others = addresses.filter_map(|address| {
            let other = interface_to(address);
            (other != name).then(|| (address, other.map(described)))
        });
        Self {
            others: others.collect(),
            counters: name.as_deref().and_then(counters_of),
            interface: name.map(described),
        }
    }

    /// The path that all devices of the plan have.
    fn path(&self, plan: &ProbePlan) -> Option<WirePath> {
        let devices = plan.devices.iter().map(|device| {
            let address = device.address.ip();
            let other = self.others.iter().find(|(it, _)| *it == address);
            let interface = other.map_or(&self.interface, |(_, interface)| interface);
            (address, interface.as_ref())
        });
        plan.wiring.path_to_all(plan.payload_bytes as u64, devices)
    }

    fn lost_since(&self, receiver: &mut Receiver) -> LostHere {
        let after = self.interface.as_ref().and_then(|it| counters_of(&it.name));
        let counters = self.counters.zip(after);
        LostHere {
            socket: receiver.dropped().unwrap_or(0),
            interface: counters.map_or(0, |(before, after)| after.since(&before).lost()),
            unsent: receiver.counts.unsent(),
        }
    }
}

fn counters_of(interface: &str) -> Option<InterfaceCounters> {
    InterfaceCounters::read(&Root::system(), interface).ok()
}

/// The name of the interface that packets to an address leave by.
fn interface_to(address: IpAddr) -> Option<String> {
    interface::route_to(address).ok()?.interface
}

fn described(name: String) -> Interface {
    let facts = interface::facts(&name).ok();
    Interface {
        kind: facts.as_ref().map(|it| it.kind.to_string()),
        driver: facts.as_ref().and_then(|it| it.driver.clone()),
        speed_mbit_s: facts.as_ref().and_then(|it| it.speed_mbit_s),
        mtu_bytes: facts.as_ref().and_then(|it| it.mtu),
        name,
    }
}
