//! The channels that a client's pattern matches, in a form that is cheap to look up for any client.
//!
//! LCM's clients send names, `PREFIX.*`, `.*` and `A|B`, and ours also an escaped name, `A\.B`: those become lookups in
//! a table. Any other regular expression is compiled in small bounds, for ASCII classes, as in LCM.

use std::borrow::Cow;

use regex::bytes::{Regex, RegexBuilder};

use crate::channel::is_literal;

/// How much memory the program of an expression may take, in bytes. Measured on 2026-11-24 with regex
/// 1.13 on a virtual machine: what stays below compiles within 0.1 ms, matches within 0.03 ms and takes
/// 25 kB with its caches.
const MAX_PROGRAM: usize = 8 << 10;
/// The part of a budget that an expression takes, in bytes, with its caches.
pub(super) const EXPRESSION_COST: usize = 32 << 10;
/// The maximum depth of parentheses within parentheses.
const MAX_NESTING: u32 = 16;

/// A part of a pattern that is a lookup.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Name<'a> {
    /// The channel of this name alone.
    Exactly(Cow<'a, str>),
    /// All channels that begin so.
    Prefix(&'a str),
}

/// Returns the parts of a pattern of names, with `|` between; `None` if it is another expression.
pub(super) fn names(pattern: &str) -> Option<Vec<Name<'_>>> {
    if let Some(name) = unescaped(pattern) {
        return Some(vec![Name::Exactly(name.into())]);
    }
    let inner = pattern
        .strip_prefix('(')
        .and_then(|it| it.strip_suffix(')'));
    let parts = inner.unwrap_or(pattern).split('|');
    let name = |part| match str::strip_suffix(part, ".*") {
        Some(prefix) => is_literal(prefix).then_some(Name::Prefix(prefix)),
        None => is_literal(part).then(|| Name::Exactly(part.into())),
    };
    parts.map(name).collect()
}

/// Returns the name that a pattern is by escapes, `A\.B`.
fn unescaped(pattern: &str) -> Option<String> {
    let mut letters = pattern.chars();
    let next = || match letters.next()? {
        '\\' => letters.next(),
        letter => Some(letter),
    };
    let name: String = std::iter::from_fn(next).collect();
    (name != pattern && regex::escape(&name) == pattern).then_some(name)
}

/// Compiles the patterns that are not names; `None` if the text is not an expression, or exceeds those bounds.
pub(super) fn compile(pattern: &str) -> Option<Regex> {
    RegexBuilder::new(&format!("^(?:{pattern})$"))
        .unicode(false)
        .dot_matches_new_line(true)
        .size_limit(MAX_PROGRAM)
        .dfa_size_limit(MAX_PROGRAM)
        .nest_limit(MAX_NESTING)
        .build()
        .ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_clients_send_are_names() {
        let exactly = |name: &'static str| Name::Exactly(name.into());
        assert_eq!(names("ARM"), Some(vec![exactly("ARM")]));
        assert_eq!(names(".*"), Some(vec![Name::Prefix("")]));
        let both = vec![exactly("robot/arm-1"), Name::Prefix("LEG_")];
        assert_eq!(names("robot/arm-1|LEG_.*"), Some(both.clone()));
        assert_eq!(names("(robot/arm-1|LEG_.*)"), Some(both));
        for name in ["P+OSE.1", "A|B", "(A)", r"A\B", "robot.arm-1"] {
            assert_eq!(names(&regex::escape(name)), Some(vec![exactly(name)]));
        }
        for other in [
            "ARM_.",
            "(A|B)|(C|D)",
            "A.*B",
            "[AB]",
            "A+",
            "(A",
            r"\d",
            r"A\.B.",
            r"A\",
        ] {
            assert_eq!(names(other), None, "{other}");
        }
    }

    #[test]
    fn an_expression_matches_whole_names() {
        let arms = compile("ARM_(LEFT|RIGHT)|\\w+_\\d").unwrap();
        assert!(arms.is_match(b"ARM_LEFT") && arms.is_match(b"LEG_7"));
        assert!(!arms.is_match(b"ARM_LEFT_ELBOW"));
        assert!(compile(".{3}").unwrap().is_match(b"a\nb"));
    }

    #[test]
    fn what_would_take_long_or_much_is_refused() {
        let deep = format!("{}A{}", "(".repeat(400), ")".repeat(400));
        for monster in [
            "(?:[AB]?){4000}",
            "((a{1000}){1000}){1000}",
            "(?:a?){500}",
            &deep,
            "(",
        ] {
            assert!(compile(monster).is_none(), "{monster}");
        }
    }
}
