//! Assembles access units from the payloads of H.264 (RFC 6184: single units, STAP-A and FU-A) and of H.265 (RFC 7798:
//! single units, AP and FU, in the order of decoding).

use super::super::rtp::Sequenced;
use super::super::sdp::MAX_PARAMETER_SET;
use super::annex_b::{self, NalCodec, NalUnitKind, START_CODE, Slice};
use super::{Encoded, MAX_PICTURE, Pictures};

const STAP_A: u8 = 24;
const FU_A: u8 = 28;
const AP: u8 = 48;
const FU: u8 = 49;
const START: u8 = 0x80;
const END: u8 = 0x40;

/// The most parameter sets that are kept.
const MAX_SETS: usize = 32;

#[derive(Debug)]
struct ParameterSet {
    rank: u8,
    id: u32,
    bytes: Vec<u8>,
}

/// The access unit that is being assembled.
#[derive(Debug, Default)]
struct Open {
    picture: Encoded,
    /// Where the unfinished NAL unit begins, behind its start code.
    nal: Option<usize>,
    has_slice: bool,
    is_intra: bool,
    is_random_access: bool,
    /// Bit n: a parameter set of rank n is in it.
    sets: u8,
    is_too_long: bool,
}

/// Assembles access units from NAL units, for H.264 and H.265.
#[derive(Debug)]
pub(super) struct AccessUnitAssembler {
    format: NalCodec,
    open: Open,
    /// Whether fragments are left out until a NAL unit begins, since the one before them is lost.
    skips_fragments: bool,
    /// The time stamp of the access unit that a marker has just ended.
    ended: Option<u32>,
    /// Whether the camera sets markers within pictures, so that only time stamps divide them.
    ignores_markers: bool,
    sets: Vec<ParameterSet>,
    pub(super) pictures: Pictures,
}

impl AccessUnitAssembler {
    /// An assembler without a packet.
    pub(super) fn new(format: NalCodec) -> Self {
        Self {
            format,
            open: Open::default(),
            skips_fragments: true,
            ended: None,
            ignores_markers: false,
            sets: Vec::new(),
            pictures: Pictures::default(),
        }
    }

    /// Keeps a parameter set; ignores other NAL units.
    pub(super) fn parameter_set(&mut self, nal: &[u8]) {
        let NalUnitKind::Set { rank, id } = self.format.kind(nal) else {
            return;
        };
        if nal.len() > MAX_PARAMETER_SET {
            return;
        }
        let same = |it: &ParameterSet| it.rank == rank && it.id == id;
        match self.sets.iter().position(same) {
            Some(at) if self.sets[at].bytes == nal => {}
            Some(at) => self.sets[at].bytes = nal.to_vec(),
            None if self.sets.len() < MAX_SETS => {
                let bytes = nal.to_vec();
                self.sets.push(ParameterSet { rank, id, bytes });
                self.sets.sort_by_key(|set| set.rank);
            }
            None => {}
        }
    }

    pub(super) fn push(&mut self, sequenced: &Sequenced<'_>) {
        let packet = &sequenced.packet;
        if sequenced.is_restart {
            self.discard();
            self.pictures.restart();
            (self.ended, self.ignores_markers, self.skips_fragments) = (None, false, true);
        }
        let is_other = packet.timestamp != self.open.picture.timestamp;
        if sequenced.lost_before > 0 {
            self.lost(is_other);
        }
        if is_other {
            self.end();
        }
        if is_other && self.open.has_slice {
            self.finish();
            self.ended = None;
        }
        let is_first = self.open.picture.bytes.is_empty();
        self.open.picture.came(sequenced.arrival, is_first);
        // Units that came before any slice belong to the picture behind them, also where the time stamps differ.
        self.open.picture.timestamp = packet.timestamp;
        match self.format {
            NalCodec::H264 => h264(self, packet.payload),
            NalCodec::H265 => h265(self, packet.payload),
        }
        let is_end = packet.marker && self.open.nal.is_none() && self.open.has_slice;
        if is_end && !self.ignores_markers {
            self.finish();
            self.ended = Some(packet.timestamp);
        }
    }

    /// Takes a complete NAL unit.
    fn whole(&mut self, nal: &[u8]) {
        if !nal.is_empty() {
            self.begin(&nal[..1]);
            self.go_on(&nal[1..]);
            self.end();
        }
    }

