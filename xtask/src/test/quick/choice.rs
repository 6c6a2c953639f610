//! Chooses the tests of `cargo xtask test --quick` by the files that changed.

use std::collections::BTreeSet;

use crate::cargo::Crate;
use crate::repository::SourceFile;

/// Files of the workspace on which the build of every crate depends.
const EVERY_CRATES: [&str; 3] = ["Cargo.toml", "Cargo.lock", ".cargo/config.toml"];

/// The folder of a program's commands: a file or a folder each.
const COMMANDS: &str = "src/commands/";

/// The tests of a change, by names of crates and of integration tests.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Choice {
    /// Crates with a changed file, or that read one: their unit and integration tests run.
    pub(crate) touched: BTreeSet<String>,
    /// Crates that depend on a changed one: their unit tests run.
    pub(crate) dependants: BTreeSet<String>,
    /// Whether one of these crates is a library.
    pub(crate) library: bool,
    /// Integration tests that run.
    pub(crate) tests: BTreeSet<String>,
    /// Integration tests of touched crates that do not run: those of other commands.
    pub(crate) other_tests: BTreeSet<String>,
    /// Features that these tests need, as `crate/feature`.
    pub(crate) features: BTreeSet<String>,
    /// Touched crates with examples, which their tests may run.
    pub(crate) with_examples: BTreeSet<String>,
}

impl Choice {
    /// Every crate that has tests in the choice.
    pub(crate) fn crates(&self) -> impl Iterator<Item = &str> {
        self.touched.union(&self.dependants).map(String::as_str)
    }
}

/// Chooses the tests for these changed paths, given the crates and the files of the repository.
pub(crate) fn choose(changed: &[String], crates: &[Crate], files: &[SourceFile]) -> Choice {
    let holds = |it: &&Crate| changed.iter().any(|path| below(path, it).is_some());
    let changed_crates = names(crates.iter().filter(holds));
    let mut choice = Choice {
        dependants: dependants(&changed_crates, crates),
        ..Choice::default()
    };
    if changed.iter().any(|it| EVERY_CRATES.contains(&it.as_str())) {
        choice.dependants = names(crates.iter());
    }
    let is_outside = |path: &&String| crates.iter().all(|it| below(path, it).is_none());
    let outside = changed.iter().filter(is_outside);
    let readers = outside.flat_map(|path| readers(path, crates, files));
    choice.touched = changed_crates.into_iter().chain(readers).collect();
    let touched = &choice.touched;
    choice.dependants.retain(|name| !touched.contains(name));
    let chosen = |it: &&Crate| touched.contains(&it.name) || choice.dependants.contains(&it.name);
    choice.library = crates.iter().filter(chosen).any(|it| it.library);
    for it in crates.iter().filter(|it| touched.contains(&it.name)) {
        let needed = it.needed_features.iter();
        let needed = needed.map(|feature| format!("{}/{feature}", it.name));
        choice.features.extend(needed);
        if it.has_examples {
            choice.with_examples.insert(it.name.clone());
        }
        let commands = Commands::of(it, files);
        for test in &it.tests {
            match commands.needs(test, it, changed) {
                true => choice.tests.insert(test.clone()),
                false => choice.other_tests.insert(test.clone()),
            };
        }
    }
    choice
}

fn names<'a>(crates: impl Iterator<Item = &'a Crate>) -> BTreeSet<String> {
    crates.map(|it| it.name.clone()).collect()
}

/// The path within a crate's folder, if it is there.
fn below<'a>(path: &'a str, it: &Crate) -> Option<&'a str> {
    path.strip_prefix(&it.folder)?.strip_prefix('/')
}

/// All crates that depend on one of these, also through others.
fn dependants(of: &BTreeSet<String>, crates: &[Crate]) -> BTreeSet<String> {
    let mut found = of.clone();
    loop {
        let leans = |it: &&Crate| it.dependencies.iter().any(|on| found.contains(&on.name));
        let more = names(crates.iter().filter(leans));
        if more.is_subset(&found) {
            return &found - of;
        }
        found.extend(more);
    }
}

