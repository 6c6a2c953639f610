//! Memory: copies between buffers that no cache holds, and pages that must be made fresh.

use std::collections::TryReserveError;

use kadenz_rt::host::{self, Root};

use super::options::{LoadOptions, StartLoadError};
use super::rates::{Counter, Tally};
use super::workers::{Site, Workers};
use super::{LoadGenerator, LoadKind};
use crate::stop::Stop;

const MIB: usize = 1 << 20;
/// More than any C library gives from memory it keeps (glibc's largest `M_MMAP_THRESHOLD` is 32 MiB): each request maps
/// it again, and returns it.
const FRESH: usize = 48 * MIB;
/// Size of a buffer in last-level caches, within the limits below.
const CACHES: usize = 4;
const MIN_BUFFER: usize = 32 * MIB;
const MAX_BUFFER: usize = 256 * MIB;
/// At most this part of the memory that is free is taken.
const SHARE: u64 = 4;

/// Threads that copy, and ask for fresh memory, by turns.
pub(super) fn start(options: &LoadOptions, site: &Site) -> Result<LoadGenerator, StartLoadError> {
    let threads = options.threads_or_cpus();
    let root = Root::system();
    let buffer = buffer(last_cache(&root), available(&root), threads)?;
    let (copied, faults) = (Tally::new(threads), Tally::new(threads));
    let mut workers = Workers::new(LoadKind::Memory, site);
    for thread in 0..threads {
        let worker = Worker {
            thread,
            buffer,
            copied: copied.clone(),
            faults: faults.clone(),
        };
        workers.repeat(&format!("memory-{thread}"), move |stop| {
            let worked = worker.work(stop);
            worked.map_err(|error| format!("no memory: {error}"))
        })?;
    }
    let mut counters = vec![Counter::bytes("copied", &copied)];
    if page_faults().is_some() {
        counters.push(Counter::new("faulted", "faults/s", &faults));
    }
    let asked = format!(
        "{threads} threads that copy between buffers of {} MiB and allocate {} MiB of fresh memory, by turns",
        buffer / MIB,
        FRESH / MIB
    );
    Ok(LoadGenerator {
        asked,
        counters,
        workers,
    })
}

/// Size of one buffer: each thread has two, and a fresh piece.
fn buffer(
    cache: Option<u64>,
    available: Option<u64>,
    threads: usize,
) -> Result<usize, StartLoadError> {
    let cache = cache.and_then(|cache| usize::try_from(cache).ok());
    let large = cache
        .map_or(2 * MIN_BUFFER, |cache| cache.saturating_mul(CACHES))
        .clamp(MIN_BUFFER, MAX_BUFFER);
    let Some(available) = available else {
        return Ok(MIN_BUFFER);
    };
    let share = usize::try_from(available / SHARE).unwrap_or(usize::MAX) / threads;
    let fits = share.saturating_sub(FRESH) / 2;
    if fits < MIN_BUFFER {
        return Err(StartLoadError::MemoryTooFull {
            available,
            wanted: SHARE * (threads * (FRESH + 2 * MIN_BUFFER)) as u64,
        });
    }
    Ok(large.min(fits))
}

/// Size of the largest cache of the first CPU, in bytes.
fn last_cache(root: &Root) -> Option<u64> {
    let sizes = (0..8).filter_map(|index| {
        let path = format!("/sys/devices/system/cpu/cpu0/cache/index{index}/size");
        let kibibytes: u64 = root.read(&path).ok()?.strip_suffix('K')?.parse().ok()?;
        Some(kibibytes * 1024)
    });
    sizes.max()
}

/// Memory that may be taken: what is free, and what the control group still allows.
fn available(root: &Root) -> Option<u64> {
    let free = host::available_memory_bytes(root).ok();
    match (free, group_leaves(root)) {
        (Some(free), Some(left)) => Some(free.min(left)),
        (free, left) => free.or(left),
    }
}

/// What the control group (version 2) of this process leaves. Source: the kernel's
/// `Documentation/admin-guide/cgroup-v2.rst`, `memory.max` and `memory.current`.
fn group_leaves(root: &Root) -> Option<u64> {
    let groups = root.read("/proc/self/cgroup").ok()?;
    let group = groups.lines().find_map(|line| line.strip_prefix("0::"))?;
    let read = |file: &str| {
        let path = format!("/sys/fs/cgroup{}/{file}", group.trim_end_matches('/'));
        let number = root.read_number(&path).ok()?;
        u64::try_from(number).ok()
    };
    Some(read("memory.max")?.saturating_sub(read("memory.current")?))
}

