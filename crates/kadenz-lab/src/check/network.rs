//! The network layer of a check: round trips at the check's rate, with the check's tuning.

use std::io::ErrorKind;
use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::time::Duration;

use kadenz_record::run::folder::RunWriter;
use kadenz_record::run::model::{EndedBy, Warning};
use kadenz_rt::beat::Interval;
use kadenz_rt::net::port::{OpenPortError, PortOptions, UdpPort};
use kadenz_rt::tuning::{self, Tuning};

use super::MIN_BEATS;
use crate::measuring::{ExperimentError, Measuring};
use crate::measuring_threads::Watch;
use crate::session::Ongoing;
use crate::stop::{Stop, StoppableThread};
use crate::udp::any_like;
use crate::udp::echo::{EchoDevice, EchoPlan};
use crate::udp::probe::{self, Device, Loop, ProbePlan, ProbeSetup, SocketReceiving};
use crate::udp::wiring::Wiring;

/// Reciprocal of the share of a check's time in which round trips are measured.
const SHARE: u32 = 5;
/// Beats before the first that is measured: the first packet waits for ARP.
const WARM_UP: u32 = 5;
/// An answer that takes longer, and longer than the deadline, counts as lost.
pub const TIMEOUT: Duration = Duration::from_secs(1);
/// Room for datagrams that wait to be read, in bytes.
const RECEIVE_BUFFER: usize = 4 << 20;

/// How a check measures round trips.
#[derive(Clone, Debug)]
pub struct NetworkPlan {
    /// The device that answers: an echo in this process, or another device.
    pub answering: Answering,
    /// UDP payload of a packet in bytes.
    pub payload_bytes: usize,
    /// What is known of the links to the device.
    pub wiring: Wiring,
}

/// Which device answers a check's packets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answering {
    /// An echo in this process, over the loopback: its round trips show the cost of this machine's own stack. The
    /// deadline does not apply to it, as the loopback is not the robot's network.
    Loopback,
    /// A device: the deadline applies to its round trips.
    Peer(Device),
}

impl NetworkPlan {
    /// How many round trips are measured in a check of `duration`: a fifth of its beats.
    ///
    /// None over the loopback where that is too few for p99.9; a device that the user named is measured at any length.
    pub(super) fn beats(&self, interval: Interval, duration: Duration) -> Option<u64> {
        let asked_for = self.answering != Answering::Loopback;
        super::beats_of_share(interval, duration, SHARE, asked_for)
    }
}

/// The open sockets of the sender and, over the loopback, of the echo.
pub(super) struct NetworkEndpoints {
    plan: ProbePlan,
    port: UdpPort,
    echo: Option<EchoDevice>,
}

impl NetworkEndpoints {
    pub(super) fn open(
        plan: &NetworkPlan,
        interval: Interval,
        beats: u64,
    ) -> Result<Self, ExperimentError> {
        let (device, echo) = match &plan.answering {
            Answering::Peer(device) => (device.clone(), None),
            Answering::Loopback => {
                ensure_loopback().map_err(ExperimentError::Port)?;
                let echo = EchoDevice::open(&EchoPlan::default())?;
                let device = Device {
                    name: "loopback".to_owned(),
                    address: echo.port().local_address(),
                };
                (device, Some(echo))
            }
        };
        let local = match echo {
            Some(_) => SocketAddr::from((Ipv4Addr::LOCALHOST, 0)),
            None => any_like(device.address),
        };
        let usual = ProbePlan::new(vec![device], interval);
        let plan = ProbePlan {
            count: Some(beats),
            warm_up: WARM_UP,
            payload_bytes: plan.payload_bytes,
            timeout: TIMEOUT,
            looping: Loop::Closed,
            receiving: SocketReceiving::Blocking,
            port: PortOptions {
                local,
                receive_buffer: Some(RECEIVE_BUFFER),
                ..usual.port
            },
            wiring: plan.wiring.clone(),
            ..usual
        };
        let port = probe::open(&plan)?;
        Ok(Self { plan, port, echo })
    }

    /// Makes the series in the run.
    pub(super) fn prepare(
        self,
        measuring: &Measuring,
        run: &mut RunWriter,
    ) -> Result<NetworkRound, ExperimentError> {
        let mut measuring = measuring.clone();
        if self.echo.is_some() {
            measuring.deadline = None;
        }
        let prepared = ProbeSetup::new(&measuring, &self.plan, self.port, run)?;
        Ok(NetworkRound {
            measuring,
            prepared,
            echo: self.echo,
        })
    }
}

