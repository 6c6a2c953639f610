//! A topology as networks of this machine: a network namespace per host, and one thread that acts as all links and
//! switches.
//!
//! Each host's only interface is a tap. The *wire*, a thread, reads the frames that it sends, feeds them to the
//! [fabric](super::fabric) and writes them to the receivers' taps at the times of the fabric. The run's series
//! [`SERIES`] holds the lateness of each frame: the testbed's own error, to be compared with any result measured in it.
//!
//! Networks and interfaces have no names outside of this process and end with it, whatever ends it; so do the programs
//! that it started. A [claim](kadenz_rt::net::claim) names the processes that those have started, so that a later
//! process can end them after a kill.

mod programs;
mod wire;

use std::io;
use std::sync::{Arc, mpsc};
use std::thread::JoinHandle;

use kadenz_record::recorder::Counts;
use kadenz_record::run::folder::{AddSeriesError, FinishRunError, SeriesSpec, StartRunError};
use kadenz_record::run::model::{EndedBy, Kind, Run, Series};
use kadenz_rt::net::claim::{Claim, ClaimError, HostRecord, Record};
use kadenz_rt::net::namespace::{Namespace, NamespaceError};
use kadenz_rt::net::tap::{Tap, TapError, TapPlan};
use serde::{Deserialize, Serialize};

use super::fabric::Mac;
use super::topology::Topology;
use crate::session::{self, Ongoing, SessionError, SessionPlan};
use crate::stop::Stop;
use crate::testbed::fabric::{LaneStatus, lanes_of};
use programs::Programs;
use wire::{Wire, WireCounters};

pub use super::{address, network};
pub use programs::{ProgramState, filled, program};
pub use wire::SERIES;

