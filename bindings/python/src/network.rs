//! EtherCAT: a loop in the background, and cached inputs and outputs.

use std::sync::Arc;
use std::time::Duration;

use kadenz::Tuning;
use kadenz::ethercat::{
    SharedInput, SharedNetwork, SharedNetworkOptions, SharedOutput, Value, ValueType,
};
use pyo3::prelude::*;

use crate::periodic::Recording;
use crate::{Time, error, opened, timeout, wait};

/// A segment with its devices.
#[pyclass(frozen, module = "kadenz._kadenz")]
pub(crate) struct Network(SharedNetwork);

/// An input or output object of a device.
#[pyclass(frozen, name = "Value", module = "kadenz._kadenz")]
pub(crate) struct ProcessValue(Entry);

enum Entry {
    Input(SharedInput),
    Output(SharedOutput),
}

/// A number from Python.
#[derive(Clone, Copy, FromPyObject)]
enum Number {
    Bool(bool),
    Integer(i128),
    Float(f64),
}

fn value_type(name: Option<&str>) -> PyResult<Option<ValueType>> {
    name.map(str::parse).transpose().map_err(error)
}

#[pymethods]
impl Network {
    #[new]
    fn new(
        py: Python<'_>,
        segment: String,
        cycle: &str,
        deadline: Option<Time>,
        priority: Option<u8>,
        lock_memory: bool,
        esi: Option<std::path::PathBuf>,
    ) -> PyResult<Self> {
        let mut tuning = priority.map_or_else(Tuning::default, Tuning::fifo);
        tuning.lock_memory = lock_memory;
        let options = SharedNetworkOptions {
            cycle: Some(cycle.to_owned()).filter(|it| !it.is_empty()),
            deadline: deadline.map(Time::text).transpose()?,
            tuning,
            esi,
        };
        opened(py, move || SharedNetwork::open(&segment, &options)).map(Self)
    }

    fn input(
        &self,
        device: &str,
        index: u16,
        subindex: u8,
        r#type: Option<&str>,
    ) -> PyResult<ProcessValue> {
        let object = (index, subindex);
        let input = self.0.input(device, object, value_type(r#type)?);
        Ok(ProcessValue(Entry::Input(input.map_err(error)?)))
    }

    fn output(
        &self,
        device: &str,
        index: u16,
        subindex: u8,
        r#type: Option<&str>,
    ) -> PyResult<ProcessValue> {
        let object = (index, subindex);
        let output = self.0.output(device, object, value_type(r#type)?);
        Ok(ProcessValue(Entry::Output(output.map_err(error)?)))
    }

    fn start(&self, recording: Option<PyRef<'_, Recording>>) -> PyResult<()> {
        let run = recording.map(|it| it.running().map(Arc::clone));
        let run = run.transpose()?;
        self.0.start(run).map_err(error)
    }

    /// Waits for a cycle after that one and returns its number; `None` where none came in time.
    fn wait(&self, py: Python<'_>, after: u64, limit: Option<Time>) -> PyResult<Option<u64>> {
        let running = self.0.running().map_err(error)?;
        wait(py, timeout(limit)?, |slice: Duration| {
            match running.wait_cycle(after, slice) {
                None if !running.state().is_running => {
                    Err(error("the loop has ended; stop() says why"))
                }
                cycle => Ok(cycle),
            }
        })
    }

    /// Whether the loop runs; the number of cycles, of lost frames, of devices in OP, of devices.
    fn state(&self) -> PyResult<(bool, u64, u64, usize, usize)> {
        let state = self.0.running().map_err(error)?.state();
        Ok((
            state.is_running,
            state.cycles,
            state.lost,
            state.operational,
            state.devices,
        ))
    }

    fn stop(&self, py: Python<'_>) -> PyResult<String> {
        let report = py.detach(|| self.0.stop());
        report.map(|it| it.to_string()).map_err(error)
    }
}

#[pymethods]
impl ProcessValue {
    #[getter]
    fn value<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let value = match &self.0 {
            Entry::Input(input) => input.get(),
            Entry::Output(output) => output.get(),
        };
        Ok(match value {
            Value::Bool(it) => it.into_pyobject(py)?.to_owned().into_any(),
            Value::Integer(it) => it.into_pyobject(py)?.into_any(),
            Value::Float(it) => it.into_pyobject(py)?.into_any(),
        })
    }

    #[setter]
    fn set_value(&self, value: Number) -> PyResult<()> {
        let Entry::Output(output) = &self.0 else {
            return Err(error("an input cannot be set; ask for an output"));
        };
        let value = match value {
            Number::Bool(it) => Value::Bool(it),
            Number::Integer(it) => Value::Integer(it),
            Number::Float(it) => Value::Float(it),
        };
        output.set(value).map_err(error)
    }

    /// Whether the device of an input took part in the last cycle; an output always is.
    #[getter]
    fn is_fresh(&self) -> bool {
        match &self.0 {
            Entry::Input(input) => input.is_fresh(),
            Entry::Output(_) => true,
        }
    }
}
