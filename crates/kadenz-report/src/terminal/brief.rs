//! The answer on one screen: the verdict, a table of a few series, the first remedies, the places of the rest.

use kadenz_record::run::model::{TuningMeasure, Warning};

use crate::answers::answer;
use crate::answers::budget::{Budget, Journey};
use crate::matrix::Matrix;
use crate::numbers;
use crate::statistics::{Percent, Percentile};
use crate::summary::{SeriesSummary, Summary};
use crate::text::Style;
use crate::text::table::{TextCell, TextTable};
use crate::text::{Emphasis, Text, wrap};
use crate::verdict::{messages, packets};

/// Lines and columns of the smallest screen.
const LINES: usize = 25;
const COLUMNS: u16 = 80;
/// Series in the table, at most and at least; lines of the verdict and of a remedy; remedies.
const ROWS: usize = 8;
const MIN_ROWS: usize = 3;
const VERDICT: usize = 7;
const REMEDY: usize = 2;
const REMEDIES: usize = 3;
/// The verdict without a deadline.
const NO_DEADLINE: &str =
    "No deadline was stated, so nothing is judged; `--deadline 400us` states one.";

/// A command's own additions to its runs.
#[derive(Clone, Copy, Debug, Default)]
pub struct Aside<'a> {
    /// Whether the command considers the deadlines kept, which need not be all of them.
    pub kept: bool,
    /// Sentences that belong to the verdict.
    pub sentences: &'a [String],
    /// A command that applies the result of a sentence; it comes first of the remedies.
    pub remedy: Option<&'a str>,
    /// The places of the page and of everything else, a line each.
    pub places: &'a [String],
}

/// The verdict, a table of at most 8 series, at most three remedies and the places: 24 lines of 80
/// columns at most, except for places that are longer and where `places` are many. [`super::summaries`]
/// has everything.
///
/// ```
/// use kadenz_report::summary::Summary;
/// use kadenz_report::terminal::{Aside, brief};
/// use kadenz_report::text::Style;
///
/// let text = brief(&[Summary::default()], &Aside::default(), Style::plain());
/// assert!(text.starts_with("No deadline was stated"));
/// ```
#[must_use]
pub fn brief(runs: &[Summary], aside: &Aside<'_>, style: Style) -> Text {
    let style = style.of_width(style.width.min(COLUMNS));
    let verdict = verdict(runs, aside, style);
    // Blank lines between the parts, and the header of the table.
    let taken = verdict.lines().count() + aside.places.len() + 4;
    let left = LINES.saturating_sub(taken);
    let remedies = remedies(runs, aside.remedy, left.saturating_sub(MIN_ROWS), style);
    let of_remedies = remedies.as_ref().map_or(0, |it| it.lines().count());
    let mut parts = vec![verdict];
    parts.extend(table(runs, left.saturating_sub(of_remedies), style));
    parts.extend(remedies.map(Text::from));
    if !aside.places.is_empty() {
        parts.push(aside.places.join("\n").into());
    }
    Text::join(parts, "\n\n")
}

/// The first sentence of the verdict on the first run, short enough for one line of a script's output.
#[must_use]
pub fn headline(runs: &[Summary]) -> String {
    let first = runs
        .first()
        .map(sentences)
        .and_then(|all| all.into_iter().next());
    let first = first.unwrap_or_default();
    first_sentence(&first).0.to_owned()
}

/// The verdicts of all runs, the first sentence in bold and in its colour.
fn verdict(runs: &[Summary], aside: &Aside<'_>, style: Style) -> Text {
    let each = (VERDICT / runs.len().max(1)).max(1);
    let mut lines = Vec::new();
    for (index, run) in runs.iter().take(VERDICT).enumerate() {
        let mut sentences = sentences(run);
        if index == 0 {
            sentences.extend_from_slice(aside.sentences);
            sentences.extend(Budget::all(run).iter().filter_map(left));
        }
        if runs.len() > 1 {
            let name = run.folder.file_name().unwrap_or(run.folder.as_os_str());
            sentences[0] = format!("{}: {}", name.display(), sentences[0]);
        }
        lines.extend(emphasised(&sentences, each, aside.kept, style));
    }
    Text::join(lines, "\n")
}

