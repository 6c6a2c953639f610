use std::collections::BTreeMap;
use std::time::Duration;

use kadenz_record::run::folder::{RunWriter, SeriesSpec};
use kadenz_record::run::matrix::Combination;
use kadenz_record::run::model::Series;
use kadenz_record::samples::Sample;
use kadenz_rt::clock::ClockKind;

use super::*;

/// Rounds that measure nothing: each gives two samples, and a list keeps what was done.
#[derive(Default)]
struct Played {
    visits: Vec<Visit>,
    loads: Vec<String>,
    taken: Vec<usize>,
    /// After how many rounds the user presses Ctrl-C.
    stop_after: Option<(usize, Stop)>,
    /// Which round fails.
    fails_at: Option<usize>,
    /// From which round on the tuning is refused.
    refused_from: Option<usize>,
    /// Folder into which a round of an earlier attempt is still written, during the first.
    orphan: Option<PathBuf>,
}

impl Rounds for Played {
    fn load(&mut self, load: Load) -> io::Result<()> {
        self.loads.push(load.name().to_owned());
        Ok(())
    }

    fn measure(&mut self, visit: &Visit, out: &Path) -> io::Result<()> {
        if self.fails_at == Some(self.visits.len()) {
            return Err(io::Error::other("a full disk"));
        }
        self.visits.push(*visit);
        if let Some((after, stop)) = &self.stop_after
            && self.visits.len() > *after
        {
            stop.request();
        }
        if let Some(orphan) = self.orphan.take() {
            write_round(&orphan, false);
        }
        write_round(
            out,
            self.refused_from
                .is_some_and(|from| self.visits.len() > from),
        );
        Ok(())
    }

    fn unload(&mut self) -> io::Result<Value> {
        let heavy = self.loads.last().is_some_and(|load| load == "heavy");
        self.loads.push("off".to_owned());
        Ok(if heavy { "busy".into() } else { Value::Null })
    }

    fn taken(&mut self, _visit: &Visit, done: usize, _run: &Run) {
        self.taken.push(done);
    }
}

fn write_round(out: &Path, refused: bool) {
    let mut writer = RunWriter::create(out, Run::default()).unwrap();
    let granted = TuningMeasure::granted("policy", "SCHED_FIFO 80");
    let tuning = TuningMeasure {
        ok: !refused,
        ..granted
    };
    let mut recorders = ["lateness", "jitter"].map(|name| {
        let series = Series {
            name: name.to_owned(),
            tuning: vec![tuning.clone()],
            ..Series::default()
        };
        writer.series(SeriesSpec { series, raw: false }).unwrap()
    });
    let running = writer.start(Duration::from_secs(1)).unwrap();
    for recorder in &mut recorders {
        for value_ns in [10, 20] {
            recorder.record(Sample {
                value_ns,
                ..Sample::default()
            });
        }
    }
    running.finish(EndedBy::Finished).unwrap();
}

fn plan(out: &Path, rounds: u32) -> MatrixPlan {
    MatrixPlan {
        schedule: Schedule {
            loads: vec![Load::Unloaded, Load::Heavy],
            cells: vec![Combination::default(), "PM".parse().unwrap()],
            rounds,
        },
        tune: Tune::default(),
        session: SessionPlan {
            out: out.to_owned(),
            experiment: "tune",
            command: vec!["kadenz".to_owned(), "tune".to_owned()],
            request: BTreeMap::new(),
            parameters: BTreeMap::from([("rounds".to_owned(), rounds.into())]),
            interval: Duration::from_secs(1),
            raw: false,
            clock: ClockKind::Monotonic,
            examine: false,
        },
    }
}

fn recorded(run: &Run) -> BTreeMap<&str, u64> {
    let count = |it: &'_ Series| it.counts.recorded;
    run.series
        .iter()
        .map(|it| (it.name.as_str(), count(it)))
        .collect()
}

/// Measures until the user presses Ctrl-C, in the middle of the round after this many; returns what was done.
fn interrupted(plan: &MatrixPlan, resume: bool, rounds: usize) -> (Played, Run) {
    let stop = Stop::default();
    let mut played = Played {
        stop_after: Some((rounds, stop.clone())),
        ..Played::default()
    };
    let run = measure(plan, resume, &mut played, &stop).unwrap();
    (played, run)
}

fn rounds_left(out: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(out).unwrap();
    let names = entries.map(|it| it.unwrap().file_name().into_string().unwrap());
    names.filter(|it| it.starts_with(ROUND)).collect()
}

