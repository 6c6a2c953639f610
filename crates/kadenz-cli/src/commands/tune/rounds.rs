//! Rounds as commands of this program: `kadenz timer cyclic` under the tuning of the cell, beside
//! `kadenz load heavy`.

use std::io;
use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

use indicatif::ProgressBar;
use kadenz::lab::matrix::{Rounds, Visit, series_names};
use kadenz::lab::stop::Stop;
use kadenz::record::run::matrix::{Combination, Load, Measure};
use kadenz::record::run::model::Run;
use kadenz::report::numbers;
use serde_json::Value;

use super::Options;
use super::bus::Bus;
use super::plan::{TunePlan, WARM_UP};
use crate::commands::child::{self, Notes, Running};
use crate::options::{Span, bar};
use crate::output;

/// Tries of a round: one spoiled round on a busy machine must not end an hour's measurement.
const TRIES: u32 = 3;

/// Measures each round in a process of its own, so that no cell inherits state from another.
pub(super) struct ChildRounds<'a> {
    options: &'a Options,
    plan: &'a TunePlan,
    stop: &'a Stop,
    load: Option<Running>,
    progress: MatrixProgress,
}

impl<'a> ChildRounds<'a> {
    pub(super) fn new(options: &'a Options, plan: &'a TunePlan, stop: &'a Stop) -> Self {
        Self {
            options,
            plan,
            stop,
            load: None,
            progress: MatrixProgress::new(plan.matrix.schedule.visits().count()),
        }
    }

    /// The command that measures a cell.
    fn command(&self, cell: Combination, out: &Path) -> Vec<String> {
        let options = self.options;
        let mut words = match &options.bus {
            Some(bus) => self.on_the_bus(bus),
            None => self.by_a_timer(),
        };
        let mut with = |name: &str, value: String| {
            words.push(format!("--{name}"));
            words.push(value);
        };
        with("deadline", options.deadline.to_string());
        with("out", out.display().to_string());
        if cell.has(Measure::Priority) {
            with("policy", format!("fifo:{}", options.priority));
        }
        if cell.has(Measure::Spin) {
            with("sleeper", "spin".to_owned());
            with("spin-margin", options.spin_margin.to_string());
        }
        if let (true, Some(cpus)) = (cell.has(Measure::Cpu), &self.plan.shield) {
            with("shield", cpus.to_string());
        }
        if cell.has(Measure::Idle) {
            with("cpu-dma-latency", "0us".to_owned());
        }
        let lock = if cell.has(Measure::Memory) {
            "--lock"
        } else {
            "--no-lock"
        };
        words.push(lock.to_owned());
        words
    }

    fn by_a_timer(&self) -> Vec<String> {
        let rate = format!("{:#}", self.options.rate);
        let beats = self.plan.beats.to_string();
        let (warm_up, pace) = (Span(WARM_UP).to_string(), self.options.pace.to_string());
        let words = ["timer", "cyclic", "--no-samples", "--unexamined", "--rate"];
        let more = [&rate, "--count", &beats, "--warm-up", &warm_up];
        let words = words.into_iter().chain(more).chain(["--pace", &pace]);
        words.map(str::to_owned).collect()
    }

    fn on_the_bus(&self, bus: &Bus) -> Vec<String> {
        let cycle = self.options.rate.interval().as_duration();
        let beats = u32::try_from(self.plan.beats).unwrap_or(u32::MAX);
        let spans = [cycle.saturating_mul(beats), WARM_UP];
        let [all, warm_up] = spans.map(|it| Span(it).to_string());
        let rate = format!("{:#}", self.options.rate);
        let pace = self.options.pace.to_string();
        let words = ["ethercat", "run", "--quiet", "--unexamined", "--rate"];
        let more = [&rate, "--duration", &all, "--warm-up", &warm_up];
        let words = words.into_iter().chain(more).chain(["--overrun", &pace]);
        words.map(str::to_owned).chain(bus.words()).collect()
    }

    fn load_command(&self) -> Vec<String> {
        let mut words: Vec<String> = ["load", "heavy", "--json"].map(str::to_owned).to_vec();
        match &self.options.with {
            Some(program) => words.extend(["--with".to_owned(), program.to_string()]),
            // The machine of [Yoon2009] had memory for two such files: its writes reached the disk. A machine with more
            // memory would keep the file in its cache.
            None => words.push("--fsync".to_owned()),
        }
        if let Some(dir) = &self.options.load_dir {
            words.extend(["--dir".to_owned(), dir.display().to_string()]);
        }
        words
    }

    /// One try of a round.
    fn once(&mut self, command: &[String]) -> io::Result<()> {
        let mut round =
            child::start(command, Stdio::null(), Notes::Kept).map_err(io::Error::other)?;
        let words = round.words().to_owned();
        let status = round.wait(self.stop)?;
        let said = round.finish()?;
        // A missed deadline, exit code 1, is a result here.
        match status.code() {
            Some(0 | 1) => Ok(()),
            _ if self.stop.requested() => Ok(()),
            _ => Err(child::failed(&words, &said.stderr)),
        }
    }

    /// Fails with the load's output if the load has ended.
    fn load_still_runs(&mut self) -> io::Result<()> {
        self.load = self.load.take().map(child::still_runs).transpose()?;
        Ok(())
    }
}

