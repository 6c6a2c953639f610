//! The inside of a device: its dictionary and objects, its SII memory, and its controller's
//! registers.

use super::question::{Answer, Question};
use super::server::ServerContext;
use crate::control::supervisor::ObjectError;
use crate::main_device::acyclic::AcyclicClient;
use crate::main_device::exchange::{Registers, RetryPolicy, Target};
use crate::main_device::mailbox::Mail;
use crate::main_device::{dictionary, sdo};
use crate::wire::Configured;
use crate::wire::coe::{Address, ListType};
use crate::wire::register::{Writing, writing};

/// The most bytes of registers at once: they go in a frame of their own beside the loop's frames.
const MAX: usize = 1024;

/// Answers a question about a device.
pub(super) fn answer(context: &ServerContext<'_>, question: &Question) -> Result<Answer, String> {
    Ok(match question {
        Question::SdoInfo { device, index, sub } => {
            let at = Address::new(*index, *sub);
            let entry = request(context, *device, |by, mail| dictionary::entry(by, mail, at))?;
            Answer::Entry {
                name: entry.name,
                data_type: entry.data_type.0,
                bits: entry.bits,
                access: entry.access.0,
            }
        }
        Question::Unit { device, index, sub } => {
            let at = Address::new(*index, *sub);
            let unit = request(context, *device, |by, mail| dictionary::unit(by, mail, at))?;
            Answer::Unit(unit.map(|it| it.to_string()))
        }
        Question::SdoRead { device, index, sub } => {
            let at = Address::new(*index, *sub);
            Answer::Bytes(request(context, *device, |by, mail| {
                sdo::read(by, mail, at, false)
            })?)
        }
        Question::SdoWrite {
            device,
            index,
            sub,
            value,
        } => {
            let at = Address::new(*index, *sub);
            request(context, *device, |by, mail| {
                sdo::write(by, mail, at, false, value)
            })?;
            Answer::Done
        }
        Question::SdoList { device } => {
            let list = request(context, *device, |by, mail| {
                dictionary::list(by, mail, ListType::ALL)
            });
            Answer::Indices(list?)
        }
        Question::SdoObject { device, index } => {
            let object = request(context, *device, |by, mail| {
                dictionary::object(by, mail, *index)
            })?;
            Answer::Object {
                name: object.name,
                code: object.code.number(),
                data_type: object.data_type.0,
                highest_sub: object.highest_sub,
            }
        }
        Question::Sii { device } => {
            let sii = context.device_table.with(*device, |it| it.sii.clone());
            Answer::Bytes(sii.map_err(|it| it.to_string())?)
        }
        Question::RegisterRead {
            device,
            address,
            length,
        } => read(context, *device, *address, usize::from(*length))?,
        Question::RegisterWrite {
            device,
            address,
            value,
            force,
        } => write(context, *device, *address, value, *force)?,
        _ => return Err("this request does not address a device".to_owned()),
    })
}

/// Queries a device by its mailbox.
fn request<R, E>(
    context: &ServerContext<'_>,
    device: usize,
    question: impl FnOnce(&mut Registers<'_>, &mut Mail<'_>) -> Result<R, E>,
) -> Result<R, String>
where
    ObjectError: From<E>,
{
    let mut exchange = acyclic_client(context);
    let answer = context
        .device_table
        .with_mail(&mut exchange, device, question);
    answer.map_err(|it| it.to_string())
}

/// The way to the devices: by the loop, a frame a cycle.
fn acyclic_client<'c>(context: &ServerContext<'c>) -> AcyclicClient<'c> {
    AcyclicClient::of(context.queue, RetryPolicy::default())
}

fn read(
    context: &ServerContext<'_>,
    device: usize,
    address: u16,
    length: usize,
) -> Result<Answer, String> {
    check(length)?;
    let target = target(context, device)?;
    let mut bytes = vec![0; length];
    let mut exchange = acyclic_client(context);
    let read = Registers::by(&mut exchange).count_reading(target, address, &mut bytes);
    match read.map_err(|it| it.to_string())? {
        0 => Ok(Answer::Bytes(Vec::new())),
        _ => Ok(Answer::Bytes(bytes)),
    }
}

fn write(
    context: &ServerContext<'_>,
    device: usize,
    address: u16,
    value: &[u8],
    force: bool,
) -> Result<Answer, String> {
    check(value.len())?;
    if let (Writing::Perilous(why), false) = (writing(address, value.len()), force) {
        return Err(format!(
            "0x{address:04X} is protected: {why}; use `force` to write it"
        ));
    }
    let target = target(context, device)?;
    let mut exchange = acyclic_client(context);
    let written = Registers::by(&mut exchange).count_writing(target, address, value);
    match written.map_err(|it| it.to_string())? {
        0 => Err(format!(
            "it does not take what is written to 0x{address:04X}: it is gone, has no such register, or refuses \
             writes"
        )),
        _ => Ok(Answer::Done),
    }
}

fn check(length: usize) -> Result<(), String> {
    match length {
        1..=MAX => Ok(()),
        _ => Err(format!(
            "{length} bytes of registers at once cannot be asked for; take 1 to {MAX}"
        )),
    }
}

/// Returns the device's address, without waiting for the thread that uses its mailbox.
fn target(context: &ServerContext<'_>, device: usize) -> Result<Target, String> {
    let status = context
        .device_table
        .status(device)
        .map_err(|it| it.to_string())?;
    Ok(Target::Of(Configured(status.station)))
}
