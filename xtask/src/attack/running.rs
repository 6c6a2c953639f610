//! A long-running command of the program under attack: its CPU time and memory, and how fast it ends by Ctrl-C.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

use super::Request;
use super::child::Ended;
use crate::files;

/// How long a command may take to be ready, or to end, before that counts as a hang.
const MAX_WAIT: Duration = Duration::from_secs(20);
const POLL_INTERVAL: Duration = Duration::from_millis(1);

/// A running command. It is killed when this is dropped.
pub(crate) struct Running {
    child: Child,
    stderr: PathBuf,
    started: Instant,
}

impl Running {
    /// Starts `kadenz WORDS`, with its output in files in `folder`, and its sockets below it.
    ///
    /// # Errors
    /// Where it cannot be started.
    pub(crate) fn start(request: &Request<'_>, words: &str, folder: &Path) -> Result<Self> {
        files::make_folder(folder)?;
        let stderr = folder.join("running.stderr");
        let child = program(request, words, folder)
            .stdout(File::create(folder.join("running.stdout"))?)
            .stderr(File::create(&stderr)?)
            .spawn()
            .with_context(|| format!("cannot start {}", request.program.display()))?;
        Ok(Self {
            child,
            stderr,
            started: Instant::now(),
        })
    }

    /// Waits until `ready` returns a value.
    ///
    /// # Errors
    /// Where the command ends before that, or is not ready in time.
    pub(crate) fn when_ready<T>(&mut self, mut ready: impl FnMut(&Self) -> Option<T>) -> Result<T> {
        let until = Instant::now() + MAX_WAIT;
        loop {
            if let Some(it) = ready(self) {
                return Ok(it);
            }
            let ended = self.child.try_wait().context("cannot wait for a command")?;
            if ended.is_some() || Instant::now() > until {
                let said = self.said();
                bail!("the command under attack was not ready ({ended:?}): {said}");
            }
            std::thread::sleep(POLL_INTERVAL);
        }
    }

    /// CPU time of its threads so far.
    pub(crate) fn cpu(&self) -> Duration {
        let tasks = fs::read_dir(format!("/proc/{}/task", self.child.id()));
        let of = |task: fs::DirEntry| {
            let text = fs::read_to_string(task.path().join("schedstat")).unwrap_or_default();
            let first = text.split(' ').next();
            first.and_then(|it| it.parse().ok()).unwrap_or(0)
        };
        Duration::from_nanos(tasks.into_iter().flatten().flatten().map(of).sum())
    }

    /// The UDP ports of this machine that it listens at.
    pub(crate) fn udp_ports(&self) -> Vec<u16> {
        let files = fs::read_dir(format!("/proc/{}/fd", self.child.id()));
        let inode = |file: fs::DirEntry| {
            let link = fs::read_link(file.path()).ok()?;
            let inode = link.to_str()?.strip_prefix("socket:[")?;
            Some(inode.trim_end_matches(']').to_owned())
        };
        let files = files.into_iter().flatten().flatten();
        let own: Vec<String> = files.filter_map(inode).collect();
        let table = fs::read_to_string("/proc/net/udp").unwrap_or_default();
        let port = |line: &str| {
            let words: Vec<&str> = line.split_whitespace().collect();
            let (_, port) = words.get(1)?.split_once(':')?;
            let is_own = own.iter().any(|inode| words.get(9) == Some(&&**inode));
            is_own.then(|| u16::from_str_radix(port, 16).ok())?
        };
        table.lines().filter_map(port).collect()
    }

    /// Its peak memory, in MiB.
    pub(crate) fn most_memory_mib(&self) -> u64 {
        self.status_kib("VmHWM:").unwrap_or(0) / 1024
    }

    /// Its present memory, in KiB, without the pages of its program, which come and go; `None` where it has ended.
    pub(crate) fn memory_kib(&self) -> Option<u64> {
        Some(self.status_kib("RssAnon:")? + self.status_kib("RssShmem:")?)
    }

    fn status_kib(&self, field: &str) -> Option<u64> {
        let status = fs::read_to_string(format!("/proc/{}/status", self.child.id())).ok()?;
        let line = status.lines().find_map(|line| line.strip_prefix(field))?;
        line.trim().trim_end_matches(" kB").parse().ok()
    }

    /// The time since its start.
    pub(crate) fn age(&self) -> Duration {
        self.started.elapsed()
    }

    /// Its standard error so far.
    pub(crate) fn said(&self) -> String {
        fs::read_to_string(&self.stderr).unwrap_or_default()
    }

