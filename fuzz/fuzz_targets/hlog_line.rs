//! Any text as an interval log: a log that can be read can be written and read again unchanged, and a truncated log
//! loses its last line only.
#![no_main]

use kadenz_record::histogram::Histogram;
use kadenz_record::hlog::reader::{Interval, IntervalLog};
use kadenz_record::hlog::writer::LineEncoder;
use libfuzzer_sys::fuzz_target;

/// A few lines find as much as the log of a day, and run a hundred times as often.
const MAX_BYTES: usize = 4096;
/// The memory of large layouts is bounded, but not small.
const MAX_COUNTERS: usize = 1 << 20;

fuzz_target!(|bytes: &[u8]| {
    let bytes = &bytes[..bytes.len().min(MAX_BYTES)];
    let whole: Vec<Interval> = IntervalLog::from_reader(bytes).flatten().take(20).collect();
    whole.iter().for_each(check);
    let cut = &bytes[..bytes.len() / 2];
    let sound = IntervalLog::from_reader(cut)
        .take_while(Result::is_ok)
        .flatten();
    let again: Vec<Interval> = sound.take(20).collect();
    // The last line may have been cut in its padding or in a field that can be shorter.
    let sure = again.len().saturating_sub(1);
    assert_eq!(again[..sure], whole[..sure]);
});

fn check(interval: &Interval) {
    let Ok(max) = interval.histogram.max_ns() else {
        let mut sum = Histogram::new();
        assert!(interval.histogram.add_to(&mut sum).is_err());
        assert!(sum.is_empty(), "a failed sum leaves nothing behind");
        return;
    };
    let mut sum = Histogram::new();
    interval
        .histogram
        .add_to(&mut sum)
        .expect("its maximum is known");
    let decoded = interval.histogram.decode().expect("its maximum is known");
    if decoded.layout().len() > MAX_COUNTERS {
        return;
    }
    assert_eq!((decoded.max(), decoded.count()), (max, sum.count()));
    let mut lines = LineEncoder::new();
    let tag = interval.tag.as_deref();
    let line = lines
        .line(tag, 1.0, 1.0, &decoded)
        .expect("a tag that was read can be written");
    let again = IntervalLog::from_reader(line.as_bytes())
        .next()
        .expect("a line")
        .expect("sound");
    assert_eq!(again.tag, interval.tag);
    assert_eq!(again.histogram.decode().expect("sound"), decoded);
}
