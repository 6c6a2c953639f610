//! `cargo xtask java`: the package for Java, as a jar.

use anyhow::{Result, anyhow, bail};

use crate::process;
use crate::repository::Repository;

#[path = "../../bindings/java/jar.rs"]
mod jar;

pub(crate) const HELP: &str = "\
Build the package for Java, target/java/kadenz.jar: classes for Java 8 and later, and the native library.
Needs a JDK (9 or later), as in apt-get install default-jdk-headless.

Usage: cargo xtask java [--target TRIPLE]

  --target  add this platform to the jar, which a call without it restarts
";

/// Builds the native library and the jar; true if both are built.
pub(crate) fn main(repository: &Repository, options: &[&str]) -> Result<bool> {
    let target = match *options {
        [] => None,
        ["--target", target] => Some(target),
        _ => bail!("java takes --target TRIPLE alone; `cargo xtask java --help` says more"),
    };
    let mut build = repository.cargo("build --release -p kadenz-java");
    let mut folder = repository.target();
    let mut platform = format!("{}-{}", std::env::consts::OS, std::env::consts::ARCH);
    if let Some(target) = target {
        build.args(["--target", target]);
        folder = folder.join(target);
        platform = platform_of(target)?;
    }
    if !process::run(&mut build)? {
        return Ok(false);
    }
    let library = folder.join("release").join(library_of(&platform));
    let sources = repository.path("bindings/java/java/kadenz");
    let home = repository.target().join("java");
    if target.is_none() {
        // The libraries of other platforms from earlier builds may not fit the classes any more.
        let _ = std::fs::remove_dir_all(home.join("libraries"));
    }
    let built = jar::build(&sources, &platform, &library, &home);
    println!("{}", built.map_err(|it| anyhow!(it))?.display());
    Ok(true)
}

/// A platform as `kadenz.Native` names it.
fn platform_of(target: &str) -> Result<String> {
    let arch = target.split('-').next().unwrap_or_default();
    if !["x86_64", "aarch64"].contains(&arch) {
        bail!("{target} is not a platform of Java that Kadenz knows; take x86_64 or aarch64");
    }
    let systems = [
        ("linux", "linux"),
        ("apple-darwin", "macos"),
        ("windows", "windows"),
    ];
    let system = systems.iter().find(|it| target.contains(it.0));
    let Some((_, system)) = system else {
        bail!(
            "{target} is not a platform of Java that Kadenz knows; take one of Linux, macOS or Windows"
        );
    };
    Ok(format!("{system}-{arch}"))
}

fn library_of(platform: &str) -> &'static str {
    match platform.split('-').next() {
        Some("macos") => "libkadenz_java.dylib",
        Some("windows") => "kadenz_java.dll",
        _ => "libkadenz_java.so",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_target_is_a_platform_with_its_library() {
        let of = |target| platform_of(target).map(|it| (library_of(&it), it));
        for (target, library, platform) in [
            (
                "aarch64-unknown-linux-gnu",
                "libkadenz_java.so",
                "linux-aarch64",
            ),
            (
                "aarch64-apple-darwin",
                "libkadenz_java.dylib",
                "macos-aarch64",
            ),
            ("x86_64-pc-windows-gnu", "kadenz_java.dll", "windows-x86_64"),
        ] {
            assert_eq!(of(target).expect("known"), (library, platform.to_owned()));
        }
        assert!(of("thumbv7m-none-eabi").is_err());
    }
}
