//! The extension module behind the Python package `kadenz`: Python code holds what is small and typed, and this module
//! what measures, receives or waits.
//!
//! Each call that waits releases the interpreter's lock, and checks every [`POLL_INTERVAL`] whether Ctrl-C was pressed.
//! What opens a network or a camera runs on a thread of its own for that.

mod bus;
#[cfg(target_os = "linux")]
mod camera;
mod log;
mod network;
mod periodic;
mod run;
mod types;

use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::time::{Duration, Instant};

use kadenz::rt::units;
use pyo3::prelude::*;

pyo3::create_exception!(
    kadenz,
    Error,
    pyo3::exceptions::PyRuntimeError,
    "What Kadenz could not do; its text names the cause and the remedy."
);

/// The longest time without a check for signals.
const POLL_INTERVAL: Duration = Duration::from_millis(50);

/// Makes a Python exception of an error of the library.
fn error(error: impl std::fmt::Display) -> PyErr {
    Error::new_err(error.to_string())
}

/// A time that Python states: seconds, or a text with its unit, as "400us".
#[derive(FromPyObject)]
enum Time {
    Text(String),
    Seconds(f64),
}

impl Time {
    fn duration(self) -> PyResult<Duration> {
        match self {
            Self::Text(text) => units::duration(&text).map_err(error),
            Self::Seconds(seconds) => Duration::try_from_secs_f64(seconds).map_err(|_| {
                error(format!(
                    "{seconds} is not a valid time; state seconds from 0 on, or a text with its unit, as 400us"
                ))
            }),
        }
    }

    /// As a text with its unit, for the functions that read one.
    fn text(self) -> PyResult<String> {
        match self {
            Self::Text(text) => Ok(text),
            seconds @ Self::Seconds(_) => Ok(format!("{}ns", seconds.duration()?.as_nanos())),
        }
    }
}

/// A time in nanoseconds.
#[pyfunction]
fn nanoseconds(time: Time) -> PyResult<u128> {
    time.duration().map(|it| it.as_nanos())
}

/// A timeout of Python; `None` means no limit.
fn timeout(time: Option<Time>) -> PyResult<Duration> {
    time.map_or(Ok(Duration::MAX), Time::duration)
}

/// Polls, without the interpreter's lock, until there is an answer or the time is over.
fn wait<T: Send>(
    py: Python<'_>,
    timeout: Duration,
    mut ask: impl FnMut(Duration) -> PyResult<Option<T>> + Send,
) -> PyResult<Option<T>> {
    let start = Instant::now();
    loop {
        let left = timeout.saturating_sub(start.elapsed());
        let answer = py.detach(|| ask(left.min(POLL_INTERVAL)))?;
        py.check_signals()?;
        if answer.is_some() || left <= POLL_INTERVAL {
            return Ok(answer);
        }
    }
}

/// Opens what may take long, on a thread of its own. Where Ctrl-C ends the wait, that thread closes what it opened.
fn opened<T: Send + 'static, E: std::fmt::Display + Send + 'static>(
    py: Python<'_>,
    open: impl FnOnce() -> Result<T, E> + Send + 'static,
) -> PyResult<T> {
    let (sender, receiver) = sync_channel(1);
    let thread = std::thread::Builder::new().name("kadenz-open".to_owned());
    let work = move || drop(sender.send(open()));
    thread.spawn(work).map_err(error)?;
    let answer = wait(py, Duration::MAX, move |slice| {
        match receiver.recv_timeout(slice) {
            Ok(answer) => Ok(Some(answer)),
            Err(RecvTimeoutError::Timeout) => Ok(None),
            Err(RecvTimeoutError::Disconnected) => Err(error(
                "a defect of Kadenz: it panicked; please report it with what standard error says",
            )),
        }
    })?;
    match answer {
        Some(answer) => answer.map_err(error),
        None => unreachable!("a wait without a limit ends with an answer"),
    }
}

#[pymodule]
fn _kadenz(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("Error", module.py().get_type::<Error>())?;
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add_class::<bus::Bus>()?;
    module.add_class::<bus::Received>()?;
    module.add_class::<bus::Subscription>()?;
    module.add_class::<log::Log>()?;
    module.add_class::<log::LogWriting>()?;
    module.add_class::<network::ProcessValue>()?;
    module.add_class::<network::Network>()?;
    module.add_class::<periodic::Durations>()?;
    module.add_class::<periodic::Recording>()?;
    module.add_class::<periodic::Tick>()?;
    module.add_class::<periodic::Ticks>()?;
    #[cfg(target_os = "linux")]
    module.add_class::<camera::Camera>()?;
    module.add_class::<run::Run>()?;
    module.add_class::<run::Series>()?;
    module.add_function(wrap_pyfunction!(run::open_run, module)?)?;
    module.add_function(wrap_pyfunction!(run::compare, module)?)?;
    module.add_function(wrap_pyfunction!(types::parse_types, module)?)?;
    module.add_function(wrap_pyfunction!(nanoseconds, module)?)
}
