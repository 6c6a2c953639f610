//! H.265 over RTP (RFC 7798): single NAL units, AP and FU, in the order of decoding.

use super::h264::aggregate;
use super::nal::Assembler;

const AP: u8 = 48;
const FU: u8 = 49;
const START: u8 = 0x80;
const END: u8 = 0x40;

/// Takes the payload of a packet.
pub(super) fn payload(assembler: &mut Assembler, payload: &[u8]) {
    match payload {
        [] => {}
        [first, _, ..] if first >> 1 & 0x3f < AP => assembler.whole(payload),
        [first, _, rest @ ..] if first >> 1 & 0x3f == AP => aggregate(assembler, rest),
        [first, second, header, rest @ ..] if first >> 1 & 0x3f == FU => {
            if header & START != 0 {
                assembler.begin(&[first & 0x81 | (header & 0x3f) << 1, *second]);
            }
            assembler.go_on(rest);
            if header & END != 0 {
                assembler.end();
            }
        }
        _ => assembler.broken(),
    }
}