/// Why a testbed could not be built.
#[derive(Debug, thiserror::Error)]
pub enum TestbedError {
    /// Another testbed runs, or the claim cannot be taken.
    #[error(transparent)]
    Claim(#[from] ClaimError),
    /// A host's network could not be made.
    #[error(transparent)]
    Namespace(#[from] NamespaceError),
    /// A host's interface could not be made.
    #[error(transparent)]
    Tap(#[from] TapError),
    /// The run could not begin.
    #[error(transparent)]
    Session(#[from] SessionError),
    /// The run's series could not be made.
    #[error(transparent)]
    Series(#[from] AddSeriesError),
    /// The run could not be started.
    #[error(transparent)]
    Start(#[from] StartRunError),
    /// A thread could not be started, or the claim could not be written.
    #[error("cannot start the testbed: {0}")]
    System(#[from] io::Error),
}

/// Why a testbed ended with an error; it is removed nevertheless.
#[derive(Debug, thiserror::Error)]
pub enum EndError {
    /// The wire failed.
    #[error("the wire broke: {0}; what was measured until then is kept")]
    Wire(io::Error),
    /// The run could not be completed.
    #[error(transparent)]
    Finish(#[from] FinishRunError),
}

/// A running testbed, until it is dropped or ended.
pub struct Testbed {
    topology: Topology,
    networks: Arc<Vec<Namespace>>,
    claim: Claim,
    record: Record,
    programs: Programs,
    counters: Arc<WireCounters>,
    wire: Option<JoinHandle<io::Result<()>>>,
    /// Ends the wire, after everything that uses it.
    wire_stop: Stop,
    ongoing: Option<Ongoing>,
}

impl Testbed {
    /// Builds the testbed: networks, interfaces, the wire; no program runs yet.
    ///
    /// # Errors
    /// [`TestbedError`]; nothing of the testbed is left then.
    ///
    /// # Real-time safety
    /// Not real-time safe.
    pub fn build(topology: &Topology, plan: &SessionPlan) -> Result<Self, TestbedError> {
        let mut claim = Claim::take()?;
        let mut record = Record::of_this_process(&topology.name)?;
        let networks = networks(topology)?;
        let taps = taps(topology, &networks)?;
        for (at, host) in topology.hosts.iter().enumerate() {
            record.hosts.push(HostRecord {
                name: host.name.clone(),
                address: address(topology, at),
                descriptor: networks[at].descriptor(),
                inode: networks[at].inode()?,
            });
        }
        claim.write(&record)?;
        let mut run = session::begin(plan)?;
        let recorder = run.series(series())?;
        let ongoing = session::start(run, plan.interval, None)?;
        let counters = Arc::new(WireCounters::new(topology));
        let wire_stop = Stop::default();
        let wire = Wire {
            topology: topology.clone(),
            taps,
            recorder,
            origin: ongoing.origin,
            counters: counters.clone(),
            stop: wire_stop.clone(),
        };
        let (tuned_sender, tuned) = mpsc::sync_channel(1);
        let wire = std::thread::Builder::new()
            .name("wire".to_owned())
            .spawn(move || wire.carry(&tuned_sender))?;
        if let Ok(measures) = tuned.recv() {
            ongoing.note_tuning([SERIES], &measures);
        }
        Ok(Self {
            topology: topology.clone(),
            networks: Arc::new(networks),
            claim,
            record,
            programs: Programs::default(),
            counters,
            wire: Some(wire),
            wire_stop,
            ongoing: Some(ongoing),
        })
    }

    /// Starts the hosts' programs, FIFO 50 where that is granted, and marks the testbed as ready.
    ///
    /// [`Testbed::status`] reports a program that cannot be started.
    ///
    /// # Errors
    /// The thread for them cannot be started, or the claim cannot be written.
    pub fn start_programs(&mut self) -> io::Result<()> {
        self.programs = Programs::start(&self.topology, self.networks.clone())?;
        self.record.programs = self.programs.records();
        self.record.ready = true;
        self.claim.write(&self.record)
    }

    /// The network of a host.
    #[must_use]
    pub fn network_of(&self, host: usize) -> &Namespace {
        &self.networks[host]
    }

    /// The present state of the testbed.
    #[must_use]
    pub fn status(&self) -> Status {
        let error = self.ongoing.as_ref().and_then(|ongoing| {
            let progress = ongoing.running.progress();
            progress.series.first().map(|series| series.counts)
        });
        Status::of(
            &self.topology,
            &self.counters,
            &self.programs.states(),
            error,
        )
    }

    /// Publishes the state, so that other processes can read it.
    ///
    /// # Errors
    /// The disk is full.
    pub fn publish_status(&self) -> io::Result<()> {
        let status = serde_json::to_vec(&self.status())?;
        self.claim.publish_status(&status).map_err(io::Error::other)
    }

    /// Whether the wire still carries frames.
    #[must_use]
    pub fn stands(&self) -> bool {
        self.wire.as_ref().is_some_and(|wire| !wire.is_finished())
    }

    /// Ends the programs, then the wire, and completes the run. The networks are removed with this.
    ///
    /// # Errors
    /// [`EndError`]; the testbed is removed nevertheless.
    pub fn end(mut self, ended_by: EndedBy) -> Result<(Run, Status), EndError> {
        self.programs.end();
        let carried = self.end_wire();
        let status = self.status();
        let run = match self.ongoing.take() {
            Some(ongoing) => ongoing.finish(ended_by)?,
            None => Run::default(),
        };
        carried.map_err(EndError::Wire)?;
        Ok((run, status))
    }

    fn end_wire(&mut self) -> io::Result<()> {
        self.wire_stop.request();
        match self.wire.take().map(JoinHandle::join) {
            None => Ok(()),
            Some(Ok(outcome)) => outcome,
            Some(Err(_)) => Err(io::Error::other("its thread panicked")),
        }
    }
}

impl Drop for Testbed {
    fn drop(&mut self) {
        self.programs.end();
        // A caller that needs the result calls `end`.
        let _ = self.end_wire();
    }
}

fn series() -> SeriesSpec {
    SeriesSpec {
        series: Series {
            name: SERIES.to_owned(),
            description: "how late the testbed's wire handed a frame to its receiver, against the \
                          topology's ideal"
                .to_owned(),
            kind: Kind::Lateness,
            ..Series::default()
        },
        raw: false,
    }
}

fn networks(topology: &Topology) -> Result<Vec<Namespace>, NamespaceError> {
    topology.hosts.iter().map(|_| Namespace::create()).collect()
}

/// Makes an interface in each network, which knows the addresses of all others.
fn taps(topology: &Topology, networks: &[Namespace]) -> Result<Vec<Tap>, TestbedError> {
    let hosts = 0..topology.hosts.len();
    let all: Vec<_> = hosts
        .clone()
        .map(|host| (address(topology, host), Mac::of_host(host).0))
        .collect();
    let tap = |host: usize| {
        let plan = TapPlan {
            name: "eth0".to_owned(),
            hardware_address: Mac::of_host(host).0,
            address: address(topology, host),
            neighbours: all
                .iter()
                .copied()
                .filter(|it| it.0 != address(topology, host))
                .collect(),
        };
        Ok(networks[host].run(|| Tap::create(&plan))??)
    };
    hosts.map(tap).collect()
}

/// State of a testbed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Status {
    /// Version of the format.
    #[cfg_attr(feature = "schema", schemars(extend("const" = 1)))]
    pub version: u32,
    /// The topology's name.
    pub topology: String,
    /// Each direction of each link.
    pub lanes: Vec<LaneStatus>,
    /// Frames for which the wire's thread had no room: the testbed was overloaded.
    pub no_room: u64,
    /// Frames that a host's interface did not take.
    pub refused: u64,
    /// The hosts' programs.
    pub programs: Vec<ProgramState>,
    /// Lateness of the wire, in nanoseconds.
    pub wire_error: Option<WireError>,
}

/// Lateness of the wire so far.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WireError {
    /// Frames handed to a host.
    pub count: u64,
    /// The maximum lateness, in nanoseconds.
    pub max_ns: Option<i64>,
}

impl Status {
    fn of(
        topology: &Topology,
        counters: &WireCounters,
        programs: &[ProgramState],
        counts: Option<Counts>,
    ) -> Self {
        Self {
            version: 1,
            topology: topology.name.clone(),
            lanes: lanes_of(topology, &counters.lanes()),
            no_room: counters.no_room(),
            refused: counters.refused(),
            programs: programs.to_vec(),
            wire_error: counts.map(|counts| WireError {
                count: counts.recorded,
                max_ns: counts.max_ns,
            }),
        }
    }
}
