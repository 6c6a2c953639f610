//! Rust source with its comments and strings blanked out, so that a search finds code only. Lines and columns keep
//! their places.

/// Blanks comments with spaces and the insides of strings and characters with `"`.
pub(crate) fn code_only(source: &str) -> String {
    let mut scan = Scan {
        rest: source,
        out: String::with_capacity(source.len()),
    };
    while !scan.rest.is_empty() {
        scan.step();
    }
    scan.out
}

/// The released part of a file: nothing of a test file, and of others the text before their test module.
pub(crate) fn shipped<'a>(path: &str, code: &'a str) -> &'a str {
    if path.contains("/tests/") || path.ends_with("/tests.rs") {
        return "";
    }
    let is_module = |it: &str| {
        let line = it.lines().nth(1).unwrap_or_default();
        (line.starts_with("mod ") || line.starts_with("pub mod ")) && line.contains('{')
    };
    code.match_indices("#[cfg(test)]\n")
        .find(|(at, _)| is_module(&code[*at..]))
        .map_or(code, |(at, _)| &code[..at])
}

struct Scan<'a> {
    rest: &'a str,
    out: String,
}

impl Scan<'_> {
    fn step(&mut self) {
        if self.rest.starts_with("//") {
            self.blank(self.rest.find('\n').unwrap_or(self.rest.len()), ' ');
        } else if self.rest.starts_with("/*") {
            self.blank(block_comment_length(self.rest), ' ');
        } else if let Some(length) = raw_string_length(self.rest, self.out.chars().next_back()) {
            self.blank(length, '"');
        } else if self.rest.starts_with('"') {
            self.blank(string_length(self.rest, '"'), '"');
        } else if is_character(self.rest) {
            self.blank(string_length(self.rest, '\''), '"');
        } else {
            self.copy();
        }
    }

    fn copy(&mut self) {
        if let Some(first) = self.rest.chars().next() {
            self.out.push(first);
            self.rest = &self.rest[first.len_utf8()..];
        }
    }

    fn blank(&mut self, length: usize, filler: char) {
        let (blanked, rest) = self.rest.split_at(length);
        let keep = |c: char| if c == '\n' { c } else { filler };
        self.out.extend(blanked.chars().map(keep));
        self.rest = rest;
    }
}

/// Block comments nest.
fn block_comment_length(text: &str) -> usize {
    let (mut depth, mut at) = (0usize, 0);
    while at < text.len() {
        let rest = &text[at..];
        if rest.starts_with("/*") {
            depth += 1;
            at += 2;
        } else if rest.starts_with("*/") {
            depth -= 1;
            at += 2;
            if depth == 0 {
                return at;
            }
        } else {
            at += rest.chars().next().map_or(1, char::len_utf8);
        }
    }
    text.len()
}

/// `r"..."`, `r#"..."#`, `br"..."`, when no name ends right before.
fn raw_string_length(text: &str, before: Option<char>) -> Option<usize> {
    if before.is_some_and(|c| c.is_alphanumeric() || c == '_') {
        return None;
    }
    let after_r = text.strip_prefix('r').or_else(|| text.strip_prefix("br"))?;
    let hashes = after_r.len() - after_r.trim_start_matches('#').len();
    let body = after_r[hashes..].strip_prefix('"')?;
    let end = format!("\"{}", "#".repeat(hashes));
    let opening = text.len() - body.len();
    Some(
        body.find(&end)
            .map_or(text.len(), |at| opening + at + end.len()),
    )
}

/// Length of a string or character with its quotes; a backslash takes the next character along.
fn string_length(text: &str, quote: char) -> usize {
    let mut escaped = false;
    for (at, c) in text.char_indices().skip(1) {
        if escaped {
            escaped = false;
        } else if c == '\\' {
            escaped = true;
        } else if c == quote {
            return at + c.len_utf8();
        }
    }
    text.len()
}

/// Distinguishes `'a'` and `'\n'` from the lifetime `'a`.
fn is_character(text: &str) -> bool {
    let mut inside = text.chars();
    if inside.next() != Some('\'') {
        return false;
    }
    matches!(
        (inside.next(), inside.next()),
        (Some('\\'), _) | (Some(_), Some('\''))
    )
}

/// Whether `word` stands in `line` as a word of its own.
pub(crate) fn has_word(line: &str, word: &str) -> bool {
    let part_of_name = |c: char| c.is_alphanumeric() || c == '_';
    line.match_indices(word).any(|(at, _)| {
        let before = line[..at].chars().next_back();
        let after = line[at + word.len()..].chars().next();
        !before.is_some_and(part_of_name) && !after.is_some_and(part_of_name)
    })
}

