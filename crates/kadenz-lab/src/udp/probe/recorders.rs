//! The series of a measurement.

use kadenz_record::run::folder::{RunWriter, SeriesRecorder};
use kadenz_record::run::labels::{DEVICE, Labels, VALUE, labels};
use kadenz_record::run::model::Kind;
use kadenz_record::run::network::{
    DENSEST_HALF, FIRST_REPLY, FROM_DEVICE, Flow, LAST_REPLY, LATENESS, RECEIVE_STACK,
    REPLY_SPREAD, RESPONSE, RTT, SEND_STACK, TO_DEVICE, WIRE_AND_DEVICE, half_of,
};
use kadenz_record::samples::Sample;
use kadenz_rt::net::port::{StampSource, UdpPort};

use super::density::{ArrivalClock, Density};
use super::packet_counts::ProbeReply;
use super::stack::Parts;
use super::{Destination, ProbePlan};
use crate::measuring::{ExperimentError, Measuring, SeriesMaker};

/// Recorders of the receiving side.
pub(super) struct ProbeRecorders {
    response: SeriesRecorder,
    rtt: SeriesRecorder,
    /// One of each device, where there are several.
    each: Vec<SeriesRecorder>,
    together: Option<BroadcastSeries>,
    device: Option<SeriesRecorder>,
    parts: Option<[SeriesRecorder; 3]>,
}

/// How devices answer a broadcast together.
struct BroadcastSeries {
    first: SeriesRecorder,
    last: SeriesRecorder,
    spread: Option<SeriesRecorder>,
    half: Option<SeriesRecorder>,
}

/// A recorder for each series, and the names of the sending and of the receiving side's.
pub(super) struct Series {
    pub(super) lateness: SeriesRecorder,
    pub(super) recorders: ProbeRecorders,
    /// The way there and the way back, where the devices' stamps are requested.
    pub(super) ways: Option<[SeriesRecorder; 2]>,
    pub(super) received: Vec<String>,
}

impl Series {
    /// Makes all series of a plan in the run.
    pub(super) fn create(
        measuring: &Measuring,
        run: &mut RunWriter,
        plan: &ProbePlan,
        port: &UdpPort,
    ) -> Result<Self, ExperimentError> {
        let mut maker = SeriesMaker {
            measuring,
            run,
            interval: plan.interval.as_duration(),
            made: Vec::new(),
        };
        let words = "handed to the system, less its beat";
        let lateness = maker.series((LATENESS, Labels::new()), words, Kind::Lateness, false)?;
        maker.made.clear();
        let several = plan.devices.len() > 1;
        let words = "the answer was there, less the packet's beat";
        let response = maker.series((RESPONSE, Labels::new()), words, Kind::Latency, true)?;
        let words = "the answer was there, less the packet's handing over";
        let rtt = maker.latency(RTT, words)?;
        let together = together(&mut maker, plan, port)?;
        let parts = parts(&mut maker, port)?;
        let words = "how long the device held the packet, by its own clock";
        let device = maker.latency_if(plan.device_stamps, "device", words)?;
        let words = "the packet's way to the device, by both clocks";
        let there = maker.latency_if(plan.device_stamps, TO_DEVICE, words)?;
        let words = "the answer's way from the device, by both clocks";
        let back = maker.latency_if(plan.device_stamps, FROM_DEVICE, words)?;
        let each = match several {
            true => each(&mut maker, plan)?,
            false => Vec::new(),
        };
        let received = maker.made;
        let recorders = ProbeRecorders {
            response,
            rtt,
            each,
            together,
            device,
            parts,
        };
        Ok(Self {
            lateness,
            recorders,
            ways: there.zip(back).map(<[SeriesRecorder; 2]>::from),
            received,
        })
    }
}

impl ProbeRecorders {
    /// Records an answer.
    ///
    /// # Real-time safety
    /// Real-time safe: no allocation, lock or system call.
    pub(super) fn record(&mut self, reply: &ProbeReply) {
        let sample = |since_ns: i64| Sample {
            sequence: reply.sequence.into(),
            intended_ns: since_ns,
            actual_ns: reply.received_ns,
            value_ns: reply.received_ns - since_ns,
        };
        self.response.record(sample(reply.intended_ns));
        let round_trip = sample(reply.sent_ns);
        self.rtt.record(round_trip);
        if let Some(recorder) = self.each.get_mut(reply.device) {
            recorder.record(round_trip);
        }
        if let Some(together) = &mut self.together {
            if reply.place == Some(0) {
                together.first.record(round_trip);
            }
            if reply.completes {
                together.last.record(round_trip);
            }
        }
        if let (Some(recorder), Some(stamps)) = (&mut self.device, reply.device_stamps) {
            recorder.record(Sample {
                value_ns: stamps.held_ns().cast_signed(),
                ..round_trip
            });
        }
    }

