//! Registers and objects of a running loop's device, accessed as if the caller had a wire of its own.

use std::time::Duration;

use kadenz_rt::clock::{self, MonotonicTime};

use super::client::{ClientError, ControlClient};
use super::question::{Answer, Question};
use crate::main_device::dictionary::{DictionaryEntry, DictionaryObject};
use crate::main_device::exchange::{Exchange, ExchangeError, ExchangeResult, FrameBuffer, Target};
use crate::main_device::objects::{AccessError, Objects};
use crate::wire::coe::Address;
use crate::wire::{Command, Configured, DatagramAddress, DatagramMut, DatagramsMut};

/// The registers of a device through a loop's control socket: code that uses [`Registers`] works through a
/// loop too.
///
/// Assumption: the caller sends only reads and writes of this device by its station address (FPRD, FPWR).
/// Other datagrams are not sent: their working counter stays 0. Not for mailboxes, which the loop's
/// supervisor reads. Waits, allocates.
///
/// [`Registers`]: crate::main_device::exchange::Registers
#[derive(Debug)]
pub struct LoopExchange<'c> {
    client: &'c mut ControlClient,
    device: usize,
    station: Configured,
}

impl<'c> LoopExchange<'c> {
    /// For the device of that number, which has that station address.
    pub fn new(client: &'c mut ControlClient, device: usize, station: Configured) -> Self {
        Self {
            client,
            device,
            station,
        }
    }

    /// The address of the device.
    #[must_use]
    pub const fn target(&self) -> Target {
        Target::Of(self.station)
    }

    /// Sends a datagram; returns its working counter.
    fn request(&mut self, datagram: &mut DatagramMut<'_>) -> ExchangeResult<u16> {
        let address = datagram.address();
        let register = address.register();
        let is_its = address == DatagramAddress::configured(self.station, register);
        let question = match datagram.command() {
            Some(Command::Fprd) if is_its => Question::RegisterRead {
                device: self.device,
                address: register,
                length: datagram.data.len() as u16,
            },
            Some(Command::Fpwr) if is_its => Question::RegisterWrite {
                device: self.device,
                address: register,
                value: datagram.data.to_vec(),
                force: true,
            },
            _ => return Ok(0),
        };
        match self.client.request(&question) {
            Ok(Answer::Done) => Ok(1),
            Ok(Answer::Bytes(bytes)) if bytes.len() == datagram.data.len() => {
                datagram.data.copy_from_slice(&bytes);
                Ok(1)
            }
            Ok(_) | Err(ClientError::Refused(_)) => Ok(0),
            Err(_) => Err(ExchangeError::Ended),
        }
    }
}

impl Exchange for LoopExchange<'_> {
    fn exchange(&mut self, frame: &mut FrameBuffer) -> ExchangeResult {
        for datagram in DatagramsMut::of(frame.bytes_mut())? {
            let mut datagram = datagram?;
            let count = self.request(&mut datagram)?;
            datagram.count(count);
        }
        Ok(())
    }

    fn pause(&mut self, span: Duration) {
        std::thread::sleep(span);
    }

    fn now(&self) -> MonotonicTime {
        clock::now()
    }
}

/// The objects of a running loop's device, through its control socket.
#[derive(Debug)]
pub struct LoopObjects<'c> {
    client: &'c mut ControlClient,
    device: usize,
}

impl<'c> LoopObjects<'c> {
    /// For the device of that number.
    pub fn new(client: &'c mut ControlClient, device: usize) -> Self {
        Self { client, device }
    }
}

impl Objects for LoopObjects<'_> {
    fn list(&mut self) -> Result<Vec<u16>, AccessError> {
        Ok(self.client.list_objects(self.device)?)
    }

    fn object(&mut self, index: u16) -> Result<DictionaryObject, AccessError> {
        Ok(self.client.describe_object(self.device, index)?)
    }

    fn entry(&mut self, address: Address) -> Result<DictionaryEntry, AccessError> {
        Ok(self.client.describe_entry(self.device, address)?)
    }

    fn read(&mut self, address: Address, complete: bool) -> Result<Vec<u8>, AccessError> {
        one_entry(complete)?;
        Ok(self.client.read_object(self.device, address)?)
    }

    fn write(&mut self, address: Address, complete: bool, value: &[u8]) -> Result<(), AccessError> {
        one_entry(complete)?;
        let value = value.to_vec();
        Ok(self.client.write_object(self.device, address, value)?)
    }
}

impl From<ClientError> for AccessError {
    fn from(error: ClientError) -> Self {
        match error {
            ClientError::Refused(_) => Self::Refused(error.into()),
            _ => Self::Unanswered(error.into()),
        }
    }
}

fn one_entry(complete: bool) -> Result<(), ClientError> {
    match complete {
        false => Ok(()),
        true => Err(ClientError::Refused(
            "a running loop transfers one entry at a time; ask for each entry".to_owned(),
        )),
    }
}
