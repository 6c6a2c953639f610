//! Documents of runs as a user reads them.
//!
//! Longer than 500 lines: most of them are expected tables.

use kadenz_record::run::labels::{DEVICE, VALUE, labels};
use kadenz_record::run::model::{Kind, Series, TuningMeasure, Warning};
use kadenz_record::run::network::{Broadcasts, Flow, Network, Places};

use super::*;
use crate::compare::{CompareOptions, Comparison};
use crate::testing::{enner2016, named, of_a_coarse_log, run_of, sampled, searched, series_of};
use crate::text::{Style, Text};

fn plain(document: &Document) -> Text {
    document.terminal(Style::plain())
}

/// The table at the end of Enner; its last row writes the thousands with points.
#[test]
fn the_table_of_enner2016_is_reproduced() {
    let table = plain(&Document::new().table(overview(&enner2016())).fitted());
    assert_eq!(
        table,
        "\
|                         |    samples |     mean |   stddev |      max | (max-mean)/stddev |
|-------------------------|------------|----------|----------|----------|-------------------|
| Windows 10              | 80,304,595 | 550.0 us | 370.0 us | 17.17 ms |              44.9 |
| OSX 10.9.5              | 65,282,969 | 320.0 us | 30.00 us | 12.65 ms |               411 |
| Ubuntu 16.04            | 78,039,162 | 100.0 us | 10.00 us | 3.030 ms |               293 |
| Scientific Linux 6.6-rt | 79,753,643 | 80.00 us | 10.00 us | 150.0 us |                 7 |"
    );
}

fn judged(name: &str, values: &[(i64, u64)]) -> crate::summary::SeriesSummary {
    series_of(
        Series {
            deadline_ns: Some(400_000),
            ..named(name, Kind::Lateness)
        },
        values,
    )
}

#[test]
fn a_sheet_has_what_the_sample_carries_and_no_more() {
    let series = judged("wakeup", &[(50_000, 4_990), (900_000, 10)]);
    let sheet = plain(&sheet(&[series]).fitted());
    assert_eq!(
        sheet,
        "\
|                         |            wakeup |
|-------------------------|-------------------|
| samples                 |             5,000 |
| min                     |          50.00 us |
| mean                    |          51.70 us |
| stddev                  |          37.97 us |
| 50 %                    |          50.02 us |
| 90 %                    |          50.02 us |
| 99 %                    |     (50) 50.02 us |
| 99.9 %                  |      (5) 900.0 us |
| max                     |          900.0 us |
| (max-mean)/stddev       |              22.3 |
| deadline                |            400 us |
| misses                  |                10 |
| miss rate               |             0.2 % |
| at most (95 %)          | 9.5 in a thousand |
| most consecutive misses |                10 |
| misses per hour         |             7,200 |
| kept                    |                no |

(n): only n samples lie beyond this percentile; beyond the others lie 100 or more."
    );
}

#[test]
fn narrow_terminals_get_more_tables_instead_of_broken_ones() {
    let series: Vec<_> = ["nanosleep", "timerfd", "spin", "poll"]
        .map(|name| judged(name, &[(50_000, 60_000)]))
        .to_vec();
    for width in [40_u16, 60, 80, 200] {
        let text = sheet(&series)
            .fitted()
            .terminal(Style { width, rich: false });
        let longest = text.lines().map(|line| line.chars().count()).max().unwrap();
        assert!(
            longest <= usize::from(width) || width == 40,
            "{longest} at {width}\n{text}"
        );
        for name in ["nanosleep", "timerfd", "spin", "poll"] {
            assert_eq!(
                text.matches(&format!(" {name} ")).count(),
                1,
                "{name} at {width}"
            );
        }
    }
}

#[test]
fn nothing_rich_reaches_a_pipe() {
    let run = run_of("r", vec![judged("wakeup", &[(50_000, 600), (900_000, 2)])]);
    let plain = plain(&summary(&run));
    assert!(plain.is_ascii(), "{plain}");
    let (width, rich) = (100, true);
    let rich = summary(&run).terminal(Style { width, rich });
    assert!(rich.contains('\u{1b}'), "no colour in {rich}");
}

