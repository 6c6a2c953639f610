//! H.264 over RTP (RFC 6184): single NAL units, STAP-A and FU-A.

use super::nal::Assembler;

const STAP_A: u8 = 24;
const FU_A: u8 = 28;
const START: u8 = 0x80;
const END: u8 = 0x40;

/// Takes the payload of a packet.
pub(super) fn payload(assembler: &mut Assembler, payload: &[u8]) {
    match payload {
        // Empty ones are sent by some, and mean nothing.
        [] => {}
        [header, ..] if (1..STAP_A).contains(&(header & 0x1f)) => assembler.whole(payload),
        [header, rest @ ..] if header & 0x1f == STAP_A => aggregate(assembler, rest),
        [indicator, header, rest @ ..] if indicator & 0x1f == FU_A => {
            if header & START != 0 {
                assembler.begin(&[indicator & 0xe0 | header & 0x1f]);
            }
            assembler.go_on(rest);
            if header & END != 0 {
                assembler.end();
            }
        }
        _ => assembler.broken(),
    }
}

/// NAL units, each behind its length of 16 bits (RFC 6184, section 5.7.1; RFC 7798, section 4.4.2).
pub(super) fn aggregate(assembler: &mut Assembler, mut rest: &[u8]) {
    while let Some((length, after)) = rest.split_first_chunk::<2>() {
        let length = usize::from(u16::from_be_bytes(*length));
        let Some((nal, after)) = after.split_at_checked(length) else {
            assembler.broken();
            return;
        };
        assembler.whole(nal);
        rest = after;
    }
}

#[cfg(test)]
mod tests;
