//! `cargo xtask install-c`: installs the library for C and C++ where compilers, pkg-config and CMake find it.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

use crate::files;
use crate::process;
use crate::repository::Repository;

pub(crate) const HELP: &str = "\
Install the library for C and C++: libkadenz, kadenz.h, kadenz.hpp, and what pkg-config and CMake read.

Usage: cargo xtask install-c [--prefix DIR] [--library FILE]

Options:
  --prefix DIR    Where to [default: /usr/local]
  --library FILE  A libkadenz.so that was built already; without it a release is built

Examples:
  sudo cargo xtask install-c
  cargo xtask install-c --prefix ~/.local
";

const VERSION: &str = env!("CARGO_PKG_VERSION");

/// Installs the library below a prefix.
pub(crate) fn main(repository: &Repository, options: &[&str]) -> Result<bool> {
    let (mut prefix, mut library) = (PathBuf::from("/usr/local"), None);
    let mut options = options.iter();
    while let Some(option) = options.next() {
        let mut value = || {
            options
                .next()
                .with_context(|| format!("{option} needs a value"))
        };
        match *option {
            "--prefix" => prefix = PathBuf::from(value()?),
            "--library" => library = Some(PathBuf::from(value()?)),
            other => bail!("there is no option {other:?}; see `cargo xtask install-c --help`"),
        }
    }
    let library = match library {
        Some(library) => library,
        None => build(repository)?,
    };
    files::make_folder(&prefix)?;
    let prefix = fs::canonicalize(prefix)?;
    install(repository, &prefix, &library)?;
    println!("libkadenz {VERSION} is below {}", prefix.display());
    Ok(true)
}

fn build(repository: &Repository) -> Result<PathBuf> {
    if !process::run(&mut repository.cargo("build --release -p kadenz-c"))? {
        bail!("the library does not build");
    }
    Ok(repository.target().join("release/libkadenz.so"))
}

fn install(repository: &Repository, prefix: &Path, library: &Path) -> Result<()> {
    let place = |name: &str| -> Result<PathBuf> {
        let path = prefix.join(name);
        files::make_folder(path.parent().context("a file has a folder")?)?;
        Ok(path)
    };
    let copy = |from: &Path, name: &str| -> Result<()> {
        let to = place(name)?;
        // A running program keeps the file that it has mapped.
        let _ = fs::remove_file(&to);
        fs::copy(from, &to)
            .with_context(|| format!("cannot copy {} to {}", from.display(), to.display()))?;
        Ok(())
    };
    let versioned = format!("libkadenz.so.{VERSION}");
    copy(library, &format!("lib/{versioned}"))?;
    for link in ["lib/libkadenz.so.0", "lib/libkadenz.so"] {
        let link = place(link)?;
        let _ = fs::remove_file(&link);
        std::os::unix::fs::symlink(&versioned, &link)?;
    }
    let archive = library.with_extension("a");
    if archive.is_file() {
        copy(&archive, "lib/libkadenz.a")?;
    }
    for header in ["kadenz.h", "kadenz.hpp"] {
        let from = repository.path("bindings/c/include").join(header);
        copy(&from, &format!("include/{header}"))?;
    }
    fs::write(place("lib/pkgconfig/kadenz.pc")?, pkg_config(prefix))?;
    fs::write(place("lib/cmake/Kadenz/KadenzConfig.cmake")?, CMAKE)?;
    fs::write(
        place("lib/cmake/Kadenz/KadenzConfigVersion.cmake")?,
        cmake_version(),
    )?;
    Ok(())
}

fn pkg_config(prefix: &Path) -> String {
    format!(
        "prefix={}\nlibdir=${{prefix}}/lib\nincludedir=${{prefix}}/include\n\nName: kadenz\n\
         Description: Loops, messages, EtherCAT and cameras that keep deadlines, and runs that prove it\n\
         Version: {VERSION}\nLibs: -L${{libdir}} -Wl,-rpath,${{libdir}} -lkadenz\n\
         Libs.private: -lstdc++ -lm -lpthread -ldl\nCflags: -I${{includedir}}\n",
        prefix.display()
    )
}

const CMAKE: &str = r#"# find_package(Kadenz) gives the target Kadenz::kadenz.
get_filename_component(KADENZ_PREFIX "${CMAKE_CURRENT_LIST_DIR}/../../.." ABSOLUTE)
if(NOT TARGET Kadenz::kadenz)
  add_library(Kadenz::kadenz SHARED IMPORTED)
  set_target_properties(Kadenz::kadenz PROPERTIES
    IMPORTED_LOCATION "${KADENZ_PREFIX}/lib/libkadenz.so"
    INTERFACE_INCLUDE_DIRECTORIES "${KADENZ_PREFIX}/include")
endif()
"#;

fn cmake_version() -> String {
    format!(
        "set(PACKAGE_VERSION {VERSION})\n\
         if(PACKAGE_FIND_VERSION VERSION_GREATER PACKAGE_VERSION)\n  set(PACKAGE_VERSION_COMPATIBLE FALSE)\n\
         else()\n  set(PACKAGE_VERSION_COMPATIBLE TRUE)\nendif()\n"
    )
}
