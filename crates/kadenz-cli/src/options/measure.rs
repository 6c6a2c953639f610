//! The options of every measuring command.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use clap::Args;
use kadenz::lab::measuring::Measuring;
use kadenz::lab::session::{self, SessionPlan};
use kadenz::rt::beat::Rate;
use kadenz::rt::clock::ClockKind;
use kadenz::rt::host::{self, Root};
use kadenz::rt::sleep::{SleeperKind, SleeperOptions};
use kadenz::rt::tuning::{CpuSet, Policy, Tuning};

use super::request::request;
use super::{Span, complete};

/// Options of a measurement.
#[derive(Clone, Debug, Args)]
pub(crate) struct MeasureOptions {
    /// Run folder to write [default: kadenz-<COMMAND>-<TIME> in this folder]
    #[arg(long, value_name = "DIR", help_heading = "Output")]
    pub(crate) out: Option<PathBuf>,

    /// Show every figure, not only the answer on one screen
    #[arg(long, help_heading = "Output")]
    pub(crate) details: bool,

    /// Length of an interval of the interval log
    #[arg(
        long,
        value_name = "SPAN",
        default_value = "1s",
        help_heading = "Output"
    )]
    interval: Span,

    /// Keep raw samples, not only histograms (32 bytes a sample)
    #[arg(long, overrides_with = "no_samples", help_heading = "Output")]
    samples: bool,

    /// Keep histograms only
    #[arg(long, overrides_with = "samples", help_heading = "Output")]
    no_samples: bool,

    /// The limit: a sample above it is a miss [default: none]
    #[arg(long, value_name = "SPAN")]
    pub(crate) deadline: Option<Span>,

    /// Scheduling policy: other, fifo:1..99, rr:1..99 or deadline:RUNTIME/PERIOD [default: other]
    #[arg(long, value_name = "POLICY", value_parser = complete::<Policy>(POLICIES),
          hide_possible_values = true, help_heading = "Tuning")]
    policy: Option<Policy>,

    /// Sleep method of the measuring thread [default: nanosleep, or the best one of another system]
    #[arg(long, value_name = "SLEEPER", value_parser = complete::<String>(sleepers()), help_heading = "Tuning")]
    sleeper: Option<String>,

    /// How long before its deadline the spinning sleeper wakes up to spin
    #[arg(
        long,
        value_name = "SPAN",
        default_value = "50us",
        help_heading = "Tuning"
    )]
    spin_margin: Span,

    /// CPUs the measuring thread may run on, for example 0,2-3
    #[arg(long, value_name = "CPUS", help_heading = "Tuning")]
    pub(crate) cpus: Option<CpuSet>,

    /// Keep everything else off these CPUs and measure there; restores them afterwards
    #[arg(long, value_name = "CPUS", help_heading = "Tuning")]
    shield: Option<CpuSet>,

    /// Lock memory and touch stack and heap in advance [default: with a real-time policy]
    #[arg(long, overrides_with = "no_lock", help_heading = "Tuning")]
    lock: bool,

    /// Do not lock memory
    #[arg(long, overrides_with = "lock", help_heading = "Tuning")]
    no_lock: bool,

    /// Keep CPUs out of idle states that take longer than this to leave; acts on the whole machine
    /// while measuring
    #[arg(long, value_name = "SPAN", help_heading = "Tuning")]
    cpu_dma_latency: Option<Span>,

    /// Timer slack of the measuring thread [default: the system's, 50us on Linux]
    #[arg(long, value_name = "SPAN", value_parser = timer_slack, help_heading = "Tuning")]
    timer_slack: Option<Span>,

    /// Measure nothing unless all of the requested tuning is granted: exit code 2
    #[arg(long, help_heading = "Tuning")]
    require: bool,

    #[command(flatten)]
    pub(crate) ends: StdinOption,

    /// Leave out the doctor's checks: the run is a part of an examined one
    #[arg(long, hide = true)]
    unexamined: bool,
}

/// Condition of a command's end besides Ctrl-C.
#[derive(Clone, Copy, Debug, Args)]
pub(crate) struct StdinOption {
    /// End when standard input closes: a program that started this one ends it so, also by its own end
    #[arg(long, hide = true)]
    pub(crate) until_stdin_closes: bool,
}

