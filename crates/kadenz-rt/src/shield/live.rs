//! The machine that the program runs on.

use std::fs::OpenOptions;
use std::io::{self, Write as _};

use super::Kernel;
use crate::os::linux::sched;
use crate::tuning::CpuSet;

/// This machine's kernel.
#[derive(Clone, Copy, Debug, Default)]
pub struct LiveKernel;

impl Kernel for LiveKernel {
    fn read(&self, path: &str) -> io::Result<String> {
        std::fs::read(path).map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
    }

    fn write(&self, path: &str, text: &str) -> io::Result<()> {
        // Never creates: in /proc and /sys there is nothing to create.
        OpenOptions::new()
            .write(true)
            .open(path)?
            .write_all(text.as_bytes())
    }

    fn make_folder(&self, path: &str) -> io::Result<()> {
        std::fs::create_dir(path)
    }

    fn remove_folder(&self, path: &str) -> io::Result<()> {
        std::fs::remove_dir(path)
    }

    fn folders(&self, path: &str) -> io::Result<Vec<String>> {
        let entries = std::fs::read_dir(path)?.filter_map(Result::ok);
        let mut names: Vec<String> = entries
            .filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()))
            .map(|entry| entry.file_name().to_string_lossy().into_owned())
            .collect();
        names.sort();
        Ok(names)
    }

    fn affinity(&self, thread: u32) -> io::Result<CpuSet> {
        sched::affinity_of(thread)
            .map(CpuSet::from_mask)
            .map_err(io::Error::from_raw_os_error)
    }

    fn set_affinity(&self, thread: u32, cpus: &CpuSet) -> io::Result<()> {
        sched::set_affinity_of(thread, cpus.as_mask()).map_err(io::Error::from_raw_os_error)
    }

    fn this_thread(&self) -> u32 {
        sched::this_thread()
    }
}
