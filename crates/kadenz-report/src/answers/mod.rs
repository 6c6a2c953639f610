//! The answers of a run in words: whether it keeps its deadlines, how the time divides, how late its testbed was.

pub mod broadcasts;
pub mod budget;
mod headline;
pub mod testbed;

use kadenz_record::run::model::{Kind, Scheduling, Series, TuningMeasure};
use kadenz_record::run::network::RESPONSE;

use crate::figures::capitalised;
use crate::numbers;
use crate::summary::{SeriesSummary, Summary};
use crate::verdict::{Standing, Verdict, describe};

pub use headline::{Headline, HeadlineAnswer, machine};

/// The answer to the deadlines of a run in words: one sentence per deadline, the series that keep it first. Absent when
/// no series has a deadline.
///
/// ```
/// # use kadenz_record::run::model::{Series, TuningMeasure};
/// # use kadenz_report::summary::{SeriesSummary, Summary};
/// use kadenz_report::answers::answer;
/// use kadenz_report::verdict::Verdict;
///
/// # let series = |policy: &str, verdict| SeriesSummary {
/// #     series: Series {
/// #         expected_interval_ns: Some(1_000_000),
/// #         tuning: vec![TuningMeasure {
/// #             name: "policy".into(), granted: policy.into(), ok: true, ..Default::default()
/// #         }],
/// #         ..Default::default()
/// #     },
/// #     verdict: Some(verdict),
/// #     ..Default::default()
/// # };
/// let tuned = series("SCHED_FIFO 80", Verdict::new(400_000, 60_000, 0, 0, 0));
/// let ordinary = series("SCHED_OTHER", Verdict::new(400_000, 60_000, 312, 4, 0));
/// let summary = Summary { series: vec![ordinary, tuned], ..Default::default() };
/// assert_eq!(
///     answer(&summary).as_deref(),
///     Some(
///         "This machine keeps 1 kHz with a 400 us deadline at SCHED_FIFO 80: 0 misses in 60,000, \
///          so fewer than 50 in a million at 95 % confidence, if each is independent; as an ordinary \
///          process it does not: 312 misses in 60,000 (0.52 %), at most 4 in a row; fewer than 6.3 \
///          in a thousand at 95 % confidence, taking 4 in a row as one event."
///     )
/// );
/// ```
#[must_use]
pub fn answer(summary: &Summary) -> Option<String> {
    let mut judged: Vec<(&SeriesSummary, &Verdict)> = summary
        .series
        .iter()
        .filter_map(|s| s.verdict.as_ref().map(|v| (s, v)))
        .collect();
    judged.sort_by_key(|(_, verdict)| verdict.standing);
    let mut sentences: Vec<String> = Vec::new();
    while let Some((first, first_verdict)) = judged.first().copied() {
        let asked = |(series, verdict): &(&SeriesSummary, &Verdict)| {
            series.series.expected_interval_ns == first.series.expected_interval_ns
                && of_round_trips(series) == of_round_trips(first)
                && verdict.limit_ns == first_verdict.limit_ns
        };
        let (same, others): (Vec<_>, Vec<_>) = judged.into_iter().partition(asked);
        sentences.push(sentence(&same));
        sentences.extend(longer_than_period(&summary.run.experiment, &same));
        judged = others;
    }
    (!sentences.is_empty()).then(|| sentences.join(" "))
}

/// One sentence on series with the same rate and deadline.
fn sentence(judged: &[(&SeriesSummary, &Verdict)]) -> String {
    let mut text = String::new();
    let (keep, keep_not) = match judged
        .first()
        .is_some_and(|(first, _)| of_round_trips(first))
    {
        true => ("round trips keep", "Round trips do not keep"),
        false => ("this machine keeps", "This machine does not keep"),
    };
    for (index, &(series, verdict)) in judged.iter().enumerate() {
        let how = manner(series, judged);
        let what = question(series.series.expected_interval_ns, verdict.limit_ns);
        let clause = match (index, verdict.standing) {
            (0, Standing::Kept) => capitalised(&format!("{keep} {what} {how}")),
            (0, Standing::Missed | Standing::ValuesLost(_)) => format!("{keep_not} {what} {how}"),
            (0, Standing::TooFew) => {
                format!("Too few samples to decide whether {keep} {what} {how}")
            }
            (_, Standing::Kept) => format!("; {how} too"),
            (_, Standing::Missed | Standing::ValuesLost(_)) => match judged[0].1.standing {
                Standing::Kept => format!("; {how} it does not"),
                _ => format!("; nor {how}"),
            },
            (_, Standing::TooFew) => format!("; {how} the samples are too few to say"),
        };
        text.push_str(&clause);
        text.push_str(": ");
        text.push_str(&describe(verdict));
    }
    text.push('.');
    text
}

