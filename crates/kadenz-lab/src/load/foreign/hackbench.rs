//! `hackbench` of rt-tests in a loop, as in Yoon.

use super::Task;
use crate::load::options::cpus;
use crate::load::{LoadKind, LoadOptions, LoadRates, Rate, StartLoadError};

/// One run after the other, until it fails or is ended; `"$@"` is hackbench with its arguments.
const FOR_EVER: &str = r#"while "$@"; do :; done"#;
/// Messages that each sender sends to each of its twenty receivers: hackbench's own default.
const LOOPS: u64 = 100;
/// Messages of one group in one run, over [`LOOPS`].
const PAIRS: u64 = 20 * 20;

pub(super) fn task(kinds: &[LoadKind], options: &LoadOptions) -> Result<Task, StartLoadError> {
    if let Some(other) = kinds.iter().find(|kind| **kind != LoadKind::Processes) {
        return Err(StartLoadError::NoSuchLoad {
            program: super::ForeignProgram::Hackbench,
            kind: *other,
        });
    }
    let groups = options.groups.unwrap_or_else(|| (5 * cpus()).min(20));
    let loops = LOOPS.to_string();
    let hackbench = ["hackbench", "-g", &groups.to_string(), "-l", &loops].map(str::to_owned);
    let asked = format!("{}, again and again", hackbench.join(" "));
    let shell = ["sh", "-c", FOR_EVER, "sh"].map(str::to_owned);
    Ok(Task {
        asked: vec![(LoadKind::Processes, asked)],
        command: shell.into_iter().chain(hackbench).collect(),
        result: "words",
        read,
    })
}

/// `Time: 1.234`, a line for each run: all groups' messages took so many seconds.
fn read(task: &Task, text: &str) -> Vec<LoadRates> {
    let groups = task.command.iter().skip_while(|word| *word != "-g").nth(1);
    let groups: u64 = groups.and_then(|word| word.parse().ok()).unwrap_or(0);
    let messages = (groups * PAIRS * LOOPS) as f64;
    let seconds = text
        .lines()
        .filter_map(|line| line.strip_prefix("Time:")?.trim().parse::<f64>().ok())
        .filter(|seconds| *seconds > 0.0);
    let seconds: Vec<f64> = seconds.collect();
    vec![LoadRates {
        kind: LoadKind::Processes,
        asked: task.asked[0].1.clone(),
        rates: rate(messages, &seconds).into_iter().collect(),
        trouble: None,
    }]
}

/// Each run gives one rate.
fn rate(messages: f64, seconds: &[f64]) -> Option<Rate> {
    let last = *seconds.last()?;
    let total: f64 = seconds.iter().sum();
    let (shortest, longest) = seconds
        .iter()
        .fold((last, last), |(min, max), it| (it.min(min), it.max(max)));
    Some(Rate {
        name: "delivered".to_owned(),
        unit: "messages/s".to_owned(),
        mean: messages * seconds.len() as f64 / total,
        min: Some(messages / longest),
        max: Some(messages / shortest),
        last: messages / last,
        seconds: total.round() as u64,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_run_gives_a_rate() {
        let options = LoadOptions {
            groups: Some(5),
            ..LoadOptions::default()
        };
        let task = task(&[LoadKind::Processes], &options).unwrap();
        let text = "Running in process mode with 5 groups\nTime: 0.500\nsomething\nTime: 2.000\n";
        let told = read(&task, text);
        let rate = &told[0].rates[0];
        assert_eq!((rate.min, rate.max), (Some(100_000.0), Some(400_000.0)));
        assert_eq!((rate.mean, rate.seconds), (160_000.0, 3));
        for nothing in ["", "Time: 0\nTime: x\n"] {
            assert!(read(&task, nothing)[0].rates.is_empty(), "{nothing}");
        }
    }

    #[test]
    fn other_kinds_are_refused() {
        let kinds = [LoadKind::Processes, LoadKind::Disk];
        let error = task(&kinds, &LoadOptions::default()).err().unwrap();
        assert!(error.to_string().contains("disk"), "{error}");
    }
}
