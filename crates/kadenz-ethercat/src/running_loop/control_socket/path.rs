//! The paths of control sockets, by the names of their loops.

use std::fs::{self, File, Permissions};
use std::io::{self, ErrorKind, Read as _, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use kadenz_rt::own_file::{self, Access, Locked, OwnFileError, Trusted};

/// The prefix of every loop's shared memory.
pub const MEMORY: &str = "kadenz-ethercat-";

/// The reason why there is no such path.
#[derive(Debug, thiserror::Error)]
pub enum SocketPathError {
    /// The name is not a valid file name.
    #[error("`{0}` names no loop; take 1 to 64 letters, digits, `-`, `_` and `.`")]
    Name(String),
    /// Another loop has that name.
    #[error("a loop named `{name}` runs already (process {pid}); end it, or take another name")]
    InUse {
        /// The name that both loops have.
        name: String,
        /// The process, as it wrote itself into the lock file.
        pid: String,
    },
    /// The folder or a file in it is not this user's alone.
    #[error("{0}; or set XDG_RUNTIME_DIR to another folder")]
    NotOurs(#[from] OwnFileError),
    /// The operating system refused.
    #[error("cannot use {}: {source}", path.display())]
    Refused {
        /// The path of the file or folder that was refused.
        path: PathBuf,
        /// The error that the system returned.
        source: io::Error,
    },
}

fn refused(path: &Path) -> impl FnOnce(io::Error) -> SocketPathError {
    let path = path.to_owned();
    move |source| SocketPathError::Refused { path, source }
}

/// The user's folder, where it should be.
fn folder() -> PathBuf {
    let user = own_file::user();
    let given = std::env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from);
    match given.filter(|it| it.is_absolute() && it.is_dir()) {
        Some(given) => given.join("kadenz"),
        None if user == 0 => PathBuf::from("/run/kadenz"),
        None => PathBuf::from(format!("/tmp/kadenz-{user}")),
    }
}

/// Makes the folder, which only this user may enter.
pub(super) fn own_folder() -> Result<PathBuf, SocketPathError> {
    let folder = folder();
    own_file::folder(&folder)?;
    Ok(folder)
}

/// Sets the permissions of a file or folder of this user.
pub(super) fn set_mode(path: &Path, mode: u32) -> Result<(), SocketPathError> {
    fs::set_permissions(path, Permissions::from_mode(mode)).map_err(refused(path))
}

/// Checks a name and returns the socket's path.
pub(super) fn socket(folder: &Path, name: &str) -> Result<PathBuf, SocketPathError> {
    check_name(name)?;
    Ok(folder.join(format!("ethercat-{name}.sock")))
}

fn check_name(name: &str) -> Result<(), SocketPathError> {
    let allowed = |it: char| it.is_ascii_alphanumeric() || "-_.".contains(it);
    let fits = (1..=64).contains(&name.len()) && name.chars().all(allowed);
    if !fits || name.starts_with('.') {
        return Err(SocketPathError::Name(name.to_owned()));
    }
    Ok(())
}

/// Returns the path of the control socket of that name, for a client.
pub(super) fn find(name: &str) -> Result<PathBuf, SocketPathError> {
    let folder = folder();
    let socket = socket(&folder, name)?;
    if folder.exists() {
        own_file::folder(&folder)?;
    }
    Ok(socket)
}

/// The name of the shared memory in which this user's loop of that name publishes its process data. The name contains
/// the user, since all users share one folder.
///
/// # Errors
/// [`SocketPathError`] for a name that is not valid.
pub fn memory_name(name: &str) -> Result<String, SocketPathError> {
    check_name(name)?;
    Ok(format!("{MEMORY}{}-{name}", own_file::user()))
}

/// The names of all loops of this user that run now; a loop runs while its lock is held.
///
/// # Errors
/// [`SocketPathError`] when the folder cannot be read; where there is none, no loop runs.
pub fn running() -> Result<Vec<String>, SocketPathError> {
    let folder = folder();
    let entries = match fs::read_dir(&folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(refused(&folder)(error)),
    };
    own_file::folder(&folder)?;
    let names = entries.flatten().filter_map(|entry| {
        let name = entry.file_name().into_string().ok()?;
        let name = name.strip_prefix("ethercat-")?.strip_suffix(".sock")?;
        is_held(&lock_path(&folder, name)).then(|| name.to_owned())
    });
    let mut names: Vec<_> = names.collect();
    names.sort();
    Ok(names)
}

/// The prefix of the name of a loop without a given name; its process's number follows.
pub const UNNAMED: &str = "run-";

/// Removes the sockets and locks that killed loops without a name of their own left in a folder: those whose lock no
/// process holds. The next loop of the same name replaces what a loop with a name left.
pub(super) fn remove_stale(folder: &Path) {
    let Ok(entries) = fs::read_dir(folder) else {
        return;
    };
    for entry in entries.flatten() {
        let file = entry.file_name();
        let name = file.to_str().and_then(|it| {
            let of_lock = it.strip_prefix("ethercat-")?.strip_suffix(".lock");
            of_lock.filter(|name| is_unnamed(name))
        });
        let is_file = entry.file_type().is_ok_and(|it| it.is_file());
        // The process that holds the lock owns the socket. As its file goes with it, no other loop takes the name
        // meanwhile.
        if let Some(name) = name.filter(|_| is_file)
            && let Ok(claim) = NameLock::take(folder, name)
        {
            let _ = fs::remove_file(folder.join(format!("ethercat-{name}.sock")));
            drop(claim);
        }
    }
}

fn is_unnamed(name: &str) -> bool {
    let process = name.strip_prefix(UNNAMED);
    process.is_some_and(|it| it.parse::<u32>().is_ok())
}

fn lock_path(folder: &Path, name: &str) -> PathBuf {
    folder.join(format!("ethercat-{name}.lock"))
}

fn is_held(lock: &Path) -> bool {
    let file = own_file::open(lock, Access::Read, Trusted::User);
    file.is_ok_and(|it| it.is_some_and(|it| it.try_lock_shared().is_err()))
}

/// A claim on a name, held as long as this lives; the operating system frees the name when the process dies.
#[derive(Debug)]
pub(super) struct NameLock {
    lock: File,
    path: PathBuf,
}

impl NameLock {
    pub(super) fn take(folder: &Path, name: &str) -> Result<Self, SocketPathError> {
        let path = lock_path(folder, name);
        let mut lock = match own_file::lock(&path)? {
            Locked::Ours(lock) => lock,
            Locked::Held(lock) => {
                let mut pid = String::new();
                let _ = lock.take(32).read_to_string(&mut pid);
                let (name, pid) = (name.to_owned(), pid.trim().to_owned());
                return Err(SocketPathError::InUse { name, pid });
            }
        };
        // The process number is for people alone: without it the lock holds as well.
        let _ = lock.set_len(0);
        let _ = writeln!(lock, "{}", std::process::id());
        Ok(Self { lock, path })
    }
}

impl Drop for NameLock {
    fn drop(&mut self) {
        // While the lock is held no other loop has the name; a file that stays takes the name from no loop.
        if own_file::is_at(&self.lock, &self.path) {
            let _ = fs::remove_file(&self.path);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_of_others_is_refused_with_a_way_out() {
        let above = tempfile::tempdir().unwrap();
        let link = above.path().join("link");
        std::os::unix::fs::symlink(above.path(), &link).unwrap();
        let refused = SocketPathError::from(own_file::folder(&link).unwrap_err());
        let why = refused.to_string();
        assert!(
            why.contains("a symbolic link") && why.contains("XDG_RUNTIME_DIR"),
            "{why}"
        );
    }

    #[test]
    fn what_killed_loops_without_a_name_left_is_removed_and_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        let file = |name: &str| folder.path().join(name);
        let both = |name: &str| {
            for end in ["sock", "lock"] {
                fs::write(file(&format!("ethercat-{name}.{end}")), "1").unwrap();
            }
        };
        ["run-1", "run-2", "run-x", "robot"]
            .iter()
            .for_each(|it| both(it));
        fs::write(file("shield.journal"), "").unwrap();
        let held = NameLock::take(folder.path(), "run-2").unwrap();
        remove_stale(folder.path());
        let left = |name: &str| file(&format!("ethercat-{name}.sock")).exists();
        assert!(!left("run-1") && !lock_path(folder.path(), "run-1").exists());
        assert!(["run-2", "run-x", "robot"].iter().all(|it| left(it)));
        assert!(file("shield.journal").exists());
        drop(held);
    }
}