/// Parses a timer slack. `prctl(2)` returns it as nanoseconds in an `int`, so a longer one cannot be read back.
pub(crate) fn timer_slack(text: &str) -> Result<Span, String> {
    const MAX: Duration = Duration::from_secs(2);
    let slack = text.parse::<Span>().map_err(|error| error.to_string())?;
    match slack.0 <= MAX {
        true => Ok(slack),
        false => {
            Err("the kernel cannot report a timer slack above 2s; write 2s or less".to_owned())
        }
    }
}

/// Policies for shell completion; others, with other numbers, are valid too.
pub(crate) const POLICIES: [&str; 4] = ["other", "fifo:80", "rr:80", "deadline:200us/1ms"];

/// Every sleeper's name, and the word that means all of them.
fn sleepers() -> impl Iterator<Item = String> {
    let names = SleeperKind::ALL.iter().map(ToString::to_string);
    names.chain(["all".to_owned()])
}

/// Defaults of a command.
pub(crate) struct Defaults {
    /// Name of the experiment in `run.json`, and part of the default folder's name.
    pub(crate) experiment: &'static str,
    /// Policy without `--policy`.
    pub(crate) policy: Policy,
    /// Whether raw samples are kept without `--samples`.
    pub(crate) samples: bool,
    /// Deadline without `--deadline`.
    pub(crate) deadline: Option<Duration>,
    /// The clock of the measurement.
    pub(crate) clock: ClockKind,
    /// Whether the command measures every sleeper for `--sleeper all`.
    pub(crate) every_sleeper: bool,
}

impl Defaults {
    /// Defaults of most commands: ordinary policy, with samples, without a deadline, on the monotonic clock.
    pub(crate) const fn of(experiment: &'static str) -> Self {
        Self {
            experiment,
            policy: Policy::Other,
            samples: true,
            deadline: None,
            clock: ClockKind::Monotonic,
            every_sleeper: false,
        }
    }
}

/// Number of beats: the given count, or as many as fit into the duration.
///
/// # Errors
/// The number would be 0.
pub(crate) fn beats(rate: Rate, count: Option<u64>, duration: Duration) -> anyhow::Result<u64> {
    let interval = rate.interval().as_duration().as_nanos().max(1);
    let in_duration = u64::try_from(duration.as_nanos() / interval)?;
    let beats = count.unwrap_or(in_duration);
    anyhow::ensure!(
        beats > 0,
        "the duration is shorter than one beat of {rate}; measure longer, or with a higher --rate"
    );
    Ok(beats)
}

/// The clock of experiments that may use another than the beat's.
#[derive(Clone, Copy, Debug, Args)]
pub(crate) struct ClockOption {
    /// Clock to read
    #[arg(
        long,
        value_name = "CLOCK",
        value_parser = complete::<ClockKind>(ClockKind::ALL),
        default_value = "monotonic",
        help_heading = "Tuning"
    )]
    pub(crate) clock: ClockKind,
}

impl MeasureOptions {
    /// The settings of an experiment, with the command's defaults filled in.
    pub(crate) fn measuring(&self, defaults: &Defaults) -> anyhow::Result<Measuring> {
        let policy = self.policy.unwrap_or(defaults.policy);
        let deadline = self.deadline.map(|span| span.0).or(defaults.deadline);
        let sleeper = match self.every_sleeper() {
            true if defaults.every_sleeper => None,
            true => anyhow::bail!(
                "`--sleeper all` is for `kadenz timer`, which measures one sleeper after another; name one"
            ),
            false => self.sleeper()?,
        };
        let mut measuring = Measuring {
            session: SessionPlan {
                interval: self.interval.0,
                raw: (defaults.samples || self.samples) && !self.no_samples,
                clock: defaults.clock,
                examine: !self.unexamined,
                ..session_plan(defaults.experiment, self.out.as_deref())
            },
            tuning: self.tuning(policy)?,
            shield: self.shield.clone(),
            sleeper: sleeper.unwrap_or(SleeperKind::recommended()),
            sleeper_options: SleeperOptions {
                spin_margin: self.spin_margin.0,
            },
            deadline,
        };
        anyhow::ensure!(
            self.interval.0 >= Duration::from_millis(10),
            "`--interval {}` is too short: the interval log takes 10ms at least",
            self.interval
        );
        self.ensure_cpus_are_shielded()?;
        for (option, cpus) in [("cpus", &self.cpus), ("shield", &self.shield)] {
            ensure_they_exist(option, cpus.as_ref())?;
        }
        if self.require {
            ensure_all_is_granted(&measuring)?;
        }
        self.set_parameters(&mut measuring);
        Ok(measuring)
    }

