//! Content of the screen: a table with a chosen row, or one channel's fields. Independent of the terminal.

use kadenz::msg::channel::Channel;
use kadenz::msg::watch::Sparkline;
use kadenz::report::document::Document;
use kadenz::report::numbers;
use kadenz::report::text::Style;

use super::fields::Fields;
use crate::commands::msg::table::{self, HeardChannel};
use crate::output::Column;

/// Seconds in the small graph beside a channel.
const SECONDS: usize = 20;

/// Meaning of a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Key {
    Up,
    Down,
    PageUp,
    PageDown,
    Enter,
    Back,
    Delete,
    Quit,
    /// The view decides its meaning: a letter of a filter, or a command.
    Character(char),
}

/// Key by which channels are sorted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum SortKey {
    #[default]
    Name,
    Rate,
    Bandwidth,
    Loss,
}

impl SortKey {
    fn next(self) -> Self {
        match self {
            Self::Name => Self::Rate,
            Self::Rate => Self::Bandwidth,
            Self::Bandwidth => Self::Loss,
            Self::Loss => Self::Name,
        }
    }

    /// The largest value comes first.
    fn of(self, heard: &HeardChannel) -> f64 {
        match self {
            Self::Name => 0.0,
            Self::Rate => heard.rate_hz.unwrap_or(0.0),
            Self::Bandwidth => heard.bytes_per_s.unwrap_or(0.0),
            Self::Loss => heard.lost.map_or(0.0, |it| it as f64),
        }
    }
}

/// Action of the caller besides drawing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Action {
    GoOn,
    Quit,
}

/// A line of the screen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ScreenLine {
    pub(super) text: String,
    pub(super) is_chosen: bool,
}

/// State of the screen.
#[derive(Debug, Default)]
pub(super) struct View {
    /// The choice stays with its channel when others appear.
    chosen: Option<Channel>,
    /// The channels of the last drawing.
    channels: Vec<Channel>,
    shows_fields: bool,
    first_field: usize,
    order: SortKey,
    /// Channels whose names contain this are shown.
    filter: String,
    types_filter: bool,
    is_paused: bool,
    shows_help: bool,
}

/// Help for the keys.
const HELP: [&str; 9] = [
    "up, down, k, j       choose a channel, or scroll its fields",
    "Page Up, Page Down   the same by ten",
    "Enter, right         the fields of the chosen channel",
    "Escape, left         back to the table; without the filter",
    "s                    sort by name, rate, bandwidth, loss in turn",
    "/                    filter: type a part of the names, Enter keeps it, Escape drops it",
    "p, space             pause, and go on",
    "?                    this help, and back",
    "q, Ctrl-C            quit",
];

/// Rows of a page step.
const PAGE: usize = 10;

impl View {
    /// The channel whose fields are on the screen.
    pub(super) fn looked_at(&self) -> Option<Channel> {
        self.chosen.filter(|_| self.shows_fields)
    }

    pub(super) fn is_paused(&self) -> bool {
        self.is_paused
    }

