//! The terminal: what is drawn on it, which keys are pressed, and how it was before.

use std::io::{Stdout, Write as _};
use std::time::Duration;

use anyhow::Context as _;
use crossterm::event::{self, Event, KeyCode, KeyEventKind, KeyModifiers};
use crossterm::style::{Attribute, Print, SetAttribute};
use crossterm::terminal::{self, Clear, ClearType, EnterAlternateScreen, LeaveAlternateScreen};
use crossterm::{cursor, execute, queue};

use super::view::{Key, Line};
use crate::output;

/// The terminal while it shows the spy. Dropping it puts it back.
pub(super) struct Screen {
    out: Stdout,
}

impl Screen {
    pub(super) fn open() -> anyhow::Result<Self> {
        terminal::enable_raw_mode().context("this terminal cannot be used; add `--once`")?;
        // From here on it is put back.
        let mut screen = Self {
            out: output::screen(),
        };
        execute!(screen.out, EnterAlternateScreen, cursor::Hide)?;
        Ok(screen)
    }

    /// Columns and rows.
    pub(super) fn size(&self) -> (usize, usize) {
        let (columns, rows) = terminal::size().unwrap_or((80, 24));
        (columns.into(), rows.into())
    }

    /// The next key that means something, if one was pressed.
    pub(super) fn key(&mut self) -> anyhow::Result<Option<Key>> {
        while event::poll(Duration::ZERO)? {
            let Event::Key(key) = event::read()? else {
                continue;
            };
            if key.kind == KeyEventKind::Release {
                continue;
            }
            let control = key.modifiers.contains(KeyModifiers::CONTROL);
            return Ok(Some(match key.code {
                KeyCode::Char('c' | 'd') if control => Key::Quit,
                KeyCode::Char(character) => Key::Character(character),
                KeyCode::Up => Key::Up,
                KeyCode::Down => Key::Down,
                KeyCode::PageUp => Key::PageUp,
                KeyCode::PageDown => Key::PageDown,
                KeyCode::Enter | KeyCode::Right => Key::Enter,
                KeyCode::Backspace => Key::Delete,
                KeyCode::Esc | KeyCode::Left => Key::Back,
                _ => continue,
            }));
        }
        Ok(None)
    }

    /// Draws lines from the top, and nothing below them.
    pub(super) fn draw(&mut self, lines: &[Line]) -> anyhow::Result<()> {
        for (row, line) in lines.iter().enumerate() {
            let row = u16::try_from(row).unwrap_or(u16::MAX);
            queue!(self.out, cursor::MoveTo(0, row))?;
            if line.is_chosen {
                queue!(self.out, SetAttribute(Attribute::Reverse))?;
            }
            queue!(
                self.out,
                Print(output::name(&line.text)),
                SetAttribute(Attribute::Reset),
                Clear(ClearType::UntilNewLine)
            )?;
        }
        queue!(self.out, Clear(ClearType::FromCursorDown))?;
        Ok(self.out.flush()?)
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        let _ = execute!(self.out, LeaveAlternateScreen, cursor::Show);
        let _ = terminal::disable_raw_mode();
    }
}