struct Worker {
    thread: usize,
    buffer: usize,
    copied: Tally,
    faults: Tally,
}

impl Worker {
    fn work(&self, stop: &Stop) -> Result<(), TryReserveError> {
        let from = filled(self.buffer, stop)?;
        let mut to = filled(self.buffer, stop)?;
        while !stop.requested() {
            self.copy(&from, &mut to, stop);
            self.allocate_and_free(stop)?;
        }
        Ok(())
    }

    fn copy(&self, from: &[u8], to: &mut [u8], stop: &Stop) {
        for (from, to) in from.chunks(MIB).zip(to.chunks_mut(MIB)) {
            if stop.requested() {
                return;
            }
            to.copy_from_slice(from);
            std::hint::black_box(&to);
            self.copied.add(self.thread, from.len() as u64);
        }
    }

    /// Memory is mapped, written, which makes its pages, and given back.
    fn allocate_and_free(&self, stop: &Stop) -> Result<(), TryReserveError> {
        let before = page_faults();
        let fresh = filled(FRESH, stop)?;
        std::hint::black_box(&fresh);
        if let (Some(before), Some(after)) = (before, page_faults()) {
            self.faults.add(self.thread, after.saturating_sub(before));
        }
        Ok(())
    }
}

/// An allocation that fails with an error instead of an abort, written to its end unless a stop is requested.
fn filled(size: usize, stop: &Stop) -> Result<Vec<u8>, TryReserveError> {
    const PIECE: &[u8] = &[0x5a; 64 << 10];
    let mut bytes = Vec::new();
    bytes.try_reserve_exact(size)?;
    while bytes.len() < size && !stop.requested() {
        let length = PIECE.len().min(size - bytes.len());
        bytes.extend_from_slice(&PIECE[..length]);
    }
    Ok(bytes)
}

/// Page faults of the calling thread that needed no disk, where the system reports them. Source:
/// `proc_pid_stat(5)`, field 10.
fn page_faults() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/thread-self/stat").ok()?;
    // The name in parentheses may hold anything; the third field follows.
    let (_, after_name) = text.rsplit_once(") ")?;
    after_name.split(' ').nth(7)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const GIB: u64 = 1 << 30;

    #[test]
    fn buffers_are_beyond_the_cache_and_within_the_share() {
        let mib = |cache: Option<u64>, free, threads| {
            buffer(cache, Some(free), threads)
                .map(|size| size / MIB)
                .ok()
        };
        assert_eq!(mib(Some(30 << 20), 64 * GIB, 4), Some(120));
        assert_eq!(mib(Some(1 << 20), 64 * GIB, 4), Some(32));
        assert_eq!(mib(Some(512 << 20), 64 * GIB, 4), Some(256));
        assert_eq!(mib(None, 64 * GIB, 4), Some(64));
        // A quarter of 2 GiB for 4 threads is 128 MiB each.
        assert_eq!(mib(Some(30 << 20), 2 * GIB, 4), Some(40));
        assert_eq!(mib(Some(30 << 20), GIB, 4), None);
    }

    #[test]
    fn too_little_memory_is_refused_with_what_is_needed() {
        let error = buffer(None, Some(GIB), 4).unwrap_err().to_string();
        assert!(error.contains("1879048192"), "{error}");
    }

    #[test]
    fn a_control_group_counts() {
        let folder = tempfile::tempdir().unwrap();
        let write = |path: &str, text: &str| {
            let path = folder.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        };
        write("proc/meminfo", "MemAvailable: 4194304 kB\n");
        let root = Root::at(folder.path());
        assert_eq!(available(&root), Some(4 * GIB));
        write("proc/self/cgroup", "1:cpu:/x\n0::/robot.slice\n");
        write("sys/fs/cgroup/robot.slice/memory.max", "max\n");
        assert_eq!(available(&root), Some(4 * GIB));
        write("sys/fs/cgroup/robot.slice/memory.max", "1073741824\n");
        write("sys/fs/cgroup/robot.slice/memory.current", "73741824\n");
        assert_eq!(available(&root), Some(1_000_000_000));
    }
}
