//! The verdict in one line: answer, rate, deadline and machine.

use kadenz_record::run::check::{EXPERIMENT, REALTIME};
use kadenz_record::run::model::{BEATS_NOT_RUN, Host};
use kadenz_record::run::network::RESPONSE;

use crate::numbers;
use crate::summary::{SeriesSummary, Summary};
use crate::verdict::{Standing, Verdict};

/// The answer to whether the deadlines were kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HeadlineAnswer {
    /// Every deadline that decides was kept.
    Yes,
    /// One was missed, or could not be kept: beats were given up, packets or messages lost.
    No,
    /// None was missed, but fewer samples were taken than a claim of 99 % needs.
    TooFew,
    /// There is no deadline.
    NotAsked,
}

/// The answer, and the line that states it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Headline {
    /// Whether every deadline that decides was kept.
    pub answer: HeadlineAnswer,
    /// "No: 1 kHz / 400 us missed 1.03 % on AMD EPYC, a virtual machine (kvm)".
    pub words: String,
}

/// A series and its verdict.
type Judged<'a> = (&'a SeriesSummary, Verdict);

impl Headline {
    /// The headline of a run. In a check the series with the requested tuning and the round trips decide, in any other
    /// run every series with a deadline. Lost packets decide as
    /// [`MaxLoss`](kadenz_record::run::network::MaxLoss) permits them.
    ///
    /// ```
    /// use kadenz_report::summary::Summary;
    /// use kadenz_report::answers::{HeadlineAnswer, Headline};
    ///
    /// let headline = Headline::of(&Summary::default());
    /// assert_eq!(headline.answer, HeadlineAnswer::NotAsked);
    /// assert_eq!(headline.words, "No deadline was stated");
    /// ```
    #[must_use]
    pub fn of(summary: &Summary) -> Self {
        let deciding = deciding(summary);
        let not_done = not_done(summary, &deciding);
        let Some(asked) = deciding.first() else {
            return match not_done {
                Some(why) => Self {
                    answer: HeadlineAnswer::No,
                    words: format!("No: {why}"),
                },
                None => Self {
                    answer: HeadlineAnswer::NotAsked,
                    words: "No deadline was stated".to_owned(),
                },
            };
        };
        let on = machine(&summary.run.host).map_or_else(String::new, |it| format!(" on {it}"));
        let missed = deciding.iter().any(|(_, it)| it.misses > 0);
        let few = |(_, it): &Judged<'_>| it.standing == Standing::TooFew;
        let (answer, words) = match not_done {
            _ if missed => (HeadlineAnswer::No, format!("No: {}", misses(&deciding))),
            Some(why) => (
                HeadlineAnswer::No,
                format!("No: {why} at {}", question(asked)),
            ),
            None if deciding.iter().any(few) => {
                let what = question(asked);
                (
                    HeadlineAnswer::TooFew,
                    format!("Too few samples to decide: {what}"),
                )
            }
            None => (HeadlineAnswer::Yes, kept(&deciding)),
        };
        Self {
            answer,
            words: words + &on,
        }
    }
}

/// The series whose deadlines decide.
fn deciding(summary: &Summary) -> Vec<Judged<'_>> {
    let all = summary.series.iter();
    let judged: Vec<Judged<'_>> = all.filter_map(|it| Some((it, it.verdict?))).collect();
    let of_check = |it: &&Judged<'_>| [REALTIME, RESPONSE].contains(&it.0.series.name.as_str());
    let of_check: Vec<Judged<'_>> = judged.iter().filter(of_check).copied().collect();
    match summary.run.experiment == EXPERIMENT && !of_check.is_empty() {
        true => of_check,
        false => judged,
    }
}

