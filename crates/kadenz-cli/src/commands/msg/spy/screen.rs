//! The terminal: drawing, keys, and its restoration.

use std::collections::VecDeque;
use std::io::{self, Read as _, Stdout, Write as _};

use anyhow::Context as _;
use kadenz::rt::terminal::RawMode;

use super::view::{Key, ScreenLine};
use crate::output;

// Control sequences of ECMA-48 and xterm.
const OPEN: &str = "\u{1b}[?1049h\u{1b}[?25l"; // The alternate screen, without a cursor.
const CLOSE: &str = "\u{1b}[?1049l\u{1b}[?25h";
const REVERSE: &str = "\u{1b}[7m";
const END_OF_LINE: &str = "\u{1b}[0m\u{1b}[K";
const CLEAR_BELOW: &str = "\u{1b}[J";
/// Bytes per read: more than a user types in the meantime.
const MAX_TYPED: usize = 256;

/// The terminal while it shows the spy. Dropping it restores the terminal.
pub(super) struct Screen {
    out: Stdout,
    typed: VecDeque<Key>,
    _raw: RawMode,
}

impl Screen {
    pub(super) fn open() -> anyhow::Result<Self> {
        let raw = RawMode::enable().context("this terminal cannot be used; add `--once`")?;
        // From here on dropping restores it.
        let mut screen = Self {
            out: output::screen(),
            typed: VecDeque::new(),
            _raw: raw,
        };
        screen.write(OPEN)?;
        Ok(screen)
    }

    fn write(&mut self, text: &str) -> io::Result<()> {
        self.out.write_all(text.as_bytes())?;
        self.out.flush()
    }

    /// Columns and rows.
    pub(super) fn size(&self) -> (usize, usize) {
        let size = terminal_size::terminal_size_of(&self.out);
        size.map_or((80, 24), |(columns, rows)| {
            (columns.0.into(), rows.0.into())
        })
    }

    /// The next key with a meaning, if one was pressed.
    pub(super) fn key(&mut self) -> anyhow::Result<Option<Key>> {
        if self.typed.is_empty() {
            let mut bytes = [0; MAX_TYPED];
            let length = io::stdin().read(&mut bytes)?;
            self.typed.extend(keys(&bytes[..length]));
        }
        Ok(self.typed.pop_front())
    }

    /// Draws lines from the top, and clears the rest.
    pub(super) fn draw(&mut self, lines: &[ScreenLine]) -> anyhow::Result<()> {
        let mut text = String::new();
        for (row, line) in lines.iter().enumerate() {
            let reverse = if line.is_chosen { REVERSE } else { "" };
            let words = output::name(&line.text);
            text += &format!("\u{1b}[{};1H{reverse}{words}{END_OF_LINE}", row + 1);
        }
        Ok(self.write(&(text + CLEAR_BELOW))?)
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        let _ = self.write(CLOSE);
    }
}

/// The pressed keys, from the bytes that a terminal sends for them.
fn keys(bytes: &[u8]) -> Vec<Key> {
    let text = String::from_utf8_lossy(bytes);
    let mut rest = &text[..];
    let mut keys = Vec::new();
    while let Some(first) = rest.chars().next() {
        let after = &rest[first.len_utf8()..];
        let sequence = after.strip_prefix(['[', 'O']).filter(|_| first == '\u{1b}');
        let (key, length) = match (first, sequence) {
            (_, Some(sequence)) => {
                let ends = |it: char| it.is_ascii_alphabetic() || it == '~';
                let end = sequence.find(ends).map_or(sequence.len(), |it| it + 1);
                (of_sequence(&sequence[..end]), 2 + end)
            }
            ('\u{3}' | '\u{4}', _) => (Some(Key::Quit), 1),
            ('\u{1b}', _) => (Some(Key::Back), 1),
            ('\r' | '\n', _) => (Some(Key::Enter), 1),
            ('\u{7f}' | '\u{8}', _) => (Some(Key::Delete), 1),
            (other, _) => {
                let key = (!other.is_control()).then_some(Key::Character(other));
                (key, other.len_utf8())
            }
        };
        keys.extend(key);
        rest = &rest[length..];
    }
    keys
}

/// The key of a sequence after ESC and `[` or `O`.
fn of_sequence(sequence: &str) -> Option<Key> {
    Some(match sequence {
        "A" => Key::Up,
        "B" => Key::Down,
        "C" => Key::Enter,
        "D" => Key::Back,
        "5~" => Key::PageUp,
        "6~" => Key::PageDown,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_of_a_terminal_are_keys() {
        let typed = "\u{1b}[A\u{1b}OB\u{1b}[5~\u{1b}[6~\u{1b}[1;5C\u{1b}[C\u{1b}[D\r\u{7f}qä\u{3}\u{1}\u{1b}";
        let expected = [
            Key::Up,
            Key::Down,
            Key::PageUp,
            Key::PageDown,
            Key::Enter,
            Key::Back,
            Key::Enter,
            Key::Delete,
            Key::Character('q'),
            Key::Character('ä'),
            Key::Quit,
            Key::Back,
        ];
        assert_eq!(keys(typed.as_bytes()), expected);
        assert_eq!(keys(b"\x1b[\xff\xfe"), []);
        assert_eq!(keys(b""), []);
    }
}
