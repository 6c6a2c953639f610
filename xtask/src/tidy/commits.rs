//! The messages of commits.

use super::Finding;
use crate::repository::Repository;

const SUBJECT_LENGTH: usize = 72;
const TOPIC_LENGTH: usize = 30;

/// The commits whose subjects are checked, without merges.
#[derive(Clone, Debug)]
pub(crate) enum Commits {
    /// Those that are not yet upstream.
    New(Vec<Commit>),
    /// The last ones, where none is known to be new: others may have them already.
    Last(Vec<Commit>),
    /// None, with the reason.
    Unknown(String),
}

impl Default for Commits {
    fn default() -> Self {
        Self::New(Vec::new())
    }
}

/// A commit: its hash, as short as git prints it, and the first line of its message.
#[derive(Clone, Debug)]
pub(crate) struct Commit {
    hash: String,
    subject: String,
}

impl Commits {
    /// Those that the branch has beyond the default one, or beyond its upstream; the last ones where it has none.
    pub(crate) fn of(repository: &Repository) -> Self {
        match repository.git("rev-parse --is-shallow-repository") {
            Ok(it) if it.trim() == "false" => {}
            Ok(_) => return Self::Unknown("this is a shallow clone".to_owned()),
            Err(error) => return Self::Unknown(format!("{error:#}")),
        }
        let log = |range: &str| -> Vec<Commit> {
            let log = repository.git(&format!("log --no-merges --format=%h%x20%s {range}"));
            // A range whose base git does not know has no commits.
            let log = log.unwrap_or_default();
            let commits = log.lines().filter_map(|line| line.split_once(' '));
            commits.map(commit).collect()
        };
        let mut ahead = ["origin/HEAD..HEAD", "@{upstream}..HEAD"]
            .map(log)
            .into_iter();
        match ahead.find(|commits| !commits.is_empty()) {
            Some(commits) => Self::New(commits),
            None => Self::Last(log("-20")),
        }
    }
}

fn commit((hash, subject): (&str, &str)) -> Commit {
    Commit {
        hash: hash.to_owned(),
        subject: subject.to_owned(),
    }
}

/// Rule `commit-subjects`. What others may have already is a warning: a new subject would change their history.
pub(crate) fn subjects(commits: &Commits) -> Vec<Finding> {
    match commits {
        Commits::New(commits) => faults(commits, true),
        Commits::Last(commits) => faults(commits, false),
        Commits::Unknown(why) => vec![Finding::warning("git", format!("skipped: {why}"))],
    }
}

fn faults(commits: &[Commit], grave: bool) -> Vec<Finding> {
    let finding = |Commit { hash, subject }: &Commit| {
        let text = format!("`{subject}` {}", fault(own_subject(subject))?);
        Some(Finding {
            grave,
            ..Finding::error(format!("commit {hash}"), text)
        })
    };
    commits.iter().filter_map(finding).collect()
}

/// The subject without what git puts around that of a commit to amend or to revert.
fn own_subject(subject: &str) -> &str {
    let amended = ["fixup! ", "squash! ", "amend! "];
    let amended = amended.iter().find_map(|it| subject.strip_prefix(it));
    let reverted = || subject.strip_prefix("Revert \"")?.strip_suffix('"');
    amended.or_else(reverted).map_or(subject, own_subject)
}

fn fault(subject: &str) -> Option<String> {
    let length = subject.chars().count();
    if length > SUBJECT_LENGTH {
        return Some(format!(
            "has {length} characters; {SUBJECT_LENGTH} are enough"
        ));
    }
    let topic = subject.split_once(": ").map(|(topic, _)| topic);
    let may = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || " ,-_".contains(c);
    let is_topic = |it: &str| !it.is_empty() && it.len() <= TOPIC_LENGTH && it.chars().all(may);
    (!topic.is_some_and(is_topic)).then(|| "begins with no topic: `udp probe: ...`".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::samples::places;

    #[test]
    fn long_subjects_and_those_without_a_topic_are_found() {
        let long = format!("msg: {}", "a".repeat(68));
        let commits = [
            ("1", "report, lab: one table"),
            ("2", "fix"),
            ("3", &long),
            ("4", &long[1..]),
            ("5", "Ratio: a type"),
            ("6", "the message of what a user found today: fixed"),
        ];
        let expected = ["commit 2", "commit 3", "commit 5", "commit 6"];
        let new = subjects(&Commits::New(commits.map(commit).to_vec()));
        assert_eq!(places(&new), expected);
        assert!(new.iter().all(|it| it.grave), "{new:?}");
        let last = subjects(&Commits::Last(commits.map(commit).to_vec()));
        assert_eq!(places(&last), expected);
        assert!(last.iter().all(|it| !it.grave), "{last:?}");
        let unknown = subjects(&Commits::Unknown("a shallow clone".to_owned()));
        assert_eq!(unknown[0].text, "skipped: a shallow clone");
        assert!(!unknown[0].grave, "{unknown:?}");
    }

    #[test]
    fn amended_and_reverted_commits_have_the_subject_of_the_other() {
        let long = format!("fixup! msg: {}", "a".repeat(66));
        let commits = [
            ("1", "fixup! lab: one table"),
            ("2", "squash! fixup! lab: one table"),
            ("3", "amend! lab: one table"),
            ("4", "Revert \"lab: one table\""),
            ("5", "Revert \"Revert \"lab: one table\"\""),
            ("6", &long),
            ("7", "fixup! fix"),
            ("8", "Revert \"fix\""),
            ("9", "Revert the table"),
        ];
        let found = subjects(&Commits::New(commits.map(commit).to_vec()));
        assert_eq!(places(&found), ["commit 7", "commit 8", "commit 9"]);
    }
}
