//! Collects exchanges and fits the line.

use super::{Bounds, Exchange, Implausible, MAX_DRIFT_PPB, Span};
use crate::memory::Memory;

/// Times and offsets beyond this (36 years) from the first exchange are refused: the intermediate results must fit
/// into 128 bits.
const MAX_NS: i128 = 1 << 60;

/// The assumptions of a [`ClockFit`] about the clocks, and its window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// Length of a window in nanoseconds: of each window the exchange with the shortest round trip is kept.
    pub window_ns: u64,
    /// Resolution of the controller's clock in nanoseconds.
    pub controller_resolution_ns: u64,
    /// Resolution of the device's clock in nanoseconds.
    pub device_resolution_ns: u64,
    /// The most by which the device's frequency may stray from a constant one over the windows kept, in ppb; values
    /// above [`MAX_DRIFT_PPB`] count as that.
    pub wander_ppb: u32,
}

impl Default for Options {
    /// Windows of a second, clocks that count nanoseconds, and a wander of 100 ppb: a plain crystal
    /// whose temperature changes by a degree or so meanwhile.
    fn default() -> Self {
        Self {
            window_ns: 1_000_000_000,
            controller_resolution_ns: 1,
            device_resolution_ns: 1,
            wander_ppb: 100,
        }
    }
}

/// Memory for one window of a [`ClockFit`].
#[derive(Clone, Copy, Debug, Default)]
pub struct FitSlot(Option<BestExchange>);

/// The best exchange of a window. Times and offsets are relative to the first exchange.
#[derive(Clone, Copy, Debug)]
struct BestExchange {
    window: u64,
    on_the_way_ns: u64,
    ceiling: Limit,
    floor: Limit,
}

/// The first exchange: the origin of all times and offsets.
#[derive(Clone, Copy, Debug)]
struct Origin {
    controller_ns: u64,
    device_ns: u64,
}

/// Why a fit has no result.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoFit {
    /// No exchange was observed yet.
    #[error("no answer with device stamps came yet: request stamps from the device")]
    Nothing,
    /// No steady clock explains the observations: the device's clock stepped, as at a restart, or strays more than
    /// assumed.
    #[error(
        "the device's clock stepped or wanders more than assumed: forget what was seen, or allow more wander"
    )]
    Inconsistent,
}

/// Fits a device's clock to the controller's, from as many windows as it has slots.
///
/// ```
/// use kadenz_udp::clock_fit::{ClockFit, Exchange, FitSlot, Options};
/// use kadenz_udp::wire::DeviceStamps;
///
/// // The device's clock is 5 ms ahead, the way there takes 80 us, the way back 60 us.
/// let mut fit = ClockFit::over([FitSlot::default(); 64], Options::default());
/// let device = DeviceStamps { received_ns: 6_080_000, transmitted_ns: 6_100_000 };
/// let exchange = Exchange { sent_ns: 1_000_000, device, received_ns: 1_160_000 };
/// fit.observe(&exchange)?;
///
/// let bounds = fit.bounds_at(1_000_000)?;
/// let offset = bounds.offset_at(1_000_000);
/// assert!(offset.value_ns.abs_diff(5_000_000) <= offset.error_ns);
/// let there = bounds.one_way(&exchange).there;
/// assert!(there.value_ns.abs_diff(80_000) <= there.error_ns);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Real-time safety
/// [`observe`](Self::observe) is real-time safe and always takes the same time. [`bounds_at`](Self::bounds_at)
/// takes a time that grows with the square of the slots, and must not be called on the real-time path.
#[derive(Clone, Debug)]
pub struct ClockFit<M> {
    slots: M,
    options: Options,
    origin: Option<Origin>,
    newest: u64,
}

impl<M: Memory<FitSlot>> ClockFit<M> {
    /// Makes a fit without observations in this memory.
    pub fn over(mut slots: M, options: Options) -> Self {
        slots.as_mut().fill(FitSlot::default());
        let options = Options {
            wander_ppb: options.wander_ppb.min(MAX_DRIFT_PPB),
            ..options
        };
        Self {
            slots,
            options,
            origin: None,
            newest: 0,
        }
    }

