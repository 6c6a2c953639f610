//! A topology as networks of this machine: a network namespace a host, and one thread that is all
//! links and switches.
//!
//! Each host's only interface is a tap. What it sends is read by the *wire*, a thread that feeds it to
//! the [fabric](super::fabric) and writes it to the receivers' taps when the fabric says. How late it
//! was at that, for each frame, is the run's series [`SERIES`]: the testbed's own error, which is to be
//! set beside whatever is measured in it.
//!
//! Networks and interfaces have no names outside of this process and go with it, whatever ends it; so
//! do the programs it started. What those have started themselves is named in a
//! [claim](kadenz_rt::net::claim), for whoever clears up after a killed process.

mod programs;
mod wire;

use std::io;
use std::sync::{Arc, mpsc};
use std::thread::JoinHandle;

use kadenz_record::recorder::Counts;
use kadenz_record::run::folder::{
    AddSeriesError, FinishRunError, RunWriter, SeriesSpec, StartRunError,
};
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

/// Why a testbed does not stand.
#[derive(Debug, thiserror::Error)]
pub enum TestbedError {
    /// Another one does, or the claim cannot be had.
    #[error(transparent)]
    Claim(#[from] ClaimError),
    /// A host has no network.
    #[error(transparent)]
    Namespace(#[from] NamespaceError),
    /// A host has no interface.
    #[error(transparent)]
    Tap(#[from] TapError),
    /// The run could not begin.
    #[error(transparent)]
    Session(#[from] SessionError),
    /// The run has no series.
    #[error(transparent)]
    Series(#[from] AddSeriesError),
    /// The run could not be started.
    #[error(transparent)]
    Start(#[from] StartRunError),
    /// A thread could not be started, or the claim not be written.
    #[error("cannot start the testbed: {0}")]
    System(#[from] io::Error),
}

/// Why a testbed ended badly; it is gone all the same.
#[derive(Debug, thiserror::Error)]
pub enum EndError {
    /// The wire could not go on.
    #[error("the wire broke: {0}; what was measured until then stands")]
    Wire(io::Error),
    /// The run could not be completed.
    #[error(transparent)]
    Finish(#[from] FinishRunError),
}

/// A testbed that stands, until this is dropped or ended.
pub struct Testbed {
    topology: Topology,
    networks: Arc<Vec<Namespace>>,
    claim: Claim,
    record: Record,
    programs: Programs,
    counters: Arc<WireCounters>,
    wire: Option<JoinHandle<io::Result<()>>>,
    /// Ends the wire alone, after everything that uses it.
    wire_stop: Stop,
    ongoing: Option<Ongoing>,
}

impl Testbed {
    /// Builds it: networks, interfaces, the wire; no program runs yet.
    ///
    /// # Errors
    /// [`TestbedError`]; nothing is left of it then.
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
        let ongoing = start(run, plan)?;
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

    /// Starts the hosts' programs, FIFO 50 where that is granted, and says that the testbed is ready.
    ///
    /// [`Testbed::status`] reports a program that cannot be started.
    ///
    /// # Errors
    /// When the thread for them cannot be had, or the claim not be written.
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

    /// How everything stands.
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

    /// Lets others read how everything stands.
    ///
    /// # Errors
    /// When the disk is full.
    pub fn tell_status(&self) -> io::Result<()> {
        let status = serde_json::to_vec(&self.status())?;
        self.claim.tell(&status).map_err(io::Error::other)
    }

    /// Whether the wire still carries.
    #[must_use]
    pub fn stands(&self) -> bool {
        self.wire.as_ref().is_some_and(|wire| !wire.is_finished())
    }

    /// Ends the programs, then the wire, and completes the run. The networks go with this.
    ///
    /// # Errors
    /// [`EndError`]; the testbed is gone all the same.
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
        // Who wants to know whether it went well calls `end`.
        let _ = self.end_wire();
    }
}

fn start(run: RunWriter, plan: &SessionPlan) -> Result<Ongoing, StartRunError> {
    session::start(run, plan.interval, None)
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

/// An interface in each network, which knows everybody else.
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

/// How a testbed stands.
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
    /// How late the wire was, in nanoseconds.
    pub wire_error: Option<WireError>,
}

/// How late the wire was so far.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WireError {
    /// Frames handed to a host.
    pub count: u64,
    /// The latest of them.
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