    /// Options that give a child process the same tuning: policy, memory, CPUs and sleeper, as the user types them.
    pub(crate) fn tuning_words(measuring: &Measuring) -> Vec<String> {
        let margin = Span(measuring.sleeper_options.spin_margin);
        let lock = if measuring.tuning.lock_memory {
            "--lock"
        } else {
            "--no-lock"
        };
        let mut words = vec![
            format!("--policy={}", spelled(measuring.tuning.policy)),
            format!("--sleeper={}", measuring.sleeper),
            format!("--spin-margin={margin}"),
            lock.to_owned(),
        ];
        if let Some(cpus) = &measuring.tuning.cpus {
            words.push(format!("--cpus={cpus}"));
        }
        words
    }

    /// Checks that all given CPUs are shielded: a shielded thread runs nowhere else.
    fn ensure_cpus_are_shielded(&self) -> anyhow::Result<()> {
        let (Some(cpus), Some(shield)) = (&self.cpus, &self.shield) else {
            return Ok(());
        };
        let outside = cpus.without(shield);
        anyhow::ensure!(
            outside.is_empty(),
            "`--cpus` names CPUs {outside}, which are not in `--shield`; shield them too, or leave them out"
        );
        Ok(())
    }

    /// The requested policy.
    pub(crate) fn policy(&self) -> Policy {
        self.policy.unwrap_or(Policy::Other)
    }

    /// Whether the user requested a shield.
    pub(crate) fn has_shield(&self) -> bool {
        self.shield.is_some()
    }

    /// Whether the user named a sleeper, or all.
    pub(crate) fn names_a_sleeper(&self) -> bool {
        self.sleeper.is_some()
    }

    /// The sleeper, if one was named.
    fn sleeper(&self) -> anyhow::Result<Option<SleeperKind>> {
        let named = self.sleeper.as_deref();
        named
            .map(|name| name.parse::<SleeperKind>().map_err(anyhow::Error::msg))
            .transpose()
    }

    /// Whether the user requested every sleeper.
    pub(crate) fn every_sleeper(&self) -> bool {
        self.sleeper.as_deref() == Some("all")
    }

    fn tuning(&self, policy: Policy) -> anyhow::Result<Tuning> {
        let real_time = policy != Policy::Other;
        let microseconds = |span: Span| u32::try_from(span.0.as_micros());
        Ok(Tuning {
            policy,
            lock_memory: (self.lock || real_time) && !self.no_lock,
            cpus: self.cpus.as_ref().or(self.shield.as_ref()).cloned(),
            cpu_dma_latency_us: self.cpu_dma_latency.map(microseconds).transpose()?,
            timer_slack_ns: self.timer_slack.map(Span::as_ns),
        })
    }

    fn set_parameters(&self, measuring: &mut Measuring) {
        let session = &mut measuring.session;
        session.set("interval", self.interval.to_string());
        session.set("policy", spelled(measuring.tuning.policy));
        session.set("sleeper", measuring.sleeper.to_string());
        session.set("lock_memory", measuring.tuning.lock_memory);
        session.set("samples", session.raw);
        session.set("clock", session.clock.to_string());
        if let Some(deadline) = measuring.deadline {
            session.set("deadline", Span(deadline).to_string());
        }
        for (name, cpus) in [("cpus", &self.cpus), ("shield", &self.shield)] {
            if let Some(cpus) = cpus {
                session.set(name, cpus.iter().collect::<Vec<_>>());
            }
        }
        if measuring.sleeper == SleeperKind::Spin {
            session.set("spin_margin", self.spin_margin.to_string());
        }
    }
}

