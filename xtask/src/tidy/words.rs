//! Words that do not belong in a repository. They are spelled in pieces here, so that this file passes its own rules.

use super::Finding;
use crate::docs::links;
use crate::repository::SourceFile;
use crate::scan;

const MACHINE_PATHS: &[&str] = &[
    concat!("/", "work/"),
    concat!("/", "tmp/wt"),
    concat!("/", "root/"),
    concat!("/", "home/"),
    concat!("C:\\", "Users\\"),
    concat!("/", "Users/"),
];

const REGISTRY_HOSTS: &[&str] = &[
    concat!("static.", "crates.io"),
    concat!("index.", "crates.io"),
    concat!("registry.", "npmjs.org"),
    concat!("repo1.", "maven.org"),
    concat!("repo.", "maven.apache.org"),
    concat!("files.", "pythonhosted.org"),
    concat!("https://", "pypi.org"),
    concat!("deb.", "debian.org"),
    concat!("proxy.", "golang.org"),
    concat!("static.", "rust-lang.org"),
];

const AUTHORS_TOOLS: &[&str] = &[
    concat!("cla", "ude"),
    concat!("anth", "ropic"),
    concat!("open", "ai"),
    concat!("chat", "gpt"),
    concat!("co", "pilot"),
    concat!("farm", "-studio"),
    concat!(".lib", "rary/"),
];

/// Words that no reader of the field knows, or by which no reader finds a source, with their replacements. A word is
/// added here once it is gone from the pages.
const COINED: &[(&str, &str)] = &[
    ("house", "the workspace"),
    ("rooms", "crates"),
    ("notebook", "kadenz-record"),
    ("chore", "a task"),
    ("chores", "tasks"),
    ("desk", "the control socket"),
    ("steward", "the segment supervisor"),
    ("conductor", "the axis group"),
    ("postbox", "the acyclic queue"),
    ("ferry", "the inline loop"),
    ("roster", "the device table"),
    ("quartz", "the oscillator"),
    ("field bus", "the fieldbus"),
    ("mend", "fix"),
    ("mends", "fixes"),
    ("mended", "fixed"),
    ("thrice", "three times"),
    ("to and fro", "back and forth"),
    ("the paper", "its key in docs/bibliography.md"),
    ("the post", "its key in docs/bibliography.md"),
    ("the thesis", "its key in docs/bibliography.md"),
    ("the blog", "its key in docs/bibliography.md"),
];

/// Words for persons, which pages and comments use for devices and programs, with their replacements.
const PERSONS: &[(&str, &str)] = &[
    ("somebody", "a user, a program or a device"),
    ("whoever", "the user, program or device that"),
    ("is told of", "learns of, reads or receives"),
    ("but for", "except for"),
    ("hung up on", "disconnected"),
];

/// Phrases in which `is no` is right. Elsewhere in a text of the program, readers expect `is not a`.
const ALLOWED_NO: [&str; 2] = ["there is no", "is no longer"];

/// Whether a file is neither copied from another project nor written by a program.
fn is_ours(file: &SourceFile) -> bool {
    let fixture = file.path.starts_with("conformance/") && !file.path.ends_with(".md");
    !fixture && !file.path.ends_with(".lock")
}

/// Rule `machine-paths`.
pub(crate) fn machine_paths(files: &[SourceFile]) -> Vec<Finding> {
    find(files, MACHINE_PATHS, "is a path of one machine")
}

/// Rule `registry-hosts`: clients know where their registry is, and others use a mirror.
pub(crate) fn registry_hosts(files: &[SourceFile]) -> Vec<Finding> {
    let reason = "names a registry's host; name the package and its client instead";
    find(files, REGISTRY_HOSTS, reason)
}

/// Rule `authors-tools`: a repository describes its subject, not its making.
pub(crate) fn authors_tools(files: &[SourceFile]) -> Vec<Finding> {
    find(files, AUTHORS_TOOLS, "names a tool of its authors")
}

/// Rule `field-terms`: pages at the root and in docs/, and comments and texts in Rust, use the terms of the field, do not
/// speak of devices as of persons, and do not say "is no" for "is not a".
pub(crate) fn field_terms(files: &[SourceFile]) -> Vec<Finding> {
    let is_page = |file: &&SourceFile| {
        let prose = file.path.starts_with("docs/") || !file.path.contains('/');
        file.is("md") && prose
    };
    let mut findings = Vec::new();
    for file in files.iter().filter(is_page) {
        for (at, line) in links::prose(&file.text) {
            let is_dead = |key: &&str| !file.text.contains(&format!("\n[{key}]: "));
            let dead = keys(&line)
                .filter(is_dead)
                .map(|key| format!("[{key}] leads nowhere; add `[{key}]: bibliography.md#...`"));
            let texts = dead.chain(complaints(&links::without_targets(&line)));
            findings.extend(texts.map(|text| Finding::in_line(&file.path, at - 1, text)));
        }
    }
    let is_code = |file: &&SourceFile| {
        let has_these = file.path.contains("/generated/") || file.path == "xtask/src/tidy/words.rs";
        file.is("rs") && !has_these
    };
    for file in files.iter().filter(is_code) {
        for (at, line) in file.text.lines().enumerate() {
            let words = words_of(line);
            let no = (!is_comment(line) && denies_by_no(&words))
                .then(|| "write `is not a` in place of `is no`".to_owned());
            let texts = complaints(&words).into_iter().chain(no);
            findings.extend(texts.map(|text| Finding::in_line(&file.path, at, text)));
        }
    }
    findings
}

