//! Why a shield was not raised.

use std::io;

use super::undo::Unrestored;
use crate::own_file::OwnFileError;

/// Why a shield was not raised. Then nothing has been changed, or every change has been undone.
#[derive(Debug, thiserror::Error)]
pub enum RaiseShieldError {
    /// Only Linux can keep other threads off a CPU.
    #[error("a shield can be raised on Linux only")]
    Unsupported,
    /// The set is empty.
    #[error("no CPU is named to be shielded; name one, for example 1")]
    NoCpus,
    /// The machine has one CPU only.
    #[error("this machine has one CPU, and everything else needs it; a shield needs two or more")]
    OneCpu,
    /// No CPU would be left for everything else.
    #[error("all CPUs ({online}) are named; leave one at least to everything else")]
    AllCpus {
        /// The CPUs that are online.
        online: String,
    },
    /// Some of the named CPUs do not exist.
    #[error(
        "of the CPUs {cpus}, {absent} are not there, switched off or withheld; choose among {online}"
    )]
    Offline {
        /// The requested CPUs, as a list.
        cpus: String,
        /// The requested CPUs that are not online, as a list.
        absent: String,
        /// The CPUs that are online.
        online: String,
    },
    /// Another process has raised a shield.
    #[error("{}", busy(*pid, cpus))]
    Busy {
        /// That process; 0 while it is just beginning.
        pid: u32,
        /// The CPUs it shields.
        cpus: String,
    },
    /// The changes of an earlier shield, whose process has died, could not be undone.
    #[error("an earlier shield, whose process has died, could not be put back: {0}")]
    Leftover(Unrestored),
    /// A control group of the shield's name exists, and no journal names its owner.
    #[error(
        "{path} is there already, and no journal names its owner; end what runs in it, then sudo rmdir {path}"
    )]
    Taken {
        /// The path of the control group that exists already.
        path: String,
    },
    /// This user lacks the right.
    #[error(
        "this user may not write {path} ({source}); run as root, in a container with --privileged"
    )]
    Denied {
        /// The file to be written.
        path: String,
        /// The system's error.
        source: io::Error,
    },
    /// The kernel has no cpusets, or hides them.
    #[error(
        "no hierarchy of control groups offers the controller cpuset here; mount it (sudo mount -t cgroup2 none \
         /sys/fs/cgroup), or boot with isolcpus="
    )]
    NoController,
    /// The journal could not be written or cannot be trusted, and without it nothing is changed.
    #[error("no journal, so no shield: {0}")]
    Journal(OwnFileError),
    /// The kernel refused a change that a shield cannot do without.
    #[error("the kernel refuses {path} the value {wanted:?}: {source}")]
    Refused {
        /// The file to be written.
        path: String,
        /// The value that was to be written.
        wanted: String,
        /// The system's error.
        source: io::Error,
    },
    /// The partition of cgroup v2 did not become valid.
    #[error("{path} is not a valid partition: {reason}")]
    NotIsolated {
        /// The path of the control group of the shield.
        path: String,
        /// The kernel's reason.
        reason: String,
    },
}

impl RaiseShieldError {
    /// The remedy, where one command or step is enough.
    #[must_use]
    pub fn remedy(&self) -> Option<String> {
        let remedy = match self {
            Self::Denied { .. } => "run as root (sudo)".to_owned(),
            Self::Busy { pid: 0, .. } => "try again in a moment".to_owned(),
            Self::Busy { pid, .. } => format!("wait for process {pid}, or end it"),
            Self::Taken { path } => format!("end what runs in {path}, then sudo rmdir {path}"),
            Self::Leftover(_) => "sudo kadenz doctor --restore".to_owned(),
            Self::NoController | Self::NotIsolated { .. } | Self::Refused { .. } => {
                "shield the CPUs from the boot on: isolcpus=domain,managed_irq,CPUS on the kernel's \
                 command line"
                    .to_owned()
            }
            Self::AllCpus { .. } => "leave one out, for example `--shield 1`".to_owned(),
            Self::Offline { .. } | Self::NoCpus => {
                "choose among the CPUs in /sys/devices/system/cpu/online".to_owned()
            }
            Self::Journal(error) => return error.remedy(),
            Self::Unsupported | Self::OneCpu => return None,
        };
        Some(remedy)
    }
}

fn busy(pid: u32, cpus: &str) -> String {
    if pid == 0 {
        return "another process is raising a shield just now, and a machine has one shield; try again in a moment"
            .to_owned();
    }
    format!(
        "process {pid} shields CPUs {cpus} already, and a machine has one shield; wait for it or end it (kill {pid})"
    )
}

/// Why there is no journal, by its cause.
impl From<OwnFileError> for RaiseShieldError {
    fn from(error: OwnFileError) -> Self {
        match error {
            OwnFileError::Refused { path, source, .. } if is_refusal(&source) => Self::Denied {
                path: path.display().to_string(),
                source,
            },
            error => Self::Journal(error),
        }
    }
}

fn is_refusal(source: &io::Error) -> bool {
    matches!(
        source.kind(),
        io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem
    )
}

/// Maps the kernel's refusal of a change that a shield needs to an error, by its cause.
pub(super) fn refused(path: &str, wanted: &str, source: io::Error) -> RaiseShieldError {
    let path = path.to_owned();
    match source.kind() {
        _ if is_refusal(&source) => RaiseShieldError::Denied { path, source },
        io::ErrorKind::AlreadyExists => RaiseShieldError::Taken { path },
        _ => RaiseShieldError::Refused {
            path,
            wanted: wanted.to_owned(),
            source,
        },
    }
}
