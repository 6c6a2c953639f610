use super::*;
use proptest::prelude::*;

/// An encoder of 65536 increments behind a gear of 1:50, and a motor of 0.5 N m.
const GEARED: Units = Units {
    encoder: Some([65_536, 1]),
    gear: Some([50, 1]),
    feed: None,
    polarity: Some(0),
    rated: Some(500),
    most: None,
    position_unit: None,
    velocity_unit: None,
};

fn scale(units: &Units, control: Control) -> Scale {
    units.scale(&UnitSettings::default(), control).unwrap()
}

#[test]
fn a_gear_makes_turns_smaller_and_torques_larger() {
    let scale = scale(&GEARED, Control::Torque);
    assert_eq!(scale.increments, 65_536.0 * 50.0);
    assert_eq!(scale.velocity, Some(65_536.0 * 50.0));
    assert_eq!(scale.rated, Some(25.0));
}

#[test]
fn a_feed_constant_says_what_a_turn_of_the_shaft_is() {
    let units = Units {
        feed: Some([36_000, 1]),
        ..GEARED
    };
    assert_eq!(scale(&units, Control::Position).increments, 36_000.0);
    // A feed constant that was never set does not count.
    let units = Units {
        feed: Some([1, 1]),
        ..GEARED
    };
    let increments = scale(&units, Control::Position).increments;
    assert_eq!(increments, 65_536.0 * 50.0);
}

#[test]
fn units_of_si_are_understood_or_refused() {
    let units = Units {
        // Tenths of a degree, thousandths of a revolution a minute.
        position_unit: Some(0xFF41_0000),
        velocity_unit: Some(0xFDB4_4700),
        ..GEARED
    };
    let scale = scale(&units, Control::Velocity);
    assert!((scale.increments - 3600.0).abs() < 1e-9);
    assert!((scale.velocity.unwrap() - 60_000.0).abs() < 1e-6);
    let metres = Units {
        position_unit: Some(0xFD01_0000),
        ..GEARED
    };
    let refused = metres.scale(&UnitSettings::default(), Control::Position);
    assert!(
        matches!(refused, Err(CommissionError::Unit { object: 0x60A8, .. })),
        "{refused:?}"
    );
    let accelerations = Units {
        velocity_unit: Some(0x00B4_5700),
        ..GEARED
    };
    let refused = accelerations.scale(&UnitSettings::default(), Control::Velocity);
    let words = refused.unwrap_err().to_string();
    assert!(
        words.contains("0x60A9") && words.contains("velocity_per_turn"),
        "{words}"
    );
    // Position control needs no unit of velocity.
    let read = accelerations.scale(&UnitSettings::default(), Control::Position);
    assert_eq!(read.unwrap().velocity, None);
}

#[test]
fn what_a_drive_does_not_report_a_user_may_state() {
    let nothing = Units::default();
    let refused = nothing.scale(&UnitSettings::default(), Control::Position);
    let words = refused.unwrap_err().to_string();
    assert!(
        words.contains("0x608F") && words.contains("increments_per_turn"),
        "{words}"
    );
    let mut stated = UnitSettings {
        increments: Some(10_000.0),
        ..UnitSettings::default()
    };
    let scale = nothing.scale(&stated, Control::Position).unwrap();
    assert_eq!((scale.increments, scale.rated), (10_000.0, None));
    let refused = nothing.scale(&stated, Control::Torque);
    let words = refused.unwrap_err().to_string();
    assert!(
        words.contains("0x6076") && words.contains("rated_torque"),
        "{words}"
    );
    (stated.rated, stated.gear) = (Some(0.5), Some(100.0));
    let scale = nothing.scale(&stated, Control::Torque).unwrap();
    // Increments are the joint's already; the motor's torque is not.
    assert_eq!((scale.increments, scale.rated), (10_000.0, Some(50.0)));
    let outside = UnitSettings {
        gear: Some(2.0),
        ..UnitSettings::default()
    };
    let scale = GEARED.scale(&outside, Control::Position).unwrap();
    assert_eq!(
        (scale.increments, scale.rated),
        (65_536.0 * 100.0, Some(50.0))
    );
}

#[test]
fn zeros_and_a_unit_a_turn_are_refused() {
    for (units, index) in [
        (
            Units {
                encoder: Some([0, 1]),
                ..GEARED
            },
            0x608F,
        ),
        (
            Units {
                encoder: Some([4, 1]),
                gear: None,
                ..GEARED
            },
            0x608F,
        ),
        (
            Units {
                gear: Some([50, 0]),
                ..GEARED
            },
            0x6091,
        ),
        (
            Units {
                feed: Some([0, 1]),
                ..GEARED
            },
            0x6092,
        ),
        (
            Units {
                feed: Some([2, 1]),
                ..GEARED
            },
            0x6092,
        ),
    ] {
        let refused = units.scale(&UnitSettings::default(), Control::Position);
        let Err(CommissionError::Senseless { object, .. }) = refused else {
            panic!("{refused:?}")
        };
        assert_eq!(object, index);
    }
}

#[test]
fn everything_turns_with_the_position_whatever_the_drive_inverts() {
    for (polarity, velocity, torque) in [
        (0x00, 1.0, 1.0),
        (0xC0, 1.0, -1.0),
        (0x80, -1.0, -1.0),
        (0x40, -1.0, 1.0),
        (0xE0, 1.0, 1.0),
    ] {
        let units = Units {
            polarity: Some(polarity),
            ..GEARED
        };
        for reverse in [false, true] {
            let stated = UnitSettings {
                reverse,
                ..UnitSettings::default()
            };
            let joint = if reverse { -1.0 } else { 1.0 };
            let scale = units.scale(&stated, Control::Torque).unwrap();
            let signs = (
                scale.increments.signum(),
                scale.velocity.unwrap().signum(),
                scale.rated.unwrap().signum(),
            );
            let wanted = (joint, joint * velocity, joint * torque);
            assert_eq!(signs, wanted, "0x{polarity:02X} {reverse}");
        }
    }
}

#[test]
fn what_changed_is_named() {
    assert_eq!(GEARED.changed(&GEARED), None);
    let now = Units {
        gear: Some([100, 1]),
        ..GEARED
    };
    let what = GEARED.changed(&now).unwrap();
    assert!(what.contains("0x6091"), "{what}");
}

proptest! {
    #[test]
    fn any_drive_has_a_finite_scale_or_none(
        encoder: Option<[u32; 2]>, gear: Option<[u32; 2]>, feed: Option<[u32; 2]>,
        polarity: Option<u8>, rated: Option<u32>, most: Option<u16>,
        position_unit: Option<u32>, velocity_unit: Option<u32>
    ) {
        let units =
            Units { encoder, gear, feed, polarity, rated, most, position_unit, velocity_unit };
        if let Ok(scale) = units.scale(&UnitSettings::default(), Control::Torque) {
            prop_assert!(scale.increments.is_finite() && scale.increments != 0.0);
            prop_assert!(scale.velocity.is_none_or(|it| it.is_finite() && it != 0.0));
            prop_assert!(scale.rated.is_some_and(|it| it.is_finite() && it != 0.0));
        }
    }
}