    /// Sorts all channels, those outside the filter last, and returns those inside it.
    pub(super) fn arrange<'a>(&self, heard: &'a mut [HeardChannel]) -> &'a [HeardChannel] {
        let filter = self.filter.to_lowercase();
        let is_out = |it: &HeardChannel| !it.channel.as_str().to_lowercase().contains(&filter);
        heard.sort_by_cached_key(|it| (is_out(it), it.channel));
        let shown = heard.partition_point(|it| !is_out(it));
        let shown = &mut heard[..shown];
        shown.sort_by(|a, b| self.order.of(b).total_cmp(&self.order.of(a)));
        shown
    }

    pub(super) fn press(&mut self, key: Key) -> Action {
        if self.types_filter {
            return self.type_filter(key);
        }
        match key {
            Key::Quit | Key::Character('q') => return Action::Quit,
            Key::Character('?') => self.shows_help = !self.shows_help,
            Key::Character('s') => self.order = self.order.next(),
            Key::Character('p' | ' ') => self.is_paused = !self.is_paused,
            Key::Character('/') => self.types_filter = true,
            Key::Back | Key::Delete if self.shows_help => self.shows_help = false,
            Key::Back | Key::Delete if !self.shows_fields => self.filter.clear(),
            Key::Back | Key::Delete => self.shows_fields = false,
            Key::Enter => {
                self.chosen = self.channels.get(self.row()).copied();
                self.shows_fields = self.chosen.is_some();
                self.first_field = 0;
            }
            Key::Up | Key::Character('k') => self.go(false, 1),
            Key::Down | Key::Character('j') => self.go(true, 1),
            Key::Character(_) => {}
            Key::PageUp => self.go(false, PAGE),
            Key::PageDown => self.go(true, PAGE),
        }
        Action::GoOn
    }

    fn type_filter(&mut self, key: Key) -> Action {
        match key {
            Key::Quit => return Action::Quit,
            Key::Character(character) => self.filter.push(character),
            Key::Delete => drop(self.filter.pop()),
            Key::Back => {
                self.filter.clear();
                self.types_filter = false;
            }
            _ => self.types_filter = false,
        }
        Action::GoOn
    }

    /// The line below the table.
    fn foot(&self) -> String {
        if self.types_filter {
            return format!("filter: {}_   Enter keeps it, Escape drops it", self.filter);
        }
        let filter = match self.filter.is_empty() {
            true => "/ filter".to_owned(),
            false => format!("/ filter ({})", self.filter),
        };
        let pause = if self.is_paused {
            "p go on (PAUSED)"
        } else {
            "p pause"
        };
        let order = format!("{:?}", self.order).to_lowercase();
        format!("q quit   ? help   {pause}   s sort ({order})   {filter}   Enter fields")
    }

    fn help(columns: usize, rows: usize) -> Vec<ScreenLine> {
        let lines = HELP.iter().map(|line| plain((*line).to_owned()));
        fitted(lines.collect(), columns, rows)
    }

    fn go(&mut self, down: bool, steps: usize) {
        let moved = |at: usize| match down {
            true => at.saturating_add(steps),
            false => at.saturating_sub(steps),
        };
        if self.shows_fields {
            self.first_field = moved(self.first_field);
            return;
        }
        let at = moved(self.row()).min(self.channels.len().saturating_sub(1));
        self.chosen = self.channels.get(at).copied();
    }

    fn row(&self) -> usize {
        let chosen = self.chosen.unwrap_or_default();
        let found = self.channels.iter().position(|it| *it == chosen);
        found.unwrap_or(0)
    }

    /// The lines of a table with these channels, in order.
    pub(super) fn draw_table(
        &mut self,
        heard: &[HeardChannel],
        text: &str,
        head: &str,
        note: Option<String>,
        (columns, rows): (usize, usize),
    ) -> Vec<ScreenLine> {
        self.channels = heard.iter().map(|it| it.channel).collect();
        self.chosen = self.chosen.or(self.channels.first().copied());
        if self.shows_help {
            return Self::help(columns, rows);
        }
        let messages: u64 = heard.iter().map(|it| it.messages).sum();
        let bytes_per_s = heard.iter().filter_map(|it| it.bytes_per_s);
        let bytes_per_s = bytes_per_s.fold(0.0, |sum, it| sum + it);
        let mut lines = vec![plain(format!(
            "{head}  {}, {}, {}",
            numbers::counted(heard.len() as u64, "channel"),
            numbers::counted(messages, "message"),
            table::bandwidth(Some(bytes_per_s)),
        ))];
        let mut of_table = text.lines();
        lines.push(plain(of_table.next().unwrap_or_default().to_owned()));
        let below = 1 + usize::from(note.is_some());
        let room = rows.saturating_sub(lines.len() + below).max(1);
        let chosen = self.row();
        let first = (chosen + 1).saturating_sub(room);
        for (at, line) in of_table.enumerate().skip(first).take(room) {
            lines.push(ScreenLine {
                text: line.to_owned(),
                is_chosen: at == chosen,
            });
        }
        lines.extend(note.map(plain));
        lines.push(plain(self.foot()));
        fitted(lines, columns, rows)
    }

    /// The lines of one channel's fields.
    pub(super) fn draw_fields(
        &mut self,
        fields: &Fields,
        url: &str,
        (columns, rows): (usize, usize),
    ) -> Vec<ScreenLine> {
        if self.shows_help {
            return Self::help(columns, rows);
        }
        let all = fields.rows();
        let room = rows.saturating_sub(3).max(1);
        self.first_field = self.first_field.min(all.len().saturating_sub(room));
        let widest = |width: fn(&super::fields::Field) -> usize| {
            let widths = all.iter().map(width);
            widths.max().unwrap_or(0).min(40)
        };
        let path = widest(|it| it.path.chars().count());
        let value = widest(|it| it.value.chars().count());
        let mut lines = vec![plain(fields.head(url)), plain(String::new())];
        for field in all.iter().skip(self.first_field).take(room) {
            lines.push(plain(format!(
                "{:path$}  {:>value$}  {}",
                field.path, field.value, field.sparkline
            )));
        }
        let shown = (lines.len() - 2).min(room);
        lines.push(plain(format!(
            "{} to {} of {} fields   up/down scroll   Escape back   q quit",
            (self.first_field + 1).min(all.len()),
            self.first_field + shown,
            all.len()
        )));
        fitted(lines, columns, rows)
    }
}