    /// Begins a NAL unit by its header.
    fn begin(&mut self, header: &[u8]) {
        self.end();
        self.skips_fragments = false;
        if self.format.is_random_access(header[0]) {
            self.insert_sets();
        }
        self.append(&START_CODE);
        self.open.nal = Some(self.open.picture.bytes.len());
        self.append(header);
    }

    /// Continues the open NAL unit, where there is one.
    fn go_on(&mut self, bytes: &[u8]) {
        match self.open.nal {
            Some(_) => self.append(bytes),
            None => self.open.picture.is_damaged |= !self.skips_fragments,
        }
    }

    /// Ends the open NAL unit, where there is one.
    fn end(&mut self) {
        let Some(begin) = self.open.nal.take() else {
            return;
        };
        let bytes = std::mem::take(&mut self.open.picture.bytes);
        let nal = bytes.get(begin..).unwrap_or_default();
        if nal
            .first()
            .is_some_and(|first| self.format.is_slice(*first))
        {
            self.note_nal_unit(nal);
        } else {
            // Some cameras send a byte stream in place of a NAL unit: parameter sets and the slice in one.
            annex_b::units(nal).for_each(|nal| self.note_nal_unit(nal));
        }
        self.open.picture.bytes = bytes;
    }

    /// Marks the access unit as damaged, where a payload cannot be parsed.
    fn broken(&mut self) {
        self.open.picture.is_damaged = true;
    }

    fn note_nal_unit(&mut self, nal: &[u8]) {
        match self.format.kind(nal) {
            NalUnitKind::Slice(slice) => self.slice(slice),
            NalUnitKind::Set { rank, .. } => {
                self.open.sets |= 1 << rank;
                self.parameter_set(nal);
            }
            NalUnitKind::Other => {}
        }
    }

    fn slice(&mut self, slice: Slice) {
        let open = &mut self.open;
        if !open.has_slice {
            if !slice.is_first {
                // The picture's head is lost, or was given out already because of a marker.
                open.picture.is_damaged = true;
                let is_rest = self.ended == Some(open.picture.timestamp);
                self.ignores_markers |= is_rest && !self.pictures.has_loss;
            }
            open.is_intra = true;
        }
        open.has_slice = true;
        open.is_intra &= slice.is_intra;
        open.is_random_access |= slice.is_random_access;
    }

    /// Packets are missing before the one that came, which belongs to another picture than the open one or not.
    fn lost(&mut self, is_other: bool) {
        self.end();
        self.skips_fragments = true;
        if self.open.has_slice {
            self.open.picture.is_damaged = true;
            if is_other {
                self.finish();
            }
        } else {
            self.discard();
        }
        self.pictures.has_loss = true;
    }

    /// Gives out the open access unit, as far as it came.
    fn finish(&mut self) {
        self.end();
        let open = &mut self.open;
        if open.is_too_long {
            self.pictures.given_up += 1;
            self.discard();
            return;
        }
        let has_sequence = open.sets & 1 << 1 != 0;
        open.picture.is_key = open.is_random_access || has_sequence && open.is_intra;
        self.pictures.give(&mut open.picture);
        self.discard();
    }

    /// Forgets the open access unit.
    fn discard(&mut self) {
        let mut bytes = std::mem::take(&mut self.open.picture.bytes);
        bytes.clear();
        self.open = Open::default();
        self.open.picture.bytes = bytes;
    }

    /// Parameter sets that the access unit lacks so far.
    fn insert_sets(&mut self) {
        let had = self.open.sets;
        let open = &mut self.open;
        for set in self.sets.iter().filter(|set| had & 1 << set.rank == 0) {
            let length = open.picture.bytes.len() + START_CODE.len() + set.bytes.len();
            if length <= MAX_PICTURE {
                open.picture.bytes.extend_from_slice(&START_CODE);
                open.picture.bytes.extend_from_slice(&set.bytes);
                open.sets |= 1 << set.rank;
            }
        }
    }

    fn append(&mut self, bytes: &[u8]) {
        let open = &mut self.open;
        if open.picture.bytes.len() + bytes.len() <= MAX_PICTURE {
            open.picture.bytes.extend_from_slice(bytes);
        } else {
            open.is_too_long = true;
        }
    }
}

/// Takes the payload of a packet of H.264.
fn h264(assembler: &mut AccessUnitAssembler, payload: &[u8]) {
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
fn h265(assembler: &mut AccessUnitAssembler, payload: &[u8]) {
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