fn sentences(run: &Summary) -> Vec<String> {
    if let Some(recommendation) = Matrix::recommendation_of(run) {
        return recommendation.sentences;
    }
    let mut all = vec![answer(run).unwrap_or_else(|| NO_DEADLINE.to_owned())];
    let of_check = run.run.experiment == "check";
    let network = run.run.network.as_ref();
    let told = |network: &&_| !of_check || packets::total(network).lost > 0;
    all.extend(network.filter(told).map(packets::answer));
    let counted = run.run.messages.as_ref();
    let told = |counted: &&_| !of_check || messages::lost(counted) > 0;
    all.extend(counted.filter(told).map(messages::answer));
    all
}

/// The rest of a deadline, in the words of [`Budget`] without its layers.
fn left(budget: &Budget) -> Option<String> {
    let (takes, left) = (budget.whole.p99_9_ns?, budget.left_p99_9_ns()?);
    let one = match budget.journey {
        Journey::RoundTrip => "a round trip",
        Journey::Message => "a message",
        Journey::Frame => "a frame",
    };
    let span = |ns: i64| numbers::span(ns.unsigned_abs() as f64);
    let left = match left {
        0.. => format!("{} are left", span(left)),
        _ => format!("that is {} too long", span(left)),
    };
    let limit = numbers::span(budget.limit_ns as f64);
    Some(format!(
        "Of the {limit}, {one} {} takes {} in 99.9 %; {left}.",
        budget.path,
        span(takes)
    ))
}

/// Wraps sentences into at most this many lines, the first sentence in bold and colour.
fn emphasised(sentences: &[String], lines: usize, kept: bool, style: Style) -> Vec<Text> {
    let mut strong = first_sentence(&sentences[0]).0.chars().count();
    let text = clipped(&sentences.join(" "), lines, style);
    if !style.rich {
        return text.into_iter().map(Text::from).collect();
    }
    let emphasis = match sentences[0].contains(NO_DEADLINE) {
        true => Emphasis::Bold,
        false if kept => Emphasis::Good,
        false => Emphasis::Bad,
    };
    let mut emphasised = Vec::new();
    for line in text {
        let letters = line.chars().count();
        let end = line
            .char_indices()
            .nth(strong)
            .map_or(line.len(), |it| it.0);
        let (bold, rest) = line.split_at(end);
        emphasised.push(match bold {
            "" => line.into(),
            _ => Text::join([Text::emphasised(bold, emphasis), rest.into()], ""),
        });
        // The space at the end of the line counts as a part of it.
        strong = strong.saturating_sub(letters + 1);
    }
    emphasised
}

/// A text's first sentence, and the rest.
fn first_sentence(text: &str) -> (&str, &str) {
    match text.find(". ") {
        Some(at) => text.split_at(at + 1),
        None => (text, ""),
    }
}

