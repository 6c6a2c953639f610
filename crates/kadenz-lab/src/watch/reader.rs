//! Reads the counters of a program's threads.

use kadenz_rt::host::Root;

use super::meter::Schedstat;

/// Why a program cannot be watched.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum WatchError {
    /// The kernel does not count.
    #[error(
        "this kernel does not count how long threads wait (/proc/thread-self/schedstat {found}); it must be Linux, built \
         with CONFIG_SCHEDSTATS or booted with `delayacct`"
    )]
    NotCounted {
        /// What stands there.
        found: String,
    },
}

/// Reads `/proc/<pid>/task/*/schedstat` under a root.
#[derive(Clone, Debug)]
pub struct ThreadReader {
    root: Root,
    tasks: String,
}

impl ThreadReader {
    /// A reader for the threads of one process.
    #[must_use]
    pub fn new(root: Root, pid: u32) -> Self {
        Self {
            root,
            tasks: format!("/proc/{pid}/task"),
        }
    }

    /// Whether the kernel counts at all.
    ///
    /// # Errors
    /// [`WatchError::NotCounted`] where it does not.
    pub fn check(root: &Root) -> Result<(), WatchError> {
        let read = root.read("/proc/thread-self/schedstat");
        let found = match &read {
            Ok(line) => match Schedstat::parse(line) {
                Some(stat) if stat.ran_ns > 0 || stat.slices > 0 => return Ok(()),
                _ => format!("holds {line:?}"),
            },
            Err(error) => format!("cannot be read: {error}"),
        };
        Err(WatchError::NotCounted { found })
    }

    /// The counters of every thread that is there. Empty when the process has gone; a thread that
    /// ends meanwhile is left out. Not real-time safe.
    #[must_use]
    pub fn read(&self) -> Vec<(u32, Schedstat)> {
        let threads = self.root.list(&self.tasks).unwrap_or_default();
        let numbers = threads.iter().filter_map(|name| name.parse::<u32>().ok());
        numbers
            .filter_map(|thread| {
                let path = format!("{}/{thread}/schedstat", self.tasks);
                Some((thread, Schedstat::parse(&self.root.read(&path).ok()?)?))
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_are_read_and_strange_ones_left_out() {
        let folder = tempfile::tempdir().unwrap();
        for (thread, line) in [("12", "5 6 7\n"), ("13", "nonsense"), ("x", "1 1 1")] {
            let place = folder.path().join("proc/12/task").join(thread);
            std::fs::create_dir_all(&place).unwrap();
            std::fs::write(place.join("schedstat"), line).unwrap();
        }
        let read = ThreadReader::new(Root::at(folder.path()), 12).read();
        let expected = Schedstat {
            ran_ns: 5,
            waited_ns: 6,
            slices: 7,
        };
        assert_eq!(read, [(12, expected)]);
    }

    #[test]
    fn a_kernel_that_does_not_count_is_told() {
        let folder = tempfile::tempdir().unwrap();
        let root = Root::at(folder.path());
        assert!(ThreadReader::check(&root).is_err());
        let place = folder.path().join("proc/thread-self");
        std::fs::create_dir_all(&place).unwrap();
        for (line, counts) in [("0 0 0\n", false), ("9 0 1\n", true)] {
            std::fs::write(place.join("schedstat"), line).unwrap();
            assert_eq!(ThreadReader::check(&root).is_ok(), counts, "{line}");
        }
        let error = ThreadReader::check(&Root::at("/nowhere-at-all")).unwrap_err();
        assert!(error.to_string().contains("CONFIG_SCHEDSTATS"), "{error}");
    }
}
