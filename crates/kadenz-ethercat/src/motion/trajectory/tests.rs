use super::*;
use proptest::prelude::*;

const STEPS: u32 = 400;

fn near(a: f64, b: f64, scale: f64) -> bool {
    (a - b).abs() <= 1e-9 * (1.0 + scale.abs())
}

/// Samples the trajectory; fails where a limit is exceeded, or velocity is not the derivative of position.
fn walk(trajectory: &dyn Trajectory, seconds: f64, limits: Limits) -> Result<(), TestCaseError> {
    let dt = seconds / f64::from(STEPS);
    let mut before = trajectory.at(0.0);
    for step in 1..=STEPS {
        let now = trajectory.at(dt * f64::from(step));
        let slack = 1.0 + 1e-9;
        prop_assert!(now.velocity.abs() <= limits.velocity * slack, "{now:?}");
        prop_assert!(
            now.acceleration.abs() <= limits.acceleration * slack,
            "{now:?}"
        );
        // Position and velocity are continuous: they change no more than the limits let them.
        let moved = (now.position - before.position).abs();
        prop_assert!(moved <= limits.velocity * dt * slack + 1e-12);
        let sped = (now.velocity - before.velocity).abs();
        prop_assert!(sped <= limits.acceleration * dt * slack + 1e-12);
        // The trapezoid rule's error is bounded by the change of acceleration.
        let mean = (now.velocity + before.velocity) / 2.0;
        let error = (now.position - before.position - mean * dt).abs();
        prop_assert!(error <= limits.acceleration * dt * dt + 1e-9, "{error}");
        before = now;
    }
    Ok(())
}

fn limits() -> impl Strategy<Value = Limits> {
    (0.01_f64..50.0, 0.01_f64..500.0).prop_map(|(velocity, acceleration)| Limits {
        velocity,
        acceleration,
    })
}

fn point() -> impl Strategy<Value = Point> {
    (-10_f64..10.0, -5_f64..5.0, -20_f64..20.0).prop_map(|(position, velocity, acceleration)| {
        Point {
            position,
            velocity,
            acceleration,
        }
    })
}

proptest! {
    #[test]
    fn a_quintic_meets_both_ends(start in point(), end in point(), duration in 0.01_f64..100.0) {
        let trajectory = Quintic::new(start, end, duration);
        // Just inside, where the polynomial counts and not the given ends.
        let at = [trajectory.at(duration * 1e-12), trajectory.at(duration * (1.0 - 1e-12))];
        for (found, wanted) in at.iter().zip([start, end]) {
            let scale = 1e4 / duration.min(1.0).powi(2);
            prop_assert!(near(found.position, wanted.position, scale), "{found:?} {wanted:?}");
            prop_assert!(near(found.velocity, wanted.velocity, scale), "{found:?} {wanted:?}");
            prop_assert!(near(found.acceleration, wanted.acceleration, 1e2 * scale), "{found:?} {wanted:?}");
        }
        prop_assert_eq!(trajectory.at(duration + 1.0), end);
        prop_assert_eq!(trajectory.at(-1.0), start);
    }

    #[test]
    fn moves_end_where_they_should_and_keep_their_limits(
        from in -10_f64..10.0, to in -10_f64..10.0, limits in limits()
    ) {
        let quintic = Quintic::between(from, to, limits);
        let trapezoid = Trapezoid::between(from, to, limits);
        for trajectory in [&quintic as &dyn Trajectory, &trapezoid] {
            prop_assert_eq!(trajectory.at(0.0), Point::at_rest(from));
            prop_assert_eq!(trajectory.at(trajectory.duration()), Point::at_rest(to));
            walk(trajectory, trajectory.duration(), limits)?;
        }
        // Nothing within the same limits is faster than the trapezoid.
        prop_assert!(trapezoid.duration() <= quintic.duration() * (1.0 + 1e-12));
    }

    #[test]
    fn a_quintic_is_no_slower_than_its_limits_ask(from in -10_f64..10.0, distance in 0.1_f64..10.0, limits in limits()) {
        let quintic = Quintic::between(from, from + distance, limits);
        let dt = quintic.duration() / 10_000.0;
        let greatest = (0..=10_000).map(|it| quintic.at(dt * f64::from(it))).fold((0.0_f64, 0.0_f64), |most, it| {
            (most.0.max(it.velocity.abs()), most.1.max(it.acceleration.abs()))
        });
        let share = (greatest.0 / limits.velocity).max(greatest.1 / limits.acceleration);
        prop_assert!(share > 0.999, "{share}");
    }

    #[test]
    fn a_sine_begins_at_rest_and_keeps_its_bounds(
        middle in -3_f64..3.0, amplitude in -2_f64..2.0, frequency in 0.05_f64..10.0
    ) {
        let trajectory = Sine { middle, amplitude, frequency, periods: None };
        prop_assert_eq!(trajectory.at(0.0), Point::at_rest(middle));
        walk(&trajectory, 3.0 / frequency, trajectory.limits())?;
        let later = trajectory.at(5.25 / frequency);
        prop_assert!(near(later.position, middle + amplitude, 1.0));
        // A sine with an end ends at rest, and is as smooth.
        for periods in [2, 3, 4] {
            let trajectory = Sine { periods: Some(periods), ..trajectory };
            walk(&trajectory, trajectory.duration() * 1.01, trajectory.limits())?;
            prop_assert_eq!(trajectory.at(trajectory.duration()), Point::at_rest(middle));
        }
    }
}

#[test]
fn no_way_at_all_takes_no_time() {
    let limits = Limits::default();
    for trajectory in [
        &Quintic::between(1.0, 1.0, limits) as &dyn Trajectory,
        &Trapezoid::between(1.0, 1.0, limits),
    ] {
        assert_eq!(trajectory.duration(), 0.0);
        assert_eq!(trajectory.at(0.0), Point::at_rest(1.0));
    }
}