/// A text in at most this many lines, with three points where it is cut: after a clause if one ends in the last line,
/// because a part of a number would be misleading.
fn clipped(text: &str, lines: usize, style: Style) -> Vec<String> {
    let wrapped = wrap(text, style.width);
    let mut shown: Vec<String> = wrapped.lines().take(lines).map(str::to_owned).collect();
    if let Some(last) = shown.last_mut().filter(|_| wrapped.lines().count() > lines) {
        let room = usize::from(style.width).saturating_sub(4);
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
    shown
}

/// The most important series: those with a deadline, then those of whole round trips and messages, then the others.
fn chosen(runs: &[Summary]) -> Vec<(&Summary, &SeriesSummary)> {
    const WHOLE: [&str; 7] = [
        "response", "rtt", "one-way", "measured", "hiccup", "lateness", "floor",
    ];
    let mut all: Vec<_> = runs
        .iter()
        .filter(|run| !Matrix::is_in(run))
        .flat_map(|run| run.by_themselves().map(move |series| (run, series)))
        .filter(|(_, series)| series.count > 0)
        .collect();
    all.sort_by_key(|(_, series)| {
        let value = series.series.value();
        let whole = WHOLE.iter().position(|it| *it == value);
        (series.verdict.is_none(), whole.unwrap_or(WHOLE.len()))
    });
    all
}

/// The table, with at most this many rows.
fn table(runs: &[Summary], rows: usize, style: Style) -> Option<Text> {
    let chosen = chosen(runs);
    if chosen.is_empty() {
        return None;
    }
    let mut table = TextTable::new(style);
    table.without_lines();
    let header = ["series", "samples", "50 %", "99.9 %", "max", "misses"];
    table.set_header(header.map(|it| TextCell::new(it).bold()));
    for (run, series) in chosen.iter().take(rows.min(ROWS)) {
        let folder = run.folder.file_name().filter(|_| runs.len() > 1);
        let folder = folder.map_or_else(String::new, |it| format!("{}: ", it.display()));
        table.add_row(row(&format!("{folder}{}", series.series.name), series));
    }
    table.align_right_from(1);
    Some(table.text())
}

fn row(name: &str, series: &SeriesSummary) -> Vec<TextCell> {
    const NAME: usize = 22;
    let percentile = |percent| {
        let found = series.percentiles.iter().find(|row| row.percent == percent);
        TextCell::new(found.map_or_else(String::new, Percentile::told))
    };
    let letters = name.chars().count();
    let name: String = name.chars().skip(letters.saturating_sub(NAME)).collect();
    let misses = series.verdict.map_or_else(
        || TextCell::new(""),
        |verdict| {
            let cell = TextCell::new(numbers::thousands(verdict.misses));
            match verdict.misses {
                0 => cell.judged(true),
                _ => cell.judged(false).bold(),
            }
        },
    );
    vec![
        TextCell::new(name),
        TextCell::new(numbers::thousands(series.count)),
        percentile(Percent::P50),
        percentile(Percent::P99_9),
        TextCell::new(
            series
                .max_ns
                .map_or_else(String::new, |ns| numbers::value(ns as f64)),
        ),
        misses,
    ]
}

/// The first remedies, in at most this many lines: for refusals, then for other findings.
fn remedies(runs: &[Summary], first: Option<&str>, room: usize, style: Style) -> Option<String> {
    let measures = runs.iter().flat_map(|run| &run.series);
    let measures = measures.flat_map(|series| &series.series.tuning);
    let refused = measures
        .filter(|measure| !measure.ok)
        .filter_map(of_measure);
    let warnings = runs.iter().flat_map(|run| &run.warnings);
    let spoilt = warnings
        .filter(|warning| warning.tuning.is_none())
        .filter_map(of_warning);
    let mut all: Vec<(String, &str)> = Vec::new();
    all.extend(first.map(|it| ("the cheapest tuning".to_owned(), it)));
    for (what, remedy) in refused.chain(spoilt) {
        if all.iter().all(|(_, known)| *known != remedy) {
            all.push((what, remedy));
        }
    }
    let indented = style.of_width(style.width.saturating_sub(2));
    let items = all
        .iter()
        .take(REMEDIES)
        .map(|(what, remedy)| clipped(&format!("{what}: {remedy}"), REMEDY, indented).join("\n  "));
    let mut lines = 1;
    let items: Vec<String> = items
        .take_while(|item| {
            lines += item.lines().count();
            lines <= room
        })
        .map(|item| format!("- {item}"))
        .collect();
    let heading = match all.len() - items.len() {
        _ if items.is_empty() => return None,
        0 => "To mend first:".to_owned(),
        more => format!("To mend first ({more} more with --details):"),
    };
    Some(format!("{heading}\n{}", items.join("\n")))
}

/// A remedy of several lines is shown by its first.
fn of_measure(measure: &TuningMeasure) -> Option<(String, &str)> {
    let remedy = measure.remedy.as_deref()?.lines().next()?;
    Some((format!("{} was not granted", measure.requested), remedy))
}

fn of_warning(warning: &Warning) -> Option<(String, &str)> {
    let remedy = warning.remedy.as_deref()?.lines().next()?;
    let title = warning.text.split([':', ';', '(']).next()?;
    Some((title.trim_end().to_owned(), remedy))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_cut_off_ends_with_a_clause() {
        let text = "kept: 0 misses in 12,000, so fewer than 250 in a million";
        let style = Style::plain().of_width(50);
        assert_eq!(clipped(text, 1, style), ["kept: 0 misses in 12,000 ..."]);
        assert_eq!(
            clipped("one word after another", 1, style.of_width(14)),
            ["one word ..."]
        );
    }
}
