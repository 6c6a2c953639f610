//! The objects of a running loop's device, as if it were on a segment of one's own.

use super::client::{Client, ClientError};
use crate::main_device::dictionary::{DictionaryEntry, DictionaryObject};
use crate::main_device::objects::{AccessError, Objects};
use crate::wire::coe::Address;

/// Objects of a device that a running loop has, by its control socket.
#[derive(Debug)]
pub struct LoopObjects<'c> {
    client: &'c mut Client,
    device: usize,
}

impl<'c> LoopObjects<'c> {
    /// Of the device of that number.
    pub fn new(client: &'c mut Client, device: usize) -> Self {
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