    /// Records how close together the answers to a broadcast came, of which this was the last.
    ///
    /// # Real-time safety
    /// Real-time safe: no allocation, lock or system call.
    pub(super) fn record_density(&mut self, reply: &ProbeReply, density: &Density) {
        let Some(together) = &mut self.together else {
            return;
        };
        let of = [
            (&mut together.spread, density.spread_ns),
            (&mut together.half, density.half_ns),
        ];
        for (recorder, value_ns) in of {
            if let Some(recorder) = recorder {
                recorder.record(Sample {
                    sequence: reply.sequence.into(),
                    intended_ns: reply.sent_ns,
                    actual_ns: reply.received_ns,
                    value_ns,
                });
            }
        }
    }

    /// Records the parts of a round trip's time.
    ///
    /// # Real-time safety
    /// Real-time safe: no allocation, lock or system call.
    pub(super) fn record_parts(&mut self, reply: &ProbeReply, parts: &Parts) {
        let Some(recorders) = &mut self.parts else {
            return;
        };
        let values = [parts.send_ns, parts.wire_and_device_ns, parts.receive_ns];
        for (recorder, value_ns) in recorders.iter_mut().zip(values) {
            recorder.record(Sample {
                sequence: reply.sequence.into(),
                intended_ns: reply.sent_ns,
                actual_ns: reply.received_ns,
                value_ns,
            });
        }
    }
}

/// The series of the parts of a round trip, if packets are stamped both ways.
fn parts(
    maker: &mut SeriesMaker<'_>,
    port: &UdpPort,
) -> Result<Option<[SeriesRecorder; 3]>, ExperimentError> {
    let granted = port.granted();
    let Some((sent, came)) = granted.transmit_stamps.zip(granted.receive_stamps) else {
        return Ok(None);
    };
    let by = |source| match source {
        StampSource::Software => "the kernel",
        StampSource::Hardware => "the network card",
    };
    let wire = sent.min(came);
    let send = "from handing over to the driver, stamped by the kernel";
    let send = maker.latency(SEND_STACK, send)?;
    let words = format!(
        "from the packet's departure to its answer's arrival, stamped by {}",
        by(wire)
    );
    let wire = maker.latency(WIRE_AND_DEVICE, &words)?;
    let receive = "from the answer's arrival, stamped by the kernel, to when it was there";
    let receive = maker.latency(RECEIVE_STACK, receive)?;
    Ok(Some([send, wire, receive]))
}

/// How devices answer a broadcast together, if packets are broadcast.
fn together(
    maker: &mut SeriesMaker<'_>,
    plan: &ProbePlan,
    port: &UdpPort,
) -> Result<Option<BroadcastSeries>, ExperimentError> {
    if plan.destination == Destination::Each {
        return Ok(None);
    }
    let devices = plan.devices.len();
    let came_by = ArrivalClock::of_port(port);
    let words = "the first device's answer was there, less the broadcast's handing over";
    let first = maker.latency(FIRST_REPLY, words)?;
    let words = "the last device's answer was there, less the broadcast's handing over";
    let last = maker.latency(LAST_REPLY, words)?;
    let by = came_by.words();
    let words = format!("from the first device's answer to the last one's, stamped by {by}");
    let spread = maker.latency_if(devices > 1, REPLY_SPREAD, &words)?;
    let words = format!(
        "the shortest time in which {} of {devices} answers came, stamped by {by}",
        half_of(devices)
    );
    // The program's own stamps are the times of the receiving calls.
    let dense = devices > 1 && came_by != ArrivalClock::Program;
    let half = maker.latency_if(dense, DENSEST_HALF, &words)?;
    Ok(Some(BroadcastSeries {
        first,
        last,
        spread,
        half,
    }))
}

fn each(
    maker: &mut SeriesMaker<'_>,
    plan: &ProbePlan,
) -> Result<Vec<SeriesRecorder>, ExperimentError> {
    let devices = plan.devices.iter();
    devices
        .map(|device| {
            let flow = Flow {
                device: device.name.clone(),
                ..Flow::default()
            };
            let name = flow.series(RTT, plan.devices.len());
            let words = format!("round trip to {} and back", device.address);
            let labels = labels([(VALUE, RTT), (DEVICE, &flow.device)]);
            maker.series((&name, labels), &words, Kind::Latency, false)
        })
        .collect()
}
