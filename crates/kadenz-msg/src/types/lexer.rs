//! Tokens of a `.lcm` text, and the comments between them.

use super::problem::{Position, Problem};

/// A word or a sign, with the comments before it.
#[derive(Debug, Clone)]
pub(super) struct Token {
    pub(super) text: String,
    pub(super) at: Position,
    pub(super) comments: Vec<Comment>,
}

/// A comment, without its marks.
#[derive(Debug, Clone)]
pub(super) struct Comment {
    pub(super) lines: Vec<String>,
    /// The line on which it begins.
    pub(super) line: usize,
}

/// Signs that end a word, as in lcm-gen; a point does not, so that `a.b` is one word.
const SINGLE: &str = "();\",:'[]";
const OPERATORS: &str = "!~<>=&|^%*+";

/// Returns all tokens. The last one is empty and is at the end of the text.
pub(super) fn tokens(text: &str) -> Result<Vec<Token>, (Position, Problem)> {
    let mut lexer = Lexer::new(text);
    let mut tokens = Vec::new();
    loop {
        let comments = lexer.comments()?;
        let at = lexer.at;
        let text = lexer.word()?;
        let last = text.is_empty();
        tokens.push(Token { text, at, comments });
        if last {
            return Ok(tokens);
        }
    }
}

struct Lexer<'a> {
    rest: &'a str,
    before: Option<char>,
    at: Position,
}

impl<'a> Lexer<'a> {
    fn new(text: &'a str) -> Self {
        Self {
            rest: text.strip_prefix('\u{feff}').unwrap_or(text),
            before: None,
            at: Position { line: 1, column: 1 },
        }
    }

    fn next(&mut self) -> Option<char> {
        let next = self.rest.chars().next()?;
        self.rest = self.rest.get(next.len_utf8()..).unwrap_or_default();
        self.before = Some(next);
        if next == '\n' {
            self.at.line += 1;
            self.at.column = 1;
        } else {
            self.at.column += 1;
        }
        Some(next)
    }

    fn take_while(&mut self, mut wanted: impl FnMut(char) -> bool) -> &'a str {
        let whole = self.rest;
        while self.rest.chars().next().is_some_and(&mut wanted) {
            self.next();
        }
        whole
            .get(..whole.len() - self.rest.len())
            .unwrap_or_default()
    }

    /// Skips white space and comments.
    fn comments(&mut self) -> Result<Vec<Comment>, (Position, Problem)> {
        let mut comments = Vec::new();
        loop {
            self.take_while(char::is_whitespace);
            let line = self.at.line;
            let lines = if self.rest.starts_with("//") {
                self.stands_free("//")?;
                vec![self.line_comment()]
            } else if self.rest.starts_with("/*") {
                self.stands_free("/*")?;
                self.block_comment()?
            } else {
                return Ok(comments);
            };
            comments.push(Comment { lines, line });
        }
    }

    fn line_comment(&mut self) -> String {
        self.take_while(|it| it == '/');
        let line = self.take_while(|it| it != '\n');
        printable(line.strip_prefix(' ').unwrap_or(line))
    }

    fn block_comment(&mut self) -> Result<Vec<String>, (Position, Problem)> {
        let at = self.at;
        let Some(length) = self.rest.get(2..).and_then(|it| it.find("*/")) else {
            return Err((at, Problem::OpenComment));
        };
        let rest = self.rest;
        let inner = rest.get(2..length + 2).unwrap_or_default();
        while rest.len() - self.rest.len() < length + 4 {
            self.next();
        }
        let inner = inner.trim_end_matches('*');
        Ok(inner.split('\n').map(without_stars).collect())
    }

    /// A word or sign; empty at the end.
    fn word(&mut self) -> Result<String, (Position, Problem)> {
        let Some(first) = self.rest.chars().next() else {
            return Ok(String::new());
        };
        if first == '{' || first == '}' {
            let what = if first == '{' { "'{'" } else { "'}'" };
            self.stands_free(what)?;
            self.next();
            return match self.rest.chars().next() {
                Some(next) if !separates(next) => Err((self.at, Problem::Glued { what })),
                _ => Ok(first.to_string()),
            };
        }
        if SINGLE.contains(first) {
            self.next();
            return Ok(first.to_string());
        }
        if OPERATORS.contains(first) {
            return Ok(self.take_while(|it| OPERATORS.contains(it)).to_owned());
        }
        let mut slash = false;
        let word = self.take_while(|it| {
            let comment = slash && (it == '/' || it == '*');
            slash = it == '/';
            !comment && !separates(it) && it != '{' && it != '}'
        });
        let touches = word.ends_with('/') && self.rest.starts_with(['/', '*']);
        match touches {
            true => Err((self.at, Problem::Glued { what: "a comment" })),
            false => Ok(word.to_owned()),
        }
    }

    /// Checks that lcm-gen, too, begins a new token here.
    fn stands_free(&self, what: &'static str) -> Result<(), (Position, Problem)> {
        match self.before {
            Some(before) if !separates(before) && before != '/' => {
                Err((self.at, Problem::Glued { what }))
            }
            _ => Ok(()),
        }
    }
}

fn separates(it: char) -> bool {
    it.is_whitespace() || SINGLE.contains(it) || OPERATORS.contains(it)
}

/// Returns a line of a block comment without the stars before it.
fn without_stars(line: &str) -> String {
    let line = line.trim();
    let bare = line.trim_start_matches('*');
    printable(bare.strip_prefix(' ').unwrap_or(bare))
}

/// Replaces tabs by blanks, and removes other control characters and those that change the direction of
/// writing: a terminal or an editor would act upon them.
fn printable(line: &str) -> String {
    let acts = |it: &char| {
        let turns = matches!(it, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
        !(it.is_control() || turns)
    };
    let line: String = line.replace('\t', "    ").chars().filter(acts).collect();
    line.trim_end().to_owned()
}
