//! The headers of a JPEG file (ITU-T T.81, annex B), with the tables of its annex K, as RFC 2435 (appendix A and B)
//! makes them; for pictures that come over RTP and for the simulator's encoder.

/// Table K.1, by rows.
const LUMA: [u8; 64] = [
    16, 11, 10, 16, 24, 40, 51, 61, 12, 12, 14, 19, 26, 58, 60, 55, 14, 13, 16, 24, 40, 57, 69, 56,
    14, 17, 22, 29, 51, 87, 80, 62, 18, 22, 37, 56, 68, 109, 103, 77, 24, 35, 55, 64, 81, 104, 113,
    92, 49, 64, 78, 87, 103, 121, 120, 101, 72, 92, 95, 98, 112, 100, 103, 99,
];
/// Table K.2, by rows: beyond the first four rows and columns all is 99.
const CHROMA_CORNER: [[u8; 4]; 4] = [
    [17, 18, 24, 47],
    [18, 21, 26, 66],
    [24, 26, 56, 99],
    [47, 66, 99, 99],
];
/// Tables K.3 to K.6: how many codes of each length, and their values.
pub(crate) const DC_LUMA: [u8; 16] = [0, 1, 5, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0, 0, 0, 0];
pub(crate) const DC_CHROMA: [u8; 16] = [0, 3, 1, 1, 1, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0, 0];
pub(crate) const DC_VALUES: [u8; 12] = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11];
pub(crate) const AC_LUMA: [u8; 16] = [0, 2, 1, 3, 3, 2, 4, 3, 5, 5, 4, 4, 0, 0, 1, 0x7d];
pub(crate) const AC_CHROMA: [u8; 16] = [0, 2, 1, 2, 4, 4, 3, 4, 7, 5, 4, 4, 0, 1, 2, 0x77];
/// The values with short codes; all others follow in ascending order.
pub(crate) const AC_LUMA_SHORT: [u8; 37] = [
    0x01, 0x02, 0x03, 0x00, 0x04, 0x11, 0x05, 0x12, 0x21, 0x31, 0x41, 0x06, 0x13, 0x51, 0x61, 0x07,
    0x22, 0x71, 0x14, 0x32, 0x81, 0x91, 0xa1, 0x08, 0x23, 0x42, 0xb1, 0xc1, 0x15, 0x52, 0xd1, 0xf0,
    0x24, 0x33, 0x62, 0x72, 0x82,
];
pub(crate) const AC_CHROMA_SHORT: [u8; 43] = [
    0x00, 0x01, 0x02, 0x03, 0x11, 0x04, 0x05, 0x21, 0x31, 0x06, 0x12, 0x41, 0x51, 0x07, 0x61, 0x71,
    0x13, 0x22, 0x32, 0x81, 0x08, 0x14, 0x42, 0x91, 0xa1, 0xb1, 0xc1, 0x09, 0x23, 0x33, 0x52, 0xf0,
    0x15, 0x62, 0x72, 0xd1, 0x0a, 0x16, 0x24, 0x34, 0xe1, 0x25, 0xf1,
];

/// All 162 values of an AC table: run lengths 0 to 15 with sizes 1 to 10, end of block and a run of 16.
pub(crate) fn ac_values(short: &[u8]) -> Vec<u8> {
    let is_value = |value: &u8| (1..=10).contains(&(value & 15)) && !short.contains(value);
    short
        .iter()
        .copied()
        .chain((0..=255).filter(is_value))
        .collect()
}

/// Positions in a block in zigzag order (figure A.6).
pub(crate) fn zigzag() -> impl Iterator<Item = (usize, usize)> {
    (0..15_usize).flat_map(|sum| {
        let along = sum.saturating_sub(7)..=sum.min(7);
        let up = sum % 2 == 0;
        along.map(move |at| if up { (sum - at, at) } else { (at, sum - at) })
    })
}

