use super::*;
use crate::control::cyclic::{LoopMode, Overrun};
use crate::motion::axis::{Control, UnitSettings};
use crate::motion::plan::DeviceRef;
use crate::motion::trajectory::Trajectory;
use proptest::prelude::*;
use std::time::Duration;

const WAVE: &str = r#"
cycle_us = 500
mode = "synchronous"
wait_us = 200
overrun = "stop"

[safety]
lost_cycles = 3
late_cycles = "any"
stop_on_fault = false
enabling_s = 2.5

[[axis]]
device = "left knee"
start = 0.1
repeat = true
limits = { velocity = 2.0, acceleration = 8.0 }
moves = [
  { to = 0.5 },
  { hold_s = 0.25 },
  { to = 0.1, by = "trapezoid", velocity = 1.0 },
]

[[axis]]
position = 9
control = "velocity"
increments_per_turn = 65536.0
velocity_per_turn = 60000
gear = 50
rated_torque = 0.64
reverse = true
gains = { proportional = 20.0, filter_ms = 2.0 }
moves = [ { sine = 0.1, frequency_hz = 0.5 } ]
"#;

fn parsed(text: &str) -> Result<Plan, FileError> {
    parse("wave.toml", text)
}

#[test]
fn a_file_says_everything_and_what_it_leaves_out_has_defaults() {
    let plan = parsed(WAVE).unwrap();
    let wait = Duration::from_micros(200);
    assert_eq!(
        (plan.cycle, plan.mode),
        (Duration::from_micros(500), LoopMode::Synchronous { wait })
    );
    assert_eq!(plan.overrun, Overrun::Stop);
    assert_eq!((plan.safety.lost, plan.safety.late), (Some(3), None));
    assert_eq!(plan.safety.enabling, Duration::from_millis(2500));
    let [knee, other] = &plan.axes[..] else {
        panic!("two axes")
    };
    assert_eq!(knee.device, DeviceRef::Name("left knee".to_owned()));
    assert_eq!(
        (knee.control, knee.limits.acceleration),
        (Control::Position, 8.0)
    );
    assert_eq!(knee.program.start(), 0.1);
    assert_eq!(knee.program.duration(), f64::INFINITY);
    assert_eq!(other.device, DeviceRef::Position(9));
    assert_eq!(
        (other.control, other.gains.filter),
        (Control::Velocity, 0.002)
    );
    assert_eq!(knee.stated, UnitSettings::default());
    let stated = UnitSettings {
        increments: Some(65_536.0),
        velocity: Some(60_000.0),
        gear: Some(50.0),
        rated: Some(0.64),
        reverse: true,
    };
    assert_eq!(other.stated, stated);
    let least = parsed("[[axis]]\nposition = 4\n").unwrap();
    assert_eq!(
        (least.cycle, least.mode),
        (Duration::from_millis(1), LoopMode::Pipelined)
    );
    assert_eq!(least.settings().unwrap().shutdown_cycles, 2000);
}

#[test]
fn a_loop_goes_on_for_as_long_as_axes_may_brake_by_the_file() {
    let braking = |seconds: &str| {
        parsed(&format!(
            "[safety]\nbraking_s = {seconds}\n[[axis]]\nposition = 4\n"
        ))
    };
    let plan = braking("2.5").unwrap();
    assert_eq!(plan.safety.braking, Duration::from_millis(2500));
    assert_eq!(plan.settings().unwrap().shutdown_cycles, 3500);
    for wrong in ["0.0", "61.0", "nan"] {
        let error = braking(wrong).unwrap_err();
        assert_eq!(error.line, Some(2), "{error}");
        let words = "is not a valid time to brake; write 0.01 to 60";
        assert!(error.to_string().contains(words), "{error}");
    }
}

