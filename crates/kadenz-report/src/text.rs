//! Text for a terminal: prose that keeps to a width, without foreign control characters.

use std::borrow::Cow;
use std::fmt;
use std::io::IsTerminal as _;
use std::ops::Deref;
use std::path::Path;

/// Text for a terminal. It contains names and words of a run, a log or a message in the form of [`visible`]; its only
/// escape sequences are this crate's own colours.
///
/// ```
/// use kadenz_report::text::Text;
///
/// let text = Text::from("a\u{1b}[2Jb");
/// assert_eq!(text, "a\\u{1b}[2Jb");
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Text(String);

/// The style of emphasised words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Emphasis {
    /// Bold, in the usual colour.
    Bold,
    /// Bold and green.
    Good,
    /// Bold and red.
    Bad,
    /// Bold and yellow.
    Warning,
}

impl Text {
    /// Emphasised words.
    #[must_use]
    pub fn emphasised(words: &str, emphasis: Emphasis) -> Self {
        let code = match emphasis {
            Emphasis::Bold => "1",
            Emphasis::Good => "1;32",
            Emphasis::Bad => "1;31",
            Emphasis::Warning => "1;33",
        };
        Self(format!("\u{1b}[{code}m{}\u{1b}[0m", visible(words)))
    }

    /// Text whose escape sequences are colours, as the caller guarantees.
    pub(super) fn trusted(text: String) -> Self {
        Self(text)
    }

    /// The text without its colours: they are the only escape sequences that it can hold.
    pub(crate) fn plain(&self) -> String {
        let mut parts = self.0.split('\u{1b}');
        let mut plain = parts.next().unwrap_or_default().to_owned();
        plain.extend(parts.map(|part| part.split_once('m').map_or("", |(_, words)| words)));
        plain
    }

    /// Joins parts with a separator.
    #[must_use]
    pub fn join(parts: impl IntoIterator<Item: Into<Self>>, between: &str) -> Self {
        let parts: Vec<String> = parts.into_iter().map(|part| part.into().0).collect();
        Self(parts.join(&visible(between)))
    }
}

impl From<&str> for Text {
    fn from(text: &str) -> Self {
        Self(visible(text).into_owned())
    }
}

impl From<String> for Text {
    fn from(text: String) -> Self {
        Self::from(text.as_str())
    }
}

impl Deref for Text {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Text {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.0)
    }
}

impl PartialEq<&str> for Text {
    fn eq(&self, other: &&str) -> bool {
        self.0 == *other
    }
}

/// Foreign text that is safe for a terminal: characters that control a terminal, change the direction of the following
/// text or are invisible are written as `\u{1b}`. Line breaks and tabulators stay.
///
/// ```
/// use kadenz_report::text::visible;
///
/// assert_eq!(visible("one\ntwo \u{202e}"), "one\ntwo \\u{202e}");
/// ```
#[must_use]
pub fn visible(text: &str) -> Cow<'_, str> {
    escaped(text, |it| is_hidden(it) && !matches!(it, '\n' | '\t'))
}

/// A word as a POSIX shell reads it back.
///
/// ```
/// use kadenz_report::text::shell_quoted;
///
/// assert_eq!(shell_quoted("--rate"), "--rate");
/// assert_eq!(shell_quoted("it's $HOME"), r"'it'\''s $HOME'");
/// ```
#[must_use]
pub fn shell_quoted(word: &str) -> Cow<'_, str> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=,@%+".contains(c);
    match !word.is_empty() && word.chars().all(is_plain) {
        true => Cow::Borrowed(word),
        false => Cow::Owned(format!("'{}'", word.replace('\'', r"'\''"))),
    }
}

/// A path as an argument that a user can type.
///
/// ```
/// use std::path::Path;
///
/// use kadenz_report::text::shell_path;
///
/// assert_eq!(shell_path(Path::new("-my run")), "'./-my run'");
/// ```
#[must_use]
pub fn shell_path(path: &Path) -> String {
    let text = path.to_string_lossy();
    let begins_as_option = if text.starts_with('-') { "./" } else { "" };
    shell_quoted(&format!("{begins_as_option}{text}")).into_owned()
}