#[test]
fn every_round_of_every_cell_ends_in_its_series() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("matrix");
    let mut played = Played::default();
    let run = measure(&plan(&out, 3), false, &mut played, &Stop::default()).unwrap();
    assert_eq!(run.ended_by, Some(EndedBy::Finished));
    assert_eq!(recorded(&run).len(), 8);
    assert!(recorded(&run).values().all(|&count| count == 6), "{run:?}");
    let jitter = run.series.iter().find(|it| it.name == "heavy-PM-jitter");
    let (pm, series) = ("PM".parse().unwrap(), jitter.unwrap());
    let labels = labels_of(Load::Heavy, pm, Content::Jitter);
    assert_eq!(series.labels, labels);
    assert_eq!(played.loads, ["off", "unloaded", "off", "heavy", "off"]);
    assert_eq!(played.taken, (1..=12).collect::<Vec<_>>());
    assert_eq!(run.parameters[LOAD_RATES], serde_json::json!(["busy"]));
    // Nothing but the run is left.
    assert!(rounds_left(&out).is_empty() && !out.join("measuring.lock").exists());
}

#[test]
fn a_matrix_that_was_interrupted_goes_on_where_it_ended() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("matrix");
    let (first, run) = interrupted(&plan(&out, 3), false, 5);
    assert_eq!(run.ended_by, Some(EndedBy::Interrupted));
    assert_eq!(recorded(&run).values().sum::<u64>(), 2 * 2 * 5);

    let mut rest = Played::default();
    let run = measure(&plan(&out, 3), true, &mut rest, &Stop::default()).unwrap();
    assert_eq!(run.ended_by, Some(EndedBy::Finished));
    assert!(recorded(&run).values().all(|&count| count == 6), "{run:?}");
    // The round that was cut short is measured again, the others are not.
    assert_eq!(rest.visits[0], first.visits[5]);
    assert_eq!(rest.visits.len(), 12 - 5);
    assert_eq!(rest.taken.first(), Some(&6));
    let mut nothing = Played::default();
    measure(&plan(&out, 3), true, &mut nothing, &Stop::default()).unwrap();
    assert!(nothing.visits.is_empty());
}

/// An earlier version kept the rounds of the series in the parameter `rounds_done`, not with the series.
#[test]
fn a_matrix_of_an_earlier_version_goes_on_where_it_ended() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("matrix");
    let (first, _) = interrupted(&plan(&out, 3), false, 5);
    let path = out.join("run.json");
    let mut json: Value = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
    let mut rounds = serde_json::Map::new();
    for series in json["series"].as_array_mut().unwrap() {
        let name = series["name"].as_str().unwrap_or_default();
        let lateness = (!name.ends_with("-jitter")).then(|| name.to_owned());
        let files = series["files"].as_object_mut().unwrap();
        let parts = files.remove("hlog_parts").unwrap();
        rounds.extend(lateness.map(|name| (name, parts)));
    }
    json["parameters"]["rounds_done"] = rounds.into();
    std::fs::write(&path, json.to_string()).unwrap();

    let mut rest = Played::default();
    let run = measure(&plan(&out, 3), true, &mut rest, &Stop::default()).unwrap();
    assert!(recorded(&run).values().all(|&count| count == 6), "{run:?}");
    assert_eq!(rest.visits[0], first.visits[5]);
    assert_eq!(rest.visits.len(), 12 - 5);
}

#[test]
fn what_was_measured_before_a_failure_is_kept() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("matrix");
    let mut played = Played {
        fails_at: Some(3),
        ..Played::default()
    };
    let error = measure(&plan(&out, 3), false, &mut played, &Stop::default()).unwrap_err();
    assert!(error.to_string().contains("full disk"), "{error}");
    let reader = RunReader::open(&out).unwrap();
    assert_eq!(reader.run().ended_by, Some(EndedBy::Failed));
    assert_eq!(recorded(reader.run()).values().sum::<u64>(), 2 * 2 * 3);
    assert_eq!(played.loads.last().map(String::as_str), Some("off"));
}

/// Both logs have a round that `run.json` does not name: the matrix was killed in between. First rounds of a
/// cell, and later ones.
#[test]
fn a_matrix_that_was_killed_while_it_took_a_round_over_measures_that_one_again() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("matrix");
    for after in 0..4 {
        interrupted(&plan(&out, 2), false, after);
        let then = std::fs::read(out.join("run.json")).unwrap();
        let (next, _) = interrupted(&plan(&out, 2), true, 1);
        std::fs::write(out.join("run.json"), then).unwrap();
        let mut rest = Played::default();
        let run = measure(&plan(&out, 2), true, &mut rest, &Stop::default()).unwrap();
        assert_eq!(rest.visits[0], next.visits[0], "after {after} rounds");
        assert!(recorded(&run).values().all(|&it| it == 4), "{run:?}");
        std::fs::remove_dir_all(&out).unwrap();
    }
}