/// The quantisation tables of luma and chroma for a quality of 1 to 100, in a file's order.
pub(crate) fn scaled(quality: u8) -> ([u8; 64], [u8; 64]) {
    let quality = u32::from(quality.clamp(1, 100));
    let factor = if quality < 50 {
        5000 / quality
    } else {
        200 - quality * 2
    };
    let scale = |value: u8| ((u32::from(value) * factor + 50) / 100).clamp(1, 255) as u8;
    let (mut luma, mut chroma) = ([0; 64], [0; 64]);
    for (at, (row, column)) in zigzag().enumerate() {
        luma[at] = scale(LUMA[row * 8 + column]);
        let corner = CHROMA_CORNER.get(row).and_then(|it| it.get(column));
        chroma[at] = scale(corner.copied().unwrap_or(99));
    }
    (luma, chroma)
}

/// Writes all headers before the data. `None` where there are neither one nor two tables.
pub(crate) fn write_headers(
    out: &mut Vec<u8>,
    tables: &[u8],
    precision: u8,
    (width, height): (u16, u16),
    is_420: bool,
    restart_interval: u16,
) -> Option<()> {
    let length = |table: u8| if precision >> table & 1 == 1 { 128 } else { 64 };
    let (first, second) = tables.split_at_checked(length(0))?;
    let second = match second.len() {
        0 => None,
        given if given == length(1) => Some(second),
        _ => return None,
    };
    out.extend_from_slice(&[0xff, 0xd8]);
    for (number, table) in [Some(first), second].into_iter().flatten().enumerate() {
        let is_wide = u8::from(table.len() == 128);
        segment(out, 0xdb, &[&[is_wide << 4 | number as u8], table]);
    }
    if restart_interval > 0 {
        segment(out, 0xdd, &[&restart_interval.to_be_bytes()]);
    }
    let [height, width] = [height.to_be_bytes(), width.to_be_bytes()];
    let sampling = if is_420 { 0x22 } else { 0x21 };
    let chroma_table = u8::from(second.is_some());
    let components = [
        3,
        1,
        sampling,
        0,
        2,
        0x11,
        chroma_table,
        3,
        0x11,
        chroma_table,
    ];
    segment(out, 0xc0, &[&[8], &height, &width, &components]);
    let (luma, chroma) = (ac_values(&AC_LUMA_SHORT), ac_values(&AC_CHROMA_SHORT));
    segment(out, 0xc4, &[&[0x00], &DC_LUMA, &DC_VALUES]);
    segment(out, 0xc4, &[&[0x10], &AC_LUMA, &luma]);
    segment(out, 0xc4, &[&[0x01], &DC_CHROMA, &DC_VALUES]);
    segment(out, 0xc4, &[&[0x11], &AC_CHROMA, &chroma]);
    segment(out, 0xda, &[&[3, 1, 0x00, 2, 0x11, 3, 0x11, 0, 63, 0]]);
    Some(())
}

fn segment(out: &mut Vec<u8>, code: u8, parts: &[&[u8]]) {
    let length: usize = 2 + parts.iter().map(|part| part.len()).sum::<usize>();
    // The longest segment is a Huffman table of 181 bytes.
    let [high, low] = (length as u16).to_be_bytes();
    out.extend_from_slice(&[0xff, code, high, low]);
    parts.iter().for_each(|part| out.extend_from_slice(part));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_are_those_of_the_standards() {
        // RFC 2435, appendix A, lists the first values of table K.1 in a file's order; quality 50 does not scale them.
        let (luma, chroma) = scaled(50);
        assert_eq!(
            luma[..16],
            [
                16, 11, 12, 14, 12, 10, 16, 14, 13, 14, 18, 17, 16, 19, 24, 40
            ]
        );
        assert_eq!(chroma[..10], [17, 18, 18, 24, 21, 24, 47, 26, 26, 47]);
        assert_eq!((luma[63], chroma[63]), (99, 99));
        assert_eq!((scaled(99).0[0], scaled(1).0[0]), (1, 255));
        for (short, counts) in [(&AC_LUMA_SHORT[..], AC_LUMA), (&AC_CHROMA_SHORT, AC_CHROMA)] {
            let mut values = ac_values(short);
            assert_eq!(
                values.len(),
                counts.iter().map(|it| usize::from(*it)).sum::<usize>()
            );
            assert_eq!(values.last(), Some(&0xfa));
            values.sort_unstable();
            values.dedup();
            assert_eq!(values.len(), 162);
        }
    }
}
