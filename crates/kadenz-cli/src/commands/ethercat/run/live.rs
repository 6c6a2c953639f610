//! One line a second at most: events of the segment, or else the state of the loop.

use std::time::Duration;

use kadenz::ethercat::control::notice::{Event, Incident, Incidents, Notice, Subscription};
use kadenz::ethercat::control::timing::Spread;
use kadenz::ethercat::{Network, NetworkMonitor};
use kadenz::lab::measuring_threads::Watch;
use kadenz::record::run::folder::Progress as RunProgress;
use kadenz::record::run::model::TuningMeasure;
use kadenz::report::numbers;
use kadenz::rt::clock::{self, MonotonicTime};

use super::lines::{Lines, StatusLine, cut_off, fitting};
use crate::options::Progress;
use crate::output;

/// Notices that may wait in the queue.
const NOTICES: usize = 4_096;

/// Reports on standard error how the loop runs.
pub(super) struct LoopProgress {
    network: NetworkMonitor,
    notices: Subscription,
    devices: u16,
    /// Names of the devices, by the supervisor's numbers.
    names: Vec<String>,
    begun: MonotonicTime,
    /// Whether all devices have been in OP yet.
    was_well: bool,
    quiet: bool,
    /// Reports refused tuning.
    progress: Progress,
    shown_s: u64,
    incidents: Incidents,
    lines: Lines,
}

impl LoopProgress {
    pub(super) fn of(network: &Network<'_>, duration: Option<Duration>) -> Self {
        let names: Vec<_> = network.devices().map(|it| it.name()).collect();
        let network = network.monitor();
        Self {
            notices: network.notices.subscribe(NOTICES),
            network,
            devices: u16::try_from(names.len()).unwrap_or(u16::MAX),
            names,
            begun: clock::now(),
            was_well: false,
            quiet: output::is_quiet(),
            progress: Progress::new("driving the segment", duration),
            shown_s: 0,
            incidents: Incidents::default(),
            lines: Lines::default(),
        }
    }

    /// Takes in the notices. The start of all devices gets one line; later events get a line for each fault.
    fn hear(&mut self) {
        while let Some(mut notice) = self.notices.try_next() {
            if let Some(source) = &mut notice.device
                && let Some(name) = self.names.get(source.device)
            {
                source.name.clone_from(name);
            }
            if output::is_verbose() {
                self.note_in_full(&notice);
            } else if self.was_well || !matches!(notice.event, Event::State { code: 0, .. }) {
                self.incidents.add(notice);
            }
        }
        if !self.was_well && self.network.health.snapshot().is_well(self.devices) {
            self.was_well = true;
            let took = self.seconds(clock::now());
            self.lines
                .add(format!("{took} s: all {} devices are in OP", self.devices));
        }
    }

    fn note_in_full(&self, notice: &Notice) {
        if self.quiet {
            return;
        }
        let at = self.seconds(MonotonicTime::from_ns(notice.at_ns));
        let source = notice.device.as_ref();
        let source = source.map_or_else(String::new, |it| format!("{} ({}): ", it.device, it.name));
        output::note(&format!("{at} s: {source}{}", notice.event));
    }

    fn add(&mut self, incidents: Vec<Incident>) {
        for incident in incidents {
            let at = self.seconds(MonotonicTime::from_ns(incident.at_ns));
            self.lines.add(format!("{at} s: {incident}"));
        }
    }

    /// Prints the next line, if one is due.
    fn note_due_line(&mut self, elapsed_s: u64) {
        let now = clock::now();
        let settled = self.incidents.settled(now);
        self.add(settled);
        let line = match self.lines.due(now, elapsed_s > self.shown_s) {
            Some(StatusLine::Event(event)) => cut_off(&event, output::width_of_notes()),
            Some(StatusLine::State) => {
                self.shown_s = elapsed_s;
                fitting(&self.state(), output::width_of_notes())
            }
            None => return,
        };
        if !self.quiet {
            output::note(&line);
        }
    }

    /// The state of the loop, the most important part first.
    fn state(&self) -> Vec<String> {
        let snapshot = self.network.timing.snapshot();
        let health = self.network.health.snapshot();
        let at = self.shown_s;
        let mut parts = match health.is_well(self.devices) {
            true => {
                let devices = numbers::counted(self.devices.into(), "device");
                vec![format!("{at} s: {devices} in OP")]
            }
            false => vec![
                format!(
                    "{at} s: {} of {} devices answer",
                    health.answered, self.devices
                ),
                "not all in OP".to_owned(),
            ],
        };
        let frames = &snapshot.frames;
        let troubles = [
            (snapshot.overruns, "overrun", "overruns"),
            (frames.lost, "frame lost", "frames lost"),
            (frames.late, "late", "late"),
            (
                frames.working_counter_mismatches,
                "wrong working counter",
                "wrong working counters",
            ),
            (health.link.damaged, "damaged", "damaged"),
            (health.link.foreign, "foreign", "foreign"),
            (health.link.refused, "refused", "refused"),
        ];
        let troubles = troubles.into_iter().filter(|(count, ..)| *count > 0);
        parts.extend(troubles.map(|(count, one, many)| {
            let what = if count == 1 { one } else { many };
            format!("{} {what}", numbers::thousands(count))
        }));
        parts.extend([
            format!("wake-up {}", tail(&snapshot.wake_up)),
            format!("period {}", tail(&snapshot.period)),
            format!("exchange {}", tail(&snapshot.exchange)),
            numbers::counted(snapshot.cycles, "cycle"),
        ]);
        parts
    }

    /// Time since the loop began, in seconds with two decimal digits.
    fn seconds(&self, at: MonotonicTime) -> String {
        format!("{:.2}", at.since(self.begun) as f64 / 1e9)
    }
}

/// `p99.9 1.012 ms, max 1.034 ms`, or the percentiles that the sample supports.
fn tail(spread: &Spread) -> String {
    let shown = |ns: Option<u64>| ns.map(|ns| numbers::value(ns as f64));
    let percentiles = [
        ("p99.9", spread.p999_ns),
        ("p99", spread.p99_ns),
        ("p50", spread.p50_ns),
    ];
    let carried = percentiles
        .into_iter()
        .find_map(|(name, ns)| Some((name, shown(ns)?)));
    match (carried, shown(spread.max_ns)) {
        (Some((name, value)), Some(max)) => format!("{name} {value} max {max}"),
        (None, Some(max)) => format!("max {max}"),
        _ => "-".to_owned(),
    }
}

impl Watch for LoopProgress {
    fn tick(&mut self, progress: &RunProgress) {
        self.hear();
        self.note_due_line(progress.elapsed.as_secs());
    }

    fn tuned(&mut self, series: &[String], measures: &[TuningMeasure]) {
        self.progress.tuned(series, measures);
    }
}

impl Drop for LoopProgress {
    fn drop(&mut self) {
        self.hear();
        let rest = self.incidents.rest();
        self.add(rest);
        if self.quiet {
            return;
        }
        for line in self.lines.rest() {
            output::note(&cut_off(&line, output::width_of_notes()));
        }
    }
}