/// Crates whose code names a file outside of every crate, or its folder, by a path that leads up to it, or by one from
/// the root where the code leads up there.
fn readers(path: &str, crates: &[Crate], files: &[SourceFile]) -> BTreeSet<String> {
    let mut parts = path.split('/');
    let top = parts.next().unwrap_or_default();
    let near = match parts.next() {
        Some(second) => format!("../{top}/{second}"),
        None => format!("../{top}"),
    };
    let whole = format!("../{top}\"");
    let from_root = [format!("\"{top}/"), format!("\"{top}\"")];
    let code = |line: &&str| !line.trim_start().starts_with("//");
    let reads = |file: &&SourceFile| {
        let has = |part: &str| {
            let mut lines = file.text.lines().filter(code);
            lines.any(|line| line.contains(part))
        };
        let joined = || has("\"../..\"") && from_root.iter().any(|path| has(path));
        file.is("rs") && (has(&near) || has(&whole) || joined())
    };
    let paths: Vec<&str> = files.iter().filter(reads).map(|it| &*it.path).collect();
    let has_one = |it: &&Crate| paths.iter().any(|path| below(path, it).is_some());
    names(crates.iter().filter(has_one))
}

/// The commands of a crate that is a program; empty for a library.
struct Commands<'a>(BTreeSet<&'a str>);

impl<'a> Commands<'a> {
    fn of(it: &Crate, files: &'a [SourceFile]) -> Self {
        let paths = files.iter().filter_map(|file| below(&file.path, it));
        Self(paths.filter_map(command).collect())
    }

    /// Whether an integration test is to run. A library's always is. A program's is where the test changed, where the
    /// command that it is named after changed, and where it is not named after a command.
    fn needs(&self, test: &str, it: &Crate, changed: &[String]) -> bool {
        let first = test.split('_').next().unwrap_or_default();
        let own = |path: &str| {
            let folder = format!("tests/{test}");
            let file = path.strip_prefix(&folder);
            file.is_some_and(|rest| rest == ".rs" || rest.starts_with('/'))
        };
        let mut paths = changed.iter().filter_map(|path| below(path, it));
        !self.0.contains(first) || paths.any(|path| own(path) || command(path) == Some(first))
    }
}

