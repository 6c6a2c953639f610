//! Recorders that are killed at any time, or whose disk fails any write: the files stay readable.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result};
use serde_json::Value;

use super::child::{self, Ended, Limits};
use super::mutate::Random;
use super::running::Running;
use super::{Report, Request};
use crate::files;
use crate::process;

/// The recorders' flush interval in this attack.
const INTERVAL: Duration = Duration::from_millis(100);
/// How much later than the interval data may be lost, on a busy machine.
const MARGIN: Duration = Duration::from_secs(5);
/// A file of so many bytes holds more than the header of its format.
const BEGUN: u64 = 400;
const LIMITS: Limits = Limits {
    memory_bytes: 1 << 30,
    cpu_s: 10,
    output_bytes: 64 << 20,
    wall: Duration::from_secs(60),
};

/// A command that records into `{out}`, and the command that reads the result.
struct Recorder {
    name: &'static str,
    command: &'static str,
    /// The command that must read the result.
    reader: &'static str,
    /// The time of its last value, in seconds since 1970.
    end: fn(&Path, &str) -> Option<f64>,
}

const RECORDERS: [Recorder; 2] = [
    Recorder {
        name: "run",
        command: "hiccup --interval 100ms --duration 1min --out {out}",
        reader: "show {out}",
        end: end_of_run,
    },
    Recorder {
        name: "log",
        command: "log record --url udpm://239.255.76.67:16180?ttl=0&iface=lo --flush-interval 100ms --out {out}/it.mcap",
        reader: "log info {out}/it.mcap --json",
        end: end_of_log,
    },
];

impl Recorder {
    /// Makes its folder, and returns the path to record at: a folder of a log exists before, that of a run does not.
    fn make_room(&self, folder: &Path) -> Result<PathBuf> {
        let out = folder.join("out");
        fs::create_dir_all(if self.name == "log" { &out } else { folder })?;
        Ok(out)
    }
}

const PUBLISHER: &str = "msg pub BEAT --hex 0123456789abcdef --rate 1kHz --url udpm://239.255.76.67:16180?ttl=0&iface=lo";

/// Kills each recorder at `count` points of its life.
pub(crate) fn kill(request: &Request<'_>) -> Result<Report> {
    let mut report = Report::new("kill");
    let folder = request.folder.clone();
    let _publisher = Running::start(request, PUBLISHER, &folder.join("publisher"))?;
    for recorder in &RECORDERS {
        let mut losses = Vec::new();
        for number in 0..request.count.unwrap_or(30) {
            if request.expired() {
                break;
            }
            let folder = folder.join(format!("{}-{number}", recorder.name));
            let point = Random::of(request.seed, number).below(1500);
            let point = Duration::from_millis(point as u64);
            losses.extend(killed(request, recorder, &folder, point, &mut report)?);
        }
        losses.sort_by(f64::total_cmp);
        if let Some(most) = losses.last() {
            let (name, count) = (recorder.name, losses.len());
            let what = format!(
                "{name}, lost of what was recorded until the kill, {INTERVAL:?} an interval"
            );
            let median = losses[count / 2];
            let lost = format!("median {median:.3} s, most {most:.3} s, {count} kills");
            report.figure(&what, lost);
        }
    }
    Ok(report)
}

/// Kills a recorder once; returns the seconds that are lost, where there was any data.
fn killed(
    request: &Request<'_>,
    recorder: &Recorder,
    folder: &Path,
    point: Duration,
    report: &mut Report,
) -> Result<Option<f64>> {
    let out = recorder.make_room(folder)?;
    let fill = |command: &str| command.replace("{out}", &out.to_string_lossy());
    let mut running = Running::start(request, &fill(recorder.command), folder)?;
    std::thread::sleep(point);
    // Read before the kill, so that delays of a busy machine after it do not count as loss.
    let until = now()?;
    running.kill()?;
    report.tried += 1;
    let command = words(request, &fill(recorder.reader));
    let reproduce = command.join(" ");
    let ended = child::run(&command, LIMITS, folder)?;
    if let Some(fault) = ended.fault().or_else(|| unreadable(&out, &ended)) {
        report.finding(format!("killed after {point:?}: {fault}"), reproduce);
        return Ok(None);
    }
    let said = fs::read_to_string(folder.join("stdout")).unwrap_or_default();
    let lost = (recorder.end)(&out, &said).map(|end| (until - end).max(0.0));
    if let Some(lost) = lost.filter(|lost| *lost > (INTERVAL + MARGIN).as_secs_f64()) {
        let fault = format!("killed after {point:?}: {lost:.3} s are lost");
        report.finding(fault, reproduce);
    } else {
        files::remove_folder(folder)?;
    }
    Ok(lost)
}

