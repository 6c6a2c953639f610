//! What is on the screen: a table with a chosen row, or one channel's fields. Knows no terminal.

use kadenz::msg::channel::Channel;
use kadenz::msg::watch::{ChannelFigures, Spark};
use kadenz_report::numbers;

use super::fields::Fields;
use crate::commands::msg::types::Known;
use crate::commands::msg::{shown, table};

/// Seconds in the small picture beside a channel.
const SECONDS: usize = 20;

/// What a key means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Key {
    Up,
    Down,
    PageUp,
    PageDown,
    Enter,
    Back,
    Quit,
}

/// What is to be done beside drawing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Action {
    GoOn,
    Quit,
}

/// A line of the screen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Line {
    pub(super) text: String,
    pub(super) is_chosen: bool,
}

/// What is looked at.
#[derive(Debug, Default)]
pub(super) struct View {
    /// Stays with its channel when others appear.
    chosen: Option<Channel>,
    /// The channels as they were drawn last.
    channels: Vec<Channel>,
    shows_fields: bool,
    first_field: usize,
}

/// How far a page leads.
const PAGE: usize = 10;

impl View {
    /// The channel whose fields are shown.
    pub(super) fn looked_at(&self) -> Option<Channel> {
        self.chosen.filter(|_| self.shows_fields)
    }

