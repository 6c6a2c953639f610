//! The messages of commits.

use super::Finding;
use crate::repository::{Commit, Commits};

const SUBJECT_LENGTH: usize = 72;
const TOPIC_LENGTH: usize = 30;

/// Rule `commit-subjects`. What others may have already is a warning: a new subject would change their history.
pub(crate) fn subjects(commits: &Commits) -> Vec<Finding> {
    match commits {
        Commits::New(commits) => faults(commits, true),
        Commits::Last(commits) => faults(commits, false),
        Commits::Unknown(why) => vec![Finding::warning("git", format!("skipped: {why}"))],
    }
}

fn faults(commits: &[Commit], grave: bool) -> Vec<Finding> {
    let faults = commits
        .iter()
        .filter_map(|it| Some((it, fault(own_subject(&it.subject))?)));
    faults
        .map(|(commit, fault)| {
            let text = format!("`{}` {fault}", commit.subject);
            Finding {
                grave,
                ..Finding::error(format!("commit {}", commit.hash), text)
            }
        })
        .collect()
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

    fn commit((hash, subject): (&str, &str)) -> Commit {
        Commit {
            hash: hash.to_owned(),
            subject: subject.to_owned(),
        }
    }

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