/// Words that a command starts with; a loop of a shell starts with `for`.
const PROGRAMS: [&str; 12] = [
    "sudo",
    "kadenz",
    "sysctl",
    "systemctl",
    "echo",
    "printf",
    "cat",
    "chmod",
    "chrt",
    "apt-get",
    "ulimit",
    "powercfg",
];

/// The command in a line of a remedy, and the words before it; `None` for a step in words.
///
/// ```
/// use kadenz_report::text::command_in;
///
/// let command = "sudo sysctl -w vm.swappiness=0";
/// assert_eq!(command_in(&format!("now: {command}")), Some(("now: ", command)));
/// assert_eq!(command_in("for good: add preempt=full to the kernel's command line"), None);
/// ```
#[must_use]
pub fn command_in(line: &str) -> Option<(&str, &str)> {
    let behind_colons = line.match_indices(": ").map(|(at, colon)| at + colon.len());
    let mut starts = std::iter::once(0).chain(behind_colons);
    let start = starts.find(|start| is_command(&line[*start..]))?;
    Some(line.split_at(start))
}

/// Whether text is a known program with an argument that no prose would have.
fn is_command(text: &str) -> bool {
    let mut words = text.split_whitespace();
    match words.next() {
        Some("for") => text.contains("; do "),
        Some(first) => PROGRAMS.contains(&first) && text.contains(['-', '/', '=', '.', '|']),
        None => false,
    }
}

/// As [`visible`], for a name that is part of a line: its line breaks are escaped, too.
#[must_use]
pub fn one_line(text: &str) -> Cow<'_, str> {
    escaped(text, is_hidden)
}

fn escaped(text: &str, is_hidden: impl Fn(char) -> bool) -> Cow<'_, str> {
    if !text.chars().any(&is_hidden) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() + 16);
    for character in text.chars() {
        match is_hidden(character) {
            true => shown.extend(character.escape_unicode()),
            false => shown.push(character),
        }
    }
    Cow::Owned(shown)
}

/// Whether a character controls a terminal or is invisible: controls (C0, DEL, C1), separators of lines and paragraphs,
/// interlinear annotations, and those with Unicode 16's property `Default_Ignorable_Code_Point`
/// (`DerivedCoreProperties.txt`), among them all that set the direction (UAX 9).
#[must_use]
pub fn is_hidden(character: char) -> bool {
    character.is_control()
        || matches!(
            character,
            '\u{ad}'
                | '\u{34f}'
                | '\u{61c}'
                | '\u{115f}'..='\u{1160}'
                | '\u{17b4}'..='\u{17b5}'
                | '\u{180b}'..='\u{180f}'
                | '\u{200b}'..='\u{200f}'
                | '\u{2028}'..='\u{202e}'
                | '\u{2060}'..='\u{206f}'
                | '\u{3164}'
                | '\u{fe00}'..='\u{fe0f}'
                | '\u{feff}'
                | '\u{ffa0}'
                | '\u{fff0}'..='\u{fffb}'
                | '\u{1bca0}'..='\u{1bca3}'
                | '\u{1d173}'..='\u{1d17a}'
                | '\u{e0000}'..='\u{e0fff}'
        )
}

/// Breaks `text` at spaces so that no line is longer than `width` characters, except for single words that are longer.
#[must_use]
pub fn wrap(text: &str, width: u16) -> String {
    let width = usize::from(width);
    let mut lines: Vec<String> = Vec::new();
    for paragraph in text.lines() {
        let mut line = String::new();
        let mut length = 0;
        for word in paragraph.split_whitespace() {
            let letters = word.chars().count();
            if length > 0 && length + 1 + letters > width {
                lines.push(std::mem::take(&mut line));
                length = 0;
            }
            if length > 0 {
                line.push(' ');
                length += 1;
            }
            line.push_str(word);
            length += letters;
        }
        lines.push(line);
    }
    lines.join("\n")
}

/// Width that is assumed without a terminal.
const PLAIN_WIDTH: u16 = 100;
/// Below this width no table is readable; it then exceeds the width.
const MIN_WIDTH: u16 = 32;