/// The name with which a text begins.
pub(crate) fn name_at(text: &str) -> &str {
    let end = text.find(|c: char| !c.is_alphanumeric() && c != '_');
    &text[..end.unwrap_or(text.len())]
}

/// A function with its place and size.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Function {
    /// Its name, without its type or module.
    pub(crate) name: String,
    /// The line its `fn` stands on, from 1.
    pub(crate) line: usize,
    /// Lines from `fn` to the closing brace that hold code.
    pub(crate) code_lines: usize,
}

/// The functions in code that [`code_only`] made; a function inside another counts in both.
pub(crate) fn functions(code: &str) -> Vec<Function> {
    let starts = code.match_indices("fn ").filter(|(at, _)| {
        let before = code[..*at].chars().next_back();
        !before.is_some_and(|c| c.is_alphanumeric() || c == '_')
    });
    starts.filter_map(|(at, _)| function_at(code, at)).collect()
}

fn function_at(code: &str, at: usize) -> Option<Function> {
    let rest = &code[at..];
    let name = name_at(rest[3..].trim_start());
    let end = body_end(rest)?;
    if name.is_empty() {
        return None;
    }
    Some(Function {
        name: name.to_owned(),
        line: code[..at].matches('\n').count() + 1,
        code_lines: rest[..end]
            .lines()
            .filter(|line| !line.trim().is_empty())
            .count(),
    })
}

/// Where the body closes; `None` for a declaration without one.
fn body_end(function: &str) -> Option<usize> {
    let (mut depth, mut nested) = (0usize, 0usize);
    for (at, c) in function.char_indices() {
        match c {
            '(' | '[' => nested += 1,
            ')' | ']' => nested = nested.saturating_sub(1),
            ';' if depth == 0 && nested == 0 => return None,
            '{' => depth += 1,
            '}' => {
                depth = depth.checked_sub(1)?;
                if depth == 0 {
                    return Some(at + 1);
                }
            }
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_and_strings_vanish_and_lines_stay() {
        let source =
            "let a = \"unsafe \\\" {\"; // unsafe\n/* unsafe /* deep */\n unsafe */ b('\\'');";
        let code = code_only(source);
        assert!(!code.contains("unsafe"), "{code}");
        assert_eq!(code.lines().count(), source.lines().count());
        assert!(
            code.starts_with("let a = ") && code.ends_with("b(\"\"\"\");"),
            "{code}"
        );
    }

    #[test]
    fn raw_strings_and_lifetimes_are_distinguished() {
        let code = code_only("fn f<'a>(x: &'a str) { r#\"unsafe \" {\"#; br\"unsafe\"; 'x' }");
        assert!(code.starts_with("fn f<'a>(x: &'a str) { "), "{code}");
        assert!(
            !code.contains("unsafe") && !code.contains('x') | code.contains("(x:"),
            "{code}"
        );
        assert!(code.ends_with(" }"), "{code}");
    }

    #[test]
    fn a_name_that_ends_with_r_starts_no_raw_string() {
        let code = code_only("writer\"x\"; unsafe");
        assert!(code.ends_with("; unsafe"), "{code}");
    }

    #[test]
    fn tests_do_not_ship() {
        let code = "fn a() {}\n#[cfg(test)]\nmod tests { fn b() {} }\n";
        assert_eq!(shipped("crates/a/src/lib.rs", code), "fn a() {}\n");
        assert_eq!(shipped("crates/a/tests/b.rs", code), "");
        assert_eq!(shipped("crates/a/src/c/tests.rs", code), "");
        assert_eq!(
            shipped("crates/a/src/d.rs", "#[cfg(test)]\nuse x;\nfn e() {}"),
            "#[cfg(test)]\nuse x;\nfn e() {}"
        );
        let declared = "#[cfg(test)]\nmod tests;\nfn e() {}\n";
        assert_eq!(shipped("crates/a/src/d.rs", declared), declared);
    }

    #[test]
    fn words_are_whole() {
        assert!(has_word("unsafe {", "unsafe"));
        assert!(!has_word("unsafe_code", "unsafe"));
        assert!(!has_word("not_unsafe", "unsafe"));
    }

    #[test]
    fn functions_are_measured_without_comments_and_blank_lines() {
        let source = "trait T { fn declared(&self) -> [u8; 3]; }\n\nfn long() {\n    // why\n\n    \
                      let f = |x: u8| { x };\n}\n";
        let expected = Function {
            name: "long".to_owned(),
            line: 3,
            code_lines: 3,
        };
        assert_eq!(functions(&code_only(source)), [expected]);
    }
}