/// Removes the folder of a failed round.
fn remove(out: &Path) -> io::Result<()> {
    match std::fs::remove_dir_all(out) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

impl Rounds for ChildRounds<'_> {
    fn load(&mut self, load: Load) -> io::Result<()> {
        if load == Load::Unloaded {
            return Ok(());
        }
        self.load = Some(child::start_load(&self.load_command(), self.stop)?);
        Ok(())
    }

    fn series(&self) -> [&'static str; 2] {
        match self.options.bus {
            Some(_) => ["wake-up", "period"],
            None => ["lateness", "jitter"],
        }
    }

    fn measure(&mut self, visit: &Visit, out: &Path) -> io::Result<()> {
        self.progress.begins();
        let command = self.command(visit.cell, out);
        for left in (0..TRIES).rev() {
            match self.once(&command) {
                Err(error) if left > 0 && !self.stop.requested() => {
                    self.progress.repeats(visit, &error);
                    remove(out)?;
                }
                done => {
                    done?;
                    break;
                }
            }
        }
        match self.stop.requested() {
            true => Ok(()),
            false => self.load_still_runs(),
        }
    }

    fn unload(&mut self) -> io::Result<Value> {
        let Some(load) = self.load.take() else {
            return Ok(Value::Null);
        };
        let words = load.words().to_owned();
        let said = load.finish()?;
        if !said.status.success() {
            return Err(child::failed(&words, &said.stderr));
        }
        Ok(serde_json::from_slice(&said.stdout).unwrap_or_default())
    }

    fn taken(&mut self, visit: &Visit, done: usize, run: &Run) {
        self.progress.taken(visit, done, run);
    }
}

/// Time between two lines where there is no terminal.
const LINE_EVERY: Duration = Duration::from_secs(15);

/// A bar on a terminal, elsewhere a line at intervals, with the remaining time.
struct MatrixProgress {
    bar: Option<ProgressBar>,
    estimate: Estimate,
    /// When the first round began.
    begun: Option<Instant>,
    noted_at: Instant,
}

/// Estimate of the remaining time, from the rounds measured since the start.
struct Estimate {
    total: usize,
    /// Rounds that an earlier attempt had finished; unknown before the first round.
    before: Option<usize>,
}

impl Estimate {
    /// Nanoseconds left after this many rounds of the whole matrix, `elapsed` after the start.
    fn left_ns(&mut self, done: usize, elapsed: Duration) -> f64 {
        let before = *self.before.get_or_insert(done.saturating_sub(1));
        let measured = done.saturating_sub(before).max(1);
        let left = self.total.saturating_sub(done);
        elapsed.as_nanos() as f64 / measured as f64 * left as f64
    }
}

impl MatrixProgress {
    fn new(total: usize) -> Self {
        let bar = output::draws_progress().then(|| {
            let template = "{spinner} [{bar:30}] {pos} of {len} rounds  {msg}";
            let bar = bar(true, Some(total as u64), template);
            bar.enable_steady_tick(Duration::from_millis(200));
            bar
        });
        Self {
            bar,
            estimate: Estimate {
                total,
                before: None,
            },
            begun: None,
            noted_at: Instant::now(),
        }
    }

    fn begins(&mut self) {
        self.begun.get_or_insert_with(Instant::now);
    }

    /// Reports a failed round, which is tried again.
    fn repeats(&self, visit: &Visit, error: &std::io::Error) {
        let words = format!("{} is measured again: {error}", visit.cell);
        match &self.bar {
            Some(bar) => bar.suspend(|| output::note(&words)),
            None => output::note(&words),
        }
    }

    fn taken(&mut self, visit: &Visit, done: usize, run: &Run) {
        let Some(begun) = self.begun else { return };
        let left_ns = self.estimate.left_ns(done, begun.elapsed());
        let words = format!("{} left  {}", coarse(left_ns), worst(visit, run));
        if let Some(bar) = &self.bar {
            bar.set_position(done as u64);
            bar.set_message(words);
        } else if self.noted_at.elapsed() >= LINE_EVERY {
            self.noted_at = Instant::now();
            output::note(&format!(
                "{done} of {} rounds, {words}",
                self.estimate.total
            ));
        }
    }
}

/// A coarse span: whole seconds, or whole minutes.
fn coarse(ns: f64) -> String {
    let seconds = (ns / 1e9).round();
    let whole = if seconds < 90.0 {
        seconds
    } else {
        (seconds / 60.0).round() * 60.0
    };
    numbers::span(whole.max(1.0) * 1e9)
}

/// `heavy PMC: latest 0.031 ms, 0 misses`.
fn worst(visit: &Visit, run: &Run) -> String {
    let [name, _] = series_names(visit);
    let series = run.series.iter().find(|series| series.name == name);
    let counts = series.map(|series| series.counts).unwrap_or_default();
    format!(
        "{} {}: latest {}, {} misses",
        visit.load.name(),
        visit.cell,
        numbers::value(counts.max_ns.unwrap_or(0) as f64),
        numbers::thousands(counts.misses)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_left_counts_the_rounds_of_this_attempt_only() {
        let second = Duration::from_secs(1);
        let left = |before: usize| {
            let mut estimate = Estimate {
                total: 10,
                before: None,
            };
            [1, 2, 3].map(|it| estimate.left_ns(before + it, second * it as u32) / 1e9)
        };
        assert_eq!(left(0), [9.0, 8.0, 7.0]);
        assert_eq!(left(5), [4.0, 3.0, 2.0]);
    }
}
