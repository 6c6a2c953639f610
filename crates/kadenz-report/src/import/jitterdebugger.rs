//! `results.json` of jitterdebugger.
//!
//! Sources: `dump_stats` and `worker` in `jitterdebugger.c` (after version 0.3),
//! and recordings of version 0.3 (Debian 12) in `conformance/import`. A value is wake-up time less
//! intended time in whole units of `resolution_in_ns`, the rest cut off; the histogram ends at one
//! millisecond, and what lies beyond is in `count`, `min` and `max` alone. Intended times are never
//! passed over. A thread that counted nothing has an `avg` that is not JSON.

use std::collections::BTreeMap;
use std::io::BufRead;

use kadenz_record::run::model::{Kind, Run};
use serde::Deserialize;

use super::bins::{Bins, Overflow, warn_of_bins};
use super::source::series;
use super::{Importer, ReadError, Sink, source};

/// The end of the program's histogram.
const LIMIT_NS: i64 = 1_000_000;

/// Reads `results.json` of jitterdebugger.
pub(super) struct Jitterdebugger;

/// The whole of `results.json`.
#[derive(Deserialize)]
struct JitterdebuggerFile {
    version: u64,
    sysinfo: JitterdebuggerSysinfo,
    cpu: BTreeMap<String, Cpu>,
}

/// The object `sysinfo`.
#[derive(Deserialize)]
struct JitterdebuggerSysinfo {
    #[serde(default)]
    sysname: String,
    release: Option<String>,
    #[serde(default)]
    version: String,
    #[serde(default)]
    cpus_online: u32,
    resolution_in_ns: i64,
}

#[derive(Deserialize)]
struct Cpu {
    histogram: BTreeMap<String, u64>,
    count: u64,
    max: u64,
}

impl Importer for Jitterdebugger {
    fn recognises(&self, head: &str) -> bool {
        source::has_json_keys(
            head,
            &["version", "sysinfo", "cpus_online", "resolution_in_ns"],
        )
    }

    fn read(&self, source: &mut dyn BufRead, sink: &mut dyn Sink) -> Result<(), ReadError> {
        let bytes = source::read_json(source, "JSON of jitterdebugger")?;
        let file: JitterdebuggerFile = match source::parse_json(&bytes) {
            Ok(file) => file,
            Err(error) => source::parse_json(&fix_averages(&bytes)).map_err(|_| error)?,
        };
        if file.version != 3 {
            let cause = format!("it is {}, but only version 3 is known", file.version);
            return Err(ReadError::field("version", cause));
        }
        let width_ns = file.sysinfo.resolution_in_ns;
        if !(1..=LIMIT_NS).contains(&width_ns) {
            let cause = format!("{width_ns} is not a valid resolution: it must be 1 to {LIMIT_NS}");
            return Err(ReadError::field("sysinfo.resolution_in_ns", cause));
        }
        if file.cpu.values().all(|cpu| cpu.count == 0) {
            return Err(ReadError::Lacks {
                what: "value",
                remedy: "the measurement was ended before its first wake-up: measure again",
            });
        }
        describe(sink.run(), &file);
        sink.parameter("source_program", "jitterdebugger");
        if width_ns > 1 {
            warn_of_bins(sink, &format!("{width_ns} ns"), "its lower end");
        }
        let mut cpus: Vec<_> = file.cpu.iter().collect();
        cpus.sort_by_key(|(number, _)| (number.len(), *number));
        cpus.into_iter()
            .try_for_each(|(number, cpu)| store(sink, number, cpu, width_ns))
    }
}

fn describe(run: &mut Run, file: &JitterdebuggerFile) {
    let system = &file.sysinfo;
    run.host.os = system.sysname.to_ascii_lowercase();
    run.host.kernel.clone_from(&system.release);
    run.host.cpus = system.cpus_online;
    run.host.preemption = super::source::preemption(&system.version);
}

fn store(sink: &mut dyn Sink, number: &str, cpu: &Cpu, width_ns: i64) -> Result<(), ReadError> {
    let wrong =
        |field: &str, cause: String| ReadError::field(format!("cpu.{number}.{field}"), cause);
    let bins = Bins::of_json(&cpu.histogram, width_ns, wrong)?;
    let count = bins.missing(cpu.count);
    let count = count.map_err(|cause| wrong("count", cause))?;
    let max_ns = i64::try_from(cpu.max)
        .ok()
        .and_then(|max| max.checked_mul(width_ns));
    let overflow = Overflow {
        count,
        limit_ns: LIMIT_NS,
        max_ns,
    };
    let description = format!("lateness on CPU {number}, as jitterdebugger measured it");
    let series = series(format!("cpu{number}"), description, Kind::Lateness);
    bins.store(sink, series, 0.0, Some(overflow))
}

/// Makes valid JSON of the averages of threads without values.
fn fix_averages(bytes: &[u8]) -> Vec<u8> {
    let text = String::from_utf8_lossy(bytes);
    let fixed = text
        .replace("\"avg\": -nan", "\"avg\": 0")
        .replace("\"avg\": nan", "\"avg\": 0");
    fixed.into_bytes()
}
