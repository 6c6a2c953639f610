//! Tools that a machine may lack: how each is found, and how to get it.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::process;

/// Version of the Java library that Kadenz's interval logs are compared with.
const HDRHISTOGRAM_JAR: &str = "HdrHistogram-2.2.2.jar";

/// Whether a skip is a failure: `KADENZ_SKIP_NOTHING=1`.
pub(crate) fn skips_nothing() -> bool {
    std::env::var_os("KADENZ_SKIP_NOTHING").is_some_and(|it| it == "1")
}

/// The first of these programs that is on the path.
pub(crate) fn on_path(names: &[&str]) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    let folders: Vec<PathBuf> = std::env::split_paths(&path).collect();
    names
        .iter()
        .flat_map(|name| folders.iter().map(move |it| it.join(name)))
        .find(|it| it.is_file())
}

/// The folder for tools that no package manager installs: `~/.cache/kadenz`.
fn cache() -> Option<PathBuf> {
    let base = named_by("XDG_CACHE_HOME").filter(|it| it.is_absolute());
    let base = base.or_else(|| Some(named_by("HOME")?.join(".cache")));
    Some(base?.join("kadenz"))
}

/// The path in an environment variable.
fn named_by(variable: &str) -> Option<PathBuf> {
    std::env::var_os(variable).map(PathBuf::from)
}

/// The Java HdrHistogram, where there is a Java to run it.
pub(crate) fn hdrhistogram_jar() -> Option<PathBuf> {
    on_path(&["java"])?;
    let maven = ".m2/repository/org/hdrhistogram/HdrHistogram/2.2.2";
    let named = named_by("KADENZ_HDRHISTOGRAM_JAR");
    let cached = cache().map(|it| it.join(HDRHISTOGRAM_JAR));
    let in_maven = named_by("HOME").map(|it| it.join(maven).join(HDRHISTOGRAM_JAR));
    first_file([named, cached, in_maven])
}

/// A Python that imports pyarrow and lcm; where there is none, one that imports pyarrow.
pub(crate) fn python_with_libraries() -> Option<PathBuf> {
    python_that("import lcm, pyarrow").or_else(|| python_that("import pyarrow"))
}

/// A Python that can run these imports.
pub(crate) fn python_that(imports: &str) -> Option<PathBuf> {
    let cached = cache().map(|it| it.join("python/bin/python"));
    let places = [named_by("KADENZ_PYTHON"), cached, on_path(&["python3"])];
    let mut places = places.into_iter().flatten();
    places.find(|it| process::succeeds(Command::new(it).args(["-c", imports])))
}

/// A browser that Playwright can drive.
pub(crate) fn chromium() -> Option<PathBuf> {
    let found = on_path(&["chromium", "chromium-browser", "google-chrome"]);
    first_file([named_by("KADENZ_CHROMIUM"), found])
}

/// mdBook: on the path, or where `cargo install --root target/mdbook` puts it.
pub(crate) fn mdbook(target: &Path) -> Option<PathBuf> {
    first_file([on_path(&["mdbook"]), Some(target.join("mdbook/bin/mdbook"))])
}

fn first_file(places: impl IntoIterator<Item = Option<PathBuf>>) -> Option<PathBuf> {
    places.into_iter().flatten().find(|place| place.is_file())
}

/// Whether `cargo <arguments>` ends with 0, which shows whether a subcommand or toolchain is installed.
pub(crate) fn cargo_has(arguments: &[&str]) -> bool {
    process::succeeds(Command::new("cargo").args(arguments))
}

/// The folder of a toolchain; `None` for the active one, `Some("+nightly")` for another.
pub(crate) fn sysroot(toolchain: Option<&str>) -> Option<PathBuf> {
    let mut command = Command::new("rustc");
    command.args(toolchain).args(["--print", "sysroot"]);
    process::output(&mut command)
        .ok()
        .map(|path| PathBuf::from(path.trim()))
}

/// Whether a toolchain has the standard library of a target, as `rustup target add` places it.
pub(crate) fn has_target(sysroot: &Path, target: &str) -> bool {
    sysroot
        .join("lib/rustlib")
        .join(target)
        .join("lib")
        .is_dir()
}

/// Whether a toolchain has the standard library's source, as `rustup component add rust-src` places it.
pub(crate) fn has_standard_source(sysroot: &Path) -> bool {
    sysroot
        .join("lib/rustlib/src/rust/library/std/Cargo.toml")
        .is_file()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_is_found_on_the_path_and_a_missing_one_is_not() {
        assert!(on_path(&["no-such-program-anywhere", "sh"]).is_some_and(|it| it.ends_with("sh")));
        assert_eq!(on_path(&["no-such-program-anywhere"]), None);
    }

    #[test]
    fn the_first_file_that_exists_is_taken() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let there = folder.path().join("there");
        std::fs::write(&there, "").expect("writable");
        let places = [
            None,
            Some(folder.path().join("absent")),
            Some(there.clone()),
        ];
        assert_eq!(first_file(places), Some(there));
    }

    #[test]
    fn a_target_counts_only_with_its_library() {
        let sysroot = tempfile::tempdir().expect("a temporary folder");
        assert!(!has_target(sysroot.path(), "aarch64-apple-darwin"));
        let library = sysroot.path().join("lib/rustlib/aarch64-apple-darwin/lib");
        std::fs::create_dir_all(library).expect("writable");
        assert!(has_target(sysroot.path(), "aarch64-apple-darwin"));
    }
}
