//! Ctrl-C and termination: the measurement ends and keeps its data.

use std::time::{Duration, Instant};

use anyhow::Context as _;
use kadenz::lab::stop::Stop;

use crate::options::{self, MeasureOptions, Span, StdinOption};
use crate::output;

impl MeasureOptions {
    /// The stop that ends the measurement early.
    pub(crate) fn stop(&self) -> anyhow::Result<Stop> {
        self.ends.stop()
    }
}

impl StdinOption {
    /// A stop as of [`stop_on_interrupt`].
    pub(crate) fn stop(self) -> anyhow::Result<Stop> {
        Ok(self.requests(stop_on_interrupt()?))
    }

    /// A stop as of [`quietly_stop_on_interrupt`].
    pub(crate) fn quiet_stop(self) -> anyhow::Result<Stop> {
        Ok(self.requests(quietly_stop_on_interrupt()?))
    }

    fn requests(self, stop: Stop) -> Stop {
        if self.until_stdin_closes {
            stop_when_stdin_closes(&stop);
        }
        stop
    }
}

/// Requests the stop after this time, if one is given.
pub(crate) fn stop_after(duration: Option<Span>, stop: &Stop) {
    if let Some(duration) = duration {
        let ends = stop.clone();
        std::thread::spawn(move || {
            std::thread::sleep(duration.0);
            ends.request();
        });
    }
}

/// Requests the stop when standard input closes: the process that started this program ends it so, also by its own
/// end.
pub(crate) fn stop_when_stdin_closes(stop: &Stop) {
    let asked = stop.clone();
    std::thread::spawn(move || {
        let _ = std::io::copy(&mut std::io::stdin().lock(), &mut std::io::sink());
        asked.request();
    });
}

/// A stop that the first Ctrl-C (or SIGTERM, SIGHUP) requests. A second one, 200 ms later or more, ends the program at
/// once; data flushed until then stays readable.
pub(crate) fn stop_on_interrupt() -> anyhow::Result<Stop> {
    stop_and_say("\nending; what was measured is kept (again to end at once)")
}

/// The same without a note to the user, for commands that measure nothing they could keep.
pub(crate) fn quietly_stop_on_interrupt() -> anyhow::Result<Stop> {
    stop_and_say("")
}

/// How long after the first signal another one belongs to the same request: `timeout` signals its child, and then the
/// child's group.
const SAME_REQUEST: Duration = Duration::from_millis(200);

fn stop_and_say(words: &'static str) -> anyhow::Result<Stop> {
    let stop = Stop::default();
    let asked = stop.clone();
    let mut first: Option<Instant> = None;
    ctrlc::set_handler(move || match first {
        Some(first) if first.elapsed() < SAME_REQUEST => {}
        Some(_) => leave(),
        None => {
            if !words.is_empty() {
                output::note(words);
            }
            asked.request();
            first = Some(Instant::now());
        }
    })
    .context("cannot listen for Ctrl-C")?;
    Ok(stop)
}

#[expect(
    clippy::disallowed_methods,
    reason = "the user asked twice; the shield and cables are put back first, and what else the program \
              changed of the machine (policy, locked memory, CPU latency) belongs to its threads \
              and descriptors and goes with them"
)]
fn leave() -> ! {
    for left in kadenz::rt::shield::lower_all().failed {
        output::note(&left.to_string());
    }
    #[cfg(target_os = "linux")]
    kadenz::rt::net::cable::remove_own();
    options::remove_empty_folders();
    std::process::exit(2)
}
