//! Values of objects in a terminal.

use kadenz::ethercat::value::hex;

/// `10000001 00000000`: each byte from its highest bit down.
pub(super) fn binary(bytes: &[u8]) -> String {
    let digits: Vec<String> = bytes.iter().map(|byte| format!("{byte:08b}")).collect();
    digits.join(" ")
}

/// Rows of 16 bytes, each behind its address, which counts units of this many bytes from `first` on.
pub(super) fn hex_rows(bytes: &[u8], first: usize, unit: usize) -> String {
    let rows = (first..).step_by(16 / unit).zip(bytes.chunks(16));
    let rows = rows.map(|(address, row)| {
        let printable = |byte: &u8| match byte.is_ascii_graphic() || *byte == b' ' {
            true => char::from(*byte),
            false => '.',
        };
        let text: String = row.iter().map(printable).collect();
        format!("0x{address:04X}  {:<47}  {text}", hex(row))
    });
    rows.collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_shown_in_rows_and_bits() {
        let bytes: Vec<u8> = (0x41..0x52).collect();
        let rows = hex_rows(&bytes, 0x0130, 1);
        let mut lines = rows.lines();
        let first = "0x0130  41 42 43 44 45 46 47 48 49 4a 4b 4c 4d 4e 4f 50  ABCDEFGHIJKLMNOP";
        assert_eq!(lines.next(), Some(first));
        assert!(lines.next().unwrap().starts_with("0x0140  51 "), "{rows}");
        assert!(hex_rows(&bytes, 0, 2).contains("\n0x0008  51"), "words");
        assert_eq!(binary(&[0x81, 2]), "10000001 00000010");
    }
}
