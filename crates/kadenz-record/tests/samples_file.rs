//! Samples files: written samples can be read back, whatever happens to the tail, and noise is refused.

use std::io::Cursor;

use kadenz_record::samples::reader::{OpenSamplesError, ReadSamplesError, SamplesFile};
use kadenz_record::samples::writer::SamplesWriter;
use kadenz_record::samples::{Sample, SamplesHeader};
use proptest::prelude::*;

fn header() -> SamplesHeader {
    SamplesHeader {
        series: "wakeup".to_owned(),
        unit: "ns".to_owned(),
        started_at: "2025-01-02T03:04:05.678Z".to_owned(),
        start_monotonic_ns: u64::MAX - 7,
    }
}

fn numbered(n: u64) -> Sample {
    let at = n.cast_signed() * 1_000_000;
    let value_ns = (n % 977).cast_signed() - 100;
    Sample {
        sequence: n,
        intended_ns: at,
        actual_ns: at + value_ns,
        value_ns,
    }
}

/// A file of batches of the given sizes.
fn file(batches: &[u64]) -> Vec<u8> {
    let mut writer = SamplesWriter::new(Vec::new(), &header()).expect("header");
    let mut next = 0;
    for &size in batches {
        let batch: Vec<Sample> = (next..next + size).map(numbered).collect();
        writer.write(&batch).expect("batch");
        next += size;
    }
    writer.finish().expect("end")
}

fn read_samples(bytes: &[u8]) -> (Vec<Sample>, bool) {
    let mut file = SamplesFile::from_reader(Cursor::new(bytes)).expect("opens");
    let mut samples = Vec::new();
    let extent = file
        .for_each_chunk(|chunk| samples.extend_from_slice(chunk))
        .expect("reads");
    assert_eq!(extent.samples, samples.len() as u64);
    (samples, extent.truncated)
}

#[test]
fn what_is_written_comes_back() {
    let bytes = file(&[1, 0, 20_000, 7, 70_000]);
    let mut file = SamplesFile::from_reader(Cursor::new(&bytes)).expect("opens");
    assert_eq!(*file.header(), header());
    let mut values = Vec::new();
    let extent = file
        .for_each_value(|chunk| values.extend_from_slice(chunk))
        .expect("reads");
    assert_eq!(extent.samples, 90_008);
    assert!(!extent.truncated);
    let (samples, _) = read_samples(&bytes);
    assert!(samples.iter().copied().eq((0..90_008).map(numbered)));
    assert!(
        values
            .iter()
            .copied()
            .eq(samples.iter().map(|sample| sample.value_ns))
    );
}

#[test]
fn rewinding_reads_again_and_both_views_share_one_position() {
    let bytes = file(&[10_000]);
    let mut file = SamplesFile::from_reader(Cursor::new(&bytes)).expect("opens");
    let first = file.next_values().expect("reads").expect("a chunk").len() as u64;
    let second = file.next_samples().expect("reads").expect("a chunk")[0];
    assert_eq!(second, numbered(first));
    file.rewind();
    assert_eq!(
        file.next_samples().expect("reads").expect("a chunk")[0],
        numbered(0)
    );
}

#[test]
fn a_cut_anywhere_leaves_the_whole_batches() {
    let bytes = file(&[3, 2]);
    let mut seen = std::collections::BTreeSet::new();
    for cut in 0..=bytes.len() {
        match SamplesFile::from_reader(Cursor::new(&bytes[..cut])) {
            Ok(_) => {
                let (samples, truncated) = read_samples(&bytes[..cut]);
                assert!(
                    samples
                        .iter()
                        .copied()
                        .eq((0..samples.len() as u64).map(numbered))
                );
                assert_eq!(truncated, cut < bytes.len(), "cut at {cut}");
                seen.insert(samples.len());
            }
            Err(OpenSamplesError::NoHeader { bytes }) => assert_eq!(bytes, cut as u64),
            Err(other) => panic!("cut at {cut}: {other}"),
        }
    }
    assert_eq!(Vec::from_iter(seen), [0, 3, 5]);
}

#[test]
fn a_tail_of_zeros_is_a_cut() {
    let mut bytes = file(&[3]);
    bytes.truncate(bytes.len() - 8);
    bytes.extend([0; 5000]);
    let (samples, truncated) = read_samples(&bytes);
    assert_eq!((samples.len(), truncated), (3, true));
}

#[test]
fn noise_after_whole_batches_is_named_with_its_place() {
    let mut bytes = file(&[3]);
    let at = bytes.len() - 8;
    bytes.truncate(at);
    bytes.extend([0x5A; 500]);
    let mut file = SamplesFile::from_reader(Cursor::new(&bytes)).expect("opens");
    let mut seen = 0;
    let error = file
        .for_each_value(|chunk| seen += chunk.len())
        .expect_err("damaged");
    assert!(matches!(error, ReadSamplesError::Damaged { offset, .. } if offset == at as u64));
    assert_eq!(seen, 3);
}

#[test]
fn other_files_are_refused_by_name() {
    let text = b"\"StartTimestamp\",\"Interval_Length\",\"Interval_Max\"\n".repeat(3);
    let error = SamplesFile::from_reader(Cursor::new(text)).expect_err("no Arrow");
    assert!(
        error
            .to_string()
            .starts_with("not a samples file of Kadenz"),
        "{error}"
    );
    let error = SamplesFile::open("no/such/file").expect_err("absent");
    assert!(error.to_string().contains("no/such/file"), "{error}");
}

#[test]
fn the_general_arrow_reader_agrees() {
    let bytes = file(&[5, 4]);
    let reader =
        arrow_ipc::reader::StreamReader::try_new(Cursor::new(bytes), None).expect("a stream");
    assert_eq!(
        reader
            .schema()
            .metadata()
            .get("kadenz.series")
            .map(String::as_str),
        Some("wakeup")
    );
    let mut values = Vec::new();
    for batch in reader {
        let batch = batch.expect("a batch");
        let column = batch.column_by_name("value_ns").expect("value_ns");
        let column = column
            .as_any()
            .downcast_ref::<arrow_array::Int64Array>()
            .expect("int64");
        values.extend_from_slice(column.values());
    }
    assert!(values.into_iter().eq((0..9).map(|n| numbered(n).value_ns)));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    /// Bytes changed, dropped or inserted anywhere give samples or an error, never a panic, and
    /// never more samples than the file has room for.
    #[test]
    fn damaged_files_never_panic(
        places in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4),
        shift in prop::option::of(any::<prop::sample::Index>()),
    ) {
        let mut bytes = file(&[3, 40]);
        if let Some(at) = shift {
            bytes.remove(at.index(bytes.len()));
        }
        for (place, byte) in places {
            let at = place.index(bytes.len());
            bytes[at] = byte;
        }
        let len = bytes.len() as u64;
        if let Ok(mut file) = SamplesFile::from_reader(Cursor::new(bytes)) {
            let mut seen = 0;
            let _ = file.for_each_chunk(|chunk| seen += chunk.len() as u64);
            prop_assert!(seen * 8 <= len);
        }
    }
}
