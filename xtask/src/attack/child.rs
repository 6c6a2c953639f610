//! A command of the program under limits of the kernel: one that exceeds them is killed, and is a finding.

use std::fs::{self, File};
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};

/// The bytes of its standard error that are kept.
const KEPT: usize = 4096;
const POLL_INTERVAL: Duration = Duration::from_millis(2);

/// The limits of a command.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    /// Private writable memory, RLIMIT_DATA.
    pub(crate) memory_bytes: u64,
    /// CPU time, RLIMIT_CPU.
    pub(crate) cpu_s: u32,
    /// Each file that it writes, and its standard output, RLIMIT_FSIZE.
    pub(crate) output_bytes: u64,
    /// Wall time, after which it counts as hanging.
    pub(crate) wall: Duration,
}

/// The end of a command.
#[derive(Debug)]
pub(crate) struct Ended {
    /// `None` where it was killed because it hung.
    pub(crate) status: Option<ExitStatus>,
    /// The beginning of its standard error.
    pub(crate) stderr: String,
    pub(crate) wall: Duration,
}

impl Ended {
    /// The exit code, where it exited.
    pub(crate) fn code(&self) -> Option<i32> {
        self.status?.code()
    }

    /// The fault in this end, or `None`: a command must exit, with 0, 1 or 2.
    pub(crate) fn fault(&self) -> Option<String> {
        let Some(status) = self.status else {
            return Some(format!("hung for {:?}", self.wall));
        };
        let what = match (status.code(), status.signal()) {
            (Some(0..=2), _) if self.stderr.contains("panicked at") => "panicked".to_owned(),
            (Some(0..=2), _) => return None,
            (Some(code), _) => format!("exit code {code}"),
            (None, Some(signal)) => format!("killed by {}", named(signal)),
            (None, None) => "ended strangely".to_owned(),
        };
        let said = self.stderr.trim();
        Some(format!("{what} after {:?}: {said}", self.wall))
    }
}

fn named(signal: i32) -> String {
    match signal {
        6 => "SIGABRT: a panic, or memory above the limit".to_owned(),
        11 => "SIGSEGV".to_owned(),
        9 | 24 => "SIGXCPU: CPU time above the limit".to_owned(),
        25 => "SIGXFSZ: output above the limit".to_owned(),
        other => format!("signal {other}"),
    }
}

/// Runs a command to its end or to its limits; its two streams go into files in `folder`.
///
/// # Errors
/// Where it cannot be started, or its files cannot be made.
pub(crate) fn run(command: &[String], limits: Limits, folder: &Path) -> Result<Ended> {
    let streams = ["stdout", "stderr"].map(|name| folder.join(name));
    let make = |path: &Path| File::create(path).with_context(|| format!("{}", path.display()));
    let start = Instant::now();
    let mut child = limited(command, limits)
        .stdin(Stdio::null())
        .stdout(make(&streams[0])?)
        .stderr(make(&streams[1])?)
        .spawn()
        .context("cannot start sh")?;
    let status = wait(&mut child, start + limits.wall)?;
    let said = fs::read(&streams[1]).unwrap_or_default();
    Ok(Ended {
        status,
        stderr: String::from_utf8_lossy(&said[..said.len().min(KEPT)]).into_owned(),
        wall: start.elapsed(),
    })
}

/// The shell sets the limits and becomes the command.
fn limited(command: &[String], limits: Limits) -> Command {
    let script = format!(
        "ulimit -c 0; ulimit -d {}; ulimit -t {}; ulimit -f {}; exec \"$@\"",
        limits.memory_bytes.div_ceil(1024),
        limits.cpu_s,
        limits.output_bytes.div_ceil(512),
    );
    let mut shell = Command::new("sh");
    shell.args(["-c", &script, "sh"]).args(command);
    shell.env("RUST_BACKTRACE", "0");
    shell
}

fn wait(child: &mut Child, until: Instant) -> Result<Option<ExitStatus>> {
    loop {
        if let Some(status) = child.try_wait().context("cannot wait for a command")? {
            return Ok(Some(status));
        }
        if Instant::now() > until {
            child.kill().context("cannot kill a command that hangs")?;
            child.wait().context("cannot wait for a killed command")?;
            return Ok(None);
        }
        std::thread::sleep(POLL_INTERVAL);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Longer than any limit of the kernel takes to be reached, also on a busy machine.
    const AMPLE: Duration = Duration::from_secs(20);

    fn ended(script: &str, wall: Duration) -> Ended {
        let limits = Limits {
            memory_bytes: 64 << 20,
            cpu_s: 1,
            output_bytes: 1 << 20,
            wall,
        };
        let folder = tempfile::tempdir().expect("a folder");
        let command = ["sh", "-c", script].map(str::to_owned);
        run(&command, limits, folder.path()).expect("sh starts")
    }

    #[test]
    fn a_decent_end_is_no_fault() {
        for script in ["exit 0", "exit 1", "echo no such file >&2; exit 2"] {
            assert_eq!(ended(script, AMPLE).fault(), None, "{script}");
        }
    }

    #[test]
    fn every_limit_is_held_and_named() {
        for (script, wall, word) in [
            ("exit 101", AMPLE, "exit code 101"),
            (
                "echo thread main panicked at x >&2; exit 2",
                AMPLE,
                "panicked",
            ),
            ("while :; do :; done", AMPLE, "SIGXCPU"),
            ("exec cat /dev/zero", AMPLE, "SIGXFSZ"),
            ("exec sleep 60", Duration::from_millis(200), "hung"),
        ] {
            let fault = ended(script, wall).fault().unwrap_or_default();
            assert!(fault.contains(word), "{script}: {fault}");
        }
    }
}
