//! A network namespace for a thread, and for the programs that it starts.
//!
//! A [`Namespace`] has no name anywhere: it lives as long as a descriptor of it is open or a process is in it, so
//! it ends with the process that made it, whatever ends that process.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd as _, AsRawFd as _};
use std::process::Command;

use crate::os::linux::{die_with_thread, enter_network, leave_network, own_network};

/// A network namespace. After it is dropped, the kernel ends it once no process is in it.
#[derive(Debug)]
pub struct Namespace(File);

/// Why a network namespace is unavailable.
#[derive(Debug, thiserror::Error)]
#[error("cannot {what}: {source}{}", remedy(.source))]
pub struct NamespaceError {
    what: &'static str,
    source: io::Error,
}

impl NamespaceError {
    fn when(what: &'static str) -> impl FnOnce(io::Error) -> Self {
        move |source| Self { what, source }
    }

    /// Whether rights are missing.
    #[must_use]
    pub fn is_refusal(&self) -> bool {
        self.source.kind() == io::ErrorKind::PermissionDenied
    }
}

fn remedy(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::PermissionDenied => "; run as root (sudo), or with CAP_SYS_ADMIN",
        io::ErrorKind::NotFound => "; its process has ended",
        _ => "",
    }
}

impl Namespace {
    /// Makes a network namespace that holds nothing but a loopback interface, which is down.
    ///
    /// ```
    /// use kadenz_rt::net::namespace::Namespace;
    ///
    /// match Namespace::create() {
    ///     Ok(network) => {
    ///         // Nothing else is there, so any address is free.
    ///         let names = network.run(|| std::fs::read_to_string("/proc/thread-self/net/dev"))??;
    ///         assert!(names.contains("lo:") && !names.contains("eth0:"));
    ///     }
    ///     Err(error) => assert!(error.to_string().contains("cannot")),
    /// }
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Without `CAP_SYS_ADMIN`, or where the kernel has no network namespaces.
    pub fn create() -> Result<Self, NamespaceError> {
        let make = || leave_network().and_then(|()| own_network());
        on_a_thread(make)?
            .map(Self)
            .map_err(NamespaceError::when("make a network namespace"))
    }

    /// Opens a namespace that another process holds open, by that process and its descriptor's number.
    ///
    /// # Errors
    /// The process has ended, has another file at that number, or belongs to another user.
    pub fn of_process(pid: u32, descriptor: i32) -> Result<Self, NamespaceError> {
        let path = format!("/proc/{pid}/fd/{descriptor}");
        let refused = || NamespaceError::when("open the testbed's network");
        let leads = std::fs::read_link(&path).map_err(refused())?;
        if !leads.to_string_lossy().starts_with("net:[") {
            let error = io::Error::new(io::ErrorKind::NotFound, "it is not a network namespace");
            return Err(refused()(error));
        }
        File::open(path).map(Self).map_err(refused())
    }

    /// The number of its descriptor, for [`Namespace::of_process`].
    #[must_use]
    pub fn descriptor(&self) -> i32 {
        self.0.as_raw_fd()
    }

    /// The kernel's number of the namespace, as in `/proc/PID/ns/net`.
    ///
    /// # Errors
    /// When the kernel does not report it.
    pub fn inode(&self) -> io::Result<u64> {
        use std::os::unix::fs::MetadataExt as _;
        Ok(self.0.metadata()?.ino())
    }

    /// Runs `work` in this namespace, on a thread that ends with it.
    ///
    /// # Errors
    /// When the thread cannot be started, or may not enter the namespace.
    pub fn run<R: Send>(&self, work: impl FnOnce() -> R + Send) -> Result<R, NamespaceError> {
        on_a_thread(|| {
            self.enter()?;
            Ok(work())
        })?
    }

    /// Moves the calling thread into this namespace for good, and with it the programs and threads that it starts
    /// from now on.
    ///
    /// # Errors
    /// Without `CAP_SYS_ADMIN`.
    pub fn enter(&self) -> Result<(), NamespaceError> {
        enter_network(self.0.as_fd()).map_err(NamespaceError::when("enter a network namespace"))
    }
}

/// Makes the kernel kill the program of `command` when the calling thread, which must start it, ends, so also when
/// its process is killed. Programs that the program starts itself are not killed.
pub fn kill_with_this_thread(command: &mut Command) {
    die_with_thread(command);
}

/// A change of the thread's namespace ends with the thread.
fn on_a_thread<R: Send>(work: impl FnOnce() -> R + Send) -> Result<R, NamespaceError> {
    let refused = || NamespaceError::when("start a thread");
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new()
            .name("namespace".to_owned())
            .spawn_scoped(scope, work)
            .map_err(refused())?;
        let lost = |_| refused()(io::Error::other("it panicked"));
        thread.join().map_err(lost)
    })
}