#[test]
fn the_findings_of_sticha2014_are_shown() {
    let values: Vec<i64> = (0..9000)
        .map(|i| {
            if i % 8 == 0 {
                -880_000 - 50 * (i % 100)
            } else {
                125_000 + 90 * (i % 70)
            }
        })
        .collect();
    let run = run_of("r", vec![sampled(named("jitter", Kind::Jitter), &values)]);
    let text = plain(&summary(&run));
    assert!(text.contains("early clusters"), "{text}");
    assert!(text.contains("12.5 % at -882 us"), "{text}");
    assert!(text.contains("frequency kept"), "{text}");
    assert!(
        text.contains("jitter, lowest [index]: -885 us [96"),
        "{text}"
    );
}

#[test]
fn warnings_and_refusals_stand_with_their_remedy() {
    let mut series = judged("wakeup", &[(50_000, 600)]);
    series.series.tuning.push(TuningMeasure {
        name: "policy".into(),
        requested: "SCHED_FIFO 80".into(),
        granted: "SCHED_OTHER".into(),
        ok: false,
        reason: Some("no right".into()),
        remedy: Some("ulimit -r 99".into()),
    });
    let mut run = run_of("r", vec![series.clone(), series]);
    run.warnings.push(Warning::new(
        "virtual_machine",
        "This is a virtual machine.",
        Some("measure on the metal"),
    ));
    let text = plain(&summary(&run));
    let refused = "warning: policy: SCHED_FIFO 80 was requested and not granted (SCHED_OTHER is in force): no right\n  \
                   remedy: ulimit -r 99";
    assert_eq!(text.matches(refused).count(), 1, "{text}");
    assert!(text.ends_with("warning: This is a virtual machine.\n  remedy: measure on the metal"));
}

#[test]
fn the_brief_answer_keeps_the_remedy_of_a_refusal_that_is_no_tuning() {
    let mut run = run_of("r", vec![judged("wakeup", &[(50_000, 600)])]);
    run.warnings.push(Warning::new(
        "series_refused",
        "a device has no series of its own: too many",
        Some("look at the series of all devices"),
    ));
    run.warnings.push(Warning::new(
        "camera_lost",
        "no frame of rtsp://robot:8554/camera came in the last 3.4 s",
        Some("see its power"),
    ));
    let text = plain(&brief(&[run], &BriefAdditions::default())).to_string();
    let lost = "no frame of rtsp://robot:8554/camera came in the last 3.4 s";
    assert!(text.contains(&format!("warning: {lost}")), "{text}");
    assert!(text.contains(&format!("- {lost}: see its power")), "{text}");
    assert!(
        text.contains("- a device has no series of its own: look at"),
        "{text}"
    );
}

#[test]
fn a_comparison_shows_ratios_and_what_else_differs() {
    let run = |folder: &str, tail: i64, kernel: &str| {
        let series = series_of(
            named("wakeup", Kind::Lateness),
            &[(50_000, 9_800), (tail, 200)],
        );
        let mut run = run_of(folder, vec![series]);
        run.run.host.kernel = Some(kernel.to_owned());
        run
    };
    let runs = [
        run("runs/before", 100_000, "6.1"),
        run("runs/after", 132_000, "6.6-rt"),
    ];
    let compared = Comparison::new(&runs, &CompareOptions::default());
    assert_eq!(
        plain(&comparison(&compared, &runs)),
        "\
The runs are too short to compare after with before: the log of a run has fewer than 8 intervals;
measure longer.

The runs were taken differently:
kernel: 6.1 in before, 6.6-rt in after

| wakeup  |   before |    after | ratio |
|---------|----------|----------|-------|
| samples |   10,000 |   10,000 |       |
| min     | 50.00 us | 50.00 us | 1.00x |
| mean    | 51.00 us | 51.64 us | 1.01x |
| stddev  | 7.000 us | 11.48 us | 1.64x |
| p50     | 50.02 us | 50.02 us | 1.00x |
| p90     | 50.02 us | 50.02 us | 1.00x |
| p99     | 100.0 us | 132.0 us | 1.32x |
| p99.9   | 100.0 us | 132.0 us | 1.32x |
| p99.99  | 100.0 us | 132.0 us | 1.32x |
| max     | 100.0 us | 132.0 us | 1.32x |"
    );
}

