//! The file system below a folder, and the space that is free on it.

use std::io;
use std::path::Path;

use super::Root;

/// A mounted file system, as `/proc/self/mountinfo` lists it (`proc_pid_mountinfo(5)`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileSystem {
    /// `ext4`, `btrfs`, `tmpfs`, `overlay`, ...
    pub kind: String,
    /// Number of the device that it lies on, as in `/sys/dev/block`: `8:1`. A file system that lies on no single
    /// device has a number, too, but no such entry.
    pub device: String,
}

impl FileSystem {
    /// Whether its files lie in memory and never reach a disk.
    #[must_use]
    pub fn is_memory(&self) -> bool {
        ["tmpfs", "ramfs"].contains(&self.kind.as_str())
    }
}

/// The file system that `path` lies on; `None` where the system does not report it.
///
/// `path` must be absolute and free of symbolic links, as `Path::canonicalize` gives it.
#[must_use]
pub fn file_system_of(root: &Root, path: &Path) -> Option<FileSystem> {
    let text = root.read("/proc/self/mountinfo").ok()?;
    let mounts = text.lines().filter_map(mount);
    let above = mounts.filter(|(point, _)| path.starts_with(point));
    // Of two at the same mount point, the later one hides the earlier one.
    let nearest = above.max_by_key(|(point, _)| point.len());
    nearest.map(|(_, file_system)| file_system)
}

/// `36 35 98:0 /root /point options - ext4 source options`, with any number of fields before `-`.
fn mount(line: &str) -> Option<(String, FileSystem)> {
    let (place, kind) = line.split_once(" - ")?;
    let mut fields = place.split(' ').skip(2);
    let (device, point) = (fields.next()?, fields.nth(1)?);
    let file_system = FileSystem {
        kind: kind.split(' ').next()?.to_owned(),
        device: device.to_owned(),
    };
    Some((unescaped(point), file_system))
}

/// The kernel writes these four characters as octal numbers.
fn unescaped(point: &str) -> String {
    point
        .replace("\\040", " ")
        .replace("\\011", "\t")
        .replace("\\012", "\n")
        .replace("\\134", "\\")
}

/// Bytes that an ordinary user may still write below `path`.
///
/// # Errors
/// When the system does not report it, as on systems other than Linux.
pub fn free_bytes(path: &Path) -> io::Result<u64> {
    #[cfg(target_os = "linux")]
    {
        let room = rustix::fs::statvfs(path)?;
        Ok(room.f_bavail.saturating_mul(room.f_frsize))
    }
    #[cfg(not(target_os = "linux"))]
    {
        let _ = path;
        Err(io::ErrorKind::Unsupported.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MOUNTS: &str = "\
22 1 254:0 / / rw,relatime shared:1 - ext4 /dev/root rw
30 22 0:24 / /tmp rw,nosuid - tmpfs tmpfs rw,size=4096k
31 22 8:17 / /media/my\\040disk rw master:2 shared:9 - btrfs /dev/sdb1 rw
32 30 259:2 /deep /tmp/disk rw - xfs /dev/nvme0n1p2 rw
a line of another kind
";

    fn file_system(path: &str) -> FileSystem {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(folder.path().join("proc/self")).unwrap();
        std::fs::write(folder.path().join("proc/self/mountinfo"), MOUNTS).unwrap();
        file_system_of(&Root::at(folder.path()), Path::new(path)).unwrap()
    }

    #[test]
    fn the_nearest_mount_counts() {
        assert_eq!(file_system("/var/tmp").device, "254:0");
        assert_eq!(file_system("/tmpfile").kind, "ext4");
        assert!(file_system("/tmp/x").is_memory());
        assert_eq!(file_system("/tmp/disk/x").kind, "xfs");
        assert!(!file_system("/media/my disk/x").is_memory());
        assert_eq!(file_system("/media/my disk").device, "8:17");
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn this_machine_has_some_room_left_and_a_missing_folder_none() {
        assert!(free_bytes(Path::new("/")).is_ok());
        let error = free_bytes(Path::new("/no/such/folder")).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::NotFound);
    }
}
