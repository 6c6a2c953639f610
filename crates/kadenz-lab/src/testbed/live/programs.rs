//! The programs on the hosts: started, watched, ended.

use std::io;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, mpsc};
use std::thread::JoinHandle;
use std::time::Duration;

use kadenz_rt::launch::{self, Launch, Program};
use kadenz_rt::net::claim::{Ending, ProgramRecord, end_program};
use kadenz_rt::net::namespace::Namespace;
use kadenz_rt::tuning::Policy;
use serde::{Deserialize, Serialize};

use crate::testbed::topology::Topology;
use crate::testbed::{address, network};

/// The name of this program itself in a topology.
const OWN_PROGRAM: &str = "kadenz";
/// Above all ordinary programs, below the wire and a measured controller.
const PRIORITY: u8 = 50;
const POLL_INTERVAL: Duration = Duration::from_millis(200);
const END_TIMEOUT: Duration = Duration::from_secs(2);
const STEP: Duration = Duration::from_millis(20);

/// A program of a host.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ProgramState {
    /// The name of the host that it runs on.
    pub host: String,
    /// The command that started it.
    pub program: String,
    /// Its process, if it was started.
    pub pid: Option<u32>,
    /// What it was refused, or how it ended; absent while it runs as it should.
    pub trouble: Option<String>,
}

/// All programs of a testbed. One thread starts them and lives as long as they do; the system kills them with it.
#[derive(Default)]
pub(super) struct Programs {
    states: Arc<Mutex<Vec<ProgramState>>>,
    keeper: Option<(mpsc::SyncSender<()>, JoinHandle<()>)>,
}

impl Programs {
    /// Starts them all; returns once each is started or refused.
    pub(super) fn start(topology: &Topology, networks: Arc<Vec<Namespace>>) -> io::Result<Self> {
        let states = Arc::new(Mutex::new(Vec::new()));
        let (ready_sender, ready) = mpsc::sync_channel(1);
        let (end, ending) = mpsc::sync_channel(1);
        let (shared, topology) = (states.clone(), topology.clone());
        let keep = move || {
            let running = start_all(&topology, &networks, &shared);
            let _ = ready_sender.send(());
            keep(running, &shared, &ending);
        };
        let thread = std::thread::Builder::new()
            .name("programs".to_owned())
            .spawn(keep)?;
        // Without it the thread has ended, and there are no programs.
        let _ = ready.recv();
        Ok(Self {
            states,
            keeper: Some((end, thread)),
        })
    }

    pub(super) fn states(&self) -> Vec<ProgramState> {
        lock(&self.states).clone()
    }

    pub(super) fn records(&self) -> Vec<ProgramRecord> {
        let states = lock(&self.states);
        let records = states.iter().filter_map(|state| {
            Some(ProgramRecord {
                host: state.host.clone(),
                pid: state.pid?,
            })
        });
        records.collect()
    }

    /// Ends all programs and waits for their end.
    pub(super) fn end(&mut self) {
        if let Some((end, thread)) = self.keeper.take() {
            drop(end);
            let _ = thread.join();
        }
    }
}

fn lock(states: &Mutex<Vec<ProgramState>>) -> MutexGuard<'_, Vec<ProgramState>> {
    states.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A program that runs, and its place among the states.
struct Running {
    program: Program,
    record: ProgramRecord,
    place: usize,
}

fn start_all(
    topology: &Topology,
    networks: &[Namespace],
    states: &Mutex<Vec<ProgramState>>,
) -> Vec<Running> {
    let mut running = Vec::new();
    for (at, (host, network)) in topology.hosts.iter().zip(networks).enumerate() {
        if host.program.is_empty() {
            continue;
        }
        let words = host.program.iter().map(|word| filled(topology, at, word));
        let words: Vec<String> = words.collect();
        let mut state = ProgramState {
            host: host.name.clone(),
            program: words.join(" "),
            pid: None,
            trouble: None,
        };
        match start(&words, network) {
            Ok(program) => {
                state.pid = Some(program.pid());
                state.trouble = refused(&program);
                let record = ProgramRecord {
                    host: host.name.clone(),
                    pid: program.pid(),
                };
                running.push(Running {
                    program,
                    record,
                    place: lock(states).len(),
                });
            }
            Err(error) => state.trouble = Some(error),
        }
        lock(states).push(state);
    }
    running
}

