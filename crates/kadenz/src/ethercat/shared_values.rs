//! Values of the process data of a running loop that other threads read and write: for a controller that cannot be
//! called once a cycle, such as one in another language.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use kadenz_ethercat::wire::coe::Address;
use kadenz_ethercat::wire::sii::Direction;

use super::device::Device;
use super::error::LookUpError;
use super::io::Io;
use super::object::{ObjectLocation, Value, ValueType};

/// Objects of the process data that a loop in the background shares; the caller requests them before the loop starts.
/// Each value is consistent; two of them may come from successive cycles.
///
/// # Real-time safety
/// Requesting an object allocates; the handles that it returns do not.
#[derive(Debug, Default)]
pub struct SharedValues {
    inputs: Vec<Arc<Cell>>,
    outputs: Vec<Arc<Cell>>,
}

#[derive(Debug)]
struct Cell {
    place: ObjectLocation,
    word: AtomicU64,
    /// Of an input whether its device took part in the last cycle, of an output whether a value was set.
    is_live: AtomicBool,
}

/// The last value of an input object, for any thread.
///
/// # Real-time safety
/// No method allocates, locks, or makes a system call.
#[derive(Debug, Clone)]
pub struct SharedInput {
    cell: Arc<Cell>,
    value_type: ValueType,
}

/// The value of an output object, for any thread to set.
///
/// # Real-time safety
/// No method allocates, locks, or makes a system call.
#[derive(Debug, Clone)]
pub struct SharedOutput {
    cell: Arc<Cell>,
    value_type: ValueType,
}

/// The object's type cannot hold the value.
#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
#[error("{value:?} has no place in an object of type {}", value_type.name())]
pub struct SetValueError {
    value: Value,
    value_type: ValueType,
}

impl SharedValues {
    /// Shares an object in the inputs of a device: an index (`0x6064`), or index and sub-index (`(0x6000, 1)`). Without
    /// a stated type it has that of the device's dictionary or ESI file.
    ///
    /// # Errors
    /// [`LookUpError`] where the object is not mapped, or not with such a type.
    pub fn input(
        &mut self,
        device: &Device<'_>,
        object: impl Into<Address>,
        value_type: Option<ValueType>,
    ) -> Result<SharedInput, LookUpError> {
        let (place, value_type) = device.place(object.into(), Direction::Inputs, value_type)?;
        let cell = slot(&mut self.inputs, place);
        Ok(SharedInput { cell, value_type })
    }

    /// Shares an object in the outputs of a device, as [`input`](Self::input). It reads zero until a value
    /// is set; until then the loop leaves the output as it is, which a motion may have preset. A second call for the same
    /// object returns a handle of the same value.
    ///
    /// # Errors
    /// As [`input`](Self::input).
    pub fn output(
        &mut self,
        device: &Device<'_>,
        object: impl Into<Address>,
        value_type: Option<ValueType>,
    ) -> Result<SharedOutput, LookUpError> {
        let (place, value_type) = device.place(object.into(), Direction::Outputs, value_type)?;
        let cell = slot(&mut self.outputs, place);
        Ok(SharedOutput { cell, value_type })
    }

    /// Copies the values between the process data and the shared cells, in each cycle.
    ///
    /// # Real-time safety
    /// It neither allocates, locks, nor makes a system call.
    pub(super) fn exchange(&self, io: &mut Io<'_, '_>) {
        for cell in &self.inputs {
            cell.word.store(io.read(cell.place), Ordering::Relaxed);
            cell.is_live
                .store(io.took_part(cell.place), Ordering::Relaxed);
        }
        for cell in self
            .outputs
            .iter()
            .filter(|it| it.is_live.load(Ordering::Acquire))
        {
            io.write(cell.place, cell.word.load(Ordering::Relaxed));
        }
    }
}

/// The cell of an object, one for all handles of it. Each cycle writes every output that was set, so that of two cells
/// of one object the later one would always win.
fn slot(cells: &mut Vec<Arc<Cell>>, place: ObjectLocation) -> Arc<Cell> {
    if let Some(known) = cells.iter().find(|it| it.place == place) {
        return Arc::clone(known);
    }
    let cell = Arc::new(Cell {
        place,
        word: AtomicU64::new(0),
        is_live: AtomicBool::new(false),
    });
    cells.push(Arc::clone(&cell));
    cell
}

impl SharedInput {
    /// The last value that the device sent; zero before it sent one.
    #[must_use]
    pub fn get(&self) -> Value {
        self.value_type
            .value(self.cell.word.load(Ordering::Relaxed))
    }

    /// Whether the device took part in the last cycle; see [`Io::is_fresh`].
    #[must_use]
    pub fn is_fresh(&self) -> bool {
        self.cell.is_live.load(Ordering::Relaxed)
    }
}

impl SharedOutput {
    /// Sets the value that the loop sends to the device from the next cycle on.
    ///
    /// # Errors
    /// [`SetValueError`] where the object's type cannot hold the value, as 300 in a `u8`.
    pub fn set(&self, value: Value) -> Result<(), SetValueError> {
        let value_type = self.value_type;
        let word = value_type.bits_of(value);
        let word = word.ok_or(SetValueError { value, value_type })?;
        self.cell.word.store(word, Ordering::Relaxed);
        self.cell.is_live.store(true, Ordering::Release);
        Ok(())
    }

    /// The value that was set last.
    #[must_use]
    pub fn get(&self) -> Value {
        self.value_type
            .value(self.cell.word.load(Ordering::Relaxed))
    }
}
