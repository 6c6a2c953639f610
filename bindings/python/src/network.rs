//! EtherCAT: a loop in the background, and cached inputs and outputs.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use kadenz::Tuning;
use kadenz::ethercat::{
    Device, LookUpError, Network as BroughtUp, RunningNetwork, SharedInput, SharedOutput,
    SharedValues, Value, ValueType,
};
use pyo3::prelude::*;

use crate::periodic::Recording;
use crate::{error, timeout, wait};

/// A segment with its devices.
#[pyclass(module = "kadenz._kadenz")]
pub(crate) struct Network {
    stage: Stage,
    values: SharedValues,
}

enum Stage {
    // It belongs to one thread at a time.
    BroughtUp(Mutex<Box<BroughtUp<'static>>>),
    Running(RunningNetwork),
    Ended,
}

/// An object that a device tells or is told.
#[pyclass(frozen, module = "kadenz._kadenz")]
pub(crate) struct Cached(Entry);

enum Entry {
    Input(SharedInput),
    Output(SharedOutput),
}

/// A number, as Python gives it.
#[derive(Clone, Copy, FromPyObject)]
enum Number {
    Bool(bool),
    Integer(i128),
    Float(f64),
}

impl Network {
    fn running(&self) -> PyResult<&RunningNetwork> {
        match &self.stage {
            Stage::Running(running) => Ok(running),
            _ => Err(error("the network's loop does not run; call start()")),
        }
    }

    fn ask(
        &mut self,
        device: &str,
        ask: impl FnOnce(&mut SharedValues, &Device<'_>) -> Result<Entry, LookUpError>,
    ) -> PyResult<Cached> {
        let Stage::BroughtUp(network) = &mut self.stage else {
            return Err(error(
                "the network has started; ask for its values before start()",
            ));
        };
        let network = network.get_mut().unwrap_or_else(PoisonError::into_inner);
        let device = match (network.device(device), device.parse()) {
            (Ok(device), _) => Ok(device),
            (Err(_), Ok(position)) => network.device_at(position),
            (Err(error), Err(_)) => Err(error),
        };
        let entry = ask(&mut self.values, &device.map_err(error)?).map_err(error)?;
        Ok(Cached(entry))
    }
}

fn value_type(name: Option<&str>) -> PyResult<Option<ValueType>> {
    name.map(str::parse).transpose().map_err(error)
}

#[pymethods]
impl Network {
    #[new]
    fn new(
        py: Python<'_>,
        segment: &str,
        cycle: &str,
        deadline: Option<&str>,
        priority: Option<u8>,
        lock_memory: bool,
        esi: Option<std::path::PathBuf>,
    ) -> PyResult<Self> {
        let mut tuning = priority.map_or_else(Tuning::default, Tuning::fifo);
        tuning.lock_memory = lock_memory;
        let builder = BroughtUp::open_segment(segment).map_err(error)?;
        let mut builder = builder.cycle(cycle).map_err(error)?.tuned(tuning);
        if let Some(deadline) = deadline {
            builder = builder.deadline(deadline).map_err(error)?;
        }
        if let Some(esi) = esi {
            builder = builder.esi(esi).map_err(error)?;
        }
        let network = py.detach(|| builder.bring_up()).map_err(error)?;
        Ok(Self {
            stage: Stage::BroughtUp(Mutex::new(Box::new(network))),
            values: SharedValues::default(),
        })
    }

    fn input(
        &mut self,
        device: &str,
        index: u16,
        subindex: u8,
        r#type: Option<&str>,
    ) -> PyResult<Cached> {
        let value_type = value_type(r#type)?;
        self.ask(device, |values, device| {
            values
                .input(device, (index, subindex), value_type)
                .map(Entry::Input)
        })
    }

    fn output(
        &mut self,
        device: &str,
        index: u16,
        subindex: u8,
        r#type: Option<&str>,
    ) -> PyResult<Cached> {
        let value_type = value_type(r#type)?;
        self.ask(device, |values, device| {
            values
                .output(device, (index, subindex), value_type)
                .map(Entry::Output)
        })
    }

    fn start(&mut self, recording: Option<PyRef<'_, Recording>>) -> PyResult<()> {
        let run = recording
            .map(|it| it.running().map(Arc::clone))
            .transpose()?;
        match std::mem::replace(&mut self.stage, Stage::Ended) {
            Stage::BroughtUp(network) => {
                let network = network.into_inner().unwrap_or_else(PoisonError::into_inner);
                let values = std::mem::take(&mut self.values);
                self.stage = Stage::Running(network.start(values, run).map_err(error)?);
                Ok(())
            }
            other => {
                self.stage = other;
                Err(error("the network has started already; open another one"))
            }
        }
    }

    /// The number of a cycle after that one; `None` where none came in time or the loop has ended.
    fn wait(&self, py: Python<'_>, after: u64, seconds: Option<f64>) -> PyResult<Option<u64>> {
        let running = self.running()?;
        wait(py, timeout(seconds)?, |slice: Duration| {
            match running.wait_cycle(after, slice) {
                None if !running.state().is_running => {
                    Err(error("the loop has ended; stop() says why"))
                }
                cycle => Ok(cycle),
            }
        })
    }

    /// Whether the loop runs; cycles, lost frames, devices in OP, devices.
    fn state(&self) -> PyResult<(bool, u64, u64, usize, usize)> {
        let state = self.running()?.state();
        Ok((
            state.is_running,
            state.cycles,
            state.lost,
            state.operational,
            state.devices,
        ))
    }

    fn stop(&mut self, py: Python<'_>) -> PyResult<String> {
        let running = self.running()?;
        let report = py.detach(|| running.stop());
        self.stage = Stage::Ended;
        report.map(|it| it.to_string()).map_err(error)
    }
}

#[pymethods]
impl Cached {
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