fn start(words: &[String], network: &Namespace) -> Result<Program, String> {
    network.enter().map_err(|error| error.to_string())?;
    let mut command = Command::new(program(&words[0]));
    command
        .args(&words[1..])
        .stdin(Stdio::null())
        .stdout(Stdio::null());
    let launch = Launch {
        policy: Some(Policy::Fifo(PRIORITY)),
        with_this_thread: true,
        ..Launch::default()
    };
    launch::start(command, &launch).map_err(|error| error.to_string())
}

/// The path of a program by its name; `kadenz` is the running program, whatever its file is called.
#[must_use]
pub fn program(name: &str) -> PathBuf {
    let ourselves = std::env::current_exe().ok().filter(|_| name == OWN_PROGRAM);
    ourselves.unwrap_or_else(|| PathBuf::from(name))
}

fn refused(program: &Program) -> Option<String> {
    let measure = program.measures().iter().find(|measure| !measure.ok)?;
    let reason = measure.reason.as_deref().unwrap_or("no reason was given");
    Some(format!("{} was not granted ({reason})", measure.requested))
}

/// Watches the programs until the end is requested, and ends them.
fn keep(mut running: Vec<Running>, states: &Mutex<Vec<ProgramState>>, ending: &mpsc::Receiver<()>) {
    while ending.recv_timeout(POLL_INTERVAL) == Err(mpsc::RecvTimeoutError::Timeout) {
        running.retain_mut(|it| !has_ended(it, states));
    }
    for ending in [Ending::Asked, Ending::Forced] {
        for it in &running {
            end_program(&it.record, ending);
        }
        let mut waited = Duration::ZERO;
        while !running.is_empty() && waited < END_TIMEOUT {
            running.retain_mut(|it| !matches!(it.program.try_wait(), Ok(Some(_))));
            std::thread::sleep(STEP);
            waited += STEP;
        }
    }
}

/// Whether a program has ended by itself; if so, its state says so.
fn has_ended(it: &mut Running, states: &Mutex<Vec<ProgramState>>) -> bool {
    let trouble = match it.program.try_wait() {
        Ok(None) => return false,
        Ok(Some(status)) => format!("it ended: {status}"),
        Err(error) => format!("the system does not report how it ended: {error}"),
    };
    if let Some(state) = lock(states).get_mut(it.place) {
        state.trouble = Some(trouble);
    }
    true
}

// Names in braces, which a topology gives to its programs: `{device}` is the address of the host of that name.

/// A program's argument with its names in braces replaced: `{NAME}` by the address of a host,
/// `{broadcast}` by the address of all of them, `{host}` by the name of the host that the program
/// runs on. Other braces stay.
///
/// ```
/// use kadenz_lab::testbed::live::filled;
/// use kadenz_lab::testbed::topology::{Topology, ready};
///
/// let baseline = Topology::parse(ready("baseline").unwrap_or_default())?;
/// assert_eq!(filled(&baseline, 0, "--name={host}"), "--name=controller");
/// assert!(filled(&baseline, 0, "{broadcast}").ends_with(".255"));
/// assert_eq!(filled(&baseline, 0, "{\"json\": {}}"), "{\"json\": {}}");
/// # Ok::<(), kadenz_lab::testbed::topology::FileError>(())
/// ```
#[must_use]
pub fn filled(topology: &Topology, host: usize, argument: &str) -> String {
    let mut text = argument.to_owned();
    if let Some(host) = topology.hosts.get(host) {
        text = text.replace("{host}", &host.name);
    }
    let [a, b, c, _] = network(topology).octets();
    text = text.replace("{broadcast}", &format!("{a}.{b}.{c}.255"));
    for (at, host) in topology.hosts.iter().enumerate() {
        let name = format!("{{{}}}", host.name);
        if text.contains(&name) {
            text = text.replace(&name, &address(topology, at).to_string());
        }
    }
    text
}
