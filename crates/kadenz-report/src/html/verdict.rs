//! The verdict, first and in large words: the result for each deadline, and its basis.

use super::blocks;
use super::compared;
use super::findings;
use super::markup::Markup;
use super::page::{Page, SeriesOnPage};
use crate::answers::{Headline, HeadlineAnswer, answer};
use crate::document::{Document, Finding, VerdictCard};
use crate::figures::{bound, duration, plural, rate, significant, span};
use crate::numbers;
use crate::summary::Summary;
use crate::verdict::{Loss, Standing, Verdict, bounded};

/// The class of a standing, which names its icon, and its words.
fn class_and_words(standing: Standing) -> (&'static str, &'static str) {
    match standing {
        Standing::Kept => ("kept", "Kept"),
        Standing::Missed => ("missed", "Missed"),
        Standing::ValuesLost(Loss::Certain) => ("missed", "Values were lost"),
        Standing::ValuesLost(Loss::Possible) => ("missed", "Values may have been lost"),
        Standing::TooFew => ("unknown", "Too few samples"),
    }
}

/// The maximum number of verdicts in one sentence; more are better read from their cards.
const MAX_PER_SENTENCE: usize = 4;

/// The section: the answer in a line, the findings, then the basis.
pub(super) fn section(out: &mut Markup, page: &Page<'_>, findings: &[Finding]) {
    blocks::open(out, "verdict", "");
    blocks::write(out, &document(page, findings));
    another_deadline(out, page);
    out.tag("</section>");
}

fn document(page: &Page<'_>, findings: &[Finding]) -> Document {
    let (headline, more) = match page.compares() {
        true => compared::headline(page),
        false => (headline(page), Document::new()),
    };
    let beside = findings::beside_the_verdict(findings);
    let mut document = headline.and(beside).and(more);
    let judged = page.judged().count();
    if judged <= MAX_PER_SENTENCE {
        document = document.and(answers(page));
    }
    if judged == 0 {
        document = document.lead(
            "The page shows what was measured. Repeat the run with `--deadline`, for example `--deadline 400us`, to \
             have it judged.",
        );
    }
    let cards = page
        .judged()
        .filter_map(|it| Some(card(it, it.summary.verdict.as_ref()?)));
    document.cards(cards.collect())
}

/// The answer of the only run.
fn headline(page: &Page<'_>) -> Document {
    let none = Summary::default();
    let headline = Headline::of(page.summaries.first().unwrap_or(&none));
    let class = match headline.answer {
        HeadlineAnswer::Yes => "kept",
        HeadlineAnswer::No => "missed",
        HeadlineAnswer::TooFew | HeadlineAnswer::NotAsked => "unknown",
    };
    Document::new().headline(class, headline.words)
}

/// The answer of each run in sentences.
fn answers(page: &Page<'_>) -> Document {
    let mut document = Document::new();
    for run in &page.runs {
        let name = if page.compares() { &run.label } else { "" };
        document = document.answer(name, answer(run.summary).unwrap_or_default());
    }
    document
}

fn card(series: &SeriesOnPage<'_>, verdict: &Verdict) -> VerdictCard {
    let (class, words) = class_and_words(verdict.standing);
    let largest = |max| format!("{}, {}", span(max), part_of(max, verdict.limit_ns));
    let facts = [
        ("Deadline", Some(duration(verdict.limit_ns as f64))),
        ("Largest value", series.summary.max_ns.map(largest)),
        ("Scheduling", policy(series)),
    ];
    let facts = facts.into_iter();
    let facts = facts.filter_map(|(name, value)| Some((name.to_owned(), value?)));
    VerdictCard {
        title: series.label.clone(),
        class,
        words,
        misses: verdict.misses,
        count: verdict.count,
        basis: basis(verdict),
        facts: facts.collect(),
    }
}

