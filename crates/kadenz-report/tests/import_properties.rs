//! Properties of every import, for any contents of the file.

#![allow(clippy::unwrap_used, reason = "in a test a panic is the answer")]

use kadenz_report::import::{Collected, ImportFormat};
use proptest::prelude::*;

/// Reads a text as a format; returns the error as text.
fn read(format: ImportFormat, text: &str) -> Result<Collected, String> {
    Collected::read(format, &mut text.as_bytes()).map_err(|error| error.to_string())
}

fn any_format() -> impl Strategy<Value = ImportFormat> {
    prop::sample::select(ImportFormat::ALL.to_vec())
}

/// Texts made of pieces of the formats.
fn almost_a_file() -> impl Strategy<Value = String> {
    let words = prop::sample::select(vec![
        "time_ns,value_ns\n",
        "0,1\n",
        "-5,9223372036854775807\n",
        "-9223372036854775808,0\n",
        "# Histogram\n",
        "000001 000002\t000003\n",
        "# Min Latencies: 1 2\n",
        "# Histogram Overflows: 9 0\n",
        "# Max Latencies: 7\n",
        "packet, txTime(sec), rxTime(sec), rtt(usec)\n",
        "1, 2.5, 3.5, 1.0\n",
        "-----\n",
        "#-000001 \t000001\n",
        "end\n",
        "# Amount messages: 3\n",
        "# Measurement with a loop length of 1\n",
        "#[StartTime: 1.5 (seconds since epoch)]\n",
        "Tag=a,0.1,1.0,2.0,",
        "HISTFAAAAEV42pNpmSzMwMCgyAAB\n",
        "{",
        "}",
        "[",
        "]",
        ":",
        ",",
        "\"",
        "\"version\": 3",
        "\"thread\"",
        "\"cpu\"",
        "\"0\"",
        "1e99",
        "-nan",
    ]);
    prop::collection::vec(
        prop_oneof![4 => words.prop_map(str::to_owned), 1 => ".{0,8}"],
        0..40,
    )
    .prop_map(|parts| parts.concat())
}

proptest! {
    /// Every text gives a run with consistent counts, or an error with a message.
    #[test]
    fn nothing_is_read_into_nonsense(format in any_format(), text in almost_a_file()) {
        match read(format, &text) {
            Ok(sink) => prop_assert_eq!(sink.inconsistency(), None),
            Err(said) => prop_assert!(said.len() > 10),
        }
    }

    #[test]
    fn samples_survive_csv(samples in prop::collection::vec((any::<i64>(), any::<i64>()), 1..50)) {
        let mut text = "time_ns,value_ns\n".to_owned();
        for (time, value) in &samples {
            text += &format!("{time},{value}\n");
        }
        let counts = read(ImportFormat::Csv, &text).unwrap().run.series[0].counts;
        prop_assert_eq!(counts.recorded, samples.len() as u64);
        prop_assert_eq!(counts.min_ns, samples.iter().map(|sample| sample.1).min());
        prop_assert_eq!(counts.max_ns, samples.iter().map(|sample| sample.1).max());
    }

    /// Rows of cyclictest for three threads, with and without a column of sums.
    #[test]
    fn histograms_survive_cyclictest(
        rows in prop::collection::vec(prop::collection::vec(0_u64..1000, 3), 1..40),
        summed: bool,
    ) {
        let mut text = "# Histogram\n".to_owned();
        for (bin, counts) in rows.iter().enumerate() {
            let counted = counts.iter().map(|count| format!("{count:06}")).collect::<Vec<_>>().join("\t");
            let sum = if summed { format!("\t{:06}", counts.iter().sum::<u64>()) } else { String::new() };
            text += &format!("{bin:06} {counted}{sum}\n");
        }
        text += "# Min Latencies: 00000 00000 00000\n# Histogram Overflows: 00001 00000 00002\n";
        let sink = read(ImportFormat::CyclictestText, &text).unwrap();
        prop_assert_eq!(sink.run.series.len(), 3);
        for (thread, overflow) in [1, 0, 2].into_iter().enumerate() {
            let bins: u64 = rows.iter().map(|row| row[thread]).sum();
            let counts = sink.run.series[thread].counts;
            prop_assert_eq!((counts.recorded, counts.saturated), (bins + overflow, overflow));
        }
    }
}

/// Recordings with their formats.
fn recordings() -> Vec<(ImportFormat, Vec<u8>)> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../conformance");
    let files = [
        (ImportFormat::Hlog, "hlog/tagged-Log.logV2.hlog"),
        (ImportFormat::Hlog, "hlog/jHiccup-2.0.6.logV1.hlog"),
        (ImportFormat::CyclictestJson, "import/cyclictest.json"),
        (
            ImportFormat::CyclictestJson,
            "import/cyclictest-overflow.json",
        ),
        (
            ImportFormat::CyclictestText,
            "import/cyclictest-overflow.txt",
        ),
        (ImportFormat::Irtt, "import/irtt.json"),
        (
            ImportFormat::Jitterdebugger,
            "import/jitterdebugger-overflow.json",
        ),
        (ImportFormat::Sockperf, "import/sockperf-rtt.csv"),
        (
            ImportFormat::Bmwcarit,
            "import/bmwcarit-oneshot-measured.log",
        ),
        (ImportFormat::Bmwcarit, "import/bmwcarit-communication.log"),
        (ImportFormat::Csv, "import/samples.csv"),
    ];
    let read =
        files.map(|(format, file)| (format, std::fs::read(format!("{folder}/{file}")).unwrap()));
    read.to_vec()
}

/// A damage to a file.
#[derive(Clone, Debug)]
enum Damage {
    Change(u8),
    Remove(usize),
    Repeat(usize),
    CutOff,
}

fn damage() -> impl Strategy<Value = (prop::sample::Index, Damage)> {
    let what = prop_oneof![
        4 => any::<u8>().prop_map(Damage::Change),
        4 => prop::sample::select(b"0123456789-.,:\"{}\n\t #".to_vec()).prop_map(Damage::Change),
        2 => (1_usize..200).prop_map(Damage::Remove),
        2 => (1_usize..200).prop_map(Damage::Repeat),
        1 => Just(Damage::CutOff),
    ];
    (any::<prop::sample::Index>(), what)
}

fn damaged(mut bytes: Vec<u8>, what: &[(prop::sample::Index, Damage)]) -> Vec<u8> {
    for (at, damage) in what {
        if bytes.is_empty() {
            break;
        }
        let at = at.index(bytes.len());
        let end = |length: usize| (at + length).min(bytes.len());
        match damage {
            Damage::Change(byte) => bytes[at] = *byte,
            Damage::Remove(length) => drop(bytes.drain(at..end(*length))),
            Damage::Repeat(length) => {
                let part = bytes[at..end(*length)].to_vec();
                bytes.splice(at..at, part);
            }
            Damage::CutOff => bytes.truncate(at),
        }
    }
    bytes
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    /// A damaged recording gives an error with a message, or still a run.
    #[test]
    fn damaged_recordings_are_refused_or_read(
        which: prop::sample::Index,
        what in prop::collection::vec(damage(), 1..6),
    ) {
        let recordings = recordings();
        let (format, bytes) = &recordings[which.index(recordings.len())];
        let bytes = damaged(bytes.clone(), &what);
        match Collected::read(*format, &mut bytes.as_slice()) {
            Ok(sink) => prop_assert_eq!(sink.inconsistency(), None),
            Err(error) => prop_assert!(error.to_string().len() > 10, "{}", error),
        }
    }
}