/// Options of drawing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Style {
    /// Available width, in characters.
    pub width: u16,
    /// Lines and colours; without them tables are Markdown.
    pub rich: bool,
}

impl Style {
    /// Markdown, 100 columns wide: for files, pipes and tests.
    #[must_use]
    pub fn plain() -> Self {
        Self {
            width: PLAIN_WIDTH,
            rich: false,
        }
    }

    /// The same with this many columns.
    #[must_use]
    pub fn of_width(self, width: u16) -> Self {
        Self { width, ..self }
    }

    /// The style for standard output: rich on a terminal of its width, otherwise plain; `colour` overrides that.
    #[must_use]
    pub fn of_stdout(colour: Option<bool>) -> Self {
        let stdout = std::io::stdout();
        let size = terminal_size::terminal_size_of(&stdout);
        // A pseudo-terminal without a set size has no columns.
        let width = size.map(|(columns, _)| columns.0).filter(|&it| it > 0);
        Self {
            width: width.unwrap_or(PLAIN_WIDTH).max(MIN_WIDTH),
            rich: colour.unwrap_or_else(|| stdout.is_terminal()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_survive_a_shell() {
        assert_eq!(shell_quoted("my run"), "'my run'");
        assert_eq!(shell_quoted(""), "''");
        assert_eq!(shell_quoted("$(reboot)"), "'$(reboot)'");
    }

    #[test]
    fn a_command_is_found_behind_the_words_that_say_when() {
        for (line, command) in [
            ("sudo sysctl -w a.b=1", Some("sudo sysctl -w a.b=1")),
            (
                "for good: echo 'a.b = 1' | sudo tee -a /etc/x.conf",
                Some("echo 'a.b = 1' | sudo tee -a /etc/x.conf"),
            ),
            (
                "the clock: now: sudo sysctl -w a.b=1",
                Some("sudo sysctl -w a.b=1"),
            ),
            (
                "now: for f in /sys/x/*; do echo 1 > $f; done",
                Some("for f in /sys/x/*; do echo 1 > $f; done"),
            ),
            ("for good: add a=b to the boot loader's command line", None),
            ("top -o %CPU, and end what is not needed", None),
        ] {
            assert_eq!(command_in(line).map(|(_, it)| it), command, "{line}");
        }
    }

    #[test]
    fn what_steers_a_terminal_is_shown_and_the_rest_stays() {
        let kept = "Grüße, 你好, \u{1f980}: e\u{301}, \u{5e9}\u{5dc}\u{5d5}\u{5dd}\n\tx\u{fffd}";
        assert_eq!(visible(kept), kept);
        let steering = "\0\u{7}\u{8}\r\u{1b}\u{7f}\u{80}\u{9b}\u{9f}\u{ad}\u{61c}\u{200b}\u{200e}\u{200f}\
        \u{2028}\u{2029}\u{202a}\u{202b}\u{202c}\u{202d}\u{202e}\u{2060}\u{2066}\u{2067}\u{2068}\u{2069}\
        \u{feff}\u{fff9}\u{e0001}";
        for character in steering.chars() {
            let (text, code) = (format!("a{character}b"), character as u32);
            let shown = format!("a\\u{{{code:x}}}b");
            assert_eq!(visible(&text), shown);
            assert_eq!(one_line(&text), shown);
        }
        assert_eq!(one_line("a\nb\tc"), "a\\u{a}b\\u{9}c");
    }

    #[test]
    fn colours_are_ours_and_no_others_pass() {
        let text = Text::join(
            [
                Text::emphasised("kept\u{1b}[5m", Emphasis::Good),
                Text::from("\u{1b}[31mred"),
            ],
            "\n",
        );
        assert_eq!(text, "\u{1b}[1;32mkept\\u{1b}[5m\u{1b}[0m\n\\u{1b}[31mred");
    }

    #[test]
    fn lines_keep_to_the_width_and_words_stay_whole() {
        assert_eq!(wrap("one two three", 7), "one two\nthree");
        assert_eq!(
            wrap("incomprehensibilities a b", 5),
            "incomprehensibilities\na b"
        );
        assert_eq!(wrap("", 5), "");
    }
}