/// The matrix was killed, and the process that measured its last round ends that only now.
#[test]
fn a_round_that_an_earlier_attempt_still_writes_disturbs_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("matrix");
    interrupted(&plan(&out, 2), false, 1);
    for left in ["round", "round-1"] {
        write_round(&out.join(left), false);
    }
    let mut rest = Played {
        orphan: Some(out.join("round-1")),
        ..Played::default()
    };
    let run = measure(&plan(&out, 2), true, &mut rest, &Stop::default()).unwrap();
    assert!(recorded(&run).values().all(|&it| it == 4), "{run:?}");
    assert_eq!(rounds_left(&out), ["round-1"], "only what came later");
}

#[test]
fn a_round_that_could_not_be_taken_over_does_not_count() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("matrix");
    interrupted(&plan(&out, 2), false, 1);
    // In the place of the next cell's second log there is a folder.
    let next = plan(&out, 2).schedule.visits().nth(1).unwrap();
    let [_, jitter] = series_names(&next);
    let in_the_way = out.join(format!("{jitter}.hlog"));
    std::fs::create_dir(&in_the_way).unwrap();
    let error = measure(
        &plan(&out, 2),
        true,
        &mut Played::default(),
        &Stop::default(),
    );
    assert!(matches!(error, Err(MatrixError::Part(_))), "{error:?}");
    std::fs::remove_dir(&in_the_way).unwrap();
    let mut rest = Played::default();
    let run = measure(&plan(&out, 2), true, &mut rest, &Stop::default()).unwrap();
    assert_eq!(rest.visits[0], next);
    assert!(recorded(&run).values().all(|&it| it == 4), "{run:?}");
}

#[test]
fn only_the_same_matrix_is_resumed() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("matrix");
    let stop = Stop::default();
    measure(&plan(&out, 1), false, &mut Played::default(), &stop).unwrap();
    let again = measure(&plan(&out, 1), false, &mut Played::default(), &stop);
    assert!(matches!(again, Err(MatrixError::Create(_))), "{again:?}");
    let other = measure(&plan(&out, 2), true, &mut Played::default(), &stop);
    let words = other.unwrap_err().to_string();
    assert!(words.contains("`rounds` was 1 and is 2 now"), "{words}");
}

/// The run states one machine, and compares cells: rounds of another one would count as this one's.
#[test]
fn a_matrix_is_not_resumed_on_another_machine() {
    type Change = fn(&mut Host);
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("matrix");
    let changes: [(Change, &str); 3] = [
        (
            |it| it.kernel = Some("2.4.0".into()),
            "the kernel was 2.4.0 and is ",
        ),
        (
            |it| it.cpu = Some("Z80".into()),
            "the CPU model was Z80 and is ",
        ),
        (|it| it.cpus = 4096, "the number of CPUs was 4096 and is "),
    ];
    for (change, expected) in changes {
        let (_, mut run) = interrupted(&plan(&out, 3), false, 1);
        change(&mut run.host);
        std::fs::write(out.join("run.json"), serde_json::to_vec(&run).unwrap()).unwrap();
        let resumed = measure(
            &plan(&out, 3),
            true,
            &mut Played::default(),
            &Stop::default(),
        );
        let words = resumed.unwrap_err().to_string();
        assert!(
            words.contains(expected) && words.contains("`--out`"),
            "{words}"
        );
        std::fs::remove_dir_all(&out).unwrap();
    }
}

#[test]
fn what_was_refused_is_said_once() {
    let folder = tempfile::tempdir().unwrap();
    let mut played = Played {
        refused_from: Some(0),
        ..Played::default()
    };
    let plan = plan(&folder.path().join("matrix"), 2);
    let run = measure(&plan, false, &mut played, &Stop::default()).unwrap();
    let refusals = run.warnings.iter().filter(|it| it.id == "policy_refused");
    assert_eq!(refusals.count(), 1, "{:?}", run.warnings);
}

/// What is measured without the tuning counts for no cell that is named after it.
#[test]
fn a_tuning_that_a_later_round_was_refused_is_not_granted_to_the_series() {
    let folder = tempfile::tempdir().unwrap();
    let mut played = Played {
        refused_from: Some(4),
        ..Played::default()
    };
    let plan = MatrixPlan {
        schedule: Schedule {
            loads: vec![Load::Unloaded],
            ..plan(Path::new(""), 3).schedule
        },
        ..plan(&folder.path().join("matrix"), 3)
    };
    let run = measure(&plan, false, &mut played, &Stop::default()).unwrap();
    let mut tuning = run.series.iter().flat_map(|it| &it.tuning);
    assert!(
        tuning.clone().count() == 4 && tuning.all(|it| !it.ok),
        "{run:?}"
    );
}
