//! What is inside a device: its dictionary, its memory, and its controller's registers.

use super::objects::way;
use super::question::{Answer, Question};
use super::server::Counter;
use crate::main_device::exchange::{Registers, Whose};
use crate::wire::Configured;
use crate::wire::register::{Writing, writing};

/// Most bytes of registers at once: they go beside the loop's own frames, in one of their own.
const MOST: usize = 1024;

/// Answers what is asked of it.
pub(super) fn answer(counter: &Counter<'_>, question: &Question) -> Result<Answer, String> {
    match question {
        Question::SdoList { device } => list(counter, *device),
        Question::SdoObject { device, index } => object(counter, *device, *index),
        Question::Sii { device } => memory(counter, *device),
        Question::RegisterRead {
            device,
            address,
            length,
        } => read(counter, *device, *address, usize::from(*length)),
        Question::RegisterWrite {
            device,
            address,
            value,
            force,
        } => write(counter, *device, *address, value, *force),
        _ => Err("this is not asked of the inside of a device".to_owned()),
    }
}

fn list(counter: &Counter<'_>, device: usize) -> Result<Answer, String> {
    let listed = counter.roster.list_objects(&mut way(counter), device);
    Ok(Answer::Indices(listed.map_err(|it| it.to_string())?))
}

fn object(counter: &Counter<'_>, device: usize, index: u16) -> Result<Answer, String> {
    let roster = counter.roster;
    let described = roster.describe_object(&mut way(counter), device, index);
    let object = described.map_err(|it| it.to_string())?;
    Ok(Answer::Object {
        name: object.name,
        code: object.code.number(),
        data_type: object.data_type.0,
        highest_sub: object.highest_sub,
    })
}

fn memory(counter: &Counter<'_>, device: usize) -> Result<Answer, String> {
    let sii = counter.roster.with(device, |it| it.sii.clone());
    Ok(Answer::Bytes(sii.map_err(|it| it.to_string())?))
}

fn read(
    counter: &Counter<'_>,
    device: usize,
    address: u16,
    length: usize,
) -> Result<Answer, String> {
    check(length)?;
    let whose = whose(counter, device)?;
    let mut bytes = vec![0; length];
    let mut way = way(counter);
    let read = Registers::by(&mut way).count_reading(whose, address, &mut bytes);
    match read.map_err(|it| it.to_string())? {
        0 => Ok(Answer::Bytes(Vec::new())),
        _ => Ok(Answer::Bytes(bytes)),
    }
}

fn write(
    counter: &Counter<'_>,
    device: usize,
    address: u16,
    value: &[u8],
    force: bool,
) -> Result<Answer, String> {
    check(value.len())?;
    if let (Writing::Perilous(why), false) = (writing(address, value.len()), force) {
        return Err(format!(
            "0x{address:04X} is not written in passing: {why}; `force` writes it all the same"
        ));
    }
    let whose = whose(counter, device)?;
    let mut way = way(counter);
    let written = Registers::by(&mut way).count_writing(whose, address, value);
    match written.map_err(|it| it.to_string())? {
        0 => Err(format!(
            "it does not take what is written to 0x{address:04X}: it is gone, has no such register, or lets nobody \
             write it"
        )),
        _ => Ok(Answer::Done),
    }
}

fn check(length: usize) -> Result<(), String> {
    match length {
        1..=MOST => Ok(()),
        _ => Err(format!(
            "{length} bytes of registers at once cannot be asked for; take 1 to {MOST}"
        )),
    }
}

/// How the device is asked, without waiting for whoever has its mailbox.
fn whose(counter: &Counter<'_>, device: usize) -> Result<Whose, String> {
    let status = counter.roster.status(device).map_err(|it| it.to_string())?;
    Ok(Whose::Of(Configured(status.station)))
}
