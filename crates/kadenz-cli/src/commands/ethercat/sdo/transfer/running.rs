//! Objects of a running loop's devices.

use anyhow::Context as _;
use kadenz_ethercat::control::control_socket::{Answer, ClientError, Question};
use kadenz_ethercat::control::supervisor::DeviceStatus;
use kadenz_ethercat::wire::coe::{Address, DataType};

use super::super::mailbox::Asked;
use super::{Read, Transferred, Write, tell};
use crate::commands::ethercat::asked::{ControlClient, nonsense, whose};
use crate::commands::ethercat::value::ValueType;
use crate::output::Outcome;

pub(super) fn read(options: &Read, mut control: ControlClient) -> anyhow::Result<Outcome> {
    let device = control.device(&options.device)?;
    let entry = options.object.entry();
    let (name, known) = described(&mut control, &device, entry)?;
    let question = Question::SdoRead {
        device: device.device,
        index: entry.index,
        sub: entry.sub,
    };
    let answer = control.client.ask(&question);
    let Answer::Bytes(bytes) = answer.with_context(|| whose(&device))? else {
        return Err(nonsense(&control.name));
    };
    let done = Transferred {
        name,
        r#type: options.how.r#type.or(known).unwrap_or(ValueType::Bytes),
        bytes,
    };
    tell(Asked::by_loop(&control, &device), entry, &done)
}

pub(super) fn write(options: &Write, mut control: ControlClient) -> anyhow::Result<Outcome> {
    let device = control.device(&options.device)?;
    let entry = options.object.entry();
    let (name, known) = described(&mut control, &device, entry)?;
    let Some(r#type) = options.how.r#type.or(known) else {
        anyhow::bail!("{entry}: the device tells no type; say which: --type u32");
    };
    let bytes = r#type.encode(&options.value).map_err(anyhow::Error::msg)?;
    let question = Question::SdoWrite {
        device: device.device,
        index: entry.index,
        sub: entry.sub,
        value: bytes.clone(),
    };
    let answer = control.client.ask(&question);
    let Answer::Done = answer.with_context(|| whose(&device))? else {
        return Err(nonsense(&control.name));
    };
    let done = Transferred {
        name,
        r#type,
        bytes,
    };
    tell(Asked::by_loop(&control, &device), entry, &done)
}

/// Name and type as the device's dictionary tells them; it need not have one.
fn described(
    control: &mut ControlClient,
    device: &DeviceStatus,
    entry: Address,
) -> anyhow::Result<(Option<String>, Option<ValueType>)> {
    let question = Question::SdoInfo {
        device: device.device,
        index: entry.index,
        sub: entry.sub,
    };
    match control.client.ask(&question) {
        Ok(Answer::Entry {
            name, data_type, ..
        }) => Ok((Some(name), ValueType::of(DataType(data_type)))),
        Ok(_) => Err(nonsense(&control.name)),
        Err(ClientError::Refused(_)) => Ok((None, None)),
        Err(error) => Err(error.into()),
    }
}
