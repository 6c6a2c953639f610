//! A comparison in sentences.

use std::fmt;

use super::{Candidate, Change, Comparison, FigureComparison, Metric, NoInterval};
use crate::numbers;
use crate::summary::Summary;

/// Maximum number of sentences of differences; the table shows the rest.
const MAX_SENTENCES: usize = 3;
/// A ratio from here on is stated as a multiple.
const MULTIPLE: f64 = 2.0;

impl Comparison {
    /// The comparison in sentences: "after is 12 % slower at p99.9 (95 %: 8 to 15 %)." With more than two runs the last
    /// against the first. Empty for a single run.
    #[must_use]
    pub fn answer(&self, runs: &[Summary]) -> String {
        let (Some(first), Some(last)) = (self.runs.first(), self.runs.last()) else {
            return String::new();
        };
        let run = self.runs.len() - 1;
        let (mut more_missed, mut sentences, mut missed) = (Vec::new(), Vec::new(), Vec::new());
        let mut reason = None;
        let mut has_interval = false;
        for series in &self.series {
            let of_last = |candidate: &&Candidate| candidate.run == run;
            let Some(candidate) = series.candidates.iter().find(of_last) else {
                continue;
            };
            let named = match self.series.len() {
                1 => last.clone(),
                _ => format!("{} of {last}", series.name),
            };
            let clauses = clauses(&candidate.figures, self.confidence);
            if !clauses.is_empty() {
                sentences.push(format!("{named} is {}.", clauses.join(" and ")));
            }
            if let Some((sentence, is_more)) =
                misses(&named, first, candidate, runs, series.baseline)
            {
                let kind = if is_more {
                    &mut more_missed
                } else {
                    &mut missed
                };
                kind.push(sentence);
            }
            for figure in &candidate.figures {
                has_interval |= figure.interval.is_ok();
                let none = figure.interval.err();
                reason = reason.or(none.filter(|&none| none != NoInterval::Figure));
            }
        }
        let decided = match (sentences.is_empty(), has_interval, reason) {
            (false, ..) => String::new(),
            (true, true, _) => {
                format!(
                    "No difference between {first} and {last} that the runs separate from chance."
                )
            }
            (true, false, Some(NoInterval::NotPositive)) => {
                let reason = NoInterval::NotPositive;
                format!("{last} has no ratio to {first}: {reason}.")
            }
            (true, false, Some(reason)) => {
                format!("The runs are too short to compare {last} with {first}: {reason}.")
            }
            (true, false, None) if !missed.is_empty() || !more_missed.is_empty() => String::new(),
            (true, false, None) => format!("{first} and {last} have no figures in common."),
        };
        // What got worse for a robot comes first, and what both runs missed last.
        sentences.splice(0..0, more_missed);
        sentences.append(&mut missed);
        let more = sentences.len().saturating_sub(MAX_SENTENCES);
        sentences.truncate(MAX_SENTENCES);
        if more > 0 {
            sentences.push(numbers::counted(more as u64, "more such difference") + ".");
        }
        sentences.extend(Some(decided).filter(|it| !it.is_empty()));
        sentences.join(" ")
    }
}

impl fmt::Display for Change<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { series, run, .. } = self;
        // A significant figure has a ratio with an interval.
        let how = clause(self.figure, self.confidence).unwrap_or_default();
        write!(f, "{series} of {run} is {how}")
    }
}

/// The highest figure that is slower beyond chance, and the highest that is faster.
fn clauses(figures: &[FigureComparison], confidence: f64) -> Vec<String> {
    let marked = |figure: &&FigureComparison| figure.significant == Some(true);
    let slower = |figure: &&FigureComparison| figure.ratio.is_some_and(|ratio| ratio > 1.0);
    let marked = || figures.iter().filter(marked).rev();
    let highest = [marked().find(slower), marked().find(|f| !slower(f))];
    let clause = |figure: &FigureComparison| clause(figure, confidence);
    highest.into_iter().flatten().filter_map(clause).collect()
}

/// "12 % slower at p99.9 (95 %: 8.1 to 15 %)", "2.30 times as slow at p99.9 (95 %: 2.10 to 2.50)".
fn clause(figure: &FigureComparison, confidence: f64) -> Option<String> {
    let (ratio, (low, high)) = (figure.ratio?, figure.interval.ok()?);
    let confidence = numbers::percentage(confidence);
    let place = match figure.metric {
        Metric::Mean => "on average".to_owned(),
        metric => format!("at {metric}"),
    };
    if ratio >= MULTIPLE {
        let [ratio, low, high] = [ratio, low, high].map(super::times);
        return Some(format!(
            "{ratio} times as slow {place} ({confidence}: {low} to {high})"
        ));
    }
    let is_slower = ratio > 1.0;
    let (word, from, to) = match is_slower {
        true => ("slower", low, high),
        false => ("faster", high, low),
    };
    let percent = |ratio: f64| {
        let change = 100.0 * if is_slower { ratio - 1.0 } else { 1.0 - ratio };
        let digits = usize::from(change.abs() < 9.95);
        format!("{change:.digits$}")
    };
    Some(format!(
        "{} % {word} {place} ({confidence}: {} to {} %)",
        percent(ratio),
        percent(from),
        percent(to)
    ))
}

