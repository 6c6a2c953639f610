//! A file of the user's choice that is replaced whole, or not at all.

use std::fs::{self, File, Metadata};
use std::io;
use std::path::{Path, PathBuf};

/// More links in a row than any system follows.
const MAX_LINKS: usize = 40;

/// A file that is written beside its place and then moved there. It is removed unless it is moved. A device is written
/// itself.
#[derive(Debug)]
pub(crate) struct NewFile {
    /// The file beside its place; `None` for what is written itself.
    beside: Option<PathBuf>,
    /// Its place, which is not a link.
    place: PathBuf,
}

impl NewFile {
    /// The new content of a path, which is written beside it under its name with this ending. A link of this user or of
    /// the system is followed to its file, which need not exist; any other is replaced.
    ///
    /// # Errors
    /// The links lead in a circle.
    pub(crate) fn of(path: &Path, ending: &str) -> io::Result<Self> {
        let place = end_of_links(path)?;
        if is_written_itself(&place) {
            return Ok(Self {
                beside: None,
                place,
            });
        }
        let mut name = place.file_name().unwrap_or_default().to_owned();
        name.push(ending);
        Ok(Self {
            beside: Some(place.with_file_name(name)),
            place,
        })
    }

    /// The path that [`create`](Self::create) opens.
    pub(crate) fn path(&self) -> &Path {
        self.beside.as_deref().unwrap_or(&self.place)
    }

    /// Creates the file, or opens what is written itself.
    ///
    /// # Errors
    /// The file cannot be created or opened.
    pub(crate) fn create(&self) -> io::Result<File> {
        let Some(beside) = &self.beside else {
            return File::options().write(true).open(&self.place);
        };
        // Removes the file of an earlier attempt. If another user has taken the name, the file is neither followed nor
        // written.
        let _ = fs::remove_file(beside);
        File::create_new(beside)
    }

    /// Moves the file to its place.
    ///
    /// # Errors
    /// The file cannot be moved; it is removed then.
    pub(crate) fn persist(self) -> io::Result<()> {
        match &self.beside {
            Some(beside) => fs::rename(beside, &self.place),
            None => Ok(()),
        }
    }
}

impl Drop for NewFile {
    fn drop(&mut self) {
        if let Some(beside) = &self.beside {
            let _ = fs::remove_file(beside);
        }
    }
}

/// Whether a place is a device, or a pipe that the system names, such as `/dev/stdout`. A pipe elsewhere is another
/// user's affair: it would block the writer, or take the content away.
fn is_written_itself(place: &Path) -> bool {
    let Ok(found) = fs::symlink_metadata(place) else {
        return false;
    };
    let of_system = ["/dev", "/proc"].iter().any(|it| place.starts_with(it));
    let is_ordinary = found.is_file() || found.is_dir();
    !is_ordinary && (of_system || is_character_device(&found))
}

#[cfg(unix)]
fn is_character_device(found: &Metadata) -> bool {
    std::os::unix::fs::FileTypeExt::is_char_device(&found.file_type())
}

#[cfg(not(unix))]
fn is_character_device(_: &Metadata) -> bool {
    false
}

/// The path at the end of a chain of links of this user or of the system, whether a file is there or not.
fn end_of_links(path: &Path) -> io::Result<PathBuf> {
    let mut end = path.to_owned();
    for _ in 0..MAX_LINKS {
        let Ok(next) = fs::read_link(&end) else {
            return Ok(end);
        };
        // Links in /proc lead to open files, which need not have a path.
        if end.starts_with("/proc") || !is_trusted(&end) {
            return Ok(end);
        }
        end = end.parent().unwrap_or(Path::new("")).join(next);
    }
    Err(io::Error::other("its links lead in a circle"))
}

/// Whether a link belongs to this user or to root. Elsewhere than on Linux the user is not known, and root alone is
/// trusted.
#[cfg(unix)]
fn is_trusted(link: &Path) -> bool {
    use std::os::unix::fs::MetadataExt as _;
    let Ok(owner) = fs::symlink_metadata(link).map(|it| it.uid()) else {
        return false;
    };
    owner == 0 || fs::metadata("/proc/self").is_ok_and(|it| it.uid() == owner)
}

#[cfg(not(unix))]
fn is_trusted(_: &Path) -> bool {
    false
}

#[cfg(all(test, unix))]
mod tests {
    use std::io::Write as _;
    use std::os::unix::fs::{FileTypeExt as _, symlink};

    use super::*;

    fn write(path: &Path, text: &str) -> io::Result<()> {
        let new = NewFile::of(path, ".new")?;
        new.create()?.write_all(text.as_bytes())?;
        new.persist()
    }

    #[test]
    fn a_link_stays_and_its_file_is_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        fs::create_dir(at("below")).unwrap();
        fs::write(at("below/file"), "old").unwrap();
        symlink("below/file", at("link")).unwrap();
        symlink(at("link"), at("link-to-link")).unwrap();
        symlink("below/later", at("dangling")).unwrap();
        for (link, file) in [
            ("link", "below/file"),
            ("link-to-link", "below/file"),
            ("dangling", "below/later"),
            ("plain", "plain"),
        ] {
            write(&at(link), link).unwrap();
            assert_eq!(fs::read_to_string(at(file)).unwrap(), link);
            let is_link = fs::symlink_metadata(at(link)).unwrap().is_symlink();
            assert_eq!(is_link, link != file, "{link}");
        }
        assert_eq!(fs::read_dir(at("below")).unwrap().count(), 2);
    }

    #[test]
    fn a_link_of_another_user_is_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        fs::write(at("theirs"), "theirs").unwrap();
        symlink("theirs", at("link")).unwrap();
        // Only root can give a link away.
        if std::os::unix::fs::lchown(at("link"), Some(65_534), None).is_ok() {
            write(&at("link"), "ours").unwrap();
            assert_eq!(fs::read_to_string(at("theirs")).unwrap(), "theirs");
            assert_eq!(fs::read_to_string(at("link")).unwrap(), "ours");
        }
    }

    #[test]
    fn a_device_is_written_and_stays() {
        let folder = tempfile::tempdir().unwrap();
        let link = folder.path().join("nothing");
        symlink("/dev/null", &link).unwrap();
        write(&link, "lost").unwrap();
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        let device = fs::symlink_metadata("/dev/null").unwrap();
        assert!(device.file_type().is_char_device());
    }

    #[test]
    fn what_is_not_moved_is_removed_and_a_folder_or_a_circle_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        drop(NewFile::of(&at("file"), ".new").unwrap().create().unwrap());
        fs::create_dir(at("folder")).unwrap();
        symlink("circle", at("circle")).unwrap();
        write(&at("folder"), "text").unwrap_err();
        write(&at("circle"), "text").unwrap_err();
        assert!(fs::symlink_metadata(at("circle")).unwrap().is_symlink());
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2);
    }
}
