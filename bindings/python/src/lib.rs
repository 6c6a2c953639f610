//! The extension module behind the Python package `kadenz`: Python code holds what is small and typed, and this module
//! what measures, receives or waits.
//!
//! Each call that waits releases the interpreter's lock, and checks every [`POLL_INTERVAL`] whether Ctrl-C was pressed.

mod bus;
#[cfg(target_os = "linux")]
mod camera;
mod log;
mod network;
mod periodic;
mod run;
mod types;

use std::time::{Duration, Instant};

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

/// A timeout of Python: seconds; `None` means no limit.
fn timeout(seconds: Option<f64>) -> PyResult<Duration> {
    let Some(seconds) = seconds else {
        return Ok(Duration::MAX);
    };
    Duration::try_from_secs_f64(seconds).map_err(|_| {
        error(format!(
            "{seconds} is not a valid timeout; state seconds from 0 on, or None"
        ))
    })
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
    module.add_function(wrap_pyfunction!(types::parse_types, module)?)
}