/// What a kept deadline does not show where it is longer than the period. A one-shot timer has no period.
fn longer_than_period(experiment: &str, judged: &[(&SeriesSummary, &Verdict)]) -> Option<String> {
    let (series, verdict) = judged.first()?;
    let period_ns = series.series.expected_interval_ns?;
    let of_a_beat = series.series.kind == Kind::Lateness && experiment != "timer-oneshot";
    (of_a_beat && !of_round_trips(series) && verdict.limit_ns > period_ns).then(|| {
        format!(
            "But the deadline is longer than the period of {}: a wake-up after the next beat was due \
             counts as kept.",
            numbers::span(period_ns as f64)
        )
    })
}

/// Whether a series depends not only on this machine, but on its network and devices as well.
fn of_round_trips(series: &SeriesSummary) -> bool {
    series.series.name == RESPONSE
}

/// "1 kHz with a 400 us deadline".
pub(crate) fn question(interval_ns: Option<u64>, limit_ns: u64) -> String {
    let limit = numbers::span(limit_ns as f64);
    match interval_ns {
        Some(interval) => format!("{} with a {limit} deadline", numbers::rate(interval)),
        None => format!("a {limit} deadline"),
    }
}

/// "at SCHED_FIFO 80", "as an ordinary process"; with the name of the series where another one had the same scheduling.
fn manner(series: &SeriesSummary, judged: &[(&SeriesSummary, &Verdict)]) -> String {
    let scheduling = scheduling(&series.series);
    let shared = judged
        .iter()
        .filter(|(other, _)| self::scheduling(&other.series) == scheduling);
    let name = &series.series.name;
    match scheduling {
        None => format!("in series `{name}`"),
        Some(words) if shared.count() > 1 => format!("{words} (series `{name}`)"),
        Some(words) => words,
    }
}

/// Tuning of a thread, as measures are named.
const OF_A_THREAD: [&str; 6] = [
    "policy",
    "memory_lock",
    "affinity",
    "shield",
    "cpu_dma_latency",
    "timer_slack",
];