/// Work that was not done, and so cannot have kept a deadline.
fn not_done(summary: &Summary, deciding: &[Judged<'_>]) -> Option<String> {
    let gave_up = summary.warnings.iter().any(|it| it.id == BEATS_NOT_RUN);
    if gave_up && !deciding.is_empty() {
        return Some("beats were given up".to_owned());
    }
    if let Some(loss) = summary.loss_of_import().filter(|_| !deciding.is_empty()) {
        return Some(loss.words().to_owned());
    }
    let judged = |value: &str| {
        let of = |(it, _): &Judged<'_>| it.series.value() == value;
        deciding.iter().any(of)
    };
    summary.lost_beyond_limit(judged)
}

/// "1 kHz / 400 us missed 1.03 %".
fn misses(deciding: &[Judged<'_>]) -> String {
    let missed: Vec<Judged<'_>> = deciding
        .iter()
        .filter(|it| it.1.misses > 0)
        .copied()
        .collect();
    let rate = |judged: &&Judged<'_>| judged.1.rate;
    let worst = missed.iter().max_by(|a, b| rate(a).total_cmp(&rate(b)));
    let share = numbers::percentage(worst.map_or(0.0, |it| it.1.rate));
    let of_check = |it: &Judged<'_>| it.0.series.name == RESPONSE;
    match (deciding, worst) {
        ([_], Some(only)) => format!("{} missed {share}", question(only)),
        (all, Some(worst)) if all.iter().any(of_check) => {
            let what = if of_check(worst) {
                "round trips at "
            } else {
                ""
            };
            format!("{what}{} missed {share}", question(worst))
        }
        (all, _) => {
            let same = all.iter().all(|it| question(it) == question(&all[0]));
            let what = if same {
                question(&all[0])
            } else {
                "their deadline".to_owned()
            };
            let (of, all) = (missed.len(), all.len());
            format!("{of} of {all} series missed {what}, at worst {share},")
        }
    }
}

/// "Yes, at SCHED_FIFO 80: 1 kHz / 400 us kept".
fn kept(deciding: &[Judged<'_>]) -> String {
    let mut policies = deciding[0].0.series.tuning.iter();
    let policy = policies.find(|it| it.name == "policy" && !it.granted.is_empty());
    let same = deciding
        .iter()
        .all(|it| question(it) == question(&deciding[0]));
    match (deciding.len(), policy) {
        (1 | 2, Some(policy)) if same => {
            format!(
                "Yes, at {}: {} kept",
                policy.granted,
                question(&deciding[0])
            )
        }
        _ if same => format!("Yes: {} kept", question(&deciding[0])),
        _ => "Yes: every deadline was kept".to_owned(),
    }
}

/// "1 kHz / 400 us".
fn question((series, verdict): &Judged<'_>) -> String {
    let limit = numbers::span(verdict.limit_ns as f64);
    match series.series.expected_interval_ns {
        Some(interval) => format!("{} / {limit}", numbers::rate(interval)),
        None => limit,
    }
}

/// Containers as `Host::virtualisation` names them: a container alone is not a virtual machine.
const CONTAINERS: [&str; 5] = ["docker", "podman", "kubernetes", "lxc", "systemd-nspawn"];

/// The machine in a few words: its processor, and whether it is a virtual one. Absent where nothing is known about it.
///
/// ```
/// use kadenz_record::run::model::Host;
/// use kadenz_report::answers::machine;
///
/// let mut host = Host {
///     cpu: Some("Intel(R) Core(TM) i7-4770R CPU @ 3.20GHz".into()),
///     virtualisation: Some("none".into()),
///     ..Host::default()
/// };
/// assert_eq!(machine(&host).as_deref(), Some("Intel Core i7-4770R, bare metal"));
/// host.virtualisation = Some("kvm, docker".into());
/// assert_eq!(machine(&host).as_deref(), Some("Intel Core i7-4770R, a virtual machine (kvm)"));
/// host.virtualisation = Some("docker".into());
/// assert_eq!(machine(&host).as_deref(), Some("Intel Core i7-4770R, in a container (docker)"));
/// ```
#[must_use]
pub fn machine(host: &Host) -> Option<String> {
    let cpu = host.cpu.as_deref().map(|cpu| {
        let cpu = cpu.split(" @ ").next().unwrap_or(cpu);
        let cpu = cpu.replace("(R)", "").replace("(TM)", "");
        cpu.trim_end_matches(" CPU").trim().to_owned()
    });
    let kind = match host.virtualisation.as_deref() {
        None => None,
        Some("none") => Some("bare metal".to_owned()),
        Some(layers) => Some(virtual_or_contained(layers)),
    };
    let words: Vec<String> = [cpu, kind].into_iter().flatten().collect();
    (!words.is_empty()).then(|| words.join(", "))
}

fn virtual_or_contained(layers: &str) -> String {
    let is_container = |layer: &&str| CONTAINERS.contains(layer);
    match layers.split(", ").find(|layer| !is_container(layer)) {
        Some(hypervisor) => format!("a virtual machine ({hypervisor})"),
        None => format!("in a container ({layers})"),
    }
}

#[cfg(test)]
mod tests {
    use kadenz_record::run::check::ORDINARY;
    use kadenz_record::run::model::{Series, TuningMeasure, Warning};
    use kadenz_record::run::network::{Flow, MaxLoss, Network};

    use super::*;
    use crate::import::LOST;

    fn series(name: &str, count: u64, misses: u64) -> SeriesSummary {
        let policy = match name {
            ORDINARY => "SCHED_OTHER",
            _ => "SCHED_FIFO 80",
        };
        SeriesSummary {
            series: Series {
                name: name.into(),
                expected_interval_ns: Some(1_000_000),
                tuning: vec![TuningMeasure::granted("policy", policy)],
                ..Series::default()
            },
            verdict: Some(Verdict::new(400_000, count, misses, misses, 0)),
            ..SeriesSummary::default()
        }
    }

    fn run(experiment: &str, series: Vec<SeriesSummary>) -> Summary {
        let mut summary = Summary {
            series,
            ..Summary::default()
        };
        summary.run.experiment = experiment.into();
        summary.run.host.cpu = Some("AMD EPYC".into());
        summary
    }

    fn words(summary: &Summary) -> String {
        Headline::of(summary).words
    }

    #[test]
    fn a_check_is_decided_by_the_tuning_that_was_asked_for() {
        let of = |realtime, ordinary| {
            let both = vec![
                series(REALTIME, 60_000, realtime),
                series(ORDINARY, 60_000, ordinary),
            ];
            words(&run(EXPERIMENT, both))
        };
        assert_eq!(
            of(618, 9000),
            "No: 1 kHz / 400 us missed 1.03 % on AMD EPYC"
        );
        assert_eq!(
            of(0, 9000),
            "Yes, at SCHED_FIFO 80: 1 kHz / 400 us kept on AMD EPYC"
        );
    }

    #[test]
    fn a_check_with_round_trips_says_which_missed() {
        let both = vec![series(REALTIME, 60_000, 0), series(RESPONSE, 1000, 30)];
        assert_eq!(
            words(&run(EXPERIMENT, both)),
            "No: round trips at 1 kHz / 400 us missed 3 % on AMD EPYC"
        );
    }

    #[test]
    fn lost_packets_decide_as_far_as_none_are_permitted() {
        let of = |deadline: bool, lost, max_loss| {
            let mut summary = run("udp-send", vec![series(RESPONSE, 1000, 0)]);
            summary.series[0].verdict = summary.series[0].verdict.filter(|_| deadline);
            let flow = Flow {
                sent: 1000,
                lost,
                ..Flow::default()
            };
            summary.run.network = Some(Network {
                flows: vec![flow],
                max_loss,
                ..Network::default()
            });
            Headline::of(&summary).answer
        };
        let half_percent = Some(MaxLoss::Percent(0.5));
        assert_eq!(of(true, 1, None), HeadlineAnswer::No);
        assert_eq!(of(true, 5, half_percent), HeadlineAnswer::Yes);
        assert_eq!(of(true, 6, half_percent), HeadlineAnswer::No);
        assert_eq!(of(false, 900, None), HeadlineAnswer::NotAsked);
        assert_eq!(of(false, 6, half_percent), HeadlineAnswer::No);
    }

    #[test]
    fn values_that_another_program_lost_have_not_kept_their_deadline() {
        let mut imported = run("import", vec![series("rtt", 60_000, 0)]);
        imported.warnings = vec![Warning::new(LOST, "300 of 1000 were lost", None)];
        assert_eq!(
            words(&imported),
            "No: values were lost at 1 kHz / 400 us on AMD EPYC"
        );
        imported.series[0].verdict = None;
        assert_eq!(Headline::of(&imported).answer, HeadlineAnswer::NotAsked);
    }

    #[test]
    fn several_series_are_counted() {
        let all = vec![
            series("a", 60_000, 600),
            series("b", 60_000, 0),
            series("c", 60_000, 6),
        ];
        assert_eq!(
            words(&run("hiccup", all)),
            "No: 2 of 3 series missed 1 kHz / 400 us, at worst 1 %, on AMD EPYC"
        );
    }

    #[test]
    fn too_few_samples_and_beats_that_were_given_up_are_no_yes() {
        let few = run("timer-cyclic", vec![series("wakeup", 100, 0)]);
        assert_eq!(Headline::of(&few).answer, HeadlineAnswer::TooFew);
        let mut given_up = run(EXPERIMENT, vec![series(REALTIME, 60_000, 0)]);
        assert_eq!(Headline::of(&given_up).answer, HeadlineAnswer::Yes);
        given_up.warnings.push(Warning {
            id: BEATS_NOT_RUN.into(),
            ..Warning::default()
        });
        assert_eq!(
            Headline::of(&given_up).words,
            "No: beats were given up at 1 kHz / 400 us on AMD EPYC"
        );
    }
}
