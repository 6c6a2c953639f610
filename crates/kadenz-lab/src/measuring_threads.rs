//! The threads of one measurement: tuned, started together, watched and joined.

use std::sync::mpsc;
use std::thread::JoinHandle;
use std::time::Duration;

use kadenz_record::run::folder::Progress;
pub use kadenz_record::run::model::BEATS_NOT_RUN;
use kadenz_record::run::model::{EndedBy, TuningMeasure, Warning};
use kadenz_rt::clock::{self, Clock, ClockKind, MonotonicTime};
use kadenz_rt::sleep::{self, Sleeper, SleeperKind, SleeperOptions};
use kadenz_rt::tuning::Tuning;

use crate::session::{Ongoing, ShieldView};
use crate::stop::Stop;

/// Environment of a measuring loop: its start, its clock and its sleeper.
pub struct LoopContext<'a> {
    /// Common start of all threads.
    pub start: MonotonicTime,
    /// Start of the run, on the context's clock; sample times count from here.
    pub origin: MonotonicTime,
    /// The clock that is read.
    pub clock: &'a dyn Clock,
    /// The sleeper that the loop waits by.
    pub sleeper: &'a mut dyn Sleeper,
    /// Ends the loop early.
    pub stop: &'a Stop,
    /// Beats that the loop still owed when it gave up ([`GRACE`]); the run reports them.
    pub owed: u64,
}

/// How long after the last beat of its plan a loop still serves the beats that it owes. Then it gives up, so that a run
/// ends at any requested rate.
pub const GRACE: Duration = Duration::from_secs(1);

/// One of the measuring threads.
pub struct Member {
    /// Names of the series that it fills; its tuning is noted on each.
    pub series: Vec<String>,
    /// The tuning that the thread requests for itself.
    pub tuning: Tuning,
    /// Whether it runs inside the shield, where the run has one.
    pub shielded: bool,
    /// The mechanism by which it sleeps until a beat.
    pub sleeper: SleeperKind,
    /// Options of the sleeper.
    pub sleeper_options: SleeperOptions,
    /// The clock it reads.
    pub clock: ClockKind,
    /// The loop that it runs.
    pub work: Box<dyn FnOnce(&mut LoopContext<'_>) + Send>,
}

/// Callbacks that show the user the progress while the threads measure.
pub trait Watch {
    /// Called several times a second, never from a measuring thread.
    fn tick(&mut self, progress: &Progress);

    /// Called once, before measuring, with what a thread was granted.
    fn tuned(&mut self, _series: &[String], _measures: &[TuningMeasure]) {}
}

/// An observer that ignores all it is told.
#[derive(Debug, Default)]
pub struct NoWatch;

impl Watch for NoWatch {
    fn tick(&mut self, _progress: &Progress) {}
}

/// Why the measuring threads could not work.
#[derive(Debug, thiserror::Error)]
pub enum MeasuringThreadError {
    /// The system refused a thread.
    #[error("cannot start a measuring thread: {0}; see `ulimit -u`")]
    Thread(#[from] std::io::Error),
    /// The clock is not available on this machine.
    #[error("cannot use the clock: {0}")]
    Clock(String),
    /// The sleeper is not available on this machine.
    #[error("cannot use the sleeper `{0}`: {1}")]
    Sleeper(SleeperKind, String),
    /// A thread among them ended before it began to measure.
    #[error(
        "a measuring thread ended before it began; this is a defect of Kadenz, please report it"
    )]
    Lost,
}

/// Time between the main thread's last action and the first beat: enough for every thread to fall asleep.
const HEAD_START: Duration = Duration::from_millis(50);
/// The clock on which runs, beats and sleepers count.
const CLOCK_MONOTONIC: &str = "CLOCK_MONOTONIC";
/// How often two clocks are read, of which one reading counts.
const ORIGIN_TRIES: usize = 16;
const TICK: Duration = Duration::from_millis(100);

/// What a thread was granted, or why it could not be set up.
type TuningResult = Result<Vec<TuningMeasure>, MeasuringThreadError>;

struct StartedThread {
    series: Vec<String>,
    ready: mpsc::Receiver<TuningResult>,
    start: mpsc::SyncSender<MonotonicTime>,
    thread: JoinHandle<u64>,
}

