//! The messages of commits.

use super::Finding;
use crate::repository::Commit;

const SUBJECT_LENGTH: usize = 72;
const TOPIC_LENGTH: usize = 30;

/// Rule `commit-subjects`.
pub(crate) fn subjects(commits: &[Commit]) -> Vec<Finding> {
    let faults = commits
        .iter()
        .filter_map(|it| Some((it, fault(&it.subject)?)));
    faults
        .map(|(commit, fault)| {
            let text = format!("`{}` {fault}", commit.subject);
            Finding::error(format!("commit {}", commit.hash), text)
        })
        .collect()
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
        let commit = |(hash, subject): (&str, &str)| Commit {
            hash: hash.to_owned(),
            subject: subject.to_owned(),
        };
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
        assert_eq!(places(&subjects(&commits.map(commit))), expected);
    }
}
