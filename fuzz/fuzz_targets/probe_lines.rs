//! What a probe writes, in pieces of any length: lines or words of refusal, the same however it is cut, and no
//! line that is longer than the protocol allows.
#![no_main]

use kadenz_lab::pubsub::program::protocol::{BadLine, Line, Lines, MAX_LINE};
use libfuzzer_sys::fuzz_target;

fn read(bytes: &[u8], at_once: usize) -> (Vec<Line>, Option<BadLine>) {
    let (mut lines, mut read) = (Lines::default(), Vec::new());
    let mut take = |line: &[u8]| {
        assert!(line.len() <= MAX_LINE);
        read.push(Line::parse(line, 7)?);
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
        if let Line::Message { probe, received_ns } = line {
            // No difference of two times overflows.
            let _ = received_ns - probe.intended_ns;
            let _ = received_ns - probe.sent_ns;
        }
    }
});
