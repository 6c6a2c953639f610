//! The metadata of a whole file tree: Yoon's `du -s /`, again and again.

use std::fs::{self, DirEntry, Metadata};
use std::io;
use std::path::{Path, PathBuf};

use super::options::{LoadOptions, StartLoadError};
use super::rates::{Counter, Tally};
use super::workers::{Site, Workers};
use super::{LoadGenerator, LoadKind};
use crate::stop::Stop;

/// Folders that may wait to be read; a tree that is wider is walked in part.
const MAX_FOLDERS: usize = 65_536;

/// Threads that walk the tree, each for itself.
pub(super) fn start(options: &LoadOptions, site: &Site) -> Result<LoadGenerator, StartLoadError> {
    let tree = options.tree.clone().unwrap_or_else(|| "/".into());
    fs::read_dir(&tree).map_err(|error| StartLoadError::Tree {
        tree: tree.clone(),
        error,
    })?;
    let threads = options.threads.unwrap_or(1);
    let files = Tally::new(threads);
    let mut workers = Workers::new(LoadKind::Files, site);
    for thread in 0..threads {
        let (tree, files) = (tree.clone(), files.clone());
        workers.repeat(&format!("files-{thread}"), move |stop| {
            let walked = walk(&tree, stop, |n| files.add(thread, n));
            walked.map_err(|error| format!("cannot read {}: {error}", tree.display()))
        })?;
    }
    let by = match threads {
        1 => String::new(),
        threads => format!(" by {threads} threads"),
    };
    Ok(LoadGenerator {
        asked: format!(
            "the metadata of all files below {} that lie on its file system, read again and again{by}",
            tree.display()
        ),
        counters: vec![Counter::new("read", "files/s", &files)],
        workers,
    })
}

/// Reads the metadata of everything below `tree` once, calls `read` for each, and follows neither
/// symbolic links nor mounts. What vanishes meanwhile or is closed to this user is left out.
fn walk(tree: &Path, stop: &Stop, mut read: impl FnMut(u64)) -> io::Result<()> {
    let device = device(&fs::metadata(tree)?);
    let mut folders = vec![tree.to_owned()];
    let mut top = Some(fs::read_dir(tree)?);
    while let Some(folder) = folders.pop() {
        let Some(entries) = top.take().or_else(|| fs::read_dir(&folder).ok()) else {
            continue;
        };
        // An empty tree is read, too.
        read(1);
        for entry in entries.map_while(Result::ok) {
            if stop.requested() {
                return Ok(());
            }
            if let Some(below) = read_one(&entry, device, &mut read)
                && folders.len() < MAX_FOLDERS
            {
                folders.push(below);
            }
        }
    }
    Ok(())
}

/// Reads the metadata of one entry; the path of a folder that is to be walked.
fn read_one(entry: &DirEntry, tree_device: u64, read: &mut impl FnMut(u64)) -> Option<PathBuf> {
    // This is lstat(2): it describes a symbolic link itself.
    let metadata = entry.metadata().ok()?;
    read(1);
    (metadata.is_dir() && device(&metadata) == tree_device).then(|| entry.path())
}

/// The file system that something lies on.
#[cfg(unix)]
fn device(metadata: &Metadata) -> u64 {
    use std::os::unix::fs::MetadataExt as _;
    metadata.dev()
}

/// Mounts on this system are links, which the walk does not follow.
#[cfg(not(unix))]
fn device(_metadata: &Metadata) -> u64 {
    0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn count(tree: &Path) -> u64 {
        let mut files = 0;
        walk(tree, &Stop::default(), |n| files += n).unwrap();
        files
    }

    #[cfg(unix)]
    #[test]
    fn symbolic_links_are_read_and_not_followed() {
        let folder = tempfile::tempdir().unwrap();
        let tree = folder.path().join("tree");
        fs::create_dir_all(tree.join("below")).unwrap();
        fs::write(tree.join("below/file"), "x").unwrap();
        fs::create_dir(folder.path().join("elsewhere")).unwrap();
        fs::write(folder.path().join("elsewhere/unseen"), "x").unwrap();
        std::os::unix::fs::symlink("../elsewhere", tree.join("link")).unwrap();
        std::os::unix::fs::symlink("..", tree.join("below/loop")).unwrap();
        // Two folders opened; three entries of them and the folder's own.
        assert_eq!(count(&tree), 2 + 2 + 2);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn other_file_systems_are_not_entered() {
        let mut deepest = Vec::new();
        let stop = Stop::default();
        let device_of_root = device(&fs::metadata("/").unwrap());
        for entry in fs::read_dir("/").unwrap().map(Result::unwrap) {
            deepest.extend(read_one(&entry, device_of_root, &mut |_| {}));
        }
        assert!(!deepest.contains(&PathBuf::from("/proc")), "{deepest:?}");
        assert!(!stop.requested());
    }

    #[test]
    fn an_empty_tree_counts_and_a_missing_one_is_an_error() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(count(folder.path()), 1);
        let missing = folder.path().join("missing");
        assert!(walk(&missing, &Stop::default(), |_| {}).is_err());
    }
}