/// "after misses 12 of 60,000 deadlines, before 0 of 60,000.", and whether these are more than before. Absent where
/// neither misses, or one has no deadline.
fn misses(
    named: &str,
    first: &str,
    candidate: &Candidate,
    runs: &[Summary],
    baseline: usize,
) -> Option<(String, bool)> {
    let verdict = |run: usize, series: usize| runs.get(run)?.series.get(series)?.verdict;
    let (before, after) = (
        verdict(0, baseline)?,
        verdict(candidate.run, candidate.series)?,
    );
    let of = |misses: u64, count: u64| {
        let [misses, count] = [misses, count].map(numbers::thousands);
        format!("{misses} of {count}")
    };
    (before.misses > 0 || after.misses > 0).then(|| {
        let sentence = format!(
            "{named} misses {} deadlines, {first} {}.",
            of(after.misses, after.count),
            of(before.misses, before.count)
        );
        (sentence, after.rate > before.rate)
    })
}

#[cfg(test)]
mod tests {
    use kadenz_record::run::model::{Kind, Series};

    use super::*;
    use crate::testing::{named, run_of, series_of};

    fn figure(metric: Metric, ratio: f64, significant: bool) -> FigureComparison {
        FigureComparison {
            metric,
            baseline: 1e5,
            candidate: ratio * 1e5,
            ratio: Some(ratio),
            interval: Ok((ratio - 0.04, ratio + 0.03)),
            significant: Some(significant),
        }
    }

    fn answer(figures: Vec<FigureComparison>) -> String {
        comparison(figures).answer(&[])
    }

    fn comparison(figures: Vec<FigureComparison>) -> Comparison {
        let candidate = Candidate {
            run: 1,
            series: 0,
            figures,
        };
        let series = super::super::SeriesComparison {
            name: "wakeup".into(),
            baseline: 0,
            candidates: vec![candidate],
        };
        Comparison {
            runs: vec!["before".into(), "after".into()],
            series: vec![series],
            alone: Vec::new(),
            unread: Vec::new(),
            network: Vec::new(),
            differences: Vec::new(),
            confidence: 0.95,
        }
    }

    #[test]
    fn each_change_beyond_chance_is_one_sentence() {
        let percentile = |text: &str| Metric::Percentile(text.parse().unwrap());
        let comparison = comparison(vec![
            figure(Metric::Mean, 0.9, true),
            figure(percentile("99"), 1.3, false),
            figure(percentile("99.9"), 2.5, true),
        ]);
        let sentences: Vec<String> = comparison.significant().map(|it| it.to_string()).collect();
        assert_eq!(
            sentences,
            [
                "wakeup of after is 10 % faster on average (95 %: 7.0 to 14 %)",
                "wakeup of after is 2.50 times as slow at p99.9 (95 %: 2.46 to 2.53)",
            ]
        );
    }

    #[test]
    fn the_highest_marked_figure_of_either_direction_is_named() {
        let percentile = |text: &str| Metric::Percentile(text.parse().unwrap());
        assert_eq!(
            answer(vec![
                figure(Metric::Mean, 0.9, true),
                figure(percentile("99"), 1.3, true),
                figure(percentile("99.9"), 1.12, true),
                figure(percentile("99.99"), 1.4, false),
            ]),
            "after is 12 % slower at p99.9 (95 %: 8.0 to 15 %) and 10 % faster on average (95 %: 7.0 to \
             14 %)."
        );
        assert_eq!(
            answer(vec![figure(percentile("99"), 2.5, true)]),
            "after is 2.50 times as slow at p99 (95 %: 2.46 to 2.53)."
        );
    }

    #[test]
    fn more_misses_come_first_and_those_of_both_runs_last() {
        let judged = |misses: u64| {
            let series = Series {
                deadline_ns: Some(400_000),
                ..named("wakeup", Kind::Lateness)
            };
            series_of(series, &[(100_000, 1000 - misses), (500_000, misses)])
        };
        let answer = |before, after| {
            let runs = [before, after].map(|it| run_of("r", vec![judged(it)]));
            comparison(vec![figure(Metric::Mean, 1.5, true)]).answer(&runs)
        };
        let worse = answer(0, 2);
        let first = "after misses 2 of 1,000 deadlines, before 0 of 1,000. after is ";
        assert!(worse.starts_with(first), "{worse}");
        let same = answer(2, 2);
        let last = ". after misses 2 of 1,000 deadlines, before 2 of 1,000.";
        assert!(same.ends_with(last), "{same}");
    }

    #[test]
    fn chance_and_ignorance_are_distinguished() {
        assert_eq!(
            answer(vec![figure(Metric::Mean, 1.01, false)]),
            "No difference between before and after that the runs separate from chance."
        );
        let mut slow = figure(Metric::Mean, 1.5, false);
        slow.interval = Err(NoInterval::SlowChange);
        assert!(answer(vec![slow]).starts_with(
            "The runs are too short to compare after with before: a run changes too slowly"
        ));
    }
}