/// Runs all members until each has ended, and returns how the run ended.
///
/// Every thread is tuned first; what it was granted is noted in the run. Then all start together.
///
/// # Errors
/// [`MeasuringThreadError`], before anything is measured.
pub fn work(
    ongoing: &Ongoing,
    members: Vec<Member>,
    stop: &Stop,
    watch: &mut dyn Watch,
) -> Result<EndedBy, MeasuringThreadError> {
    let threads = members
        .into_iter()
        .map(|member| start_thread(member, stop.clone(), ongoing))
        .collect::<Result<Vec<_>, _>>()?;
    for member in &threads {
        let measures = member
            .ready
            .recv()
            .map_err(|_| MeasuringThreadError::Lost)??;
        watch.tuned(&member.series, &measures);
        ongoing.note_tuning(&member.series, &measures);
    }
    let start = clock::now() + HEAD_START;
    for member in &threads {
        member
            .start
            .send(start)
            .map_err(|_| MeasuringThreadError::Lost)?;
    }
    while !threads.iter().all(|member| member.thread.is_finished()) {
        std::thread::sleep(TICK);
        watch.tick(&ongoing.running.progress());
    }
    for member in threads {
        let owed = member
            .thread
            .join()
            .map_err(|_| MeasuringThreadError::Lost)?;
        if owed > 0 {
            let name = member.series.first().map_or("", String::as_str);
            ongoing.running.add_warning(not_run(name, owed));
        }
    }
    Ok(if stop.requested() {
        EndedBy::Interrupted
    } else {
        EndedBy::Finished
    })
}

fn start_thread(
    member: Member,
    stop: Stop,
    ongoing: &Ongoing,
) -> Result<StartedThread, MeasuringThreadError> {
    let origin = ongoing.origin;
    let shield_view = match member.shielded {
        true => ongoing.shield_view.clone(),
        false => ShieldView::default(),
    };
    let (ready_sender, ready) = mpsc::sync_channel(1);
    let (start, start_receiver) = mpsc::sync_channel(1);
    let series = member.series.clone();
    let name = series.first().cloned().unwrap_or_default();
    let thread = std::thread::Builder::new()
        .name(name.chars().take(15).collect())
        .spawn(move || {
            serve(
                member,
                &shield_view,
                &stop,
                origin,
                &ready_sender,
                &start_receiver,
            )
        })?;
    Ok(StartedThread {
        series,
        ready,
        start,
        thread,
    })
}

/// The life of one measuring thread; returns how many beats it owed when it gave up.
fn serve(
    member: Member,
    shield_view: &ShieldView,
    stop: &Stop,
    origin: MonotonicTime,
    ready: &mpsc::SyncSender<TuningResult>,
    start: &mpsc::Receiver<MonotonicTime>,
) -> u64 {
    let tools = clock::open(member.clock)
        .map_err(|error| MeasuringThreadError::Clock(error.to_string()))
        .and_then(|clock| {
            sleep::open(member.sleeper, member.sleeper_options)
                .map(|sleeper| (clock, sleeper))
                .map_err(|error| MeasuringThreadError::Sleeper(member.sleeper, error.to_string()))
        });
    let (clock, mut sleeper) = match tools {
        Ok(tools) => tools,
        Err(error) => {
            // The main thread has ended only if it failed itself.
            let _ = ready.send(Err(error));
            return 0;
        }
    };
    let mut tuned = shield_view.tune_thread(&member.tuning);
    let mut measures = std::mem::take(&mut tuned.measures);
    measures.push(sleeper_measure(member.sleeper, &member.sleeper_options));
    let _ = ready.send(Ok(measures));
    let Ok(start) = start.recv() else {
        return 0;
    };
    let origin = origin_on(clock.as_ref(), origin);
    let mut context = LoopContext {
        start,
        origin,
        clock: clock.as_ref(),
        sleeper: sleeper.as_mut(),
        stop,
        owed: 0,
    };
    (member.work)(&mut context);
    context.owed
}

/// The warning that a loop gave up.
pub(crate) fn not_run(series: &str, owed: u64) -> Warning {
    Warning::new(
        BEATS_NOT_RUN,
        format!(
            "`{series}` was still {owed} beats behind when its time and {} s of grace were over, and gave up: this \
             machine cannot keep the requested rate",
            GRACE.as_secs()
        ),
        Some("choose a lower --rate"),
    )
}

/// The run's start on `clock`, whose zero may differ from that of `CLOCK_MONOTONIC`.
fn origin_on(clock: &dyn Clock, origin: MonotonicTime) -> MonotonicTime {
    if clock.name() == CLOCK_MONOTONIC {
        return origin;
    }
    // Of several readings of both clocks the one with the least time between counts: what passes there is an error.
    let readings = std::iter::repeat_with(|| {
        let before = clock::now();
        let there = clock.now();
        (before, there, clock::now().since(before))
    });
    let best = readings
        .take(ORIGIN_TRIES)
        .min_by_key(|(_, _, width)| *width);
    let (before, there, width) = best.unwrap_or((origin, clock.now(), 0));
    there.offset_by_ns(-before.offset_by_ns(width / 2).since(origin))
}

fn sleeper_measure(kind: SleeperKind, options: &SleeperOptions) -> TuningMeasure {
    let words = match kind {
        SleeperKind::Spin => format!("{kind}, margin {} us", options.spin_margin.as_micros()),
        _ => kind.to_string(),
    };
    TuningMeasure::granted("sleeper", &words)
}