/// How a series was scheduled, and which part of the requested tuning it lacked.
fn scheduling(series: &Series) -> Option<String> {
    let named = |name: &str| series.tuning.iter().find(|measure| measure.name == name);
    let granted = match named("policy")?.scheduling()? {
        Scheduling::Ordinary => "as an ordinary process".to_owned(),
        Scheduling::By(policy) => format!("at {policy}"),
    };
    let refused = OF_A_THREAD.into_iter().filter_map(named);
    let refused: Vec<&TuningMeasure> = refused
        .filter(|measure| !measure.ok && !measure.requested.is_empty())
        .collect();
    let Some(first) = refused.first() else {
        return Some(granted);
    };
    let all: Vec<&str> = refused.iter().map(|it| it.requested.as_str()).collect();
    // Its first half: the immediate remedy.
    let remedy = first
        .remedy
        .as_deref()
        .and_then(|it| it.split([';', '\n']).next());
    let remedy = remedy.map_or_else(String::new, |it| format!("; remedy: {it}"));
    Some(format!(
        "{granted} (not granted: {}{remedy})",
        all.join(", ")
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn series(name: &str, policy: Option<(&str, &str)>, verdict: Verdict) -> SeriesSummary {
        let tuning = policy.map(|(requested, granted)| TuningMeasure {
            name: "policy".into(),
            requested: requested.into(),
            granted: granted.into(),
            ok: requested == granted,
            ..Default::default()
        });
        let series = Series {
            name: name.into(),
            expected_interval_ns: Some(1_000_000),
            tuning: tuning.into_iter().collect(),
            ..Default::default()
        };
        SeriesSummary {
            series,
            verdict: Some(verdict),
            ..Default::default()
        }
    }

    fn answer_of(series: Vec<SeriesSummary>) -> String {
        answer(&Summary {
            series,
            ..Default::default()
        })
        .unwrap()
    }

    #[test]
    fn a_single_miss_is_a_miss() {
        let verdict = Verdict::new(400_000, 100_000_000, 1, 1, 0);
        assert_eq!(
            answer_of(vec![series(
                "a",
                Some(("SCHED_RR 50", "SCHED_RR 50")),
                verdict
            )]),
            "This machine does not keep 1 kHz with a 400 us deadline at SCHED_RR 50: 1 miss in \
         100,000,000 (0.000001 %); fewer than 48 in a billion at 95 % \
         confidence, if each is independent."
        );
    }

    #[test]
    fn too_few_samples_claim_nothing() {
        let text = answer_of(vec![series("a", None, Verdict::new(400_000, 100, 0, 0, 0))]);
        assert_eq!(
            text,
            "Too few samples to decide whether this machine keeps 1 kHz with a 400 us deadline in \
         series `a`: 0 misses in 100, which allows up to 3 in a hundred; 299 samples without a \
         miss claim 99 %."
        );
    }

    #[test]
    fn a_refused_policy_is_said() {
        let verdict = Verdict::new(400_000, 60_000, 0, 0, 0);
        let text = answer_of(vec![series(
            "a",
            Some(("SCHED_FIFO 80", "SCHED_OTHER")),
            verdict,
        )]);
        assert!(
        text.starts_with(
            "This machine keeps 1 kHz with a 400 us deadline as an ordinary process (not granted: \
             SCHED_FIFO 80): "
        ),
        "{text}"
    );
    }

    #[test]
    fn a_deadline_beyond_the_period_is_said_to_be_one() {
        let of = |limit_ns| {
            let verdict = Verdict::new(limit_ns, 60_000, 0, 0, 0);
            answer_of(vec![series("a", None, verdict)])
        };
        assert!(!of(1_000_000).contains("longer than the period"));
        assert!(of(1_000_001).ends_with(
        " But the deadline is longer than the period of 1 ms: a wake-up after the next beat was \
         due counts as kept."
    ));
    }

    #[test]
    fn series_in_the_same_manner_are_distinguished_by_name() {
        let policy = Some(("SCHED_FIFO 80", "SCHED_FIFO 80"));
        let missed = Verdict::new(400_000, 60_000, 5, 2, 0);
        let text = answer_of(vec![
            series("spin", policy, missed),
            series("sleep", policy, missed),
        ]);
        assert!(text.contains("at SCHED_FIFO 80 (series `spin`)"), "{text}");
        assert!(
            text.contains("; nor at SCHED_FIFO 80 (series `sleep`)"),
            "{text}"
        );
    }

    #[test]
    fn different_questions_get_a_sentence_each() {
        let kept = |limit| Verdict::new(limit, 60_000, 0, 0, 0);
        let text = answer_of(vec![
            series("a", None, kept(400_000)),
            series("b", None, kept(50_000)),
        ]);
        assert_eq!(text.matches("This machine keeps").count(), 2, "{text}");
    }

    #[test]
    fn round_trips_get_a_sentence_of_their_own() {
        let policy = Some(("SCHED_FIFO 80", "SCHED_FIFO 80"));
        let kept = Verdict::new(400_000, 60_000, 0, 0, 0);
        let missed = Verdict::new(400_000, 60_000, 5, 2, 0);
        let of = |response| {
            let response = series(RESPONSE, policy, response);
            answer_of(vec![series("realtime", policy, kept), response])
        };
        let asked = "1 kHz with a 400 us deadline at SCHED_FIFO 80: ";
        for (response, words) in [
            (kept, "Round trips keep "),
            (missed, "Round trips do not keep "),
            (
                Verdict::new(400_000, 9, 0, 0, 0),
                "to decide whether round trips keep ",
            ),
        ] {
            let text = of(response);
            assert!(
                text.contains(&format!("This machine keeps {asked}")),
                "{text}"
            );
            assert!(text.contains(&format!("{words}{asked}")), "{text}");
        }
    }

    #[test]
    fn a_run_without_deadlines_answers_nothing() {
        assert_eq!(answer(&Summary::default()), None);
    }
}
