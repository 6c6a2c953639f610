//! `stress-ng`: which of its stressors stand for which kind, and what it measures itself.

use std::path::Path;

use super::ForeignTask;
use crate::load::disk::DiskTarget;
use crate::load::{LoadKind, LoadOptions, LoadRates, Rate};

/// The file that it writes its metrics to.
const METRICS: &str = "metrics.yaml";

/// Figures that say more than its "bogus operations", by stressor and key, with what they are.
const FIGURES: &[(&str, &str, &str, &str)] = &[
    ("hdd", "mbsec-write-rate", "written", "MB/s"),
    ("hdd", "mb-per-sec-write-rate", "written", "MB/s"),
    ("fault", "minor-page-faults-per-sec", "faulted", "faults/s"),
];

pub(super) fn task(
    kinds: &[LoadKind],
    options: &LoadOptions,
    place: &DiskTarget,
    folder: &Path,
) -> ForeignTask {
    let folder = folder.display();
    let mut command = vec!["stress-ng".to_owned(), "--metrics".to_owned()];
    command.extend(["--yaml".to_owned(), format!("{folder}/{METRICS}")]);
    command.extend(["--temp-path".to_owned(), folder.to_string()]);
    let mut asked = Vec::new();
    for kind in kinds {
        let mut words = Vec::new();
        for (stressor, workers) in stressors(*kind, options) {
            words.extend([format!("--{stressor}"), workers.to_string()]);
        }
        if *kind == LoadKind::Disk {
            words.extend(disk_options(options, place));
        }
        asked.push((*kind, format!("stress-ng {}", words.join(" "))));
        command.extend(words);
    }
    ForeignTask {
        asked,
        command,
        result: METRICS,
        read,
    }
}

/// Stressors of a kind, with how many workers each.
fn stressors(kind: LoadKind, options: &LoadOptions) -> Vec<(&'static str, usize)> {
    let threads = options.threads_or_cpus();
    let few = options.threads.unwrap_or(1);
    match kind {
        LoadKind::Cpu => vec![("cpu", threads)],
        LoadKind::Disk => vec![("hdd", few)],
        LoadKind::Processes => vec![("sockpair", options.groups.unwrap_or(threads)), ("fork", 1)],
        LoadKind::Network => vec![("udp", few)],
        LoadKind::Files => vec![("getdent", few)],
        LoadKind::Memory => vec![("stream", threads), ("fault", threads)],
        LoadKind::Timer => vec![("nanosleep", threads), ("timer", threads)],
        LoadKind::Heavy => vec![],
    }
}

fn disk_options(options: &LoadOptions, place: &DiskTarget) -> [String; 6] {
    let how = match options.fsync {
        true => "wr-seq,fsync",
        false => "wr-seq",
    };
    [
        "--hdd-bytes",
        &place.size.to_string(),
        "--hdd-write-size",
        "1024000",
        "--hdd-opts",
        how,
    ]
    .map(str::to_owned)
}

/// The figures that stress-ng printed of one stressor.
#[derive(Debug, Default, PartialEq)]
struct StressorFigures<'a> {
    stressor: &'a str,
    figures: Vec<(&'a str, f64)>,
}

impl StressorFigures<'_> {
    fn figure(&self, name: &str) -> Option<f64> {
        let found = self.figures.iter().find(|(key, _)| *key == name);
        found.map(|(_, value)| *value)
    }

    fn rates(&self) -> Vec<Rate> {
        let seconds = self.figure("wall-clock-time").unwrap_or(0.0).round() as u64;
        let rate = |name: &str, unit: &str, mean: f64| Rate {
            name: name.to_owned(),
            unit: unit.to_owned(),
            mean,
            min: None,
            max: None,
            last: mean,
            seconds,
        };
        let bogus = self.figure("bogo-ops-per-second-real-time");
        let bogus = bogus.map(|mean| rate(self.stressor, "bogo-ops/s", mean));
        let figures = FIGURES
            .iter()
            .filter(|(stressor, ..)| *stressor == self.stressor)
            .filter_map(|(_, key, name, unit)| Some(rate(name, unit, self.figure(key)?)));
        bogus.into_iter().chain(figures).collect()
    }
}

