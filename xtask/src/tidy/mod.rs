//! `cargo xtask tidy`: the invariants of docs/invariants.md, checked by code.
//!
//! A rule takes files or crates and returns findings, so that its tests give it samples that break it. Checks by other
//! programs (format, lints, rustdoc, licences) come last, in [`programs`].

mod absent;
mod arrows;
mod circles;
mod commits;
mod glossary;
mod invariants;
mod names;
mod papers;
mod programs;
mod real_time;
pub(crate) mod size;
mod surface;
mod words;

use std::fmt;

use anyhow::{Result, bail};

use crate::cargo::{self, Crate};
use crate::repository::{Repository, SourceFile};
use crate::tools;
use commits::Commits;

pub(crate) const HELP: &str = "\
Check the invariants of docs/invariants.md, then format, lints, rustdoc and licences.

Usage: cargo xtask tidy [--rules] [--list]

  --rules   only the rules, without cargo fmt, clippy, doc and deny
  --list    name the rules
";

/// Something that breaks a rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Finding {
    /// File and, where it makes sense, line: `crates/x/src/lib.rs:12`.
    pub(crate) place: String,
    /// The fault, and its remedy.
    pub(crate) text: String,
    /// Whether tidy fails over it.
    pub(crate) grave: bool,
}

impl Finding {
    /// A finding that fails the check.
    pub(crate) fn error(place: impl Into<String>, text: impl Into<String>) -> Self {
        Self {
            place: place.into(),
            text: text.into(),
            grave: true,
        }
    }

    /// A finding that fails the check, in a line that is counted from 0.
    pub(crate) fn in_line(path: &str, line: usize, text: impl Into<String>) -> Self {
        Self::error(format!("{path}:{}", line + 1), text)
    }

    /// A finding that is shown, and does not fail the check.
    pub(crate) fn warning(place: impl Into<String>, text: impl Into<String>) -> Self {
        Self {
            grave: false,
            ..Self::error(place, text)
        }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let weight = if self.grave { "error" } else { "warning" };
        write!(f, "{weight}: {}: {}", self.place, self.text)
    }
}

/// What the rules check.
#[derive(Default)]
pub(crate) struct Workspace {
    /// The text files in git.
    pub(crate) files: Vec<SourceFile>,
    /// Crates of the workspace.
    pub(crate) crates: Vec<Crate>,
    /// Number of third-party crates of each of [`arrows::BUILDS`], or the reason why cargo cannot tell.
    pub(crate) third_party: Vec<Result<usize>>,
    /// Whether a check that cannot be made is a failure.
    pub(crate) skips_nothing: bool,
    /// The commits whose subjects are checked.
    pub(crate) commits: Commits,
}

/// A rule of the workspace.
pub(crate) struct Rule {
    /// Its name in docs/invariants.md and docs/STYLE.md.
    pub(crate) name: &'static str,
    /// What it requires, in a line.
    pub(crate) about: &'static str,
    check: fn(&Workspace) -> Vec<Finding>,
}

