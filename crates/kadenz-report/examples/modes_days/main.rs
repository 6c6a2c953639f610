//! Days at 100 Hz searched for recurring modes: how well Enner's three modes are found in noises of many kinds, what is
//! found where nothing recurs, and how much noise hides a mode.
//!
//! ```text
//! cargo run --release -p kadenz-report --example modes_days -- found|nothing|limits [DAYS] [SAMPLES]
//! ```
//!
//! Prints a row of a Markdown table for each record or noise, then a line of JSON with the sums. `DAYS` is the number
//! of records of each noise, `SAMPLES` their length, for shorter ones.

#[path = "../cost/mod.rs"]
mod cost;
mod noises;

use std::error::Error;
use std::fs;

use kadenz_report::modes::sim::{Planted, Recipe};
use kadenz_report::modes::{Finder, Mode, ModeKind, Point};
use serde_json::{Value, json};

use cost::{cpu_time_s, peak_bytes, say};
use noises::Surroundings;

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let what = arguments.next().unwrap_or_default();
    let days: Option<u64> = arguments.next().map(|it| it.parse()).transpose()?;
    let samples: Option<u64> = arguments.next().map(|it| it.parse()).transpose()?;
    let samples = samples.unwrap_or(Recipe::enner2016b().samples);
    let result = match what.as_str() {
        "found" => found(days.unwrap_or(1), samples)?,
        "nothing" => nothing(days.unwrap_or(10), samples)?,
        "limits" => limits(samples)?,
        _ => return Err("say found, nothing or limits".into()),
    };
    say(&result.to_string());
    Ok(())
}

/// One row per record: each mode beside the planted one.
fn found(days: u64, samples: u64) -> Result<Value, Box<dyn Error>> {
    say(
        "| noise | phase: period, lasts, height, seen | spike: period, height, seen | ramp: period, height, seen | others | CPU s | MB |",
    );
    say("|---|---|---|---|---|---|---|");
    let (mut records, mut whole, mut others, mut worst, mut cpu_s) =
        (0_u64, 0_u64, 0, 0.0_f64, 0.0);
    for surroundings in noises::with_modes()? {
        for seed in 1..=days {
            let recipe = Recipe {
                samples,
                ..surroundings.day(seed)
            };
            let day = watched(&recipe);
            let cells = recipe.modes.iter().map(|it| of_mode(it, &day.modes));
            let cells: Vec<String> = cells.collect();
            let errors = recipe
                .modes
                .iter()
                .filter_map(|it| Some(error(it, alike(it, &day.modes)?)));
            let errors: Vec<f64> = errors.collect();
            let more = day.modes.len() - errors.len();
            say(&format!(
                "| {} | {} | {more} | {:.1} | {} |",
                surroundings.name,
                cells.join(" | "),
                day.cpu_s,
                megabytes(&day)
            ));
            print_unplanted(&recipe.modes, &day.modes);
            records += 1;
            whole += u64::from(errors.len() == recipe.modes.len());
            others += more;
            worst = errors.into_iter().fold(worst, f64::max);
            cpu_s += day.cpu_s;
        }
    }
    Ok(json!({
        "records": records,
        "with_all_three": whole,
        "others": others,
        "worst_period_error_percent": 100.0 * worst,
        "cpu_s_a_record": cpu_s / records as f64,
    }))
}

/// One row per noise: how many modes were found in it.
fn nothing(days: u64, samples: u64) -> Result<Value, Box<dyn Error>> {
    say("| noise without a mode | days | modes told | CPU s a day | MB |");
    say("|---|---|---|---|---|");
    let (mut records, mut found) = (0, 0);
    for surroundings in noises::without_modes()? {
        let (mut here, mut cpu_s, mut most) = (0, 0.0, 0);
        for seed in 1..=days {
            let recipe = Recipe {
                samples,
                modes: Vec::new(),
                ..surroundings.day(seed)
            };
            let day = watched(&recipe);
            print_unplanted(&[], &day.modes);
            here += day.modes.len();
            cpu_s += day.cpu_s;
            most = most.max(day.peak_bytes.unwrap_or(0));
        }
        let cpu_s = cpu_s / days as f64;
        say(&format!(
            "| {} | {days} | {here} | {cpu_s:.1} | {} |",
            surroundings.name,
            most >> 20
        ));
        records += days;
        found += here;
    }
    Ok(json!({ "records": records, "modes_told": found }))
}

