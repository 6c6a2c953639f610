mod truth;

use kadenz_record::run::matrix::{Content, labels_of, name_of};
use kadenz_record::run::model::{Kind, Series, TuningMeasure};

use super::*;
use crate::summary::SeriesSummary;
use crate::testing::{named, run_of, searched, series_of};
use crate::text::{Style, Text};

/// The name and value of a measure in `run.json`.
fn name_and_value(measure: Measure) -> (&'static str, &'static str) {
    match measure {
        Measure::Priority => ("policy", "SCHED_FIFO 80"),
        Measure::Memory => ("memory_lock", "all pages"),
        Measure::Cpu => ("shield", "CPU 1"),
        Measure::Spin => ("sleeper", "spin"),
        Measure::Idle => ("cpu_dma_latency", "0 us"),
    }
}

fn tuning(combination: Combination) -> Vec<TuningMeasure> {
    let granted = |measure| {
        let (name, value) = name_and_value(measure);
        TuningMeasure::granted(name, value)
    };
    combination.measures().map(granted).collect()
}

/// Lateness and jitter of a cell; the lateness as `(value, how often)`.
fn cell(load: Load, name: &str, lateness: &[(i64, u64)]) -> [SeriesSummary; 2] {
    let combination: Combination = name.parse().unwrap();
    let series = |content, kind| Series {
        tuning: tuning(combination),
        labels: labels_of(load, combination, content),
        ..named(&name_of(load, combination, content), kind)
    };
    let spread: Vec<(i64, u64)> = lateness.iter().map(|&(v, n)| (v - 3_000, n)).collect();
    [
        series_of(
            Series {
                deadline_ns: Some(400_000),
                ..series(Content::Lateness, Kind::Lateness)
            },
            lateness,
        ),
        series_of(series(Content::Jitter, Kind::Jitter), &spread),
    ]
}

fn run(cells: impl IntoIterator<Item = [SeriesSummary; 2]>) -> Summary {
    let mut run = run_of("tune", cells.into_iter().flatten().collect());
    run.run.experiment = EXPERIMENT.into();
    run.run.host.cpus = 4;
    run.run.tune = Some(Tune {
        loads: Load::ALL.to_vec(),
        shield: [1].into(),
        ..Tune::default()
    });
    run
}

const STEADY: &[(i64, u64)] = &[(10_000, 59_900), (40_000, 100)];
const LATE: &[(i64, u64)] = &[(60_000, 59_900), (900_000, 100)];

fn refuse(cell: &mut [SeriesSummary; 2], name: &str) {
    for series in cell {
        let tuning = series.series.tuning.iter_mut();
        for measure in tuning.filter(|measure| measure.name == name) {
            measure.ok = false;
            measure.granted = "SCHED_OTHER".into();
            measure.reason = Some("no right".into());
            measure.remedy = Some("ulimit -r 99".into());
        }
    }
}

/// Makes both loads with the same cells.
fn both(cells: &[(&str, &[(i64, u64)])]) -> Vec<[SeriesSummary; 2]> {
    let of = |load| {
        cells
            .iter()
            .map(move |(name, values)| cell(load, name, values))
    };
    Load::ALL.into_iter().flat_map(of).collect()
}

fn of(cells: Vec<[SeriesSummary; 2]>) -> Matrix {
    Matrix::of(&run(cells)).unwrap()
}

fn said(matrix: &Matrix) -> String {
    matrix.recommendation.sentences.join(" ")
}

#[test]
fn only_a_tune_run_is_a_matrix() {
    assert!(Matrix::of(&run_of("r", vec![])).is_none());
}

#[test]
fn nothing_is_needed_where_no_tuning_keeps_the_deadline() {
    let matrix = of(both(&[("none", STEADY), ("P", STEADY), ("PMCS", STEADY)]));
    let Recommendation {
        standing,
        combination,
        permanent,
        ..
    } = matrix.recommendation.clone();
    assert_eq!(standing, RecommendationStanding::Keeps);
    assert_eq!(combination, Some(Combination::NONE));
    assert_eq!(permanent, None);
    assert_eq!(
        said(&matrix),
        "Nothing is needed: without any tuning this machine keeps 1 kHz with a 400 us deadline \
         without load and under heavy load: 0 misses in 60,000 and in 60,000, so fewer than 50 in \
         a million at 95 % confidence, if each is independent; 99.99 % was to be shown."
    );
}

