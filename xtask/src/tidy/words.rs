//! Words that do not belong into a repository. They are spelled in pieces here, so that this file
//! passes its own rules.

use super::Finding;
use crate::repository::SourceFile;

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

/// Files that are taken over whole, or that a program writes.
fn is_ours(file: &SourceFile) -> bool {
    let fixture = file.path.starts_with("conformance/") && !file.path.ends_with(".md");
    !fixture && !file.path.ends_with(".lock")
}

/// Rule `machine-paths`.
pub fn machine_paths(files: &[SourceFile]) -> Vec<Finding> {
    find(files, MACHINE_PATHS, "is a path of one machine")
}

/// Rule `registry-hosts`: clients know where their registry is, and others use a mirror.
pub fn registry_hosts(files: &[SourceFile]) -> Vec<Finding> {
    find(
        files,
        REGISTRY_HOSTS,
        "names a registry's host; name the package and its client instead",
    )
}

/// Rule `authors-tools`: a repository speaks of its subject, not of its making.
pub fn authors_tools(files: &[SourceFile]) -> Vec<Finding> {
    find(files, AUTHORS_TOOLS, "names a tool of its authors")
}

fn find(files: &[SourceFile], words: &[&str], reason: &str) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in files.iter().filter(|file| is_ours(file)) {
        for (at, line) in file.text.lines().enumerate() {
            let lower = line.to_lowercase();
            for word in words
                .iter()
                .filter(|word| stands_in(&lower, &word.to_lowercase()))
            {
                let place = format!("{}:{}", file.path, at + 1);
                findings.push(Finding::error(place, format!("{word} {reason}")));
            }
        }
    }
    findings
}

/// A path begins where no other path goes on: a root in the middle of one is none.
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