#[test]
fn the_answer_of_a_comparison_fits_a_screen() {
    let run = |folder: &str, series: usize| {
        let names: Vec<String> = (0..series).map(|n| format!("series-{n}")).collect();
        let values = [(50_000, 9_800), (100_000, 200)];
        let series = names
            .iter()
            .map(|name| series_of(named(name, Kind::Lateness), &values));
        let mut run = run_of(folder, series.collect());
        let host = &mut run.run.host;
        for fact in [
            &mut host.kernel,
            &mut host.cpu,
            &mut host.governor,
            &mut host.preemption,
            &mut host.clock_source,
            &mut host.virtualisation,
        ] {
            *fact = Some(format!(
                "what {folder} has, told with many words, and a few more"
            ));
        }
        run
    };
    for series in [1, 40] {
        for folders in [&["before", "after"][..], &["a", "b", "c", "d", "e"]] {
            let runs: Vec<Summary> = folders.iter().map(|folder| run(folder, series)).collect();
            let compared = Comparison::new(&runs, &CompareOptions::default());
            let style = Style::plain().of_width(80);
            let text = comparison_answer(&compared, &runs).terminal(style);
            assert!(text.lines().count() <= 25, "{text}");
            assert!(
                text.lines().all(|line| line.chars().count() <= 80),
                "{text}"
            );
            assert!(text.starts_with("The runs are too short "), "{text}");
            assert!(text.contains("more: see --details"), "{text}");
            assert!(!text.contains('^'), "no mark, no legend: {text}");
        }
    }
}

#[test]
fn a_comparison_of_many_runs_is_parted_where_it_is_too_wide() {
    let run = |n: u32| {
        let values = [(50_000, 9_800), (100_000, 200)];
        run_of(
            &format!("runs/number-{n}"),
            vec![series_of(named("w", Kind::Lateness), &values)],
        )
    };
    let runs: Vec<_> = (0..5).map(run).collect();
    let compared = Comparison::new(&runs, &CompareOptions::default());
    let tables = |width| {
        let text = comparison(&compared, &runs).terminal(Style { width, rich: false });
        text.matches("| samples ").count()
    };
    assert_eq!((tables(60), tables(200)), (4, 1));
    for rich in [false, true] {
        let text = comparison(&compared, &runs).terminal(Style { width: 40, rich });
        let plain = text.replace("\u{1b}[0m", "").replace("\u{1b}[39m", "");
        assert!(
            plain.lines().all(|line| line.chars().count() <= 40),
            "{text}"
        );
    }
}

/// A broadcast to this many devices, of which the last loses a packet.
fn fleet(devices: u64) -> Summary {
    let mut series = vec![series_of(named("rtt", Kind::Latency), &[(190_000, 1000)])];
    let flows = (1..=devices).map(|n| Flow {
        device: format!("d{n}"),
        address: format!("10.0.0.{n}:6176"),
        sent: 100,
        answered: 100 - u64::from(n == devices),
        lost: u64::from(n == devices),
        ..Flow::default()
    });
    let flows: Vec<Flow> = flows.collect();
    for flow in &flows {
        let name = flow.series("rtt", flows.len());
        series.push(series_of(
            Series {
                labels: labels([(VALUE, "rtt"), (DEVICE, &flow.device)]),
                ..named(&name, Kind::Latency)
            },
            &[(180_000, 50), (200_000, 50)],
        ));
    }
    let mut run = run_of("fleet", series);
    run.run.network = Some(Network {
        payload_bytes: 200,
        flows,
        ..Network::default()
    });
    run
}

#[test]
fn packets_are_shown_by_device() {
    let text = plain(&summary(&fleet(2)));
    assert!(text.contains("Of 200 packets 1 (0.5 %) was lost"), "{text}");
    assert!(text.contains("d2"), "{text}");
    assert!(
        text.contains("d1.rtt"),
        "the series of few devices stand by themselves: {text}"
    );
}

#[test]
fn of_many_devices_each_has_a_row_and_none_a_table() {
    let text = plain(&summary(&fleet(40)));
    assert!(!text.contains("d7.rtt"), "{text}");
    let row = text.lines().find(|line| line.starts_with("| d7 ")).unwrap();
    assert!(row.contains("180"), "{row}");
    let page = crate::html::render(&[fleet(40)]);
    assert!(page.contains("id=\"packets\"") && page.contains("10.0.0.40:6176"));
    assert!(!page.contains("d7.rtt"));
}