/// Refuses CPUs that do not exist: the system would run the thread on any.
fn ensure_they_exist(option: &str, cpus: Option<&CpuSet>) -> anyhow::Result<()> {
    let mut online = CpuSet::default();
    let there = host::online_cpus(&Root::system());
    for cpu in there.into_iter().filter_map(|cpu| cpu.try_into().ok()) {
        online.insert(cpu);
    }
    let absent = cpus.map(|cpus| cpus.without(&online));
    let Some(absent) = absent.filter(|absent| !absent.is_empty() && !online.is_empty()) else {
        return Ok(());
    };
    anyhow::bail!(
        "`--{option}` names CPUs {absent}, which are not there or switched off; there are CPUs {online}"
    )
}

/// For `--require`: tries the tuning before anything is written.
fn ensure_all_is_granted(measuring: &Measuring) -> anyhow::Result<()> {
    let measures = session::try_tuning(&measuring.tuning, measuring.shield.as_ref());
    let refused: Vec<String> = measures
        .iter()
        .filter(|measure| !measure.ok)
        .map(|it| {
            let reason = it.reason.as_deref().unwrap_or("no reason was given");
            let remedy = it.remedy.as_deref().unwrap_or("none is known");
            let (requested, granted) = (&it.requested, &it.granted);
            format!("\n  {requested} (in force is {granted}): {reason}\n    remedy: {remedy}")
        })
        .collect();
    anyhow::ensure!(
        refused.is_empty(),
        "nothing was measured: not everything that --require asks for was granted{}",
        refused.concat()
    );
    Ok(())
}

/// The policy as an argument of `--policy`.
fn spelled(policy: Policy) -> String {
    match policy {
        Policy::Other => "other".to_owned(),
        Policy::Fifo(priority) => format!("fifo:{priority}"),
        Policy::RoundRobin(priority) => format!("rr:{priority}"),
        Policy::Deadline {
            runtime, period, ..
        } => format!("deadline:{}/{}", Span(runtime), Span(period)),
    }
}

/// The plan of a run with the fields of every command; the measurement adds its own.
pub(crate) fn session_plan(experiment: &'static str, out: Option<&Path>) -> SessionPlan {
    SessionPlan {
        command: command_line(),
        request: request(),
        raw: false,
        ..SessionPlan::new(experiment, folder_or_now(out, experiment))
    }
}

/// The named folder, or a new one with the experiment and the time in its name.
pub(crate) fn folder_or_now(named: Option<&Path>, experiment: &str) -> PathBuf {
    named.map_or_else(|| folder_of_now(experiment), Path::to_owned)
}

/// The folders that [`folder_of_now`] made.
static MADE: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

/// Makes a folder with the experiment and the time in its name. Where that is not permitted, the writer of the run
/// says so.
fn folder_of_now(experiment: &str) -> PathBuf {
    let now = jiff::Zoned::now().strftime("%Y-%m-%dT%H-%M-%S").to_string();
    let name = format!("kadenz-{experiment}-{now}");
    // Runs that begin in the same second, perhaps of several processes, need different folders.
    let further = (2..100).map(|n| PathBuf::from(format!("{name}-{n}")));
    let mut names = std::iter::once(PathBuf::from(&name)).chain(further);
    let is_free = |path: &PathBuf| match std::fs::create_dir(path) {
        Err(error) => error.kind() != ErrorKind::AlreadyExists,
        Ok(()) => {
            let mut made = MADE.lock().unwrap_or_else(PoisonError::into_inner);
            made.push(path.clone());
            true
        }
    };
    names.find(is_free).unwrap_or_else(|| PathBuf::from(name))
}

/// Removes the folders that were made for runs and that nothing was written into.
pub(crate) fn remove_empty_folders() {
    let made = MADE.lock().unwrap_or_else(PoisonError::into_inner);
    made.iter().for_each(|it| {
        let _ = std::fs::remove_dir(it);
    });
}

/// The command line that repeats this run: as typed, with the plain name of the program.
fn command_line() -> Vec<String> {
    let typed = std::env::args_os().skip(1);
    let typed = typed.map(|argument| argument.to_string_lossy().into_owned());
    std::iter::once("kadenz".to_owned())
        // Only the program that started this one uses that option.
        .chain(typed.filter(|argument| argument != "--until-stdin-closes"))
        .collect()
}