#[test]
fn the_cheapest_that_keeps_it_under_every_load_is_recommended() {
    let mut cells = both(&[
        ("none", LATE),
        ("C", LATE),
        ("PC", STEADY),
        ("PMCS", STEADY),
    ]);
    cells.push(cell(Load::Unloaded, "PM", STEADY));
    cells.push(cell(Load::Heavy, "PM", LATE));
    let matrix = of(cells);
    assert_eq!(
        matrix.recommendation.standing,
        RecommendationStanding::Keeps
    );
    assert_eq!(matrix.recommendation.combination, "PC".parse().ok());
    let text = said(&matrix);
    assert!(
        text.starts_with(
            "Use PC. Real-time priority and a shielded CPU are the cheapest combination that keeps"
        ),
        "{text}"
    );
    let permanent = matrix.recommendation.permanent.unwrap();
    assert_eq!(
        permanent.command,
        "sudo kadenz run --priority 80 --shield 1 -- ./your-program"
    );
}

/// Holding idle states off costs less than a CPU, and the answer states the cost and the command.
#[test]
fn idle_states_held_off_are_recommended_before_a_cpu_is_given_away() {
    let cells = [
        ("none", LATE),
        ("PM", LATE),
        ("PMI", STEADY),
        ("PMC", STEADY),
    ];
    let matrix = of(both(&cells));
    assert_eq!(matrix.recommendation.combination, "PMI".parse().ok());
    let text = said(&matrix);
    assert!(text.contains("I costs power"), "{text}");
    let effects = matrix.contributions.iter();
    let effects =
        effects.filter(|it| it.measure == Measure::Idle && it.figure == EffectFigure::P99_9);
    let pairs: Vec<String> = effects.map(|it| format!("{:?}", it.pairs.len())).collect();
    assert_eq!(pairs, ["1", "1"], "PM against PMI under each load");
    for text in [
        shown(&matrix).to_string(),
        document(&matrix).and(beside_yoon2009(&matrix)).markdown(),
    ] {
        assert!(text.contains("--cpu-dma-latency 0us"), "{text}");
        assert!(text.contains("cpupower idle-set"), "{text}");
        assert!(text.contains("I: p99.9 lateness"), "{text}");
    }
    let refused = of({
        let mut cells = both(&cells);
        cells
            .iter_mut()
            .for_each(|cell| refuse(cell, "cpu_dma_latency"));
        cells
    });
    assert_eq!(refused.recommendation.combination, "PMC".parse().ok());
}

#[test]
fn only_everything_together_may_do() {
    let matrix = of(both(&[("none", LATE), ("PMC", LATE), ("PMCS", STEADY)]));
    assert_eq!(matrix.recommendation.combination, "PMCS".parse().ok());
    let command = matrix.recommendation.permanent.unwrap().command;
    assert!(command.contains("--priority 80 --lock --shield 1 --spin --"));
}

#[test]
fn where_none_keeps_it_the_closest_is_named_with_what_it_lacks() {
    let close: &[(i64, u64)] = &[(10_000, 59_997), (512_000, 3)];
    let matrix = of(both(&[("none", LATE), ("PMC", close), ("PMCS", LATE)]));
    let recommendation = &matrix.recommendation;
    assert_eq!(recommendation.standing, RecommendationStanding::NoneKeeps);
    assert_eq!(recommendation.combination, "PMC".parse().ok());
    assert_eq!(recommendation.permanent, None);
    let text = said(&matrix);
    assert!(
        text.starts_with("No combination that was measured keeps"),
        "{text}"
    );
    assert!(text.contains("3 misses in 60,000"), "{text}");
    assert!(
        text.contains("its largest lateness is 512 us, 112 us beyond the deadline"),
        "{text}"
    );
    assert!(text.contains("kadenz doctor"), "{text}");
}

