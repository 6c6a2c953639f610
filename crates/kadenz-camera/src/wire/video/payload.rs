//! Extracts NAL units from the payloads of H.264 (RFC 6184: single units, STAP-A and FU-A) and of H.265 (RFC 7798:
//! single units, AP and FU, in the order of decoding).

use super::nal::AccessUnitAssembler;

const STAP_A: u8 = 24;
const FU_A: u8 = 28;
const AP: u8 = 48;
const FU: u8 = 49;
const START: u8 = 0x80;
const END: u8 = 0x40;

/// Takes the payload of a packet of H.264.
pub(super) fn h264(assembler: &mut AccessUnitAssembler, payload: &[u8]) {
    match payload {
        // Some cameras send empty payloads, which mean nothing.
        [] => {}
        [header, ..] if (1..STAP_A).contains(&(header & 0x1f)) => assembler.whole(payload),
        [header, rest @ ..] if header & 0x1f == STAP_A => aggregate(assembler, rest),
        [indicator, flags, rest @ ..] if indicator & 0x1f == FU_A => {
            fragment(assembler, *flags, &[indicator & 0xe0 | flags & 0x1f], rest);
        }
        _ => assembler.broken(),
    }
}

/// Takes the payload of a packet of H.265.
pub(super) fn h265(assembler: &mut AccessUnitAssembler, payload: &[u8]) {
    match payload {
        [] => {}
        [first, _, ..] if first >> 1 & 0x3f < AP => assembler.whole(payload),
        [first, _, rest @ ..] if first >> 1 & 0x3f == AP => aggregate(assembler, rest),
        [first, second, flags, rest @ ..] if first >> 1 & 0x3f == FU => {
            let header = [first & 0x81 | (flags & 0x3f) << 1, *second];
            fragment(assembler, *flags, &header, rest);
        }
        _ => assembler.broken(),
    }
}

/// NAL units, each behind its length of 16 bits (RFC 6184, section 5.7.1; RFC 7798, section 4.4.2).
fn aggregate(assembler: &mut AccessUnitAssembler, mut rest: &[u8]) {
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

/// A part of a NAL unit, which has that header.
fn fragment(assembler: &mut AccessUnitAssembler, flags: u8, header: &[u8], part: &[u8]) {
    if flags & START != 0 {
        assembler.begin(header);
    }
    assembler.go_on(part);
    if flags & END != 0 {
        assembler.end();
    }
}

#[cfg(test)]
mod tests;
