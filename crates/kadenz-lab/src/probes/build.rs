//! Builds a probe from its source, once for each content.

use std::fs::File;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::catalog::{Language, Probe};
use super::server::program;

/// A probe that was built, with the command that starts it.
#[derive(Clone, Debug)]
pub struct Built {
    /// The words that start it.
    pub words: Vec<String>,
}

/// Why a probe could not be built.
#[derive(Debug, thiserror::Error)]
pub enum BuildError {
    /// A compiler or the probe's middleware is not installed.
    #[error("the probe `{name}` cannot be built: {said}\n  remedy: {}", remedy.trim())]
    Compiler {
        /// The name of the probe.
        name: &'static str,
        /// The first error of the compiler.
        said: String,
        /// How to get what is missing.
        remedy: &'static str,
    },
    /// The environment names no cache.
    #[error(
        "a built probe has no place: set XDG_CACHE_HOME, or HOME, to the absolute path of a folder that you may write"
    )]
    NoCache,
    /// Nothing can be written to the cache.
    #[error("cannot write {}: {source}; set XDG_CACHE_HOME to a folder that you may write", path.display())]
    Write {
        /// The path of the file in the cache.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
}

/// The folder of built probes, where the environment names one.
#[derive(Clone, Debug)]
pub struct Cache(Option<PathBuf>);

/// The folder of built probes: `$XDG_CACHE_HOME/kadenz/probes`, or below `$HOME/.cache`. As the XDG specification says,
/// a relative path does not count.
#[must_use]
pub fn cache() -> Cache {
    let set = |name: &str| {
        let path = std::env::var_os(name).map(PathBuf::from);
        path.filter(|it| it.is_absolute())
    };
    let cache = set("XDG_CACHE_HOME").or_else(|| Some(set("HOME")?.join(".cache")));
    Cache(cache.map(|it| it.join("kadenz/probes")))
}

/// Builds a probe below `cache`, unless it has been built from the same source there. If several processes build it at
/// once, one does and the others wait.
///
/// # Errors
/// [`BuildError`]; the remedy says how to get the middleware.
pub fn build(probe: &'static Probe, cache: &Cache) -> Result<Built, BuildError> {
    let cache = cache.0.as_deref().ok_or(BuildError::NoCache)?;
    let folder = folder(probe, cache);
    if !is_whole(&folder) {
        let _alone = lock(probe, cache)?;
        if !is_whole(&folder) {
            build_into(probe, cache, &folder)?;
        }
    }
    Ok(Built {
        words: match probe.language {
            Language::Python => vec!["python3".to_owned(), text(&folder.join(probe.files[0].0))],
            _ => vec![text(&folder.join(PROGRAM))],
        },
    })
}

/// Builds beside the folder, so that the folder is complete or absent.
fn build_into(probe: &'static Probe, cache: &Path, folder: &Path) -> Result<(), BuildError> {
    let cannot = |source| cannot_write(folder, source);
    let beside = tempfile::Builder::new()
        .prefix(&format!(".{}-", probe.name))
        .tempdir_in(cache)
        .map_err(cannot)?;
    write_sources(probe, beside.path())?;
    let failed = |said: String| BuildError::Compiler {
        name: probe.name,
        said,
        remedy: probe.remedy,
    };
    for mut step in steps(probe, beside.path(), &target(probe, cache)) {
        run(&mut step).map_err(failed)?;
    }
    write(&beside.path().join(BUILT), "")?;
    // Removes what a killed build left.
    let _ = std::fs::remove_dir_all(folder);
    std::fs::rename(beside.path(), folder).map_err(cannot)
}

/// Held while a probe is built; released at the latest when the process ends.
fn lock(probe: &Probe, cache: &Path) -> Result<File, BuildError> {
    let path = cache.join(format!(".{}.lock", probe.name));
    let opened = std::fs::create_dir_all(cache).and_then(|()| File::create(&path));
    let file = opened.map_err(|source| cannot_write(&path, source))?;
    // Not every file system has locks; a finished build is complete without one, too.
    let _ = file.lock();
    Ok(file)
}

/// Whether the probe has been built below `cache`.
#[must_use]
pub fn is_built(probe: &Probe, cache: &Cache) -> bool {
    let cache = cache.0.as_deref();
    cache.is_some_and(|it| is_whole(&folder(probe, it)))
}

fn is_whole(folder: &Path) -> bool {
    folder.join(BUILT).exists()
}

/// In the folder of a probe.
const PROGRAM: &str = "probe";
/// Written last into a folder.
const BUILT: &str = "built";

/// Where cargo keeps the dependencies of a probe in Rust, independent of the probe's own source.
fn target(probe: &Probe, cache: &Path) -> PathBuf {
    cache.join(format!("{}-target", probe.name))
}

fn folder(probe: &Probe, cache: &Path) -> PathBuf {
    cache.join(format!("{}-{:016x}", probe.name, content(probe)))
}

/// A hash of the sources and of the way to build them.
fn content(probe: &Probe) -> u64 {
    let mut hasher = DefaultHasher::new();
    (probe.files, probe.arguments, env!("CARGO_PKG_VERSION")).hash(&mut hasher);
    hasher.finish()
}