    pub(super) fn press(&mut self, key: Key) -> Action {
        match key {
            Key::Quit => return Action::Quit,
            Key::Back if !self.shows_fields => {}
            Key::Back => self.shows_fields = false,
            Key::Enter => {
                self.shows_fields = self.chosen.is_some();
                self.first_field = 0;
            }
            Key::Up => self.go(false, 1),
            Key::Down => self.go(true, 1),
            Key::PageUp => self.go(false, PAGE),
            Key::PageDown => self.go(true, PAGE),
        }
        Action::GoOn
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

    /// The lines of a table that was made of these channels, in order.
    pub(super) fn draw_table(
        &mut self,
        figures: &[ChannelFigures],
        text: &str,
        head: &str,
        note: Option<String>,
        (columns, rows): (usize, usize),
    ) -> Vec<Line> {
        self.channels = figures.iter().map(|it| it.channel).collect();
        self.chosen = self.chosen.or(self.channels.first().copied());
        let messages: u64 = figures.iter().map(|it| it.messages).sum();
        let paces = figures.iter().filter_map(|it| it.pace);
        let bytes_per_s: f64 = paces.map(|it| it.bytes_per_s).sum();
        let mut lines = vec![plain(format!(
            "{head}  {}, {}, {}",
            numbers::counted(figures.len() as u64, "channel"),
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
            lines.push(Line {
                text: line.to_owned(),
                is_chosen: at == chosen,
            });
        }
        lines.extend(note.map(plain));
        lines.push(plain("up/down choose   Enter fields   q quit".to_owned()));
        fitted(lines, columns, rows)
    }

    /// The lines of one channel's fields.
    pub(super) fn draw_fields(
        &mut self,
        fields: &Fields,
        url: &str,
        (columns, rows): (usize, usize),
    ) -> Vec<Line> {
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
                field.path, field.value, field.spark
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

fn plain(text: String) -> Line {
    Line {
        text,
        is_chosen: false,
    }
}

/// No wider and no longer than the screen.
fn fitted(mut lines: Vec<Line>, columns: usize, rows: usize) -> Vec<Line> {
    lines.truncate(rows);
    for line in &mut lines {
        if let Some((end, _)) = line.text.char_indices().nth(columns) {
            line.text.truncate(end);
        }
    }
    lines
}

/// The columns of lcm-spy, and what it does not know.
pub(super) fn table_of(
    figures: &[ChannelFigures],
    known: &Known,
    spark: impl Fn(&str) -> Option<Spark>,
) -> String {
    let head = [
        "Channel",
        "Type",
        "Num Msgs",
        "Hz",
        "1/Hz",
        "Jitter p50",
        "p99",
        "Bandwidth",
        "Loss",
        "Undec.",
        "Last s",
    ];
    let rows = figures.iter().map(|it| {
        let jitter = it.pace.and_then(|it| it.jitter);
        vec![
            shown::plain(it.channel.as_str()),
            known.called(it.fingerprint),
            numbers::thousands(it.messages),
            table::hertz(it.pace.map(|it| it.rate_hz)),
            table::interval(it.pace),
            table::span(jitter.and_then(|it| it.p50_ns)),
            table::span(jitter.and_then(|it| it.p99_ns)),
            table::bandwidth(it.pace.map(|it| it.bytes_per_s)),
            table::lost(it.loss),
            it.undecodable.to_string(),
            spark(it.channel.as_str()).map_or_else(String::new, |it| last_of(&it)),
        ]
    });
    table::table(&head, 2, rows.collect())
}

/// The last seconds of a picture, drawn against each other alone.
fn last_of(spark: &Spark) -> String {
    let mut last = Spark::new(SECONDS);
    for value in spark.values() {
        last.push(value);
    }
    last.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use kadenz::msg::watch::{Heard, WatchOptions, Watcher};
    use kadenz_rt::clock::MonotonicTime;

    fn figures(names: &[&str]) -> Vec<ChannelFigures> {
        let mut watcher = Watcher::new(WatchOptions::default());
        let at = MonotonicTime::from_ns(1);
        for name in names {
            watcher.hear(&Heard::at(at, Channel::new(name).unwrap(), 8));
        }
        watcher.figures(at)
    }

    fn draw(view: &mut View, names: &[&str], rows: usize) -> Vec<Line> {
        let figures = figures(names);
        let known = Known::default();
        let text = table_of(&figures, &known, |_| None);
        view.draw_table(&figures, &text, "head", None, (60, rows))
    }

    fn chosen(lines: &[Line]) -> Vec<&str> {
        let chosen = lines.iter().filter(|it| it.is_chosen);
        chosen
            .filter_map(|it| it.text.split_whitespace().next())
            .collect()
    }

    #[test]
    fn arrows_choose_a_channel_and_no_further() {
        let mut view = View::default();
        let names = ["A", "B", "C"];
        assert_eq!(chosen(&draw(&mut view, &names, 24)), ["A"]);
        view.press(Key::Up);
        assert_eq!(chosen(&draw(&mut view, &names, 24)), ["A"]);
        for _ in 0..9 {
            view.press(Key::Down);
        }
        assert_eq!(chosen(&draw(&mut view, &names, 24)), ["C"]);
    }

    #[test]
    fn the_choice_stays_with_its_channel_when_others_appear() {
        let mut view = View::default();
        draw(&mut view, &["B", "C"], 24);
        view.press(Key::Down);
        assert_eq!(chosen(&draw(&mut view, &["A", "B", "C"], 24)), ["C"]);
        view.press(Key::Enter);
        assert_eq!(view.looked_at(), Channel::new("C").ok());
        view.press(Key::Back);
        assert_eq!(view.looked_at(), None);
    }

    #[test]
    fn the_chosen_row_is_on_a_screen_that_is_too_small_for_all() {
        let mut view = View::default();
        let names: Vec<String> = (10..60).map(|at| format!("CHANNEL_{at}")).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        draw(&mut view, &names, 8);
        view.press(Key::PageDown);
        view.press(Key::PageDown);
        let lines = draw(&mut view, &names, 8);
        assert_eq!(chosen(&lines), ["CHANNEL_30"]);
        assert_eq!(lines.len(), 8);
        assert!(lines.iter().all(|it| it.text.chars().count() <= 60));
    }

    #[test]
    fn a_name_cannot_steer_the_terminal() {
        let text = table_of(&figures(&["\u{1b}[2J\u{9b}x"]), &Known::default(), |_| None);
        assert!(
            !text.contains('\u{1b}') && !text.contains('\u{9b}'),
            "{text}"
        );
    }

    #[test]
    fn nothing_is_chosen_before_something_is_heard() {
        let mut view = View::default();
        draw(&mut view, &[], 24);
        view.press(Key::Enter);
        assert_eq!(view.looked_at(), None);
        assert_eq!(view.press(Key::Quit), Action::Quit);
    }
}