fn plain(text: String) -> ScreenLine {
    ScreenLine {
        text,
        is_chosen: false,
    }
}

/// Limits lines to the width and height of the screen.
fn fitted(mut lines: Vec<ScreenLine>, columns: usize, rows: usize) -> Vec<ScreenLine> {
    lines.truncate(rows);
    for line in &mut lines {
        if let Some((end, _)) = line.text.char_indices().nth(columns) {
            line.text.truncate(end);
        }
    }
    lines
}

/// Columns that a narrow terminal omits, the least important first.
const DROPPED: [&str; 9] = [
    "Last s",
    "1/Hz",
    "Undec.",
    "p99",
    "Type",
    "Jitter p50",
    "Num Msgs",
    "Bandwidth",
    "Loss",
];

/// The columns of lcm-spy, and further ones.
pub(super) const COLUMNS: [Column<HeardChannel>; 11] = [
    table::CHANNEL,
    table::TYPE,
    ("Num Msgs", table::MESSAGES.1),
    table::RATE,
    table::INTERVAL,
    table::JITTER_P50,
    table::JITTER_P99,
    table::BANDWIDTH,
    ("Loss", table::LOST.1),
    table::UNDECODABLE,
    table::LAST_SECONDS,
];

/// A table with as many columns as the width permits.
pub(super) fn table_of(channels: &[HeardChannel], width: usize) -> String {
    let mut columns = COLUMNS.to_vec();
    let mut dropped = DROPPED.iter();
    loop {
        let document = Document::new().table(table::of_channels(&columns, channels));
        let text = document.terminal(Style::plain()).to_string();
        let fits = text.lines().all(|line| line.chars().count() <= width);
        let Some(name) = dropped.next().filter(|_| !fits) else {
            return text;
        };
        columns.retain(|it| it.0 != *name);
    }
}

/// The last seconds of a graph, scaled to these seconds alone.
pub(super) fn last_of(sparkline: Option<&Sparkline>) -> String {
    let mut last = Sparkline::new(SECONDS);
    for value in sparkline.into_iter().flat_map(Sparkline::values) {
        last.push(value);
    }
    last.to_string()
}

#[cfg(test)]
mod tests;