#[test]
fn what_was_not_granted_is_never_recommended() {
    let mut cells = both(&[("none", LATE), ("P", STEADY), ("MC", STEADY)]);
    refuse(&mut cells[1], "policy");
    let matrix = of(cells);
    assert_eq!(matrix.recommendation.combination, "MC".parse().ok());
    let text = said(&matrix);
    assert!(
        text.contains("P is left out, because what it requests was not granted: SCHED_FIFO 80 (no right; remedy: ulimit -r 99)."),
        "{text}"
    );

    let mut cells = both(&[("none", LATE), ("P", STEADY)]);
    cells.iter_mut().for_each(|cell| refuse(cell, "policy"));
    let matrix = of(cells);
    assert_eq!(
        matrix.recommendation.standing,
        RecommendationStanding::NoneKeeps
    );
    assert_eq!(matrix.recommendation.combination, Some(Combination::NONE));
}

#[test]
fn a_measure_that_the_run_does_not_mention_was_not_granted() {
    let mut cells = both(&[("none", LATE), ("M", STEADY)]);
    for series in cells.iter_mut().flatten() {
        series.series.tuning.clear();
    }
    let matrix = of(cells);
    assert_eq!(
        matrix.recommendation.standing,
        RecommendationStanding::NoneKeeps
    );
    assert!(said(&matrix).contains("M is left out"), "{}", said(&matrix));
}

#[test]
fn too_few_samples_are_named_with_what_is_missing() {
    let few: &[(i64, u64)] = &[(10_000, 20_000)];
    let matrix = of(both(&[("none", LATE), ("P", few), ("PM", few)]));
    assert_eq!(
        matrix.recommendation.standing,
        RecommendationStanding::SoFar { more: 9_956 }
    );
    assert_eq!(matrix.recommendation.combination, "P".parse().ok());
    let text = said(&matrix);
    assert!(
        text.contains(
            "To claim 99.99 % it needs 9,956 samples more without load and 9,956 samples more under heavy load (9.96 s at 1 kHz)."
        ),
        "{text}"
    );
    // A dearer one that is certain comes before a cheaper one that is not, which is named.
    let matrix = of(both(&[("none", LATE), ("P", few), ("PMC", STEADY)]));
    assert_eq!(matrix.recommendation.combination, "PMC".parse().ok());
    assert!(
        said(&matrix).contains("P, cheaper, kept it so far too; 9,956 more samples would decide."),
        "{}",
        said(&matrix)
    );
}

#[test]
fn an_interrupted_matrix_says_what_it_lacks() {
    let mut cells = both(&[("none", LATE), ("PM", STEADY)]);
    cells.push(cell(Load::Unloaded, "P", STEADY));
    cells.push(cell(Load::Heavy, "P", &[]));
    cells.push(cell(Load::Unloaded, "M", &[]));
    let matrix = of(cells);
    assert_eq!(matrix.recommendation.combination, "PM".parse().ok());
    assert!(
        said(&matrix).contains("M, P are left out, because not every load was measured with it."),
        "{}",
        said(&matrix)
    );

    let matrix = of(vec![cell(Load::Unloaded, "none", STEADY)]);
    assert_eq!(matrix.missing_loads, [Load::Heavy]);
    assert!(said(&matrix).contains("Nothing was measured under heavy load"));

    let empty = of(vec![]);
    assert_eq!(
        empty.recommendation.standing,
        RecommendationStanding::Unknown
    );
}

#[test]
fn a_matrix_in_a_terminal_begins_with_the_answer() {
    let matrix = of(both(&[("none", LATE), ("PMC", STEADY)]));
    let text = shown(&matrix);
    assert!(text.starts_with("Use PMC. "), "{text}");
    let row = "| PMC          |  60,000 | 10.01 us | 10.01 us | 40.00 us | 40.00 us |      0 | recommended |";
    assert!(text.contains(row), "{text}");
    assert!(text.contains("LimitRTPRIO=80"), "{text}");
    let longest = text.lines().map(|line| line.chars().count()).max();
    assert!(longest <= Some(110), "{text}");
}

