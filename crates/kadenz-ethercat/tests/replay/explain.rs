//! The reasons for which a virtual device's answer may differ from the real one's.

use kadenz_ethercat::wire::Command;

use super::compare::Difference;

/// Bits of a SyncManager's status: the mailbox is full; the rest are events of either side.
const FULL: u8 = 1 << 3;
/// A bit of register 0x0502 that no data sheet describes; the recorded EL2828 sets it.
const UNKNOWN_OF_SII: u8 = 1 << 4;
/// Receive mailboxes of the recorded devices, which answer in them.
const ANSWERS: [u16; 2] = [0x1080, 0x1100];

/// The reason of a difference; `None` if there is none, which is a fault of the virtual device.
pub(crate) fn reason(it: &Difference) -> Option<&'static str> {
    let same_reach = it.real.counter == it.ours.counter && it.real.events == it.ours.events;
    if !same_reach || !matches!(it.command, Command::Fprd | Command::Frmw) {
        return None;
    }
    let (real, ours) = (&it.real.data[..], &it.ours.data[..]);
    match it.register() {
        0x0900..0x0920 => Some("the device's own clock, and what nobody latched in its registers"),
        0x092C => Some("how far the device's own clock was from the reference"),
        0x0502 if real[0] == ours[0] | UNKNOWN_OF_SII && real[1] == ours[1] => {
            Some("bit 4, which no data sheet explains, is set by this controller")
        }
        0x0130 if ours[0] & 0x0F > real[0] & 0x0F && ours[1] == real[1] => {
            Some("the firmware takes its time to change the state, ours takes none")
        }
        0x0805 | 0x080D if (real[0] ^ ours[0]) & FULL == 0 => {
            Some("events of the mailbox's buffer, of which firmware takes notice in its own time")
        }
        0x080D if ours[0] & FULL != 0 => Some("the firmware takes longer to answer than ours"),
        register if ANSWERS.contains(&register) => message(real, ours),
        _ => None,
    }
}

/// The reason of a difference between two mailbox messages.
fn message(real: &[u8], ours: &[u8]) -> Option<&'static str> {
    const HEADER: usize = 6;
    let end = HEADER + usize::from(u16::from_le_bytes([real[0], real[1]]));
    if real[..end] == ours[..end] {
        return Some("behind the message's end, what the memory held before");
    }
    // A download's response: command, object, and four bytes that are reserved (ETG.1000.6, 5.6.2.3).
    let is_response = real[7] >> 4 == 3 && real[8] == 0x60;
    (is_response && real[..12] == ours[..12]).then_some(
        "a download's response has four bytes that mean nothing, in which the request's are left",
    )
}
