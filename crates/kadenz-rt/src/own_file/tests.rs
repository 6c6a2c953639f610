use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::os::unix::net::UnixListener;
use std::process::Command;

use super::*;

/// Names that another process may have taken, in a folder that is removed with it.
struct Place(tempfile::TempDir);

impl Place {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn at(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn file(&self, name: &str, mode: u32) -> PathBuf {
        let path = self.at(name);
        fs::write(&path, "text").unwrap();
        set_mode(&path, mode);
        path
    }

    fn fifo(&self) -> PathBuf {
        let path = self.at("fifo");
        let made = Command::new("mkfifo").arg(&path).status().unwrap();
        assert!(made.success());
        path
    }
}

fn set_mode(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

fn mode(path: &Path) -> u32 {
    fs::symlink_metadata(path).unwrap().permissions().mode() & 0o7777
}

/// The errors of both ways to open a path.
fn refusals(path: &Path) -> [OwnFileError; 3] {
    [
        open(path, Access::Read, Trusted::User).unwrap_err(),
        open_or_create(path).unwrap_err(),
        lock(path).unwrap_err(),
    ]
}

/// Makes a file of another user, which only root can; reports why where it cannot.
fn foreign(path: &Path, test: &str) -> bool {
    match std::os::unix::fs::chown(path, Some(65534), Some(65534)) {
        Ok(()) => true,
        Err(error) => {
            let strict = std::env::var_os("KADENZ_SKIP_NOTHING");
            assert!(strict.is_none_or(|it| it != "1"), "{test}: {error}");
            eprintln!("skipped: {test}: {error}; run as root (sudo)");
            false
        }
    }
}

#[test]
fn what_is_not_a_regular_file_is_refused_without_waiting() {
    let place = Place::new();
    let (socket, folder, dangling) = (place.at("socket"), place.at("folder"), place.at("dangling"));
    let _listener = UnixListener::bind(&socket).unwrap();
    fs::create_dir(&folder).unwrap();
    symlink(place.at("nowhere"), &dangling).unwrap();
    let link = place.at("link");
    symlink(place.file("target", 0o600), &link).unwrap();
    for (path, expected) in [
        (place.fifo(), "a FIFO"),
        (socket, "a socket"),
        (folder, "a folder"),
        (dangling, "a symbolic link"),
        (link, "a symbolic link"),
    ] {
        for error in refusals(&path) {
            let text = error.to_string();
            assert!(
                matches!(error, OwnFileError::Kind { found, .. } if found == expected),
                "{text}"
            );
            assert!(text.contains(&path.display().to_string()), "{text}");
            assert!(text.contains("remove it (rm"), "{text}");
        }
    }
    assert!(
        !place.at("nowhere").exists(),
        "nothing is made through a link"
    );
}

#[test]
fn a_file_that_others_may_write_or_name_is_refused() {
    let place = Place::new();
    for mode in [0o606, 0o620] {
        let path = place.file("file", mode);
        for error in refusals(&path) {
            assert!(matches!(error, OwnFileError::Writable { .. }), "{error}");
        }
        fs::remove_file(path).unwrap();
    }
    let path = place.file("file", 0o600);
    fs::hard_link(&path, place.at("other")).unwrap();
    for error in refusals(&path) {
        assert!(matches!(error, OwnFileError::Linked { .. }), "{error}");
    }
}

#[test]
fn a_file_or_folder_of_another_user_is_refused() {
    let test = "a_file_or_folder_of_another_user_is_refused";
    let place = Place::new();
    let path = place.file("file", 0o644);
    if !foreign(&path, test) {
        return;
    }
    for error in refusals(&path) {
        assert!(
            matches!(error, OwnFileError::Owner { theirs: 65534, .. }),
            "{error}"
        );
    }
    let inside = place.at("inside");
    fs::create_dir(&inside).unwrap();
    assert!(foreign(&inside, test));
    let error = folder(&inside).unwrap_err();
    assert!(matches!(error, OwnFileError::Owner { .. }), "{error}");
}

#[test]
fn what_is_made_is_for_its_owner_alone_and_made_once() {
    let place = Place::new();
    let path = place.at("file");
    assert!(open(&path, Access::Read, Trusted::User).unwrap().is_none());
    drop(open_or_create(&path).unwrap());
    assert_eq!(mode(&path), 0o600);
    fs::write(&path, "kept").unwrap();
    drop(open_or_create(&path).unwrap());
    assert_eq!(fs::read_to_string(&path).unwrap(), "kept");
    let dangling = place.at("dangling");
    symlink(place.at("nowhere"), &dangling).unwrap();
    for taken in [&path, &dangling] {
        let error = create(taken, 0o600).unwrap_err();
        let OwnFileError::Refused { source, .. } = &error else {
            panic!("{error}");
        };
        assert_eq!(source.kind(), ErrorKind::AlreadyExists);
    }
    assert!(!place.at("nowhere").exists());
}

#[test]
fn a_lock_has_one_holder_and_moves_with_the_file() {
    let place = Place::new();
    let path = place.at("lock");
    let Locked::Ours(first) = lock(&path).unwrap() else {
        panic!("no other process has it");
    };
    assert!(matches!(lock(&path).unwrap(), Locked::Held(_)));
    assert!(is_at(&first, &path));
    fs::remove_file(&path).unwrap();
    assert!(!is_at(&first, &path));
    let Locked::Ours(second) = lock(&path).unwrap() else {
        panic!("the name leads to another file by now");
    };
    assert!(is_at(&second, &path) && !is_at(&first, &path));
}

#[test]
fn a_folder_is_private_and_no_link_into_another() {
    let place = Place::new();
    let path = place.at("folder");
    folder(&path).unwrap();
    folder(&path).unwrap();
    assert_eq!(mode(&path), 0o700);
    set_mode(&path, 0o777);
    let error = folder(&path).unwrap_err();
    assert!(matches!(error, OwnFileError::Writable { .. }), "{error}");
    let link = place.at("link");
    symlink(&path, &link).unwrap();
    let error = folder(&link).unwrap_err();
    assert!(
        error
            .to_string()
            .contains("is a symbolic link, not a folder"),
        "{error}"
    );
    let below = place.at("with/its/parents");
    folder(&below).unwrap();
    assert_eq!(mode(&below), 0o700);
}
