//! The linear program: which lines keep all bounds, and how low and high they run.
//!
//! A line has the value `y` at `x0` and the slope `s`. Each ceiling at the distance `d` from `x0` says
//! `y + s d <= c`, each floor `y + s d >= f`, and `|s| <= S`. Eliminating `s` (Fourier and Motzkin) leaves
//! the constraints on `y` that pairs of them make; eliminating `y` leaves those on `s`. With two unknowns
//! that is exact, and shows whether there is such a line at all.

/// Slopes are counted in this part of 1: one of it moves a line by a nanosecond in 11 days.
pub(super) const SLOPE_UNIT: i128 = 1_000_000_000_000_000;

/// What a line may not be above, or not below, at a distance from `x0`. Both numbers are below 2^62.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Limit {
    pub(super) distance: i128,
    pub(super) value: i128,
}

/// Limits on both sides, which can be walked again and again.
pub(super) trait Limits {
    /// What the line may not be above.
    fn ceilings(&self) -> impl Iterator<Item = Limit>;
    /// What the line may not be below.
    fn floors(&self) -> impl Iterator<Item = Limit>;
}

/// The same limits upside down, so that the lowest value is the highest of these, negated.
pub(super) struct Mirrored<'a, L>(pub(super) &'a L);

impl<L: Limits> Limits for Mirrored<'_, L> {
    fn ceilings(&self) -> impl Iterator<Item = Limit> {
        self.0.floors().map(upside_down)
    }

    fn floors(&self) -> impl Iterator<Item = Limit> {
        self.0.ceilings().map(upside_down)
    }
}

fn upside_down(limit: Limit) -> Limit {
    Limit {
        value: -limit.value,
        ..limit
    }
}

/// The highest `y`, rounded up; `None` without a ceiling. Its time is the square of the limits' number.
pub(super) fn highest_value(limits: &impl Limits, most_slope: i128) -> Option<i128> {
    let of = |near: Limit| {
        let alone = near.value + scaled(most_slope, near.distance.abs());
        let across = limits.ceilings().filter_map(move |far| between(near, far));
        let beyond = limits.floors().filter_map(move |far| past(near, far));
        across.chain(beyond).fold(alone, i128::min)
    };
    limits.ceilings().map(of).min()
}

/// The highest `s` in parts of [`SLOPE_UNIT`], rounded up and at most `most_slope`.
pub(super) fn highest_slope(limits: &impl Limits, most_slope: i128) -> i128 {
    let of = |floor: Limit| {
        let later = limits
            .ceilings()
            .filter(move |it| it.distance > floor.distance);
        later.map(move |ceiling| {
            let rise = ceiling.value - floor.value;
            // A rise that alone exceeds the most would overflow, and says nothing.
            let run = ceiling.distance - floor.distance;
            if rise > run {
                most_slope
            } else {
                ceil(rise.max(-run) * SLOPE_UNIT, run)
            }
        })
    };
    limits.floors().flat_map(of).fold(most_slope, i128::min)
}

/// Whether a floor stands above the ceiling at the same distance: pairs that tell nothing of `y`.
pub(super) fn contradict(limits: &impl Limits) -> bool {
    limits.floors().any(|floor| {
        let same = |it: &Limit| it.distance == floor.distance;
        limits
            .ceilings()
            .filter(same)
            .any(|it| it.value < floor.value)
    })
}

/// How far a slope moves a line over a distance, rounded up.
pub(super) fn scaled(slope: i128, distance: i128) -> i128 {
    ceil(slope * distance, SLOPE_UNIT)
}

/// What two ceilings on either side of `x0` say: the line between them.
fn between(a: Limit, b: Limit) -> Option<i128> {
    let (from, to) = (-a.distance, b.distance);
    (from >= 0 && to > 0).then(|| ceil(a.value * to + b.value * from, from + to))
}

/// What a ceiling and a floor beyond it say: the line over the floor and under the ceiling.
fn past(ceiling: Limit, floor: Limit) -> Option<i128> {
    let same_side = ceiling.distance.signum() * floor.distance.signum() >= 0;
    let (near, far) = (ceiling.distance.abs(), floor.distance.abs());
    (same_side && near < far).then(|| ceil(ceiling.value * far - floor.value * near, far - near))
}

/// Division rounded up; `by` is above 0.
fn ceil(value: i128, by: i128) -> i128 {
    -(-value).div_euclid(by)
}

#[cfg(test)]
mod tests;
