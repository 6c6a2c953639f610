//! Lines of a paragraph.

use std::borrow::Cow;

use super::markdown::escaped;
use crate::text::{Emphasis, Style, Text, command_in, visible, wrap};

/// A line of a paragraph, which a terminal wraps.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DocumentLine {
    label: Cow<'static, str>,
    /// Columns of the label, and of the space before the words of further lines.
    indent: u16,
    words: String,
    /// Characters at the beginning, and their style on a terminal.
    strong: Option<(usize, Emphasis)>,
    /// Lines that a terminal shows at most.
    most: Option<usize>,
    /// Whether the words are never broken into lines.
    is_whole: bool,
}

impl From<String> for DocumentLine {
    fn from(words: String) -> Self {
        Self::labelled("", 0, words)
    }
}

impl DocumentLine {
    /// Words that begin in this column, after a label.
    #[must_use]
    pub fn labelled(
        label: impl Into<Cow<'static, str>>,
        indent: u16,
        words: impl Into<String>,
    ) -> Self {
        Self {
            label: label.into(),
            indent,
            words: words.into(),
            ..Self::default()
        }
    }

    /// Emphasises this many characters at the beginning on a terminal.
    #[must_use]
    pub fn emphasised(self, characters: usize, emphasis: Emphasis) -> Self {
        Self {
            strong: Some((characters, emphasis)),
            ..self
        }
    }

    /// Keeps the words in one line, however long: a command to be copied.
    #[must_use]
    pub fn whole(self) -> Self {
        Self {
            is_whole: true,
            ..self
        }
    }

    /// Limits the lines on a terminal.
    pub(crate) fn at_most(self, lines: usize) -> Self {
        Self {
            most: Some(lines),
            ..self
        }
    }

    /// Label and words as one line.
    pub(crate) fn plain(&self) -> String {
        let plain = format!("{} {}", self.label.trim(), self.words);
        plain.trim().to_owned()
    }

    /// As Markdown: the label in bold, unless it is a list's, and a command in the typeface of commands.
    pub(super) fn markdown(&self) -> String {
        let words = match command_in(&self.words).filter(|(_, command)| !command.contains('`')) {
            Some((when, command)) => format!("{} `{}`", escaped(when), visible(command)),
            None => escaped(&self.words),
        };
        let label = match self.label.trim() {
            list @ ("" | "-") => list.to_owned(),
            label => format!("**{}**", escaped(label)),
        };
        let words = words.trim();
        format!("{label} {words}").trim().to_owned()
    }

    /// How many lines of a terminal with this many columns it takes.
    pub(crate) fn height(&self, columns: u16) -> usize {
        self.broken(columns).len()
    }

    fn broken(&self, columns: u16) -> Vec<String> {
        let indent = usize::from(self.indent);
        let most = self.most.unwrap_or(usize::MAX);
        let lines = match self.is_whole {
            true => self.words.lines().map(str::to_owned).collect(),
            false => clipped(&self.words, most, columns.saturating_sub(self.indent)),
        };
        let labels = [&*self.label].into_iter().chain(std::iter::repeat(""));
        let lines = labels.zip(lines);
        lines
            .map(|(label, line)| format!("{label:<indent$}{line}"))
            .collect()
    }

    pub(super) fn drawn(&self, style: Style) -> Text {
        let lines = self.broken(style.width);
        match self.strong.filter(|_| style.rich) {
            Some((characters, emphasis)) => emphasised(&lines, characters, emphasis),
            None => Text::join(lines, "\n"),
        }
    }
}

/// Lines whose first characters are emphasised.
fn emphasised(lines: &[String], mut characters: usize, emphasis: Emphasis) -> Text {
    let lines = lines.iter().map(|line| {
        let end = line.char_indices().nth(characters);
        let (strong, rest) = line.split_at(end.map_or(line.len(), |it| it.0));
        // The space at the end of the line counts as a part of it.
        characters = characters.saturating_sub(line.chars().count() + 1);
        match strong {
            "" => rest.into(),
            _ => Text::join([Text::emphasised(strong, emphasis), rest.into()], ""),
        }
    });
    Text::join(lines, "\n")
}

/// A text in at most this many lines, with three points where it is cut: after a clause if one ends in the last line,
/// because a part of a number would be misleading.
fn clipped(text: &str, most: usize, columns: u16) -> Vec<String> {
    let wrapped = wrap(text, columns);
    let mut lines: Vec<String> = wrapped.split('\n').map(str::to_owned).collect();
    let cut = lines.len() > most;
    lines.truncate(most);
    if let Some(last) = lines.last_mut().filter(|_| cut) {
        let room = usize::from(columns).saturating_sub(4);
        while last.chars().count() > room {
            let cut = last.rfind(' ').unwrap_or(0);
            last.truncate(cut);
        }
        let ends = [", ", "; ", ". "].iter().filter_map(|it| last.rfind(it));
        if let Some(end) = ends.max() {
            last.truncate(end);
        }
        last.push_str(" ...");
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_cut_off_ends_with_a_clause() {
        let text = "kept: 0 misses in 12,000, so fewer than 250 in a million";
        assert_eq!(clipped(text, 1, 50), ["kept: 0 misses in 12,000 ..."]);
        assert_eq!(clipped("one word after another", 1, 14), ["one word ..."]);
    }

    #[test]
    fn emphasis_goes_on_in_the_next_line() {
        let line = DocumentLine::from("one two three".to_owned()).emphasised(7, Emphasis::Bold);
        let rich = Style {
            rich: true,
            ..Style::plain().of_width(4)
        };
        let bold = "\u{1b}[1mone\u{1b}[0m\n\u{1b}[1mtwo\u{1b}[0m\nthree";
        assert_eq!(line.drawn(rich), bold);
    }

    #[test]
    fn further_lines_begin_below_the_words() {
        let line = DocumentLine::labelled("  costs", 9, "much time in each second");
        assert_eq!(
            line.drawn(Style::plain().of_width(20)),
            "  costs  much time\n         in each\n         second"
        );
        assert_eq!(
            (line.height(20), line.plain()),
            (3, "costs much time in each second".to_owned())
        );
    }
}
