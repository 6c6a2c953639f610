//! Builds a probe from its source, once for each content.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::catalog::{Language, Probe};
use super::server::program;

/// A probe that can be started.
#[derive(Clone, Debug)]
pub struct Built {
    /// The words that start it.
    pub words: Vec<String>,
}

/// Why a probe could not be built.
#[derive(Debug, thiserror::Error)]
pub enum BuildError {
    /// Its middleware is not installed, or a compiler.
    #[error("the probe `{name}` cannot be built: {said}\n  remedy: {}", remedy.trim())]
    Compiler {
        /// The probe.
        name: &'static str,
        /// The first error.
        said: String,
        /// How to get what is missing.
        remedy: &'static str,
    },
    /// Nothing can be written to the cache.
    #[error("cannot write {}: {source}; set XDG_CACHE_HOME to a folder that you may write", path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
}

/// Where built probes lie: `$XDG_CACHE_HOME/kadenz/probes`, or below `~/.cache`.
#[must_use]
pub fn cache() -> PathBuf {
    let set = |name: &str| {
        std::env::var_os(name)
            .filter(|it| !it.is_empty())
            .map(PathBuf::from)
    };
    let cache = set("XDG_CACHE_HOME").or_else(|| Some(set("HOME")?.join(".cache")));
    cache
        .unwrap_or_else(|| PathBuf::from("."))
        .join("kadenz/probes")
}

/// Builds a probe below `cache`, unless it has been built from the same source there.
///
/// # Errors
/// [`BuildError`]; the remedy says how to get the middleware.
pub fn build(probe: &'static Probe, cache: &Path) -> Result<Built, BuildError> {
    let folder = folder(probe, cache);
    let program = folder.join("probe");
    let words = match probe.language {
        Language::Python => vec!["python3".to_owned(), text(&folder.join(probe.files[0].0))],
        _ => vec![text(&program)],
    };
    if is_built(probe, cache) {
        return Ok(Built { words });
    }
    write_sources(probe, &folder)?;
    let failed = |said: String| BuildError::Compiler {
        name: probe.name,
        said,
        remedy: probe.remedy,
    };
    for mut step in steps(probe, &folder, &program) {
        run(&mut step).map_err(failed)?;
    }
    write(&folder.join(BUILT), "")?;
    Ok(Built { words })
}

/// Whether it has been built below `cache`.
#[must_use]
pub fn is_built(probe: &Probe, cache: &Path) -> bool {
    folder(probe, cache).join(BUILT).exists()
}

/// Written last into a folder.
const BUILT: &str = "built";

fn folder(probe: &Probe, cache: &Path) -> PathBuf {
    cache.join(format!("{}-{:016x}", probe.name, content(probe)))
}

/// The same for the same sources and the same way to build them.
fn content(probe: &Probe) -> u64 {
    let mut hasher = DefaultHasher::new();
    (probe.files, probe.arguments, env!("CARGO_PKG_VERSION")).hash(&mut hasher);
    hasher.finish()
}

/// Writes the sources of a probe into a folder; the files.
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
        .map_err(|source| BuildError::Write {
            path: path.to_owned(),
            source,
        })
}

/// The commands that build it, in their order.
fn steps(probe: &Probe, folder: &Path, program: &Path) -> Vec<Command> {
    let command = |name: &str| {
        let mut command = Command::new(name);
        command.current_dir(folder);
        command
    };
    let compile = |compiler: &str, source: &str| {
        let mut compile = command(compiler);
        compile.args(["-O2", "-o"]).arg(program).arg(source);
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
        Language::Rust => {
            let mut cargo = command("cargo");
            cargo.args([
                "build",
                "--release",
                "--quiet",
                "--locked",
                "--target-dir",
                "target",
            ]);
            cargo
                .arg("--manifest-path")
                .arg(format!("{}/Cargo.toml", probe.name));
            let mut copy = command("cp");
            copy.arg(format!("target/release/probe-{}", probe.name))
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

/// Runs it to its end; the first error that it says, where it fails.
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
        .unwrap_or("it did not say why");
    Err(format!("{name}: {}", first.trim()))
}

fn text(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}