    /// Takes an exchange, and keeps it if its round trip is the shortest of its window.
    ///
    /// # Errors
    /// [`Implausible`] if its times contradict each other, or are decades from those of the first exchange.
    pub fn observe(&mut self, exchange: &Exchange) -> Result<(), Implausible> {
        let resolution = self.options.controller_resolution_ns;
        let resolution = resolution.saturating_add(self.options.device_resolution_ns);
        let on_the_way_ns = exchange.on_the_way_ns(resolution)?;
        let origin = self.origin.unwrap_or(Origin {
            controller_ns: exchange.sent_ns,
            device_ns: exchange.device.received_ns,
        });
        let since = exchange.sent_ns.saturating_sub(origin.controller_ns);
        let kept = BestExchange {
            window: since / self.options.window_ns.max(1),
            on_the_way_ns,
            ceiling: self.ceiling(origin, exchange).ok_or(Implausible)?,
            floor: self.floor(origin, exchange).ok_or(Implausible)?,
        };
        self.origin = Some(origin);
        self.newest = self.newest.max(kept.window);
        self.keep(kept);
        Ok(())
    }

    /// Returns the bounds of the device's clock around `at_ns` of the controller's: they are narrowest at that
    /// time, and valid at any other.
    ///
    /// # Errors
    /// [`NoFit`] if nothing was observed, or no line fits the observations.
    pub fn bounds_at(&self, at_ns: u64) -> Result<Bounds, NoFit> {
        let origin = self.origin.ok_or(NoFit::Nothing)?;
        let around = i128::from(at_ns) - i128::from(origin.controller_ns);
        let limits = Around {
            fit: self,
            at: around.clamp(-MAX_NS, MAX_NS),
        };
        let most_slope = i128::from(MAX_DRIFT_PPB) * (SLOPE_UNIT / 1_000_000_000);
        let mirrored = Mirrored(&limits);
        let highest = highest_value(&limits, most_slope).ok_or(NoFit::Nothing)?;
        let lowest = highest_value(&mirrored, most_slope).ok_or(NoFit::Nothing)?;
        let offset = Span {
            lowest: -lowest,
            highest,
        };
        let slope = Span {
            lowest: -highest_slope(&mirrored, most_slope),
            highest: highest_slope(&limits, most_slope),
        };
        if offset.is_void() || slope.is_void() || contradict(&limits) {
            return Err(NoFit::Inconsistent);
        }
        let base = i128::from(origin.device_ns) - i128::from(origin.controller_ns);
        Ok(Bounds::new(
            limits.at + i128::from(origin.controller_ns),
            offset.moved(base),
            slope,
            self.options,
        ))
    }

    /// Forgets all observations, as after a step of the device's clock.
    pub fn forget(&mut self) {
        self.slots.as_mut().fill(FitSlot::default());
        self.origin = None;
        self.newest = 0;
    }

    fn keep(&mut self, kept: BestExchange) {
        let slots = self.slots.as_mut();
        let count = u64::try_from(slots.len()).unwrap_or(u64::MAX);
        let at = kept.window.checked_rem(count).unwrap_or(0);
        let at = usize::try_from(at).unwrap_or(usize::MAX);
        let Some(slot) = slots.get_mut(at) else {
            return;
        };
        let better = slot.0.is_none_or(|held| {
            let same = held.window == kept.window;
            held.window < kept.window || (same && kept.on_the_way_ns < held.on_the_way_ns)
        });
        if better {
            slot.0 = Some(kept);
        }
    }

    /// The offset is at most this at `t1`; a clock may be ahead of its reading by its resolution.
    fn ceiling(&self, origin: Origin, exchange: &Exchange) -> Option<Limit> {
        let late = i128::from(self.options.device_resolution_ns);
        limit(origin, exchange.sent_ns, exchange.device.received_ns, late)
    }

