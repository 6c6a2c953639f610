// Builds the jar, for `cargo xtask java` and for the tests of the package.

use std::path::{Path, PathBuf};
use std::process::Command;

/// Compiles the classes under `sources` for Java 8, and puts them into `into/kadenz.jar` with the given library of this
/// platform, and with those of other platforms that are already in `into`.
///
/// # Errors
/// Where a program is missing or fails, or a file cannot be written; a sentence with the program's error text.
pub(crate) fn build(
    sources: &Path,
    platform: &str,
    library: &Path,
    into: &Path,
) -> Result<PathBuf, String> {
    let said = |error: std::io::Error| format!("{}: {error}", into.display());
    let native = into.join("libraries/native").join(platform);
    std::fs::create_dir_all(&native).map_err(said)?;
    let name = library.file_name().ok_or("the library has no name")?;
    std::fs::copy(library, native.join(name)).map_err(said)?;

    let classes = into.join("classes");
    let _ = std::fs::remove_dir_all(&classes);
    std::fs::create_dir_all(&classes).map_err(said)?;
    let mut javac = Command::new("javac");
    javac.args([
        "--release",
        "8",
        "-encoding",
        "UTF-8",
        "-Xlint:all,-options",
        "-d",
    ]);
    run(javac.arg(&classes).args(java_files(sources).map_err(said)?))?;

    let jar = into.join("kadenz.jar");
    let mut pack = Command::new("jar");
    pack.arg("cf").arg(&jar).arg("-C").arg(&classes).arg(".");
    run(pack.arg("-C").arg(into.join("libraries")).arg("."))?;
    Ok(jar)
}

/// The sources in a folder.
///
/// # Errors
/// Where the folder cannot be read.
pub(crate) fn java_files(folder: &Path) -> std::io::Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        if path.extension().is_some_and(|it| it == "java") {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}

/// Runs a program of the Java development kit; returns its output where it succeeds.
///
/// # Errors
/// A sentence with the program's error text.
pub(crate) fn run(command: &mut Command) -> Result<String, String> {
    let name = command.get_program().to_string_lossy().into_owned();
    let output = command.output().map_err(|error| {
        format!("{name} cannot be started: {error}; apt-get install default-jdk-headless")
    })?;
    let [out, err] = [&output.stdout, &output.stderr].map(|it| String::from_utf8_lossy(it));
    match output.status.success() {
        true => Ok(format!("{out}{err}")),
        false => Err(format!("{name} ended with {}:\n{out}{err}", output.status)),
    }
}
