//! The objects of one SubDevice, with one interface for its mailbox and for a running loop.

use super::dictionary::{self, DictionaryEntry, DictionaryError, DictionaryObject};
use super::exchange::Registers;
use super::mailbox::Mail;
use super::sdo::{self, SdoError};
use crate::wire::coe::{Address, ListType};

/// The reason why an object was not read, written or described.
#[derive(Debug, thiserror::Error)]
pub enum AccessError {
    /// The transfer failed.
    #[error(transparent)]
    Sdo(#[from] SdoError),
    /// The dictionary could not be read.
    #[error(transparent)]
    Dictionary(#[from] DictionaryError),
    /// The loop that has the SubDevice refuses, or passes on that the SubDevice refuses.
    #[error(transparent)]
    Refused(Box<dyn std::error::Error + Send + Sync>),
    /// The loop that has the SubDevice does not answer.
    #[error(transparent)]
    Unanswered(Box<dyn std::error::Error + Send + Sync>),
}

impl AccessError {
    /// Whether this is a refusal, so that other requests may succeed. A loop also refuses requests to a
    /// SubDevice that is gone or being set up: such a SubDevice gives no descriptions of its objects either.
    #[must_use]
    pub fn is_refusal(&self) -> bool {
        match self {
            Self::Sdo(error) => error.abort().is_some(),
            Self::Dictionary(error) => matches!(error, DictionaryError::Refused(_)),
            Self::Refused(_) => true,
            Self::Unanswered(_) => false,
        }
    }
}

/// Reads, writes and describes the objects of one SubDevice by CoE.
///
/// ```
/// use kadenz_ethercat::main_device::exchange::{BlockingExchange, Registers, RetryPolicy};
/// use kadenz_ethercat::main_device::objects::{MailboxObjects, Objects};
/// use kadenz_ethercat::main_device::{bring_up, link::Link};
/// use kadenz_ethercat::sim::WirePort;
/// use kadenz_ethercat::sim::humanoid::humanoid;
/// use kadenz_ethercat::wire::coe::Address;
///
/// /// Works with a SubDevice on a segment, and with one of a running loop (`LoopObjects`).
/// fn vendor(objects: &mut dyn Objects) -> u32 {
///     let bytes = objects.read(Address::new(0x1018, 1), false).expect("a number");
///     bytes.try_into().map_or(0, u32::from_le_bytes)
/// }
///
/// let mut link = Link::new(WirePort::new(humanoid(9).build()?), 1);
/// let mut exchange = BlockingExchange { link: &mut link, retry: RetryPolicy::default() };
/// let mut registers = Registers::by(&mut exchange);
/// let mut devices = bring_up::find(&mut registers)?;
/// let mail = devices[8].mail()?;
/// assert_eq!(vendor(&mut MailboxObjects::new(&mut registers, mail)), 0x4B41_445A);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Real-time safety
/// Every method waits and allocates; none is real-time safe.
pub trait Objects {
    /// The indices of all objects, in the SubDevice's order.
    ///
    /// # Errors
    /// [`AccessError`], for example when the SubDevice has no dictionary.
    fn list(&mut self) -> Result<Vec<u16>, AccessError>;

    /// The description of an object.
    ///
    /// # Errors
    /// [`AccessError`], for example when there is no such object.
    fn object(&mut self, index: u16) -> Result<DictionaryObject, AccessError>;

    /// The description of an object's entry.
    ///
    /// # Errors
    /// [`AccessError`], for example when there is no such entry.
    fn entry(&mut self, address: Address) -> Result<DictionaryEntry, AccessError>;

    /// The value of an entry; with `complete`, of all entries from there.
    ///
    /// # Errors
    /// [`AccessError`], for example when the entry cannot be read.
    fn read(&mut self, address: Address, complete: bool) -> Result<Vec<u8>, AccessError>;

    /// Writes an entry, or with `complete` all from there: its bytes, the lowest first.
    ///
    /// # Errors
    /// [`AccessError`], for example when the entry cannot be written.
    fn write(&mut self, address: Address, complete: bool, value: &[u8]) -> Result<(), AccessError>;
}

/// Objects of a SubDevice in PREOP or higher, by its mailbox.
pub struct MailboxObjects<'r, 'x, 'm> {
    registers: &'r mut Registers<'x>,
    mail: Mail<'m>,
}

impl<'r, 'x, 'm> MailboxObjects<'r, 'x, 'm> {
    /// The objects behind this mailbox.
    pub fn new(registers: &'r mut Registers<'x>, mail: Mail<'m>) -> Self {
        Self { registers, mail }
    }
}

impl Objects for MailboxObjects<'_, '_, '_> {
    fn list(&mut self) -> Result<Vec<u16>, AccessError> {
        Ok(dictionary::list(
            self.registers,
            &mut self.mail,
            ListType::ALL,
        )?)
    }

    fn object(&mut self, index: u16) -> Result<DictionaryObject, AccessError> {
        Ok(dictionary::object(self.registers, &mut self.mail, index)?)
    }

    fn entry(&mut self, address: Address) -> Result<DictionaryEntry, AccessError> {
        Ok(dictionary::entry(self.registers, &mut self.mail, address)?)
    }

    fn read(&mut self, address: Address, complete: bool) -> Result<Vec<u8>, AccessError> {
        Ok(sdo::read(
            self.registers,
            &mut self.mail,
            address,
            complete,
        )?)
    }

    fn write(&mut self, address: Address, complete: bool, value: &[u8]) -> Result<(), AccessError> {
        Ok(sdo::write(
            self.registers,
            &mut self.mail,
            address,
            complete,
            value,
        )?)
    }
}