    /// The offset is at least this at `t4`.
    fn floor(&self, origin: Origin, exchange: &Exchange) -> Option<Limit> {
        let late = i128::from(self.options.controller_resolution_ns);
        limit(
            origin,
            exchange.received_ns,
            exchange.device.transmitted_ns,
            -late,
        )
    }

    /// The windows that are not too old for the ring.
    fn kept(&self) -> impl Iterator<Item = BestExchange> + '_ {
        let slots = self.slots.as_ref();
        let count = u64::try_from(slots.len()).unwrap_or(u64::MAX);
        let recent = move |it: &BestExchange| self.newest - it.window < count;
        slots.iter().filter_map(|slot| slot.0).filter(recent)
    }
}

/// The limit that a pair of times sets for the offset, relative to the origin; `None` if it is out of range.
fn limit(origin: Origin, controller_ns: u64, device_ns: u64, slack: i128) -> Option<Limit> {
    let distance = i128::from(controller_ns) - i128::from(origin.controller_ns);
    let device = i128::from(device_ns) - i128::from(origin.device_ns);
    let value = device - distance + slack;
    let reachable = distance.abs() < MAX_NS && value.abs() < MAX_NS;
    reachable.then_some(Limit { distance, value })
}

/// The limits of a fit as seen from a time: each is widened by as much as the clock may have strayed until then.
struct Around<'a, M> {
    fit: &'a ClockFit<M>,
    at: i128,
}

impl<M: Memory<FitSlot>> Around<'_, M> {
    fn seen(&self, limit: Limit, sign: i128) -> Limit {
        let distance = limit.distance - self.at;
        let wander = i128::from(self.fit.options.wander_ppb) * (SLOPE_UNIT / 1_000_000_000);
        Limit {
            distance,
            value: limit.value + sign * scaled(wander, distance.abs()),
        }
    }
}

impl<M: Memory<FitSlot>> Limits for Around<'_, M> {
    fn ceilings(&self) -> impl Iterator<Item = Limit> {
        self.fit.kept().map(|kept| self.seen(kept.ceiling, 1))
    }

    fn floors(&self) -> impl Iterator<Item = Limit> {
        self.fit.kept().map(|kept| self.seen(kept.floor, -1))
    }
}

// The linear program: which lines keep all bounds, and how low and high they run.
//
// A line has the value `y` at `x0` and the slope `s`. Each ceiling at the distance `d` from `x0` says
// `y + s d <= c`, each floor `y + s d >= f`, and `|s| <= S`. Eliminating `s` (Fourier and Motzkin) leaves
// the constraints on `y` that pairs of them make; eliminating `y` leaves those on `s`. With two unknowns
// that is exact, and shows whether there is such a line at all.

/// Slopes are counted in this fraction of 1: one unit moves a line by a nanosecond in 11 days.
pub(super) const SLOPE_UNIT: i128 = 1_000_000_000_000_000;

/// An upper or lower limit of a line at a distance from `x0`. Both numbers are below 2^62.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Limit {
    pub(super) distance: i128,
    pub(super) value: i128,
}

/// Limits on both sides, which can be iterated repeatedly.
pub(super) trait Limits {
    /// The upper limits of the line.
    fn ceilings(&self) -> impl Iterator<Item = Limit>;
    /// The lower limits of the line.
    fn floors(&self) -> impl Iterator<Item = Limit>;
}

/// The same limits negated: the negated highest value of these is the lowest value of the original.
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

/// The highest `y`, rounded up; `None` without a ceiling. Takes a time that grows with the square of the number of
/// limits.
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
            // A rise that alone exceeds the most would overflow, and sets no bound.
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

/// Whether a floor is above the ceiling at the same distance: such pairs set no bound for `y`.
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

/// The bound from two ceilings on either side of `x0`: the line between them.
fn between(a: Limit, b: Limit) -> Option<i128> {
    let (from, to) = (-a.distance, b.distance);
    (from >= 0 && to > 0).then(|| ceil(a.value * to + b.value * from, from + to))
}

/// The bound from a ceiling and a floor beyond it: the line over the floor and under the ceiling.
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