/// The words of a line of Rust: a whole comment, or the content of the string literals that begin in it.
fn words_of(line: &str) -> String {
    match is_comment(line) {
        true => line.to_owned(),
        false => {
            let texts = line.split('"').skip(1).step_by(2);
            texts.collect::<Vec<_>>().join(" ")
        }
    }
}

fn is_comment(line: &str) -> bool {
    line.trim_start().starts_with("//")
}

fn denies_by_no(text: &str) -> bool {
    let mut rest = text.to_lowercase();
    for right in ALLOWED_NO {
        rest = rest.replace(right, "");
    }
    scan::has_word(&rest, "is no")
}

/// The complaint about each word of the lists that a line has.
fn complaints(line: &str) -> Vec<String> {
    let lower = line.to_lowercase();
    let words = COINED.iter().chain(PERSONS);
    let found = words.filter(|(word, _)| scan::has_word(&lower, word));
    found
        .map(|(word, instead)| format!("`{word}` is not a term of the field; write {instead}"))
        .collect()
}

/// The keys of works that a line cites: `[Yoon2009]`.
fn keys(line: &str) -> impl Iterator<Item = &str> {
    let bracketed = line.split('[').skip(1).filter_map(|it| it.split_once(']'));
    bracketed.map(|(key, _)| key).filter(|key| {
        let name = key.trim_end_matches(|c: char| c.is_ascii_lowercase());
        let author = name.trim_end_matches(|c: char| c.is_ascii_digit());
        let lower = author.chars().skip(1).all(|c| c.is_ascii_lowercase());
        name.len() == author.len() + 4 && author.len() > 1 && lower
    })
}

fn find(files: &[SourceFile], words: &[&str], reason: &str) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in files.iter().filter(|file| is_ours(file)) {
        for (at, line) in file.text.lines().enumerate() {
            let lower = line.to_lowercase();
            let is_found = |word: &&&str| stands_in(&lower, &word.to_lowercase());
            findings.extend(
                words
                    .iter()
                    .filter(is_found)
                    .map(|word| Finding::in_line(&file.path, at, format!("{word} {reason}"))),
            );
        }
    }
    findings
}

/// Whether a path stands in a line by itself: a root in the middle of another path does not count.
fn stands_in(line: &str, word: &str) -> bool {
    let goes_on = |c: char| c.is_alphanumeric() || "._-~".contains(c);
    line.match_indices(word).any(|(at, _)| {
        let before = line[..at].chars().next_back();
        !word.starts_with('/') || !before.is_some_and(goes_on)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::samples::{file, places};

    #[test]
    fn paths_of_a_machine_are_found() {
        let line = |path: &str| file("docs/a.md", &format!("fine\nsee {path}x\n"));
        for path in MACHINE_PATHS {
            assert_eq!(
                places(&machine_paths(&[line(path)])),
                ["docs/a.md:2"],
                "{path}"
            );
        }
        let below = concat!("/srv/", "home/");
        assert!(machine_paths(&[line(below), line("/usr/share/")]).is_empty());
    }

    #[test]
    fn hosts_and_tools_are_found_in_any_case() {
        let host = file("package.json", &REGISTRY_HOSTS[2].to_uppercase());
        assert_eq!(places(&registry_hosts(&[host])), ["package.json:1"]);
        let tool = file(
            "README.md",
            &format!("made with {}\n", AUTHORS_TOOLS[0].to_uppercase()),
        );
        assert_eq!(places(&authors_tools(&[tool])), ["README.md:1"]);
    }

    #[test]
    fn coined_words_are_found_in_prose_and_whole() {
        let pages = [
            file(
                "docs/a.md",
                "The Steward asks.\n`desk` is code\n```\nthe paper\n```\n",
            ),
            file("README.md", "[a](desk.md) households\n\nas the post says\n"),
            file("crates/a/README.md", "the steward\n"),
            file(
                "crates/a/src/lib.rs",
                "/// Whoever asks.\nlet steward = \"a text\";\nlet text = \"the steward\";\n",
            ),
        ];
        let expected = [
            "docs/a.md:1",
            "README.md:3",
            "crates/a/src/lib.rs:1",
            "crates/a/src/lib.rs:3",
        ];
        assert_eq!(places(&field_terms(&pages)), expected);
    }

    #[test]
    fn a_text_that_denies_by_no_is_found() {
        let code = "let a = \"`{a}` is no number\";\n// It is no number.\n\
                    let b = \"There is no number, it is no longer here\";\nlet is_no = \"this noun\";\n";
        let found = field_terms(&[file("crates/a/src/lib.rs", code)]);
        assert_eq!(places(&found), ["crates/a/src/lib.rs:1"]);
    }

    #[test]
    fn a_key_without_its_work_is_found() {
        let text = "as [Yoon2009] and [Enner2016b] say, see [Table2] and [a 2016]\n\n\
                    [Yoon2009]: bibliography.md#yoon2009\n";
        let findings = field_terms(&[file("docs/a.md", text)]);
        assert_eq!(places(&findings), ["docs/a.md:1"]);
        assert!(findings[0].text.contains("[Enner2016b]"));
    }

    #[test]
    fn lock_files_and_fixtures_say_what_they_say() {
        let text = MACHINE_PATHS[0];
        let files = [file("Cargo.lock", text), file("conformance/log.hlog", text)];
        assert!(machine_paths(&files).is_empty());
        assert_eq!(
            machine_paths(&[file("conformance/README.md", text)]).len(),
            1
        );
    }
}