/// Writes the sources of a probe into a folder, and returns the files.
///
/// # Errors
/// [`BuildError::Write`].
pub fn write_sources(probe: &Probe, folder: &Path) -> Result<Vec<PathBuf>, BuildError> {
    let write_one = |(name, content): &(&str, &str)| {
        let path = folder.join(name);
        write(&path, content).map(|()| path)
    };
    probe.files.iter().map(write_one).collect()
}

fn write(path: &Path, content: &str) -> Result<(), BuildError> {
    let folder = path.parent().map_or(Ok(()), std::fs::create_dir_all);
    folder
        .and_then(|()| std::fs::write(path, content))
        .map_err(|source| cannot_write(path, source))
}

fn cannot_write(path: &Path, source: io::Error) -> BuildError {
    BuildError::Write {
        path: path.to_owned(),
        source,
    }
}

/// The commands that build it, in their order.
fn steps(probe: &Probe, folder: &Path, target: &Path) -> Vec<Command> {
    let program = folder.join(PROGRAM);
    let command = |name: &str| {
        let mut command = Command::new(name);
        command.current_dir(folder);
        command
    };
    let compile = |compiler: &str, source: &str| {
        let mut compile = command(compiler);
        compile.args(["-O2", "-o"]).arg(&program).arg(source);
        compile.args(probe.arguments).arg("-pthread");
        compile
    };
    let first = probe.files[0].0;
    match probe.language {
        Language::C => vec![compile("cc", first)],
        Language::CPlusPlus => vec![compile("c++", first)],
        Language::CWithIdl => {
            let mut idlc = command("idlc");
            idlc.args(["-l", "c"]).arg(probe.files[1].0);
            vec![idlc, compile("cc", first)]
        }
        Language::CMake => {
            let build = format!("{}/build", probe.name);
            let mut configure = command("cmake");
            configure.args(["-DCMAKE_BUILD_TYPE=Release", "-S", probe.name, "-B", &build]);
            let mut make = command("cmake");
            make.args(["--build", &build]);
            let mut copy = command("cp");
            copy.arg(format!("{build}/{PROGRAM}")).arg(program);
            vec![configure, make, copy]
        }
        Language::Rust => {
            let mut cargo = command("cargo");
            cargo.args(["build", "--release", "--quiet", "--locked"]);
            cargo.arg("--target-dir").arg(target);
            cargo
                .arg("--manifest-path")
                .arg(format!("{}/Cargo.toml", probe.name));
            let mut copy = command("cp");
            copy.arg(target.join(format!("release/probe-{}", probe.name)))
                .arg(program);
            vec![cargo, copy]
        }
        Language::Python => {
            let mut import = command("python3");
            import.args(["-c", &format!("import {}", probe.arguments.join(", "))]);
            vec![import]
        }
    }
}

/// Runs a command to its end; returns the first error that it prints, where it fails.
fn run(step: &mut Command) -> Result<(), String> {
    let name = step.get_program().to_string_lossy().into_owned();
    if program(&name).is_none() {
        return Err(format!("`{name}` is not installed"));
    }
    let output = step.output().map_err(|error| format!("{name}: {error}"))?;
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    let mut errors = said.lines().filter(|it| it.contains("rror"));
    let first = errors
        .next()
        .or(said.lines().last())
        .unwrap_or("it gave no reason");
    Err(format!("{name}: {}", first.trim()))
}

fn text(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

#[cfg(all(test, target_os = "linux"))]
#[allow(clippy::unwrap_used, reason = "in a test a panic is the answer")]
mod tests {
    use super::super::probe;
    use super::*;

    #[test]
    fn concurrent_builds_of_a_probe_give_one_that_is_whole() {
        let folder = tempfile::tempdir().unwrap();
        let cache = Cache(Some(folder.path().join("cache")));
        let udp = probe("udp").unwrap();
        assert!(!is_built(udp, &cache));
        let builders: Vec<_> = (0..4)
            .map(|_| {
                let cache = cache.clone();
                std::thread::spawn(move || build(udp, &cache).unwrap().words)
            })
            .collect();
        for builder in builders {
            let words = builder.join().unwrap();
            assert!(Path::new(&words[0]).is_file(), "{words:?}");
        }
        assert!(is_built(udp, &cache));
        let left = std::fs::read_dir(folder.path().join("cache")).unwrap();
        let left: Vec<_> = left.map(|it| it.unwrap().file_name()).collect();
        assert_eq!(left.len(), 2, "the probe and its lock: {left:?}");
    }

    #[test]
    fn half_a_probe_is_built_anew() {
        let folder = tempfile::tempdir().unwrap();
        let cache = Cache(Some(folder.path().to_owned()));
        let udp = probe("udp").unwrap();
        let half = super::folder(udp, folder.path());
        std::fs::create_dir(&half).unwrap();
        std::fs::write(half.join("udp.c"), "int main(void) { return").unwrap();
        let words = build(udp, &cache).unwrap().words;
        assert!(Path::new(&words[0]).is_file() && is_built(udp, &cache));
    }

    #[test]
    fn without_a_cache_nothing_is_built() {
        let udp = probe("udp").unwrap();
        let refused = build(udp, &Cache(None)).unwrap_err().to_string();
        assert!(refused.contains("XDG_CACHE_HOME"), "{refused}");
        assert!(!is_built(udp, &Cache(None)));
    }
}
