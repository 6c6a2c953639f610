//! JPEG over RTP (RFC 2435): the packets carry entropy-coded data, and a few bytes from which the receiver makes the
//! headers again.

pub(crate) mod tables;

use super::super::rtp::Sequenced;
use super::{Encoded, MAX_PICTURE, Pictures};

/// Qualities from here on bring quantisation tables of their own.
const OWN_TABLES: u8 = 128;
/// A quality with tables that may differ from picture to picture.
const CHANGING_TABLES: u8 = 255;
/// Bytes of two tables of 16-bit values.
const MAX_TABLES: usize = 256;

/// The header before the data in each packet.
#[derive(Debug, Clone, Copy)]
struct Header {
    offset: usize,
    kind: u8,
    quality: u8,
    /// In blocks of eight pixels.
    width: u8,
    height: u8,
    /// Units between restart markers; 0 for none.
    restart_interval: u16,
}

impl Header {
    fn parse(payload: &[u8]) -> Option<(Self, &[u8])> {
        let (header, mut rest) = payload.split_first_chunk::<8>()?;
        let [_, high, middle, low, kind, quality, width, height] = *header;
        let mut restart_interval = 0;
        if (64..128).contains(&kind) {
            let restart;
            (restart, rest) = rest.split_first_chunk::<4>()?;
            restart_interval = u16::from_be_bytes([restart[0], restart[1]]);
        }
        let offset = u32::from_be_bytes([0, high, middle, low]) as usize;
        let header = Self {
            offset,
            kind,
            quality,
            width,
            height,
            restart_interval,
        };
        // Only 4:2:2 and 4:2:0 are defined; no size is that of a picture too large for it.
        (kind & 0x3f <= 1 && kind < 128 && width > 0 && height > 0).then_some((header, rest))
    }
}

/// Assembles JPEG pictures from RTP payloads (RFC 2435).
#[derive(Debug, Default)]
pub(super) struct JpegAssembler {
    picture: Encoded,
    /// Bytes of data that have come; `None` where no picture has begun.
    filled: Option<usize>,
    /// The tables of each quality that has its own: a bit for each table of 16-bit values, and the bytes.
    tables: Vec<(u8, Quantisation)>,
    pub(super) pictures: Pictures,
}

#[derive(Debug, Clone)]
struct Quantisation {
    precision: u8,
    bytes: Vec<u8>,
}

impl JpegAssembler {
    pub(super) fn push(&mut self, sequenced: &Sequenced<'_>) {
        let packet = &sequenced.packet;
        if sequenced.is_restart {
            self.filled = None;
            self.pictures.restart();
        }
        let is_other = packet.timestamp != self.picture.timestamp;
        self.picture.is_damaged |= sequenced.lost_before > 0;
        if is_other {
            // The marker is lost, or the camera sets none.
            self.finish();
        }
        self.pictures.has_loss |= sequenced.lost_before > 0;
        let Some((header, rest)) = Header::parse(packet.payload) else {
            self.picture.is_damaged = true;
            return;
        };
        let data = match (header.offset, self.filled) {
            (0, None) => {
                let begun = self.begin(&header, rest);
                self.picture.timestamp = packet.timestamp;
                self.picture.came(sequenced.arrival, true);
                begun
            }
            (offset, Some(filled)) if offset >= filled && offset > 0 => {
                self.picture.is_damaged |= offset > filled;
                Some(rest)
            }
            // The picture's head is lost, or the fragment came before.
            _ => None,
        };
        let (Some(data), Some(filled)) = (data, self.filled) else {
            return;
        };
        if self.picture.bytes.len() + data.len() > MAX_PICTURE {
            self.filled = None;
            self.pictures.given_up += 1;
            return;
        }
        self.picture.bytes.extend_from_slice(data);
        self.filled = Some(filled.max(header.offset) + data.len());
        self.picture.came(sequenced.arrival, false);
        if packet.marker {
            self.finish();
        }
    }

    /// Writes the headers of a picture; returns the bytes behind the tables in the packet, where tables are known.
    fn begin<'a>(&mut self, header: &Header, mut rest: &'a [u8]) -> Option<&'a [u8]> {
        self.picture = Encoded {
            bytes: std::mem::take(&mut self.picture.bytes),
            is_key: true,
            ..Encoded::default()
        };
        // RFC 2435, 4.2: a quality that a formula turns into tables is 1 to 99.
        let tables = if header.quality < OWN_TABLES {
            let (luma, chroma) = tables::scaled(header.quality.min(99));
            Quantisation {
                precision: 0,
                bytes: [luma, chroma].concat(),
            }
        } else {
            let (start, after) = rest.split_first_chunk::<4>()?;
            let length = usize::from(u16::from_be_bytes([start[2], start[3]]));
            let (bytes, after) = after.split_at_checked(length)?;
            rest = after;
            self.tables_of(header.quality, start[1], bytes)?
        };
        self.picture.bytes.clear();
        let is_420 = header.kind & 0x3f == 1;
        let size = (u16::from(header.width) * 8, u16::from(header.height) * 8);
        tables::write_headers(
            &mut self.picture.bytes,
            &tables.bytes,
            tables.precision,
            size,
            is_420,
            header.restart_interval,
        )?;
        self.filled = Some(0);
        Some(rest)
    }

    /// The tables in the packet, or those that came for the same quality before.
    fn tables_of(&mut self, quality: u8, precision: u8, bytes: &[u8]) -> Option<Quantisation> {
        let known = self.tables.iter().position(|it| it.0 == quality);
        if bytes.is_empty() {
            return known.map(|at| self.tables[at].1.clone());
        }
        if bytes.len() > MAX_TABLES {
            return None;
        }
        let bytes = bytes.to_vec();
        let tables = Quantisation { precision, bytes };
        if quality != CHANGING_TABLES {
            match known {
                Some(at) => self.tables[at].1 = tables.clone(),
                None => self.tables.push((quality, tables.clone())),
            }
        }
        Some(tables)
    }

    fn finish(&mut self) {
        if self.filled.take().is_some() {
            if !self.picture.bytes.ends_with(&[0xff, 0xd9]) {
                self.picture.bytes.extend_from_slice(&[0xff, 0xd9]);
            }
            self.pictures.give(&mut self.picture);
        }
        self.picture.is_damaged = false;
    }
}

#[cfg(test)]
mod tests;