/// Reads its YAML as far as it is needed: a list of `- stressor: NAME` with `key: number` below.
fn parse(text: &str) -> Vec<StressorFigures<'_>> {
    let mut reported: Vec<StressorFigures<'_>> = Vec::new();
    for line in text.lines() {
        let line = line.trim();
        if let Some(stressor) = line.strip_prefix("- stressor:") {
            reported.push(StressorFigures {
                stressor: stressor.trim(),
                figures: Vec::new(),
            });
        } else if let (Some(last), Some((key, value))) = (reported.last_mut(), line.split_once(':'))
        {
            let number = value.trim().parse::<f64>().ok();
            let number = number.filter(|number| number.is_finite());
            last.figures.extend(number.map(|number| (key, number)));
        }
    }
    reported
}

fn read(task: &ForeignTask, text: &str) -> Vec<LoadRates> {
    let reported = parse(text);
    let asked = task.asked.iter();
    asked
        .map(|(kind, words)| {
            // How many workers there are does not matter here, only which.
            let names = stressors(*kind, &LoadOptions::default());
            let mine = reported
                .iter()
                .filter(|it| names.iter().any(|(name, _)| *name == it.stressor));
            LoadRates {
                kind: *kind,
                asked: words.clone(),
                rates: mine.flat_map(StressorFigures::rates).collect(),
                trouble: None,
            }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const YAML: &str = "\
---
system-info:
      stress-ng-version: 0.15.06
      pagesize: 4096

metrics:
    - stressor: hdd
      bogo-ops: 9512
      bogo-ops-per-second-real-time: 3886.710802
      wall-clock-time: 2.447314
      mbsec-write-rate: 1016.609654

    - stressor: fault
      bogo-ops-per-second-real-time: 3611.073095
      wall-clock-time: 2.018790
      minor-page-faults-per-sec: nan

...
";

    fn task_for(kinds: &[LoadKind], options: &LoadOptions) -> ForeignTask {
        let place = DiskTarget {
            dir: "/data".into(),
            file_system: None,
            size: 5_000_000,
        };
        task(kinds, options, &place, Path::new("/data/x"))
    }

    #[test]
    fn its_own_figures_are_reported_for_each_kind() {
        let kinds = [LoadKind::Disk, LoadKind::Memory, LoadKind::Cpu];
        let loads = read(&task_for(&kinds, &LoadOptions::default()), YAML);
        let names = |load: &LoadRates| {
            let rates = load.rates.iter();
            let names: Vec<String> = rates.map(|it| format!("{} {}", it.name, it.unit)).collect();
            names
        };
        assert_eq!(names(&loads[0]), ["hdd bogo-ops/s", "written MB/s"]);
        assert_eq!(
            (loads[0].rates[1].mean, loads[0].rates[1].min),
            (1016.609654, None)
        );
        assert_eq!(loads[0].rates[1].seconds, 2);
        assert_eq!(names(&loads[1]), ["fault bogo-ops/s"]);
        assert!(loads[2].rates.is_empty());
    }

    #[test]
    fn what_was_asked_for_reaches_it() {
        let options = LoadOptions {
            threads: Some(3),
            fsync: true,
            ..LoadOptions::default()
        };
        let command = task_for(&[LoadKind::Disk, LoadKind::Cpu], &options).command;
        let line = command.join(" ");
        for words in [
            "--hdd 3",
            "--hdd-bytes 5000000",
            "wr-seq,fsync",
            "--cpu 3",
            "/data/x",
        ] {
            assert!(line.contains(words), "{words}: {line}");
        }
    }

    #[test]
    fn every_kind_has_a_stressor() {
        for kind in LoadKind::ALL {
            let parts = kind.parts().iter();
            for part in parts {
                assert!(!stressors(*part, &LoadOptions::default()).is_empty());
            }
        }
    }

    proptest! {
        #[test]
        fn any_text_is_read_without_panic(text in "([ -:a-z0-9.\n]|- stressor: ){0,200}") {
            let _ = parse(&text);
        }
    }
}