#[test]
fn markdown_has_the_published_rows_and_columns_and_the_published_figures() {
    let matrix = of(both(&[("none", LATE), ("PMC", STEADY)]));
    let text = beside_yoon2009(&matrix).markdown();
    assert!(text.contains("|  | none | PMC |\n"), "{text}");
    assert!(text.contains("\n| min | 1,057.00 | 1,007.00 |"), "{text}");
    assert!(text.contains("\n| Low 99 % max | 1,057.0"), "{text}");
    assert!(text.contains("Figure 8 of [Yoon2009]"), "{text}");
    assert!(text.contains("| 100 % max | 346,148.00 |"), "{text}");
}

fn shown(matrix: &Matrix) -> Text {
    document(matrix).fitted().terminal(Style::plain())
}

fn output(matrix: &Matrix) -> serde_json::Value {
    serde_json::to_value(matrix).unwrap()
}

#[test]
fn the_json_keeps_to_its_schema() {
    let few: &[(i64, u64)] = &[(10_000, 20)];
    let mut refused = both(&[("none", LATE), ("P", STEADY)]);
    refused.iter_mut().for_each(|cell| refuse(cell, "policy"));
    let matrices = [
        vec![],
        both(&[("none", LATE), ("M", LATE), ("P", STEADY), ("PMCS", STEADY)]),
        both(&[("none", few), ("M", &[]), ("S", few)]),
        refused,
        vec![cell(Load::Heavy, "PC", LATE)],
    ];
    for cells in matrices {
        let output = output(&of(cells));
        let schema = crate::json::tests::SCHEMAS[2].0;
        let complaints = crate::json::tests::complaints_by(schema, &output);
        assert_eq!(complaints, None, "{output:#}");
        for missing in ["recommendation", "ranking", "version"] {
            let mut bad = output.clone();
            bad.as_object_mut().unwrap().remove(missing);
            assert!(crate::json::tests::complaints_by(schema, &bad).is_some());
        }
    }
}

#[test]
fn the_json_names_cells_and_loads_as_agreed() {
    let output = output(&of(both(&[("none", LATE), ("PMC", STEADY)])));
    assert_eq!(output["loads"], serde_json::json!(["none", "heavy"]));
    assert_eq!(output["cells"][1]["cell"], "PMC");
    assert_eq!(output["cells"][1]["load"], "none");
    assert_eq!(output["recommendation"]["cell"], "PMC");
    assert_eq!(output["recommendation"]["keeps"], true);
    assert_eq!(output["ranking"][1]["best_first"][0]["cell"], "PMC");
    assert_eq!(output["samples_needed"], 29_956);
}

/// Names come from a file of any origin.
#[test]
fn names_that_are_none_of_a_matrix_are_left_to_the_usual_table() {
    let mut run = run(both(&[("none", STEADY)]));
    for name in [
        "heavy-<b>",
        "heavy-PMCSS",
        "",
        "heavy-none",
        "unloaded-P\u{0}M",
    ] {
        run.series
            .push(series_of(named(name, Kind::Lateness), &[(1, 1)]));
    }
    run.run.tune = None;
    let matrix = Matrix::of(&run).unwrap();
    assert_eq!(matrix.cells.len(), 2);
    assert_eq!(matrix.others(&run).count(), 5);
    assert_eq!(matrix.claim, Percent::P99_99);
    let text = crate::run_documents::summary(&run).terminal(Style::plain());
    assert!(
        text.contains("heavy-<b>") && text.contains("Nothing is needed"),
        "{text}"
    );
}

#[test]
fn a_page_of_a_matrix_shows_what_recurs_where_it_was_searched_for() {
    let mut run = run(both(&[("none", LATE), ("P", STEADY)]));
    let unasked = crate::html::render(std::slice::from_ref(&run));
    assert!(unasked.contains("id=\"cells\"") && !unasked.contains("#modes"));
    let name = run.series[0].series.name.clone();
    run.series[0].modes = Some(searched(&name, Kind::Lateness, Vec::new()));
    let page = crate::html::render(&[run]);
    assert!(page.contains("id=\"cells\"") && page.contains("<section id=\"modes\">"));
    assert!(page.contains("<a href=\"#modes\">"));
    assert!(page.contains(&format!("{name}: nothing recurs")));
}
