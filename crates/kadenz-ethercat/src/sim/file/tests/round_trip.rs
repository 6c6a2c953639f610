//! A printed plan is the same after it is read.

use proptest::prelude::*;

use super::*;
use crate::sim::humanoid::humanoid;

const EVERYTHING: &str =
    include_str!("../../../../../../conformance/ethercat/segment/everything.toml");

fn read(text: &str) -> Result<SegmentPlan, FileError> {
    SegmentPlan::parse("printed.toml", text, &mut |_| Ok(AXIS.to_owned()))
}

/// Prints a plan and reads it again.
fn again(plan: &SegmentPlan) -> SegmentPlan {
    let text = plan.to_toml().unwrap();
    let again = read(&text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    assert_eq!(again.to_toml().unwrap(), text);
    again
}

fn ensure_same(plan: &SegmentPlan) {
    assert_eq!(format!("{:?}", again(plan)), format!("{plan:?}"));
}

#[test]
fn humanoids_are_the_same_segments() {
    for devices in [1, 12, 59, 128] {
        let mut plan = humanoid(devices);
        plan.devices[0].alias = 7;
        plan.devices[0].jitter_ns = 20;
        ensure_same(&plan);
        assert!(plan.close_ring());
        ensure_same(&plan);
    }
}

#[test]
fn a_file_with_one_of_everything_stays_what_it_is() {
    let plan = read(EVERYTHING).unwrap();
    ensure_same(&plan);
    plan.build().unwrap();
    for name in Kind::NAMES {
        assert!(
            plan.devices.iter().any(|it| it.kind.name() == Some(name)),
            "{name}"
        );
    }
    // Every fault there is, each with a line of its own.
    assert_eq!(plan.faults.len(), super::super::fault::KNOWN.len());
    for (name, _) in super::super::fault::KNOWN {
        assert!(EVERYTHING.contains(&format!("what = \"{name}\"")), "{name}");
    }
}

#[test]
fn names_of_any_letters_are_written_as_toml_has_them() {
    let plan = read("[[device]]\nname = \"a \\\"b\\\" \\\\ ä\"\nmodel = \"imu\"").unwrap();
    assert_eq!(plan.devices[0].name, "a \"b\" \\ ä");
    ensure_same(&plan);
    let file = "[[device]]\nname = \"a\"\nesi = \"\\u0001\\u001F\\u007F\\u0085'\\n\"\nproduct = 17";
    ensure_same(&read(file).unwrap());
}

#[test]
fn a_plan_that_no_file_can_express_is_an_error() {
    let mut plan = humanoid(5);
    if let Kind::Drive(it) = &mut plan.devices[4].kind {
        it.motor.overspeed = 1.0;
    }
    let error = plan.to_toml().unwrap_err().to_string();
    assert!(error.contains("the motor of `waist yaw`"), "{error}");
}

/// Lines of the file, whole and with other values.
fn pieces() -> impl Strategy<Value = String> {
    let lines: Vec<&str> = EVERYTHING.lines().collect();
    let number = prop_oneof![
        any::<i64>().prop_map(|it| it.to_string()),
        (0_i64..5000).prop_map(|it| it.to_string()),
        any::<f64>().prop_map(|it| format!("{it:?}")),
        (0.0..1.0_f64).prop_map(|it| format!("{it:?}")),
    ];
    prop::collection::vec((0..lines.len(), prop::option::of(number), 0..3_u8), 1..6).prop_map(
        move |changes| {
            let mut lines: Vec<String> = lines.iter().map(|it| (*it).to_owned()).collect();
            for (at, number, how) in changes {
                let key = lines[at].split('=').next().unwrap_or_default().to_owned();
                match (how, number) {
                    (0, Some(number)) if !key.is_empty() => {
                        lines[at] = format!("{key}= {number}");
                    }
                    (1, _) => lines[at].clear(),
                    _ => {}
                }
            }
            lines.join("\n")
        },
    )
}

proptest! {
    /// Any file gives an error at a line of it, or a plan that stays the same.
    #[test]
    fn changed_files_are_refused_or_stay_the_same(text in pieces()) {
        match read(&text) {
            Ok(plan) => {
                prop_assert!(plan.build().is_ok());
                prop_assert_eq!(format!("{:?}", again(&plan)), format!("{plan:?}"));
            }
            Err(error) => prop_assert!(error.line.is_none_or(|it| it <= text.lines().count() + 1)),
        }
    }
}

#[test]
fn the_page_s_example_is_a_file() {
    let page = include_str!("../../../../../../docs/ethercat.md");
    let (_, behind) = page.split_once("```toml\n").unwrap();
    let (example, _) = behind.split_once("```").unwrap();
    let plan = read(example).unwrap();
    assert!(plan.ring.is_some() && plan.devices.len() == 3 && plan.faults.len() == 2);
    ensure_same(&plan);
    for (name, _) in super::super::fault::KNOWN {
        assert!(page.contains(&format!("`{name}`")), "{name}");
    }
    for name in Kind::NAMES {
        assert!(example.contains(name), "{name}");
    }
}
