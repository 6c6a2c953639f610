//! Objects of a running loop's devices, and what they are.

use anyhow::Context as _;
use kadenz_ethercat::control::control_socket::{Answer, ClientError, Question};
use kadenz_ethercat::control::supervisor::DeviceStatus;
use kadenz_ethercat::main_device::dictionary::{Entry, Object};
use kadenz_ethercat::wire::coe::{Access, Address, DataType, ObjectCode};

use super::super::mailbox::Asked;
use super::{Described, Information, List, tell};
use crate::commands::ethercat::asked::{ControlClient, nonsense, whose};
use crate::output::Outcome;

pub(super) fn list(options: &List, mut control: ControlClient) -> anyhow::Result<Outcome> {
    let device = control.device(&options.device)?;
    let answer = control.client.ask(&Question::SdoList {
        device: device.device,
    });
    let Answer::Indices(indices) = answer.with_context(|| whose(&device))? else {
        return Err(nonsense(&control.name));
    };
    let described = indices
        .into_iter()
        .map(|index| describe(&mut control, &device, index, None));
    let described = described.collect::<anyhow::Result<Vec<_>>>()?;
    tell(Asked::by_loop(&control, &device), &described)
}

pub(super) fn info(options: &Information, mut control: ControlClient) -> anyhow::Result<Outcome> {
    let device = control.device(&options.device)?;
    let object = options.object;
    let described = describe(&mut control, &device, object.index, object.sub)?;
    tell(Asked::by_loop(&control, &device), &[described])
}

/// An object with all of its entries, or the one that is wanted.
fn describe(
    control: &mut ControlClient,
    device: &DeviceStatus,
    index: u16,
    wanted: Option<u8>,
) -> anyhow::Result<Described> {
    let object = object(control, device, index)?;
    let subs = match wanted {
        Some(sub) => sub..=sub,
        None => 0..=object.highest_sub,
    };
    let mut entries = Vec::new();
    for sub in subs {
        let answer = control.client.ask(&Question::SdoInfo {
            device: device.device,
            index,
            sub,
        });
        match answer {
            // A gap in an array.
            Err(ClientError::Refused(_)) if sub > 0 && wanted.is_none() => {
                ensure_it_answers(control, device, index)?;
            }
            answer => {
                let entry = entry(control, device, Address::new(index, sub), answer)?;
                let value = value_of(control, device, &entry)?;
                entries.push((entry, value));
            }
        }
    }
    Ok(Described { object, entries })
}

/// Behind a refusal: it was about the entry alone where the device tells of the object itself. The control socket refuses also what
/// is asked of a device that is being set up or gone.
fn ensure_it_answers(
    control: &mut ControlClient,
    device: &DeviceStatus,
    index: u16,
) -> anyhow::Result<()> {
    object(control, device, index).map(drop)
}

fn object(
    control: &mut ControlClient,
    device: &DeviceStatus,
    index: u16,
) -> anyhow::Result<Object> {
    let answer = control.client.ask(&Question::SdoObject {
        device: device.device,
        index,
    });
    match answer.with_context(|| whose(device))? {
        Answer::Object {
            name,
            code,
            data_type,
            highest_sub,
        } => Ok(Object {
            index,
            data_type: DataType(data_type),
            highest_sub,
            code: ObjectCode::from_number(code),
            name,
        }),
        _ => Err(nonsense(&control.name)),
    }
}

fn entry(
    control: &ControlClient,
    device: &DeviceStatus,
    address: Address,
    answer: Result<Answer, ClientError>,
) -> anyhow::Result<Entry> {
    match answer.with_context(|| whose(device))? {
        Answer::Entry {
            name,
            data_type,
            bits,
            access,
        } => Ok(Entry {
            address,
            data_type: DataType(data_type),
            bits,
            access: Access(access),
            name,
        }),
        _ => Err(nonsense(&control.name)),
    }
}

/// What stands there; `None` where it may not be read.
fn value_of(
    control: &mut ControlClient,
    device: &DeviceStatus,
    entry: &Entry,
) -> anyhow::Result<Option<Vec<u8>>> {
    if !entry.access.any(Access::READ) {
        return Ok(None);
    }
    let answer = control.client.ask(&Question::SdoRead {
        device: device.device,
        index: entry.address.index,
        sub: entry.address.sub,
    });
    match answer {
        Ok(Answer::Bytes(bytes)) => Ok(Some(bytes)),
        Ok(_) => Err(nonsense(&control.name)),
        Err(ClientError::Refused(_)) => {
            ensure_it_answers(control, device, entry.address.index)?;
            Ok(None)
        }
        Err(error) => Err(error.into()),
    }
}

#[cfg(test)]
mod tests {
    use kadenz_ethercat::control::control_socket::Reply;

    use super::*;
    use crate::commands::ethercat::asked::scripted::with_a_server;

    /// What is told of a record of three entries: the second is a gap, the third may be read but has no value.
    /// The device goes at that question.
    fn described(goes_at: fn(&Question) -> bool) -> anyhow::Result<Described> {
        let mut is_gone = false;
        let answer = move |question| {
            is_gone |= goes_at(&question);
            match question {
                _ if is_gone => Reply::Error("it is being set up just now; ask again".to_owned()),
                Question::SdoObject { .. } => Reply::Ok(Answer::Object {
                    name: "Identity".to_owned(),
                    code: 9,
                    data_type: 0x23,
                    highest_sub: 2,
                }),
                Question::SdoInfo { sub: 0 | 2, .. } => Reply::Ok(Answer::Entry {
                    name: String::new(),
                    data_type: 7,
                    bits: 32,
                    access: Access::READ.0,
                }),
                Question::SdoRead { sub: 0, .. } => Reply::Ok(Answer::Bytes(vec![2, 0, 0, 0])),
                _ => Reply::Error("there is no such entry".to_owned()),
            }
        };
        with_a_server(1, answer, |mut control| {
            let device = control.devices()?.remove(0);
            describe(&mut control, &device, 0x1018, None)
        })
    }

    #[test]
    fn a_gap_is_left_out_and_what_cannot_be_read_has_no_value() {
        let entries = described(|_| false).unwrap().entries;
        let told: Vec<_> = entries
            .iter()
            .map(|(entry, value)| (entry.address.sub, value.is_some()))
            .collect();
        assert_eq!(told, [(0, true), (2, false)]);
    }

    #[test]
    fn a_device_that_goes_meanwhile_has_no_gaps_but_is_told() {
        let at_the_gap: fn(&Question) -> bool = |it| matches!(it, Question::SdoInfo { sub: 1, .. });
        let at_a_value: fn(&Question) -> bool = |it| matches!(it, Question::SdoRead { sub: 2, .. });
        for goes_at in [at_the_gap, at_a_value] {
            let Err(error) = described(goes_at) else {
                panic!("what a device that is gone did not tell is left out");
            };
            let error = format!("{error:#}");
            assert!(error.contains("being set up"), "{error}");
        }
    }
}