/// What the verdict rests on.
fn basis(verdict: &Verdict) -> String {
    let bound = bound(verdict.upper_bound_95);
    match verdict.standing {
        Standing::Kept => format!(
            "At 95 % confidence fewer than {bound} miss, {}. That is as much as this many samples can say.",
            verdict.assumption
        ),
        Standing::ValuesLost(_) => {
            String::from("Each value that was lost may have missed the deadline.")
        }
        Standing::TooFew if verdict.count == 0 => {
            String::from("Nothing was recorded, so nothing can be said.")
        }
        Standing::TooFew => format!(
            "No miss was seen, yet up to {bound} could miss unseen at 95 % confidence. Measure longer."
        ),
        Standing::Missed => {
            let run = match verdict.known_run() {
                Some(run) => plural(run, "miss", "misses in a row"),
                None => String::from("not known, as a histogram has no order"),
            };
            let hourly = match verdict.misses_per_hour {
                Some(hourly) => format!(" About {} an hour.", numbers::per_hour(hourly)),
                None => String::new(),
            };
            format!(
                "{} of all samples; {}. Longest run: {run}.{hourly}",
                rate(verdict.rate),
                bounded(verdict.upper_bound_95, verdict.assumption)
            )
        }
    }
}

fn part_of(value_ns: i64, limit_ns: u64) -> String {
    let part = value_ns as f64 / limit_ns.max(1) as f64;
    match part < 2.0 {
        true => format!("{}\u{a0}% of the deadline", significant(part * 100.0, 2)),
        false => format!("{} times the deadline", significant(part, 3)),
    }
}

fn policy(series: &SeriesOnPage<'_>) -> Option<String> {
    let tuning = &series.summary.series.tuning;
    tuning
        .iter()
        .find(|measure| measure.name == "policy")
        .map(|measure| measure.granted.clone())
}

/// The result of another deadline: a slider, and misses that the page counts again from its histograms. It is hidden
/// without scripts, and starts at the deadline of the page.
fn another_deadline(out: &mut Markup, page: &Page<'_>) {
    if page.series.iter().all(|it| it.summary.count == 0) {
        return;
    }
    out.tag(concat!(
        "<div id=\"what-if\" hidden><h2>Another deadline</h2>",
        "<p class=\"slide\"><label for=\"deadline\">Deadline</label>",
        "<input type=\"range\" id=\"deadline\" min=\"0\" max=\"1000\" step=\"1\" ",
        "aria-describedby=\"what-if-note\">",
        "<output for=\"deadline\"></output>",
        "<button type=\"button\" class=\"reset\">Back</button>",
        "<a class=\"link\" href=\"#deadline\">Link to this deadline</a></p>",
        "<div class=\"scroll\" role=\"region\" tabindex=\"0\" aria-label=\"Misses of another deadline\">",
        "<table class=\"rows\"><caption>Misses, counted again</caption><thead><tr>",
        "<th scope=\"col\">Series</th><th scope=\"col\">Deadline</th><th scope=\"col\">Misses</th>",
        "<th scope=\"col\">Share</th><th scope=\"col\">Samples</th></tr></thead><tbody></tbody></table></div>",
        "<p class=\"hint\" id=\"what-if-note\"></p></div>",
    ));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn verdict(standing: Standing, misses: u64) -> Verdict {
        Verdict {
            limit_ns: 400_000,
            count: 60_000,
            misses,
            rate: misses as f64 / 60_000.0,
            upper_bound_95: 0.000_05,
            assumption: crate::verdict::Assumption::Independent,
            longest_run: misses,
            misses_per_hour: None,
            standing,
        }
    }

    #[test]
    fn the_words_name_what_they_rest_on() {
        assert!(
            basis(&verdict(Standing::Kept, 0))
                .contains("fewer than 50 in a million miss, if each is independent")
        );
        let missed = basis(&verdict(Standing::Missed, 3));
        assert!(
            missed.contains("50 in a million of all samples"),
            "{missed}"
        );
        assert!(missed.contains("3 misses in a row"), "{missed}");
        let of_a_histogram = basis(&Verdict {
            longest_run: 0,
            ..verdict(Standing::Missed, 3)
        });
        assert!(
            of_a_histogram.ends_with("Longest run: not known, as a histogram has no order."),
            "{of_a_histogram}"
        );
        let grouped = Verdict {
            assumption: crate::verdict::Assumption::Blocks(60),
            ..verdict(Standing::Missed, 3)
        };
        let grouped = basis(&grouped);
        assert!(
            grouped.contains("at 95 % confidence, by the spread over 60 parts of the run."),
            "{grouped}"
        );
    }

    #[test]
    fn values_are_set_against_the_limit() {
        assert_eq!(part_of(143_000, 400_000), "36\u{a0}% of the deadline");
        assert_eq!(part_of(17_170_000, 400_000), "42.9 times the deadline");
    }
}
