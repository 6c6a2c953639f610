//! The memory of a running loop's device, as it was when the loop began.

use anyhow::Context as _;
use kadenz_ethercat::control::control_socket::{Answer, Question};

use super::{Memory, Read};
use crate::commands::ethercat::asked::{ControlClient, nonsense, whose};
use crate::commands::ethercat::device::ToldDevice;

pub(super) fn memory(options: &Read, mut control: ControlClient) -> anyhow::Result<Memory> {
    let device = control.device(&options.device)?;
    let question = Question::Sii {
        device: device.device,
    };
    let answer = control.client.ask(&question);
    let Answer::Bytes(bytes) = answer.with_context(|| whose(&device))? else {
        return Err(nonsense(&control.name));
    };
    Ok(Memory {
        segment: control.segment(),
        device: ToldDevice::asked(&device),
        bytes,
    })
}
