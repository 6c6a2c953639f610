//! Reads captures of one interface: the blocks of pcapng (draft-ietf-opsawg-pcapng) that these captures use.

/// Block types, and the only option that is read.
const SECTION: u32 = 0x0A0D_0D0A;
const INTERFACE: u32 = 1;
const ENHANCED_PACKET: u32 = 6;
const RESOLUTION: u16 = 9;
/// The magic number of a little-endian section.
const MIN_FIRST: u32 = 0x1A2B_3C4D;

/// A frame with its time.
#[derive(Debug, Clone)]
pub(crate) struct Packet {
    pub(crate) ns: u64,
    pub(crate) bytes: Vec<u8>,
}

fn u16_at(bytes: &[u8], at: usize) -> u16 {
    u16::from_le_bytes(bytes[at..at + 2].try_into().unwrap())
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap())
}

/// All frames of a capture, in its order. Panics if the bytes are not a capture or hold a truncated frame.
pub(crate) fn packets(mut capture: &[u8]) -> Vec<Packet> {
    let mut ns_per_tick = 1_000;
    let mut packets = Vec::new();
    while !capture.is_empty() {
        let (kind, length) = (u32_at(capture, 0), u32_at(capture, 4) as usize);
        let body = &capture[8..length - 4];
        assert_eq!(
            u32_at(capture, length - 4) as usize,
            length,
            "a block's length"
        );
        match kind {
            SECTION => assert_eq!(u32_at(body, 0), MIN_FIRST),
            INTERFACE => ns_per_tick = resolution(&body[8..]).unwrap_or(ns_per_tick),
            ENHANCED_PACKET => {
                let ticks = u64::from(u32_at(body, 4)) << 32 | u64::from(u32_at(body, 8));
                let length = u32_at(body, 12) as usize;
                assert_eq!(u32_at(body, 16) as usize, length, "a frame was cut");
                packets.push(Packet {
                    ns: ticks * ns_per_tick,
                    bytes: body[20..20 + length].to_vec(),
                });
            }
            _ => {}
        }
        capture = &capture[length..];
    }
    packets
}

/// Nanoseconds per tick, if the interface's options state them.
fn resolution(mut options: &[u8]) -> Option<u64> {
    while options.len() >= 4 {
        let (code, length) = (u16_at(options, 0), usize::from(u16_at(options, 2)));
        if code == RESOLUTION {
            let digits = u32::from(options[4]);
            assert!(digits <= 9, "ticks of whole nanoseconds");
            return Some(10_u64.pow(9 - digits));
        }
        options = &options[4 + length.next_multiple_of(4)..];
    }
    None
}
