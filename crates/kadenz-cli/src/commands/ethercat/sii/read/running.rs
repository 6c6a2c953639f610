//! The memory of a running loop's device, as it was when the loop began.

use anyhow::Context as _;
use kadenz_ethercat::control::desk::{Answer, Question};

use super::{Memory, Read};
use crate::commands::ethercat::asked::{Desk, nonsense, whose};
use crate::commands::ethercat::device::ToldDevice;

pub(super) fn memory(options: &Read, mut desk: Desk) -> anyhow::Result<Memory> {
    let device = desk.device(&options.device)?;
    let question = Question::Sii {
        device: device.device,
    };
    let answer = desk.client.ask(&question);
    let Answer::Bytes(bytes) = answer.with_context(|| whose(&device))? else {
        return Err(nonsense(&desk.name));
    };
    Ok(Memory {
        segment: desk.segment(),
        device: ToldDevice::asked(&device),
        bytes,
    })
}
