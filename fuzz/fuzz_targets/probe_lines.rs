//! Any output of a probe, in pieces of any length: lines or an error text, the same however it is cut, and no line
//! longer than the protocol allows.
#![no_main]

use kadenz_lab::probes::protocol::{BadLine, Line, Lines, MAX_LINE};
use libfuzzer_sys::fuzz_target;

fn read(bytes: &[u8], at_once: usize) -> (Vec<Line>, Option<BadLine>) {
    let (mut lines, mut read) = (Lines::default(), Vec::new());
    let mut take = |line: &[u8]| {
        assert!(line.len() <= MAX_LINE);
        read.push(Line::parse(line)?);
        Ok(())
    };
    let pieces = bytes.chunks(at_once);
    let bad = pieces.into_iter().find_map(|it| lines.push(it, &mut take).err());
    (read, bad)
}

fuzz_target!(|bytes: &[u8]| {
    let whole = read(bytes, bytes.len().max(1));
    for at_once in [1, 7] {
        assert_eq!(read(bytes, at_once), whole);
    }
    for line in &whole.0 {
        // No difference of two times overflows.
        let _ = match line {
            Line::Message(it) => (it.received_ns - it.intended_ns) + (it.received_ns - it.sent_ns) / 2,
            Line::Timer { start_ns, end_ns, reported_ns } => (end_ns - start_ns) / 2 - reported_ns,
            _ => 0,
        };
    }
});