/// Every rule.
pub(crate) const RULES: &[Rule] = &[
    Rule {
        name: "arrows",
        about: "crates depend only in the directions of the architecture",
        check: |workspace| arrows::between_crates(&workspace.crates),
    },
    Rule {
        name: "carriers",
        about: "a heavy or marking dependency is carried only by the crates that bought it",
        check: |workspace| arrows::carriers(&workspace.crates),
    },
    Rule {
        name: "crate-count",
        about: "the program and the library have few third-party crates",
        check: |workspace| arrows::third_party(&workspace.third_party, workspace.skips_nothing),
    },
    Rule {
        name: "circles",
        about: "the modules of a folder use each other in one direction",
        check: circles::check,
    },
    Rule {
        name: "type-names",
        about: "two types of a crate do not share a name",
        check: names::check,
    },
    Rule {
        name: "unsafe",
        about: "unsafe code lives in kadenz-rt and in the packages for C and Java, and every block says why it is sound",
        check: |workspace| absent::unsafe_code(&workspace.files),
    },
    Rule {
        name: "real-time-headings",
        about: "real-time safety of an item is under a heading of that name",
        check: |workspace| real_time::headings(&workspace.files),
    },
    Rule {
        name: "real-time-items",
        about: "public items on the real-time path state their real-time safety",
        check: |workspace| real_time::items(&workspace.files),
    },
    Rule {
        name: "absent",
        about: "what a crate must not have: network, wall clocks, endless queues",
        check: |workspace| absent::check(&workspace.files),
    },
    Rule {
        name: "timed-asserts",
        about: "no test asserts a maximum run time",
        check: |workspace| absent::timed_asserts(&workspace.files),
    },
    Rule {
        name: "file-length",
        about: "a file has at most 500 lines unless its head says why; over 300 is a warning",
        check: |workspace| size::files(&workspace.files),
    },
    Rule {
        name: "function-length",
        about: "a function has at most 70 lines of code",
        check: |workspace| size::functions(&workspace.files),
    },
    Rule {
        name: "machine-paths",
        about: "no path of a particular machine",
        check: |workspace| words::machine_paths(&workspace.files),
    },
    Rule {
        name: "registry-hosts",
        about: "package registries are not named by host",
        check: |workspace| words::registry_hosts(&workspace.files),
    },
    Rule {
        name: "authors-tools",
        about: "no name of a tool that helped to write the code",
        check: |workspace| words::authors_tools(&workspace.files),
    },
    Rule {
        name: "field-terms",
        about: "pages use the terms of the field and cite sources by key",
        check: |workspace| words::field_terms(&workspace.files),
    },
    Rule {
        name: "glossary",
        about: "docs/glossary.md explains every coined word, and no other",
        check: |workspace| glossary::check(&workspace.files),
    },
    Rule {
        name: "empty-docs",
        about: "the documentation of an item says more than one word",
        check: |workspace| names::empty_docs(&workspace.files),
    },
    Rule {
        name: "front-doors",
        about: "every crate says what it is for in its README or its first documentation lines",
        check: |workspace| papers::front_doors(workspace),
    },
    Rule {
        name: "decisions",
        about: "every decision has its own number and stands in the index",
        check: |workspace| papers::decisions(&workspace.files),
    },
    Rule {
        name: "book-index",
        about: "docs/SUMMARY.md lists every page of the book once, and pages link to such pages",
        check: |workspace| papers::book_index(&workspace.files),
    },
    Rule {
        name: "surface",
        about: "docs/languages.md names what each language's package has, and what it lacks",
        check: |workspace| surface::check(&workspace.files),
    },
    Rule {
        name: "links",
        about: "links between the repository's own pages lead somewhere",
        check: |workspace| papers::links(&workspace.files),
    },
    Rule {
        name: "invariants",
        about: "every invariant names the check that holds it, and the check exists",
        check: |workspace| invariants::check(&workspace.files),
    },
    Rule {
        name: "toolchain",
        about: "no file makes rustup fetch another toolchain, and the MSRV is stated once",
        check: |workspace| papers::toolchain(&workspace.files),
    },
    Rule {
        name: "fuzz-targets",
        about: "every file in fuzz/fuzz_targets is a binary of fuzz/Cargo.toml",
        check: |workspace| papers::fuzz_targets(&workspace.files),
    },
    Rule {
        name: "commit-subjects",
        about: "a commit's subject is `topic: ...`, of at most 72 characters",
        check: |workspace| commits::subjects(&workspace.commits),
    },
];

/// Checks everything; true if only warnings were found.
pub(crate) fn main(repository: &Repository, options: &[&str]) -> Result<bool> {
    match options {
        [] => Ok(rules(repository)? & programs::check(repository)?),
        ["--rules"] => rules(repository),
        ["--list"] => {
            RULES
                .iter()
                .for_each(|it| println!("{:<16} {}", it.name, it.about));
            Ok(true)
        }
        _ => bail!("tidy knows --rules and --list; `cargo xtask tidy --help` says more"),
    }
}

/// The rules and the format, which take seconds.
pub(crate) fn quick(repository: &Repository) -> Result<bool> {
    Ok(rules(repository)? & programs::format(repository)?)
}

fn rules(repository: &Repository) -> Result<bool> {
    let crates = cargo::crates(repository)?;
    let count = |it: &arrows::Build| cargo::third_party(repository, &crates, it.selection);
    let workspace = Workspace {
        files: repository.committed()?,
        third_party: arrows::BUILDS.iter().map(count).collect(),
        skips_nothing: tools::skips_nothing(),
        commits: Commits::of(repository),
        crates,
    };
    let mut errors = 0;
    for rule in RULES {
        for finding in (rule.check)(&workspace) {
            println!("{finding} [{}]", rule.name);
            errors += usize::from(finding.grave);
        }
    }
    println!("tidy: {} rules, {errors} errors", RULES.len());
    Ok(errors == 0)
}

#[cfg(test)]
pub(crate) mod samples {
    //! Files for the tests of the rules.

    use crate::repository::SourceFile;

    /// A file that does not exist.
    pub(crate) fn file(path: &str, text: &str) -> SourceFile {
        SourceFile::new(path.to_owned(), text.to_owned())
    }

    /// Places of findings, for short comparisons.
    pub(crate) fn places(findings: &[super::Finding]) -> Vec<&str> {
        findings.iter().map(|it| it.place.as_str()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_have_names_of_their_own() {
        let mut names: Vec<_> = RULES.iter().map(|it| it.name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), RULES.len());
    }
}
