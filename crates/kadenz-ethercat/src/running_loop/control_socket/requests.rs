//! A client's requests, each with the type of its answer.

use super::client::{ClientError, ControlClient};
use super::question::{Answer, ProcessImageLayout, Question};
use crate::control::health::HealthSnapshot;
use crate::control::supervisor::DeviceStatus;
use crate::control::timing::Snapshot;
use crate::main_device::dictionary::{DictionaryEntry, DictionaryObject};
use crate::motion::Status;
use crate::wire::State;
use crate::wire::coe::{Access, Address, DataType, ObjectCode};

/// Sends a question, and returns the content of its answer.
macro_rules! request {
    ($client:expr, $question:expr, $answer:pat => $value:expr) => {
        match $client.request(&$question)? {
            $answer => Ok($value),
            _ => Err(ClientError::Nonsense(
                "it answers another question".to_owned(),
            )),
        }
    };
}

/// The latest process image.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LastImage {
    /// Its bytes: heading, inputs, outputs.
    pub bytes: Vec<u8>,
    /// Whether it was the last one: the loop has ended.
    pub ended: bool,
}

/// The requests, one question each. Devices are named by their numbers, from 0, in the order in which they were
/// configured.
///
/// ```no_run
/// use kadenz_ethercat::running_loop::control_socket::ControlClient;
/// use kadenz_ethercat::wire::coe::Address;
///
/// let mut robot = ControlClient::connect("robot")?;
/// let status_word = robot.read_object(8, Address::new(0x6041, 0))?;
/// # Ok::<(), kadenz_ethercat::running_loop::control_socket::ClientError>(())
/// ```
///
impl ControlClient {
    /// The name of the loop, and its process.
    ///
    /// # Errors
    /// [`ClientError`].
    pub fn hello(&mut self) -> Result<(String, u32), ClientError> {
        request!(self, Question::Hello {}, Answer::Hello { name, pid, .. } => (name, pid))
    }

    /// Statistics since the loop began.
    ///
    /// # Errors
    /// [`ClientError`].
    pub fn statistics(&mut self) -> Result<Snapshot, ClientError> {
        request!(self, Question::Stats {}, Answer::Stats(it) => *it)
    }

    /// What the loop notes of each cycle.
    ///
    /// # Errors
    /// [`ClientError`].
    pub fn health(&mut self) -> Result<HealthSnapshot, ClientError> {
        request!(self, Question::Health {}, Answer::Health(it) => it)
    }

    /// The place of each entry of the process data, and the memory in which the loop publishes it.
    ///
    /// # Errors
    /// [`ClientError`].
    pub fn layout(&mut self) -> Result<ProcessImageLayout, ClientError> {
        request!(self, Question::Layout {}, Answer::Layout(it) => it)
    }

    /// What the loop read and wrote last, for programs that cannot map that memory.
    ///
    /// # Errors
    /// [`ClientError`].
    pub fn process_image(&mut self) -> Result<LastImage, ClientError> {
        request!(self, Question::ProcessImage {}, Answer::ProcessImage { bytes, ended, .. } => LastImage { bytes, ended })
    }

    /// Sets an output that no axis has: its bytes, the lowest first; the cycle from which on the loop sends it.
    ///
    /// # Errors
    /// [`ClientError`].
    pub fn set_output(
        &mut self,
        device: usize,
        address: Address,
        value: Vec<u8>,
    ) -> Result<u64, ClientError> {
        request!(self, Question::Output { device, index: address.index, sub: address.sub, value }, Answer::Set { cycle } => cycle)
    }

    /// The state of all axes.
    ///
    /// # Errors
    /// [`ClientError`].
    pub fn axes(&mut self) -> Result<Status, ClientError> {
        request!(self, Question::Axes {}, Answer::Axes(it) => *it)
    }

    /// Stops all axes; `by` says for later readers which program asked.
    ///
    /// # Errors
    /// [`ClientError`].
    pub fn stop(&mut self, by: Option<String>) -> Result<Status, ClientError> {
        request!(self, Question::Stop { by }, Answer::Axes(it) => *it)
    }

    /// Resets a stop of the axes, and faults of their drives.
    ///
    /// # Errors
    /// [`ClientError`].
    pub fn reset(&mut self) -> Result<Status, ClientError> {
        request!(self, Question::Reset {}, Answer::Axes(it) => *it)
    }

    /// The status of all devices, as the supervisor saw them last.
    ///
    /// # Errors
    /// [`ClientError`].
    pub fn devices(&mut self) -> Result<Vec<DeviceStatus>, ClientError> {
        request!(self, Question::Devices {}, Answer::Devices(it) => it)
    }

    /// Brings a device to INIT, PREOP, SAFEOP or OP, where the supervisor keeps it. Waits until it is there.
    ///
    /// # Errors
    /// [`ClientError`].
    pub fn bring(&mut self, device: usize, state: State) -> Result<DeviceStatus, ClientError> {
        request!(self, Question::State { device, state: Some(state.name().to_owned()) }, Answer::Device(it) => it)
    }

    /// The SII of a device, as it was read when the loop began.
    ///
    /// # Errors
    /// [`ClientError`].
    pub fn sii(&mut self, device: usize) -> Result<Vec<u8>, ClientError> {
        request!(self, Question::Sii { device }, Answer::Bytes(it) => it)
    }

    /// The indices of all objects of a device, in its order.
    ///
    /// # Errors
    /// [`ClientError`].
    pub(crate) fn list_objects(&mut self, device: usize) -> Result<Vec<u16>, ClientError> {
        request!(self, Question::SdoList { device }, Answer::Indices(it) => it)
    }

    /// The description of an object, by the dictionary of its device.
    ///
    /// # Errors
    /// [`ClientError`].
    pub(crate) fn describe_object(
        &mut self,
        device: usize,
        index: u16,
    ) -> Result<DictionaryObject, ClientError> {
        request!(self, Question::SdoObject { device, index }, Answer::Object { name, code, data_type, highest_sub } => DictionaryObject { index, data_type: DataType(data_type), highest_sub, code: ObjectCode::from_number(code), name })
    }

    /// The description of an object's entry, by the dictionary of its device.
    ///
    /// # Errors
    /// [`ClientError`].
    pub(crate) fn describe_entry(
        &mut self,
        device: usize,
        address: Address,
    ) -> Result<DictionaryEntry, ClientError> {
        request!(self, Question::SdoInfo { device, index: address.index, sub: address.sub }, Answer::Entry { name, data_type, bits, access } => DictionaryEntry { address, data_type: DataType(data_type), bits, access: Access(access), name })
    }

    /// The unit of an entry, as people write it; `None` where the device has none.
    ///
    /// # Errors
    /// [`ClientError`].
    pub fn unit(&mut self, device: usize, address: Address) -> Result<Option<String>, ClientError> {
        request!(self, Question::Unit { device, index: address.index, sub: address.sub }, Answer::Unit(it) => it)
    }

    /// The value of an entry.
    ///
    /// # Errors
    /// [`ClientError`].
    pub fn read_object(&mut self, device: usize, address: Address) -> Result<Vec<u8>, ClientError> {
        request!(self, Question::SdoRead { device, index: address.index, sub: address.sub }, Answer::Bytes(it) => it)
    }

    /// Writes an entry: its bytes, the lowest first.
    ///
    /// # Errors
    /// [`ClientError`].
    pub fn write_object(
        &mut self,
        device: usize,
        address: Address,
        value: Vec<u8>,
    ) -> Result<(), ClientError> {
        request!(self, Question::SdoWrite { device, index: address.index, sub: address.sub, value }, Answer::Done => ())
    }
}