/// One row per noise, each an octave stronger: which modes are still found.
fn limits(samples: u64) -> Result<Value, Box<dyn Error>> {
    say(
        "| noise | 90th less 50th, us | 99th less 50th, us | phase +4 us | spike +16.5 us | ramp +150 us | others |",
    );
    say("|---|---|---|---|---|---|---|");
    let mut others = 0;
    for family in noises::growing()? {
        for surroundings in &family {
            let recipe = Recipe {
                samples,
                ..surroundings.day(1)
            };
            let day = watched(&recipe);
            let (p90, p99) = spread(surroundings);
            let is_found: Vec<bool> = recipe
                .modes
                .iter()
                .map(|it| alike(it, &day.modes).is_some())
                .collect();
            let cells: Vec<&str> = is_found
                .iter()
                .map(|it| if *it { "found" } else { "-" })
                .collect();
            let more = day.modes.len() - is_found.iter().filter(|it| **it).count();
            say(&format!(
                "| {} | {p90:.1} | {p99:.1} | {} | {more} |",
                surroundings.name,
                cells.join(" | ")
            ));
            print_unplanted(&recipe.modes, &day.modes);
            others += more;
            if !is_found.contains(&true) {
                break;
            }
        }
    }
    Ok(json!({ "others": others }))
}

/// How far the 90th and the 99th percentile of a noise lie above its median, in us.
fn spread(surroundings: &Surroundings) -> (f64, f64) {
    let recipe = Recipe {
        samples: 100_000,
        modes: Vec::new(),
        ..surroundings.day(1)
    };
    let mut values: Vec<i64> = recipe.points().map(|it| it.value_ns).collect();
    values.sort_unstable();
    let at = |share: f64| values[(values.len() as f64 * share) as usize];
    let above = |share: f64| (at(share) - at(0.5)) as f64 / 1e3;
    (above(0.9), above(0.99))
}

/// The found mode that equals the planted one: of its kind, and its period within 1 %.
fn alike<'a>(planted: &Planted, modes: &'a [Mode]) -> Option<&'a Mode> {
    let is_it = |it: &&Mode| it.kind == planted.kind && error(planted, it) <= 0.01;
    modes.iter().find(is_it)
}

fn error(planted: &Planted, mode: &Mode) -> f64 {
    (mode.period_s / planted.period_s - 1.0).abs()
}

fn of_mode(planted: &Planted, modes: &[Mode]) -> String {
    let Some(mode) = alike(planted, modes) else {
        return "not found".to_owned();
    };
    let lasts = match mode.kind {
        ModeKind::Phase => format!("{:.2} s, ", mode.duration_s),
        ModeKind::Spike | ModeKind::Ramp => String::new(),
    };
    let (period_s, height_us) = (mode.period_s, mode.height_ns as f64 / 1e3);
    let Mode {
        occurrences,
        expected,
        ..
    } = mode;
    format!("{period_s:.3} s, {lasts}{height_us:.1} us, {occurrences}/{expected}")
}

/// Prints the found modes that were not planted, in full and on standard error.
#[allow(clippy::print_stderr, reason = "what went wrong, for people")]
fn print_unplanted(planted: &[Planted], modes: &[Mode]) {
    for mode in modes {
        let is_known = planted
            .iter()
            .any(|it| alike(it, std::slice::from_ref(mode)).is_some());
        if !is_known {
            eprintln!("  not planted: {mode:?}");
        }
    }
}

fn megabytes(day: &Watched) -> String {
    day.peak_bytes
        .map_or_else(String::new, |it| (it >> 20).to_string())
}

/// Points that are made before the clock of the search goes on.
const CHUNK: usize = 1 << 16;

/// The found modes, and the cost of the search.
struct Watched {
    modes: Vec<Mode>,
    /// CPU time of the search, without making the record; NaN where the system does not report it.
    cpu_s: f64,
    /// The most memory that the process held, where the system reports it.
    peak_bytes: Option<u64>,
}

/// Searches a record as it is made.
fn watched(recipe: &Recipe) -> Watched {
    // Resets the peak, where the system can.
    let _ = fs::write("/proc/self/clear_refs", "5");
    let mut finder = Finder::new(Some(recipe.interval_ns.cast_unsigned()));
    let mut points = recipe.points();
    let mut chunk: Vec<Point> = Vec::with_capacity(CHUNK);
    let mut spent_s = 0.0;
    let on_cpu_s = || cpu_time_s().unwrap_or(f64::NAN);
    loop {
        chunk.clear();
        chunk.extend(points.by_ref().take(CHUNK));
        if chunk.is_empty() {
            break;
        }
        let begun_s = on_cpu_s();
        chunk.iter().for_each(|&point| finder.take(point));
        spent_s += on_cpu_s() - begun_s;
    }
    let begun_s = on_cpu_s();
    let found = finder.finish();
    Watched {
        modes: found.modes,
        cpu_s: spent_s + on_cpu_s() - begun_s,
        peak_bytes: peak_bytes(),
    }
}
