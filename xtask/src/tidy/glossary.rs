//! The words that this project coined: docs/glossary.md lists each beside the field's term.

use super::Finding;
use super::size::is_code;
use crate::repository::{SourceFile, text_of};

const GLOSSARY: &str = "docs/glossary.md";

/// Files that may have words that are gone: the history, and the list below.
const EXEMPT: [&str; 4] = [
    GLOSSARY,
    "CHANGELOG.md",
    "docs/decisions/",
    "xtask/src/tidy/glossary.rs",
];

/// Words that a reader who knows the field does not know. Add a word here with its row in the glossary, and take it
/// out with the row.
const COINED: &[&str] = &[
    "anticipate",
    "beat",
    "budget",
    "cable",
    "campaign",
    "cell",
    "contestant",
    "doctor",
    "entrance",
    "fabric",
    "fingerprint",
    "granted",
    "headline",
    "hiccup",
    "incident",
    "inlet",
    "lane",
    "lateness",
    "leftover",
    "matrix",
    "miss",
    "mode",
    "newcomer",
    "noise floor",
    "notice",
    "outbox",
    "outlet",
    "phaser",
    "planted",
    "probe",
    "provider",
    "recipe",
    "rehearsal",
    "rehearse",
    "rig",
    "shield",
    "spinning sleep",
    "tally",
    "testbed",
    "ticket",
    "timekeeper",
    "tuning",
    "verdict",
    "watch",
];

/// Rule `glossary`: both ways, between the glossary and the words in code and pages.
pub(crate) fn check(files: &[SourceFile]) -> Vec<Finding> {
    let glossary = text_of(files, GLOSSARY).unwrap_or_default();
    let rows: Vec<_> = rows(glossary).collect();
    let explained = |word: &str| rows.iter().any(|(_, words, _)| words.contains(&word));
    let unexplained = COINED.iter().filter(|word| !explained(word));
    let mut findings: Vec<Finding> = unexplained
        .filter_map(|word| Some((word, place_of(files, word)?)))
        .map(|(word, place)| {
            let text = format!("`{word}` is coined; add it to {GLOSSARY} with the field's term");
            Finding::error(place, text)
        })
        .collect();
    for (line, words, term) in &rows {
        let place = format!("{GLOSSARY}:{line}");
        if words.contains(&"") {
            findings.push(Finding::error(place, "has no word"));
        } else if words.iter().all(|word| place_of(files, word).is_none()) {
            let text = format!("no code and no page has `{}`", words.join(", "));
            findings.push(Finding::error(place, text));
        } else if term.is_empty() {
            findings.push(Finding::error(place, "has no term of the field"));
        }
    }
    findings
}

/// The rows of the glossary: line number, words without what is in brackets, and the term of the field.
fn rows(glossary: &str) -> impl Iterator<Item = (usize, Vec<&str>, &str)> {
    let lines = glossary.lines().enumerate();
    let rows = lines.filter(|(_, line)| line.starts_with('|')).skip(2);
    rows.map(|(at, line)| {
        let mut cells = line.split('|').skip(1).map(str::trim);
        let words = cells.next().unwrap_or_default();
        let words = words.split(" (").next().unwrap_or_default().split(", ");
        (at + 1, words.collect(), cells.next().unwrap_or_default())
    })
}

/// The first place of a word, in a text or as a part of a name.
fn place_of(files: &[SourceFile], word: &str) -> Option<String> {
    let mut capital = word.to_owned();
    if let Some(first) = capital.get_mut(..1) {
        first.make_ascii_uppercase();
    }
    let forms = [
        word,
        &capital,
        &word.to_uppercase(),
        &word.replace(' ', "_"),
    ];
    let ours = |it: &&SourceFile| is_code(it) || it.is("md");
    let is_exempt = |it: &SourceFile| EXEMPT.iter().any(|begin| it.path.starts_with(begin));
    let read = files.iter().filter(|it| ours(it) && !is_exempt(it));
    let mut places = read.filter_map(|file| {
        let at = forms.iter().find_map(|form| position(&file.text, form))?;
        let line = file.text[..at].matches('\n').count() + 1;
        Some(format!("{}:{line}", file.path))
    });
    places.next()
}

/// Where a word stands, also in the plural or the past tense; in a name, a letter of the other case or `_` begins the
/// next.
fn position(text: &str, word: &str) -> Option<usize> {
    let is_upper = |c: char| c.is_ascii_uppercase();
    let is_lower = |c: char| c.is_ascii_lowercase();
    let places = text.match_indices(word);
    let mut places = places.map(|(at, _)| (at, &text[..at], &text[at + word.len()..]));
    let found = if word.ends_with(is_upper) {
        places.find(|&(_, before, after)| {
            let end = after.strip_prefix('S').unwrap_or(after);
            !before.ends_with(is_upper) && !end.starts_with(is_upper)
        })
    } else {
        places.find(|&(_, before, after)| {
            let end = after.strip_prefix(['s', 'd']).unwrap_or(after);
            let is_part =
                word.starts_with(is_lower) && before.ends_with(|c: char| c.is_ascii_alphabetic());
            !is_part && (!after.starts_with(is_lower) || !end.starts_with(is_lower))
        })
    };
    found.map(|(at, ..)| at)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::samples::{file, places};

    #[test]
    fn a_word_without_a_row_and_a_row_without_a_word_are_found() {
        let glossary = "| word | term | meaning |\n|---|---|---|\n| beat (of a loop) | release time | a |\n\
                        | inlet, outlet | subscriber | a |\n| gone | lost | a |\n| lane | | a |\n";
        let files = [
            file("CHANGELOG.md", "hiccup\n"),
            file("crates/a/src/lib.rs", "let beats = outlet_of(Lane);\n"),
            file(
                "crates/a/src/rig.rs",
                "right(overanticipated);\nlet x = RigOfTest;\n",
            ),
            file("docs/a.md", "Rehearsed.\n"),
            file(GLOSSARY, glossary),
        ];
        let expected = [
            "docs/a.md:1",
            "crates/a/src/rig.rs:2",
            "docs/glossary.md:5",
            "docs/glossary.md:6",
        ];
        assert_eq!(places(&check(&files)), expected);
    }

    #[test]
    fn a_word_in_upper_case_is_no_part_of_another() {
        let found = ["RIG", "RIGS", "RIG_A", "A_RIGS", "aRIG", "RIGHT RIG"];
        for text in found {
            assert!(position(text, "RIG").is_some(), "{text}");
        }
        for text in ["RIGHT", "BRIG", "RIGSA", "BRIGS", "RIGD"] {
            assert_eq!(position(text, "RIG"), None, "{text}");
        }
        assert_eq!(position("HEARTBEAT BEAT", "BEAT"), Some(10));
    }

    #[test]
    fn a_row_without_a_word_is_found_and_decisions_are_no_use_of_one() {
        let glossary = "| word | term | meaning |\n|---|---|---|\n|| x | a |\n| | x | a |\n\
                        | \u{e4}on, rig | x | a |\n| gone | x | a |\n";
        let files = [
            file("docs/decisions/0001-a.md", "gone, and a hiccup\n"),
            file("docs/a.md", "\u{c4}on of a rig\n"),
            file(GLOSSARY, glossary),
        ];
        let found = check(&files);
        let expected = [3, 4, 6].map(|it| format!("{GLOSSARY}:{it}"));
        assert_eq!(places(&found), expected);
        assert_eq!(found[0].text, "has no word");
    }
}
