//! The changes that a shield left when its process was killed.

use std::path::Path;

use super::journal::{Journal, Opened, ShieldOwner, Writer};
use super::kernel::Kernel;
use super::undo::{self, Restored};
use super::{boot, journal_folder};
use crate::own_file::OwnFileError;
use crate::tuning::Measure;

/// A journal that exists.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeftoverShield {
    /// The owner, where the journal names it.
    pub owner: Option<ShieldOwner>,
    /// Whether that process lives; then its changes are not left over yet.
    pub alive: bool,
    /// How many changes it names.
    pub changes: usize,
}

/// Why nothing was restored.
#[derive(Debug, thiserror::Error)]
pub enum RestoreShieldError {
    /// Its owner lives and will undo everything itself.
    #[error("{}", held(*pid))]
    Held {
        /// That process; 0 while it is just beginning.
        pid: u32,
    },
    /// The journal cannot be read, or cannot be trusted.
    #[error(transparent)]
    Journal(#[from] OwnFileError),
}

fn held(pid: u32) -> String {
    if pid == 0 {
        return "another process is raising a shield or putting one back just now; try again in a moment".to_owned();
    }
    format!(
        "process {pid} lives and has raised the shield; end it (kill {pid}), and it puts everything back itself"
    )
}

/// The journal of a shield on this machine; `None` when there is none.
///
/// # Errors
/// The journal is there and this user may not read it.
pub fn leftovers() -> Result<Option<LeftoverShield>, RestoreShieldError> {
    leftovers_in(&journal_folder())
}

/// As [`leftovers`], with the journal in any folder.
///
/// # Errors
/// As [`leftovers`].
pub fn leftovers_in(folder: &Path) -> Result<Option<LeftoverShield>, RestoreShieldError> {
    let found = Writer::find(folder)?;
    Ok(found.map(|opened| {
        let (journal, alive) = match opened {
            Opened::Ours(_, journal) => (journal, false),
            Opened::Held(journal) => (journal, true),
        };
        LeftoverShield {
            owner: journal.owner,
            alive,
            changes: journal.changes.len(),
        }
    }))
}

/// Undoes the changes of a shield whose process has died. Nothing to undo is not an error.
///
/// # Errors
/// [`RestoreShieldError`]: nothing was touched. [`Restored`] lists changes that could not be undone.
pub fn restore() -> Result<Restored, RestoreShieldError> {
    #[cfg(target_os = "linux")]
    return restore_in(&super::LiveKernel, &journal_folder());
    #[cfg(not(target_os = "linux"))]
    Ok(Restored::default())
}

/// As [`restore`], on any kernel and with the journal in any folder.
///
/// # Errors
/// As [`restore`].
pub fn restore_in(kernel: &dyn Kernel, folder: &Path) -> Result<Restored, RestoreShieldError> {
    match Writer::find(folder)? {
        None => Ok(Restored::default()),
        Some(Opened::Held(journal)) => Err(RestoreShieldError::Held {
            pid: journal.owner.map_or(0, |owner| owner.pid),
        }),
        Some(Opened::Ours(writer, journal)) => {
            let mut restored = put_back(kernel, &journal, &boot(kernel));
            restored.close(writer);
            Ok(restored)
        }
    }
}

/// Undoes a dead owner's changes. A reboot has already undone those from before it.
pub(super) fn put_back(kernel: &dyn Kernel, journal: &Journal, boot: &str) -> Restored {
    match &journal.owner {
        Some(owner) if owner.boot != boot => Restored::default(),
        _ => undo::undo(kernel, &journal.changes),
    }
}

/// The measure that reports an earlier shield's changes as undone.
pub(super) fn measure(journal: &Journal, put_back: usize) -> Measure {
    let pid = journal.owner.as_ref().map_or(0, |owner| owner.pid);
    Measure {
        name: "shield_leftovers",
        requested: format!("the machine as it was before process {pid}, which died, shielded CPUs"),
        granted: format!("{put_back} things put back"),
        ok: true,
        reason: None,
        remedy: None,
    }
}

#[cfg(test)]
mod tests {
    use super::super::RaiseShieldError;
    use super::*;

    #[test]
    fn a_process_is_to_be_ended_only_where_its_number_is_known() {
        let (pid, cpus) = (0, String::new());
        let busy = RaiseShieldError::Busy { pid, cpus };
        let held = RestoreShieldError::Held { pid };
        for text in [busy.to_string(), busy.remedy().unwrap(), held.to_string()] {
            assert!(text.contains("try again in a moment"), "{text}");
            assert!(
                !text.contains("kill") && !text.contains("process 0"),
                "{text}"
            );
        }
        let held = RestoreShieldError::Held { pid: 7 }.to_string();
        assert!(held.contains("(kill 7)"), "{held}");
    }
}