/// The round trips of a check, with their series in the run.
pub(super) struct NetworkRound {
    measuring: Measuring,
    prepared: ProbeSetup,
    echo: Option<EchoDevice>,
}

impl NetworkRound {
    /// Measures them in a run that has begun.
    pub(super) fn measure(
        self,
        ongoing: &Ongoing,
        stop: &Stop,
        watch: &mut dyn Watch,
    ) -> Result<EndedBy, ExperimentError> {
        let tuning = &self.measuring.tuning;
        let answering = self.echo.map(|echo| echoing(echo, tuning));
        let answering = answering
            .transpose()
            .map_err(crate::measuring_threads::MeasuringThreadError::Thread)?;
        let ended_by = self.prepared.measure(&self.measuring, ongoing, stop, watch);
        drop(answering);
        ended_by
    }
}

/// Answers at the priority of the sending thread: the echo stands for a device, which is not measured, and an ordinary
/// thread would delay the answers. It may run on any CPU, as the sending thread may have its own.
fn echoing(mut echo: EchoDevice, tuning: &Tuning) -> std::io::Result<StoppableThread> {
    let tuning = Tuning {
        policy: tuning.policy,
        ..Tuning::default()
    };
    // A panic of the echo shows as unanswered packets.
    StoppableThread::start("echo", move |until| {
        // The sending thread gets the same refusal, and reports it.
        let _applied = tuning::apply(&tuning);
        echo.run(until);
    })
}

/// The warning that the check is too short to measure round trips.
pub(super) fn too_short(interval: Interval) -> Warning {
    let text = format!(
        "the network was not measured: a fifth of this check is fewer than {MIN_BEATS} round trips, which \
         99.9 % needs"
    );
    let remedy = super::command_with_enough_time(interval, SHARE);
    Warning::new("no_network", text, Some(&remedy))
}

/// Refuses a loopback interface that sends nothing: it is down in a network namespace that nobody set up.
fn ensure_loopback() -> Result<(), OpenPortError> {
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
    let sent = UdpSocket::bind(address).and_then(|socket| {
        let own = socket.local_addr()?;
        socket.send_to(&[0], own)
    });
    sent.map(drop).map_err(|error| {
        let errno = error.raw_os_error().unwrap_or_default();
        match error.kind() {
            ErrorKind::AddrNotAvailable
            | ErrorKind::NetworkUnreachable
            | ErrorKind::NetworkDown => OpenPortError::LoopbackDown { errno },
            _ => OpenPortError::Address { address, errno },
        }
    })
}

/// The warning that round trips over the loopback could not be measured.
pub(super) fn refused(error: &OpenPortError) -> Warning {
    let text = format!("the network was not measured: {error}");
    Warning::new(
        "no_network",
        text,
        Some("kadenz check --no-network leaves it out"),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn beats(answering: Answering, duration: Duration) -> Option<u64> {
        let interval = Interval::try_from(Duration::from_millis(1)).expect("not zero");
        let plan = NetworkPlan {
            answering,
            payload_bytes: 200,
            wiring: Wiring::default(),
        };
        plan.beats(interval, duration)
    }

    #[test]
    fn the_loopback_gets_a_fifth_that_carries_99_9_percent_or_nothing() {
        let of = |ms| beats(Answering::Loopback, Duration::from_millis(ms));
        assert_eq!(of(60_000), Some(12_000));
        assert_eq!(of(5000), Some(1000));
        assert_eq!(of(4999), None);
    }

    #[test]
    fn a_peer_gets_a_fifth_however_short() {
        let peer = Answering::Peer(Device {
            name: "foot".to_owned(),
            address: SocketAddr::from(([10, 0, 0, 5], 6176)),
        });
        let of = |ms| beats(peer.clone(), Duration::from_millis(ms));
        assert_eq!((of(500), of(1)), (Some(100), Some(1)));
    }

    #[test]
    fn the_remedy_names_a_duration_that_is_long_enough() {
        let interval = Interval::try_from(Duration::from_micros(700)).expect("not zero");
        let remedy = too_short(interval).remedy.unwrap_or_default();
        assert_eq!(remedy, "kadenz check --duration 4s");
        assert!(super::super::beats(interval, Duration::from_secs(4) / SHARE) >= MIN_BEATS);
    }
}