    /// Its end, where it has ended.
    ///
    /// # Errors
    /// Where it cannot be waited for.
    pub(crate) fn ended(&mut self) -> Result<Option<Ended>> {
        let status = self.child.try_wait().context("cannot wait for a command")?;
        Ok(status.map(|status| Ended {
            status: Some(status),
            stderr: self.said(),
            wall: self.age(),
        }))
    }

    /// Sends SIGINT, as Ctrl-C does, and returns how long it took to end; `None` where it does not end.
    ///
    /// # Errors
    /// Where it cannot be signalled or waited for.
    pub(crate) fn interrupt(&mut self) -> Result<Option<Duration>> {
        let start = Instant::now();
        signal("INT", self.child.id())?;
        while start.elapsed() < MAX_WAIT {
            if self.ended()?.is_some() {
                return Ok(Some(start.elapsed()));
            }
            std::thread::sleep(POLL_INTERVAL);
        }
        Ok(None)
    }

    /// Kills it by SIGKILL, as the kernel does when memory runs out.
    ///
    /// # Errors
    /// Where it cannot be waited for.
    pub(crate) fn kill(&mut self) -> Result<()> {
        let _ = self.child.kill();
        let ended = self.child.wait();
        ended.context("cannot wait for a killed command")?;
        Ok(())
    }

    /// Whether it still runs.
    pub(crate) fn runs(&mut self) -> bool {
        matches!(self.child.try_wait(), Ok(None))
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.kill();
    }
}

/// `kadenz WORDS`, with empty standard input, and the sockets of its user below `folder`.
pub(crate) fn program(request: &Request<'_>, words: &str, folder: &Path) -> Command {
    let mut command = Command::new(&request.program);
    command.args(words.split(' ')).stdin(Stdio::null());
    command.env("XDG_RUNTIME_DIR", folder);
    command
}

fn signal(name: &str, process: u32) -> Result<()> {
    let mut kill = Command::new("sh");
    kill.args(["-c", &format!("kill -{name} {process}")]);
    let status = kill.status();
    status.context("cannot start sh to send a signal")?;
    Ok(())
}

/// The memory of a process over its life.
#[derive(Default)]
pub(crate) struct Memory {
    /// Its age, and its memory in KiB.
    samples: Vec<(Duration, u64)>,
}

impl Memory {
    const INTERVAL: Duration = Duration::from_secs(1);
    /// Pictures change their size for some seconds, and the memory with it: a shorter life shows nothing.
    const MIN_LIFE: Duration = Duration::from_secs(120);
    /// How much more the last quarter may hold, beyond a tenth.
    const MAX_GROWTH_KIB: u64 = 4 << 10;

    /// Takes a sample, where a second has passed.
    pub(crate) fn look(&mut self, running: &Running) {
        let age = running.age();
        let last = self.samples.last();
        let is_due = last.is_none_or(|(at, _)| age >= *at + Self::INTERVAL);
        if let Some(kib) = is_due.then(|| running.memory_kib()).flatten() {
            self.samples.push((age, kib));
        }
    }

    fn life(&self) -> Duration {
        self.samples.last().map_or(Duration::ZERO, |(at, _)| *at)
    }

    /// The most in the second and in the last quarter, in KiB.
    pub(crate) fn quarters(&self) -> Option<(u64, u64)> {
        let quarter = self.life() / 4;
        let most = |from: u32| {
            let within = self.samples.iter().filter(|(at, _)| *at >= quarter * from);
            let within = within.filter(|(at, _)| from == 3 || *at < quarter * (from + 1));
            within.map(|(_, kib)| *kib).max()
        };
        Some((most(1)?, most(3)?))
    }

    /// Whether it held more in its last quarter than in its second, beyond the tolerance.
    pub(crate) fn has_grown(&self) -> bool {
        let grown = |(early, late): (u64, u64)| late > early + early / 10 + Self::MAX_GROWTH_KIB;
        self.life() >= Self::MIN_LIFE && self.quarters().is_some_and(grown)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_flat_where_the_last_quarter_holds_no_more_than_the_second() {
        let of = |kib_a_second: u64| Memory {
            samples: (0..1800)
                .map(|s| (Duration::from_secs(s), 30_000 + kib_a_second * s))
                .collect(),
        };
        assert_eq!(of(0).quarters(), Some((30_000, 30_000)));
        assert!(!of(0).has_grown() && !of(5).has_grown());
        assert!(of(20).has_grown());
    }
}