/// Returns a fault, unless the files can be read, damaged or incomplete; only without any data there may be an error.
pub(super) fn unreadable(out: &Path, reader: &Ended) -> Option<String> {
    let entries = fs::read_dir(out).into_iter().flatten().flatten();
    // A run that was killed before its first `run.json` was written has recorded nothing.
    let mut begun = entries
        .filter(|it| !it.path().ends_with("run.json.new"))
        .filter(|it| it.metadata().is_ok_and(|it| it.len() >= BEGUN));
    (reader.code() == Some(2) && begun.next().is_some())
        .then(|| format!("cannot be read: {}", reader.stderr.trim()))
}

pub(super) fn words(request: &Request<'_>, line: &str) -> Vec<String> {
    let program = request.program.to_string_lossy();
    let words = std::iter::once(&*program).chain(line.split(' '));
    words.map(str::to_owned).collect()
}

/// Wall time, which the recorders' stamps use, in seconds since 1970.
fn now() -> Result<f64> {
    let text = process::output(Command::new("date").arg("+%s.%N"))?;
    let seconds = text.trim().parse();
    seconds.with_context(|| format!("`date +%s.%N` printed {text:?}"))
}

/// The end of the last interval of the first interval log.
fn end_of_run(out: &Path, _: &str) -> Option<f64> {
    let entries = fs::read_dir(out).ok()?.flatten().map(|it| it.path());
    let logs = entries.filter(|path| path.extension().is_some_and(|it| it == "hlog"));
    logs.filter_map(|path| end_of_interval_log(&fs::read_to_string(path).ok()?))
        .max_by(f64::total_cmp)
}

fn end_of_interval_log(text: &str) -> Option<f64> {
    let mut lines = text.lines();
    let start = lines.find_map(|line| line.strip_prefix("#[StartTime: "))?;
    let start: f64 = start.split(' ').next()?.parse().ok()?;
    let last = lines.rfind(|line| line.starts_with(|first: char| first.is_ascii_digit()))?;
    let mut fields = last.split(',').map(|it| it.parse::<f64>().ok());
    Some(start + fields.next()?? + fields.next()??)
}

/// The time of the last message.
fn end_of_log(_: &Path, said: &str) -> Option<f64> {
    let info: Value = serde_json::from_str(said).ok()?;
    let end = info.pointer("/logs/0/last_ns")?;
    Some(end.as_f64()? / 1e9)
}

/// Fails each write of a short run, one after the other, as a full and as a broken disk.
pub(crate) fn disk(request: &Request<'_>) -> Result<Report> {
    let mut report = Report::new("disk");
    let mut traced = Command::new("strace");
    if !process::succeeds(traced.arg("--version")) {
        anyhow::bail!("no strace, which lets writes fail; apt-get install strace");
    }
    let folder = request.folder.clone();
    let _publisher = Running::start(request, PUBLISHER, &folder.join("publisher"))?;
    for recorder in &RECORDERS {
        for error in ["ENOSPC", "EIO"] {
            for index in 1..=request.count.unwrap_or(12) {
                let folder = folder.join(format!("{}-{error}-{index}", recorder.name));
                refused(request, recorder, (error, index), &folder, &mut report)?;
            }
        }
    }
    Ok(report)
}

/// Calls that write to a disk.
const WRITES: &str = "write,writev,pwrite64,fsync,fdatasync,ftruncate,rename,renameat2";

fn refused(
    request: &Request<'_>,
    recorder: &Recorder,
    (error, index): (&str, u64),
    folder: &Path,
    report: &mut Report,
) -> Result<()> {
    let out = recorder.make_room(folder)?;
    let fill = |command: &str| command.replace("{out}", &out.to_string_lossy());
    let inject = format!(
        "strace -f -qq -o /dev/null -e trace={WRITES} -e inject={WRITES}:error={error}:when={index}+"
    );
    let short = fill(recorder.command).replace(" --duration 1min", "");
    let traced = inject.split(' ').map(str::to_owned);
    let command: Vec<String> = traced
        .chain(words(request, &short))
        .chain(["--duration".into(), "300ms".into()])
        .collect();
    report.tried += 1;
    let recorded = child::run(&command, LIMITS, folder)?;
    let reader = words(request, &fill(recorder.reader));
    let read = child::run(&reader, LIMITS, folder)?;
    let fault = recorded.fault().or_else(|| read.fault());
    match fault.or_else(|| unreadable(&out, &read)) {
        Some(fault) => {
            let fault = format!("{error} from write {index} on: {fault}");
            report.finding(fault, command.join(" "));
        }
        None => files::remove_folder(folder)?,
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_of_an_interval_log_is_that_of_its_last_whole_line() {
        let text = "#[StartTime: 100.500 (seconds since epoch), x]\n0.100,0.100,1,HIST\nTag=early,0.2,0.1,1,H\n0.250,0.125,2,HIS";
        assert_eq!(end_of_interval_log(text), Some(100.875));
        assert_eq!(end_of_interval_log("nothing"), None);
    }
}