#[test]
fn the_terminal_and_the_page_show_modes_of_the_same_series() {
    for (devices, shown) in [(2, true), (40, false)] {
        let mut fleet = fleet(devices);
        for series in &mut fleet.series {
            let found = searched(&series.series.name, Kind::Latency, Vec::new());
            series.modes = Some(found);
        }
        let text = plain(&summary(&fleet));
        let page = crate::html::render(&[fleet]);
        for (name, shown) in [("rtt", true), ("d2.rtt", shown)] {
            assert_eq!(
                text.contains(&format!("\n{name}: no recurring")),
                shown,
                "{text}"
            );
            assert_eq!(page.contains(&format!("<p>{name}: nothing recurs")), shown);
        }
    }
}

/// A fleet whose devices always answer broadcasts in the order of their numbers.
fn asked_by_broadcasts(devices: u64) -> Summary {
    let mut run = fleet(devices);
    if let Some(network) = &mut run.run.network {
        for (flow, place) in network.flows.iter_mut().zip(1_u32..) {
            flow.places = Some(Places {
                answers: 100,
                first: 100 * u64::from(place == 1),
                last: 99 * u64::from(u64::from(place) == devices),
                lowest: place,
                highest: place,
                sum: 100 * u64::from(place),
            });
        }
        network.broadcasts = Some(Broadcasts {
            sent: 100,
            complete: 99,
            concordance: Some(1.0),
            most_at_once: 7,
            answer_bytes: 266,
        });
    }
    run
}

#[test]
fn the_order_of_answers_to_a_broadcast_is_shown() {
    let text = plain(&summary(&asked_by_broadcasts(40)));
    let sentence = text.replace('\n', " ");
    assert!(
        sentence.contains("d1 was first in 100 %, d40 last in 100 %"),
        "{text}"
    );
    assert!(!plain(&summary(&fleet(40))).contains("Kendall"));
    let page = crate::html::render(&[asked_by_broadcasts(40)]);
    assert!(
        page.contains("the places of the 40 devices"),
        "the table of places"
    );
    assert!(page.contains("Kendall"));
    assert!(!crate::html::render(&[fleet(40)]).contains("Mean place"));
}

#[test]
fn a_percentile_of_a_coarse_log_is_marked() {
    let series = of_a_coarse_log();
    let run = crate::summary::Summary {
        series: vec![series.clone()],
        ..Default::default()
    };
    let text = plain(&brief(&[run], &BriefAdditions::default()));
    assert!(text.contains("<= 1"), "on the first screen too: {text}");
    let text = plain(&sheet(&[series]).fitted());
    assert!(text.contains("<= 1"), "{text}");
    assert!(text.contains("may lie up to"), "{text}");
    let fine = plain(&sheet(&[judged("wakeup", &[(50_000, 4_990)])]).fitted());
    assert!(!fine.contains("<="), "{fine}");
}

/// A run with more content than fits on one screen.
fn crowded() -> Summary {
    let mut run = fleet(40);
    for n in 0..20 {
        let mut series = judged(
            &format!("a-series-with-a-long-name-{n}"),
            &[(900_000, 123_456_789)],
        );
        series.series.tuning.push(TuningMeasure {
            name: "policy".into(),
            requested: "SCHED_FIFO 80".into(),
            granted: "SCHED_OTHER".into(),
            reason: Some("no right".into()),
            remedy: Some("ulimit -r 99; ".repeat(30)),
            ok: false,
        });
        run.series.push(series);
        run.warnings.push(Warning::new(
            &format!("warning_{n}"),
            "This is a virtual machine. ".repeat(9),
            Some(&format!("measure on the metal {n} ").repeat(20)),
        ));
    }
    run
}