/// The text to replace, its replacement, the line of the error, and the error.
const WRONG: [(&str, &str, usize, &str); 22] = [
    (
        "cycle_us = 500",
        "cycle_us = 5",
        2,
        "5 us is not a valid cycle; write 50 to 1000000",
    ),
    (
        "\"synchronous\"",
        "\"sync\"",
        3,
        "no mode \"sync\"; write pipelined or synchronous",
    ),
    ("wait_us = 200", "wait_us = 500", 4, "less than the cycle"),
    (
        "\"stop\"",
        "\"panic\"",
        5,
        "catch-up, skip, relative or stop",
    ),
    ("\"any\"", "\"all\"", 9, "write a number, or \"any\""),
    ("\"any\"", "-1", 9, "neither a number of cycles nor \"any\""),
    (
        "enabling_s = 2.5",
        "enabling_s = 0.0",
        11,
        "0 s is not a valid time to wait for drives; write 0.1 to 3600",
    ),
    (
        "gear = 50",
        "gear = 0",
        29,
        "0 is not a valid gear ratio; write a number",
    ),
    (
        "increments_per_turn = 65536.0",
        "increments_per_turn = -65536.0",
        27,
        "reverse = true turns the joint round",
    ),
    (
        "rated_torque = 0.64",
        "rated_torque = inf",
        30,
        "inf is not a valid torque in N m",
    ),
    ("start = 0.1", "strat = 0.1", 15, "unknown field"),
    (
        "start = 0.1",
        "start = 0.2",
        13,
        "begins at 0.2 rad and ends at 0.1 rad; add { to = 0.2 }",
    ),
    ("velocity = 2.0", "velocity = 0.0", 17, "within such limits"),
    (
        "{ to = 0.5 }",
        "{ to = 0.5, sine = 0.1 }",
        19,
        "a move has one of",
    ),
    ("hold_s = 0.25", "hold_s = -1.0", 20, "up to a day"),
    ("\"trapezoid\"", "\"spline\"", 21, "quintic or trapezoid"),
    (
        "position = 9",
        "device = \"left knee\"",
        24,
        "another axis has the device",
    ),
    ("position = 9", "", 24, "either a device or a position"),
    (
        "gains = { proportional = 20.0, filter_ms = 2.0 }",
        "",
        24,
        "need a regulator",
    ),
    (
        "proportional = 20.0",
        "proportional = -1.0",
        32,
        "no regulator has such gains",
    ),
    ("sine = 0.1", "sine = 5.0", 33, "this sine needs up to"),
    (
        "frequency_hz = 0.5",
        "frequency_hz = 0.5, periods = 1",
        33,
        "2 periods or more",
    ),
];

#[test]
fn errors_name_file_line_cause_and_remedy() {
    for (from, to, line, words) in WRONG {
        assert!(WAVE.contains(from), "{from}");
        let error = parsed(&WAVE.replacen(from, to, 1)).unwrap_err();
        assert_eq!(error.line, Some(line), "{error}");
        assert!(error.to_string().contains(words), "{error}");
        assert!(error.to_string().starts_with("wave.toml:"), "{error}");
    }
    let empty = parsed("").unwrap_err().to_string();
    assert!(empty.starts_with("wave.toml: it has 0 axes"), "{empty}");
    let nowhere = read(std::path::Path::new("/nowhere/wave.toml"));
    assert!(nowhere.unwrap_err().to_string().contains("cannot be read"));
}

#[test]
fn nothing_follows_a_move_without_an_end() {
    let text =
        "[[axis]]\nposition = 1\nmoves = [ { sine = 0.1, frequency_hz = 0.5 },\n { to = 1.0 } ]";
    let error = parsed(text).unwrap_err();
    assert_eq!(error.line, Some(4));
    assert!(error.cause.contains("never ends"));
}

#[test]
fn the_book_s_file_and_the_sample_are_read() {
    let book = include_str!("../../../../../docs/ethercat-motion.md");
    let (_, rest) = book.split_once("```toml\n").unwrap();
    let plan = parsed(rest.split_once("```").unwrap().0).unwrap();
    assert_eq!(plan.axes.len(), 2);
    assert_eq!(plan.safety, crate::motion::Policy::default());
    let sample = include_str!("../../../../../conformance/ethercat/motion/wave.toml");
    assert_eq!(parsed(sample).unwrap().overrun, Overrun::CatchUp);
}

proptest! {
    #[test]
    fn any_text_is_read_or_refused_without_panic(text in ".{0,200}") {
        let _ = parsed(&text);
    }

    #[test]
    fn any_numbers_are_read_or_refused_and_what_is_read_stays_finite(
        start in any::<f64>(), to in any::<f64>(), velocity in any::<f64>(), hold in any::<f64>(),
        sine in any::<f64>(), frequency in any::<f64>(), periods in any::<u32>()
    ) {
        let text = format!(
            "[[axis]]\nposition = 1\nstart = {start:?}\nmoves = [ {{ to = {to:?}, velocity = {velocity:?} }}, \
             {{ hold_s = {hold:?} }}, {{ sine = {sine:?}, frequency_hz = {frequency:?}, periods = {periods}, \
             acceleration = 1e9, velocity = 1e9 }} ]"
        );
        if let Ok(plan) = parsed(&text) {
            for seconds in [0.0, 0.001, 1.0, 1e6] {
                let point = plan.axes[0].program.at(seconds);
                prop_assert!(point.position.is_finite() && point.velocity.is_finite(), "{text} {point:?}");
            }
        }
    }
}
