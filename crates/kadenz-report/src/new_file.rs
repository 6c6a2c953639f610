//! A file of the user's choice that is replaced whole, or not at all.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

/// More links in a row than any system follows.
const MAX_LINKS: usize = 40;

/// A file that is written beside its place and then moved there. It is removed unless it is moved. What is no regular
/// file, such as a device or a pipe, is written itself.
#[derive(Debug)]
pub(crate) struct NewFile {
    /// The file beside its place; `None` for what is written itself.
    beside: Option<PathBuf>,
    /// Its place, which is no link.
    place: PathBuf,
}

impl NewFile {
    /// The new content of a path, which is written beside it under its name with this ending. Of a link it is the
    /// content of the file to which the link points, now or once that exists.
    ///
    /// # Errors
    /// The system does not say what is there, or does not follow the link.
    pub(crate) fn of(path: &Path, ending: &str) -> io::Result<Self> {
        let is_link = fs::symlink_metadata(path).is_ok_and(|it| it.is_symlink());
        // The system refuses to follow a link of another user in a folder such as /tmp.
        match fs::metadata(path) {
            Ok(found) if !found.is_file() && !found.is_dir() => {
                return Ok(Self {
                    beside: None,
                    place: path.to_owned(),
                });
            }
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            Ok(_) | Err(_) => {}
        }
        let place = match is_link {
            true => end_of_links(path),
            false => path.to_owned(),
        };
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

/// The path at the end of a chain of links, whether a file is there or not.
fn end_of_links(path: &Path) -> PathBuf {
    let mut end = path.to_owned();
    for _ in 0..MAX_LINKS {
        let Ok(next) = fs::read_link(&end) else {
            break;
        };
        end = end.parent().unwrap_or(Path::new("")).join(next);
    }
    end
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