#[test]
fn the_brief_answer_fits_on_a_screen_whatever_there_is_to_say() {
    let places = ["page: run/report.html", "more: kadenz show run --details"].map(str::to_owned);
    let sentences = ["The cheapest tuning that keeps it here is PMCS. ".repeat(9)];
    for runs in [
        vec![fleet(2)],
        vec![crowded()],
        vec![crowded(); 12],
        enner2016(),
    ] {
        for (rich, width) in [(false, 100), (false, 80), (true, 80), (true, 200)] {
            let additions = BriefAdditions {
                kept: true,
                sentences: &sentences,
                remedy: Some("kadenz run --priority 80 --lock --cpu-dma-latency 0us -- PROGRAM"),
                places: &places,
            };
            let text = brief(&runs, &additions).terminal(Style { width, rich });
            assert!(
                text.lines().count() <= 25,
                "{}: {text}",
                text.lines().count()
            );
            let longest = text.plain().lines().map(|line| line.chars().count()).max();
            assert!(longest.unwrap() <= 80, "{longest:?}: {text}");
            assert!(text.ends_with(&places[1]), "{text}");
            let first = text.split_once("Fix first").map_or("", |it| it.1);
            let first = first.split_once("\n- ").map_or("", |it| it.1);
            assert!(
                first.starts_with("the cheapest tuning: kadenz run"),
                "{text}"
            );
            let judged = runs[0].series.iter().any(|it| it.verdict.is_some());
            assert_eq!(text.contains("\u{1b}[1;32m"), rich && judged, "{text}");
        }
    }
    let text = plain(&brief(&[crowded()], &BriefAdditions::default()));
    assert!(
        text.contains("Fix first (18 more with --details):\n- SCHED_FIFO 80 was not granted: "),
        "{text}"
    );
}

#[test]
fn the_names_of_a_brief_answer_differ() {
    let shown = |names: &[&str]| -> String {
        let series = names.iter().map(|it| judged(it, &[(50_000, 9)]));
        let run = run_of("r", series.collect());
        plain(&brief(&[run], &BriefAdditions::default())).to_string()
    };
    let long = |middle: &str| format!("a {} {middle} {}", "x".repeat(40), "y".repeat(40));
    let shortened = shown(&[&long("one"), "a short"]);
    assert!(shortened.contains("xx…yy"), "{shortened}");
    let full = shown(&[&long("one"), &long("two")]);
    let has = |word| full.contains(word);
    assert!(has(" one ") && has(" two ") && !has("…"), "{full}");
}

#[test]
fn the_brief_answer_says_below_the_verdict_that_values_are_missing() {
    let mut damaged = judged("wakeup", &[]);
    damaged.series.counts.recorded = 506;
    let mut run = run_of("r", vec![damaged]);
    let warning = |id: &str, text: &str| Warning::new(id, text, Some("measure again"));
    run.warnings = vec![
        warning("virtual_machine", "This is a virtual machine."),
        warning("counts_differ", "506 values were recorded"),
        warning("log_damaged", "1 line is left out"),
    ];
    let text = plain(&brief(&[run.clone()], &BriefAdditions::default())).to_string();
    let parts = [
        "nothing could be read.",
        "\nwarning: 1 line is left out\nwarning: 506 values were recorded\n\n",
        "99.9 %",
        "Fix first",
    ];
    let places = parts.map(|part| text.find(part));
    assert!(places.is_sorted() && places[0].is_some(), "{text}");
    let mut lines = text.lines();
    assert!(
        lines.any(|line| line.trim_start_matches(['|', ' ']).starts_with("wakeup ")),
        "{text}"
    );

    let more = (0..9).map(|n| warning("log_damaged", &format!("{n} lines. {}", "x ".repeat(99))));
    run.warnings.extend(more.collect::<Vec<_>>());
    run.series.extend(crowded().series);
    run.warnings.extend(crowded().warnings);
    let places = ["page: run/report.html", "more: kadenz show run --details"].map(str::to_owned);
    let additions = BriefAdditions {
        places: &places,
        ..BriefAdditions::default()
    };
    let text = plain(&brief(&[run], &additions)).to_string();
    assert!(text.lines().count() <= 25, "{text}");
    assert!(
        text.contains("\nwarning: 9 more warnings; see --details\n"),
        "{text}"
    );
}

#[test]
fn as_markdown_a_run_has_tables_and_all_its_words() {
    let run = crowded();
    let details = summary(&run).markdown();
    assert!(details.contains("\n\n| device | sent | "), "{details}");
    assert!(
        details.contains("\n| samples | 1,000 | 123,456,789 | "),
        "{details}"
    );
    assert!(
        details.contains("  \nremedy: measure on the metal 0"),
        "{details}"
    );
    let brief = brief(&[run], &BriefAdditions::default()).markdown();
    let head = "| series | samples | 50 % | 99.9 % | max | misses |\n|--------|--------:|";
    assert!(brief.contains(head), "{brief}");
    assert!(
        brief.contains("  \n- SCHED_FIFO 80 was not granted: "),
        "{brief}"
    );
}
