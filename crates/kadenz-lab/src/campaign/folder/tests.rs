use kadenz_record::run::model::Run;

use super::*;

const PLAN_TEXT: &str =
    "name = \"a\"\ncommand = \"hiccup\"\nrounds = 2\n[vary]\npolicy = [\"other\", \"rr:1\"]\n";

fn measured(folder: &Path, ended_by: Option<EndedBy>) {
    fs::create_dir_all(folder).unwrap();
    let run = Run {
        version: 1,
        complete: ended_by.is_some(),
        ended_by,
        ..Run::default()
    };
    let text = serde_json::to_string(&run).unwrap();
    fs::write(folder.join("run.json"), text).unwrap();
}

fn left(campaign: &Campaign) -> Vec<usize> {
    let runs = campaign.plan().runs().filter(|it| !campaign.is_done(it));
    runs.map(|it| it.number).collect()
}

#[test]
fn only_a_run_that_was_measured_to_its_end_counts() {
    let folder = tempfile::tempdir().unwrap();
    let mut campaign = Campaign::begin(folder.path(), PLAN_TEXT).unwrap();
    let runs: Vec<PlannedRun> = campaign.plan().runs().collect();
    for (run, ended_by, counts) in [
        (&runs[0], Some(EndedBy::Finished), true),
        (&runs[1], Some(EndedBy::Interrupted), false),
        (&runs[2], None, false),
    ] {
        let working = campaign.working_folder(run).unwrap();
        measured(&working, ended_by);
        assert_eq!(campaign.take_over(run, &working).unwrap(), counts);
        campaign.discard(&working).unwrap();
        assert!(!working.exists());
        assert_eq!(campaign.run_folder(run).exists(), counts);
    }
    assert_eq!(left(&campaign), [2, 3, 4]);
    drop(campaign);
    // What a killed process left, and a folder that is not one of a run.
    measured(
        &folder.path().join("0002.running-1"),
        Some(EndedBy::Finished),
    );
    fs::create_dir(folder.path().join("0003")).unwrap();
    let campaign = Campaign::resume(folder.path()).unwrap();
    assert_eq!(left(&campaign), [2, 3, 4]);
    assert!(!folder.path().join("0002.running-1").exists());
    measured(&folder.path().join("0004.running-1"), None);
    drop(campaign);
    assert!(!folder.path().join("0004.running-1").exists());
}

#[test]
fn only_what_a_campaign_measures_into_is_removed() {
    let folder = tempfile::tempdir().unwrap();
    drop(Campaign::begin(folder.path(), PLAN_TEXT).unwrap());
    let kept = [
        "notes.running-late",
        "0001.running-",
        "7.running-1",
        "x0001.running-1",
        "0001.running-1b",
    ];
    for name in kept
        .into_iter()
        .chain(["0001.running-1", "123456.running-4711"])
    {
        fs::create_dir(folder.path().join(name)).unwrap();
    }
    drop(Campaign::resume(folder.path()).unwrap());
    for name in kept {
        assert!(folder.path().join(name).exists(), "{name}");
    }
    assert!(!folder.path().join("0001.running-1").exists());
    assert!(!folder.path().join("123456.running-4711").exists());
}

#[test]
fn a_failure_is_noted_and_tried_again() {
    let folder = tempfile::tempdir().unwrap();
    let mut campaign = Campaign::begin(folder.path(), PLAN_TEXT).unwrap();
    let run = campaign.plan().runs().nth(2).unwrap();
    campaign.note_failure(&run, "no rights".to_owned()).unwrap();
    assert_eq!(campaign.failures(), 1);
    let record = || {
        let text = fs::read(folder.path().join(RECORD)).unwrap();
        serde_json::from_slice::<serde_json::Value>(&text).unwrap()
    };
    let written = record();
    assert_eq!(written["version"], 1);
    assert_eq!(written["runs"].as_array().unwrap().len(), 4);
    assert_eq!(written["runs"][2]["failed"], "no rights");
    assert_eq!(written["runs"][2]["values"]["policy"], "rr:1");
    drop(campaign);
    assert_eq!(Campaign::resume(folder.path()).unwrap().failures(), 0);
    assert!(record()["runs"][2]["failed"].is_null());
}

#[test]
fn another_plan_and_a_foreign_folder_are_refused_and_left_as_they_are() {
    let folder = tempfile::tempdir().unwrap();
    let other = folder.path().join("other");
    fs::create_dir(&other).unwrap();
    fs::write(other.join("thesis.tex"), "years of work").unwrap();
    let refused = Campaign::begin(&other, PLAN_TEXT).unwrap_err();
    assert!(matches!(refused, CampaignError::Foreign(_)));
    assert_eq!(fs::read_dir(&other).unwrap().count(), 1);
    let refused = Campaign::resume(&other).unwrap_err();
    assert!(matches!(refused, CampaignError::Absent(_)));

    let ours = folder.path().join("ours");
    drop(Campaign::begin(&ours, PLAN_TEXT).unwrap());
    let changed = PLAN_TEXT.replace("rr:1", "rr:2");
    let refused = Campaign::begin(&ours, &changed).unwrap_err().to_string();
    assert!(refused.contains("policy = other, rr:2"), "{refused}");
    assert_eq!(fs::read_to_string(ours.join(PLAN)).unwrap(), PLAN_TEXT);
    let spaced = format!("# a remark\n{PLAN_TEXT}");
    drop(Campaign::begin(&ours, &spaced).unwrap());
    fs::write(ours.join(RECORD), "{\"version\": 2}").unwrap();
    let refused = Campaign::resume(&ours).unwrap_err();
    assert!(matches!(refused, CampaignError::Version { version: 2, .. }));
    // A cut-off file: all of it follows from the plan.
    fs::write(ours.join(RECORD), "{\"vers").unwrap();
    drop(Campaign::resume(&ours).unwrap());
}

#[cfg(target_os = "linux")]
#[test]
fn a_second_one_in_the_same_folder_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let first = Campaign::begin(folder.path(), PLAN_TEXT).unwrap();
    let refused = Campaign::begin(folder.path(), PLAN_TEXT).unwrap_err();
    assert!(matches!(
        refused,
        CampaignError::Lock(LockError::Held { .. })
    ));
    drop(first);
    drop(Campaign::begin(folder.path(), PLAN_TEXT).unwrap());
}