/// The command that a path below a crate's folder belongs to: `udp` of `src/commands/udp/echo.rs`.
fn command(path: &str) -> Option<&str> {
    let name = path.strip_prefix(COMMANDS)?.split('/').next()?;
    let name = name.strip_suffix(".rs").unwrap_or(name);
    (name != "mod").then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cargo::Dependency;
    use crate::tidy::samples::file;

    fn member(name: &str, on: &[&str], tests: &[&str]) -> Crate {
        let dependency = |name: &&str| Dependency {
            name: (*name).to_owned(),
            dev: false,
        };
        Crate {
            name: name.to_owned(),
            folder: format!("crates/{name}"),
            dependencies: on.iter().map(dependency).collect(),
            library: name != "program",
            tests: tests.iter().map(|it| (*it).to_owned()).collect(),
            ..Crate::default()
        }
    }

    /// A base crate, two crates on it of which one uses the other, a program on both, and an independent crate.
    fn workspace() -> Vec<Crate> {
        vec![
            member("floor", &["libc"], &["sleepers"]),
            member("member", &["floor"], &["wire", "faults"]),
            member("upper", &["member"], &["wire"]),
            member("program", &["upper"], &["files", "udp", "udp_burst", "run"]),
            member("alone", &[], &["golden"]),
        ]
    }

    fn files() -> Vec<SourceFile> {
        vec![
            file("crates/program/src/commands/mod.rs", ""),
            file("crates/program/src/commands/run.rs", ""),
            file("crates/program/src/commands/udp/echo.rs", ""),
            file(
                "crates/alone/tests/golden.rs",
                "const A: &str = \"../../conformance/hlog\";",
            ),
            file(
                "crates/upper/tests/wire.rs",
                "let root = folder.join(\"../..\");\nread(root.join(\"README.md\"));",
            ),
            file(
                "crates/member/tests/wire.rs",
                "// ../../conformance/logs\nlet all = \"../../samples\";",
            ),
        ]
    }

    fn chosen(changed: &[&str]) -> Choice {
        let changed: Vec<String> = changed.iter().map(|it| (*it).to_owned()).collect();
        choose(&changed, &workspace(), &files())
    }

    fn words(set: &BTreeSet<String>) -> Vec<&str> {
        set.iter().map(String::as_str).collect()
    }

    #[test]
    fn a_changed_crate_is_tested_whole_and_what_depends_on_it_by_its_units() {
        let choice = chosen(&["crates/member/src/lib.rs"]);
        assert_eq!(words(&choice.touched), ["member"]);
        assert_eq!(words(&choice.dependants), ["program", "upper"]);
        assert_eq!(words(&choice.tests), ["faults", "wire"]);
        assert!(choice.library && choice.other_tests.is_empty());
        let names: Vec<&str> = choice.crates().collect();
        assert_eq!(names, ["member", "program", "upper"]);
    }

    #[test]
    fn what_a_touched_crates_tests_need_is_built() {
        let mut crates = workspace();
        crates[4].needed_features = vec!["ethercat".to_owned()];
        crates[4].has_examples = true;
        let touched = choose(&["crates/alone/src/lib.rs".to_owned()], &crates, &files());
        assert_eq!(words(&touched.features), ["alone/ethercat"]);
        assert_eq!(words(&touched.with_examples), ["alone"]);
        let other = choose(&["crates/member/src/lib.rs".to_owned()], &crates, &files());
        assert!(other.features.is_empty() && other.with_examples.is_empty());
    }

    #[test]
    fn a_crate_whose_name_begins_alike_is_another() {
        assert_eq!(chosen(&["crates/members/src/lib.rs"]), Choice::default());
    }

    #[test]
    fn a_program_s_change_runs_the_tests_of_its_command_and_of_no_command() {
        let choice = chosen(&["crates/program/src/commands/udp/echo.rs"]);
        assert_eq!(words(&choice.tests), ["files", "udp", "udp_burst"]);
        assert_eq!(words(&choice.other_tests), ["run"]);
        assert!(!choice.library, "cargo refuses `--lib` where there is none");
        let choice = chosen(&["crates/program/src/commands/run.rs"]);
        assert_eq!(words(&choice.tests), ["files", "run"]);
        let choice = chosen(&["crates/program/src/main.rs"]);
        assert_eq!(words(&choice.tests), ["files"]);
    }

    #[test]
    fn a_changed_test_runs() {
        let choice = chosen(&["crates/program/tests/udp_burst.rs"]);
        assert_eq!(words(&choice.tests), ["files", "udp_burst"]);
        let choice = chosen(&["crates/program/tests/run/main.rs"]);
        assert_eq!(words(&choice.tests), ["files", "run"]);
    }

    #[test]
    fn a_file_outside_is_tested_by_the_crates_whose_code_reads_it() {
        assert_eq!(
            words(&chosen(&["conformance/hlog/a.hlog"]).touched),
            ["alone"]
        );
        assert_eq!(chosen(&["conformance/logs/a.bag"]), Choice::default());
        assert_eq!(words(&chosen(&["README.md"]).touched), ["upper"]);
        let choice = chosen(&["samples/any/of.them"]);
        assert_eq!(words(&choice.touched), ["member"]);
        assert!(
            choice.dependants.is_empty(),
            "no code of the library changed"
        );
    }

    #[test]
    fn what_every_crate_is_built_by_runs_all_unit_tests() {
        let choice = chosen(&["Cargo.lock", "crates/alone/Cargo.toml"]);
        assert_eq!(words(&choice.touched), ["alone"]);
        assert_eq!(
            words(&choice.dependants),
            ["floor", "member", "program", "upper"]
        );
    }

    #[test]
    fn a_page_that_no_code_reads_runs_no_test() {
        assert_eq!(chosen(&["docs/STYLE.md", "LICENSE-MIT"]), Choice::default());
    }
}
