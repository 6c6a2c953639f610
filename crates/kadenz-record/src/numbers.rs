//! Numbers for human readers: thousands separated, a suitable unit, no meaningless digits.

/// A count with its thousands separated by commas.
///
/// ```
/// assert_eq!(kadenz_record::numbers::thousands(80_304_595), "80,304,595");
/// ```
#[must_use]
pub fn thousands(count: u64) -> String {
    let digits = count.to_string();
    let mut parted = String::with_capacity(digits.len() + digits.len() / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            parted.push(',');
        }
        parted.push(digit);
    }
    parted
}

/// A count with its noun in the singular or the plural.
///
/// ```
/// use kadenz_record::numbers::counted;
///
/// assert_eq!(counted(1, "chunk"), "1 chunk");
/// assert_eq!(counted(1_200, "chunk"), "1,200 chunks");
/// assert_eq!(counted(0, "chunk"), "0 chunks");
/// ```
#[must_use]
pub fn counted(count: u64, one: &str) -> String {
    let ending = if count == 1 { "" } else { "s" };
    format!("{} {one}{ending}", thousands(count))
}

const NANOSECOND_UNITS: [(f64, &str); 4] = [(1e9, "s"), (1e6, "ms"), (1e3, "us"), (1.0, "ns")];

/// A value in nanoseconds for a table: four digits and the unit that suits it.
///
/// ```
/// use kadenz_record::numbers::value;
///
/// assert_eq!(value(17_170_000.0), "17.17 ms");
/// assert_eq!(value(812.0), "812 ns");
/// assert_eq!(value(-961_000.0), "-961.0 us");
/// ```
#[must_use]
pub fn value(ns: f64) -> String {
    let (scaled, unit) = scale(ns);
    let decimals = match scaled.abs() {
        _ if unit == "ns" && ns.fract() == 0.0 => 0,
        magnitude if magnitude < 10.0 => 3,
        magnitude if magnitude < 100.0 => 2,
        magnitude if magnitude < 1000.0 => 1,
        _ => 0,
    };
    format!("{scaled:.decimals$} {unit}")
}

/// A span of nanoseconds for a sentence: three digits at most, no trailing zeros, minutes and hours
/// where they read better.
///
/// ```
/// use kadenz_record::numbers::span;
///
/// assert_eq!(span(400_000.0), "400 us");
/// assert_eq!(span(1_500_000.0), "1.5 ms");
/// assert_eq!(span(86_400e9), "24 h");
/// ```
#[must_use]
pub fn span(ns: f64) -> String {
    let seconds = ns / 1e9;
    if seconds >= 2.0 * 86_400.0 {
        return format!("{} days", three_digits(seconds / 86_400.0));
    }
    if seconds >= 2.0 * 3600.0 {
        return format!("{} h", three_digits(seconds / 3600.0));
    }
    if seconds >= 120.0 {
        return format!("{} min", three_digits(seconds / 60.0));
    }
    let (scaled, unit) = scale(ns);
    format!("{} {unit}", three_digits(scaled))
}

/// A rate from its interval, for a sentence.
///
/// ```
/// assert_eq!(kadenz_record::numbers::rate(1_000_000), "1 kHz");
/// assert_eq!(kadenz_record::numbers::rate(10_000_000), "100 Hz");
/// ```
#[must_use]
pub fn rate(interval_ns: u64) -> String {
    let hertz = 1e9 / interval_ns.max(1) as f64;
    if hertz >= 1e6 {
        format!("{} MHz", three_digits(hertz / 1e6))
    } else if hertz >= 1e3 {
        format!("{} kHz", three_digits(hertz / 1e3))
    } else {
        format!("{} Hz", three_digits(hertz))
    }
}

/// A small rate as "N in a million", rounded up to two digits so that a bound stays a bound; "all" where it rounds
/// to 1.
///
/// ```
/// assert_eq!(kadenz_record::numbers::in_a_million(4.99e-5), "50 in a million");
/// assert_eq!(kadenz_record::numbers::in_a_million(0.0057), "5.7 in a thousand");
/// assert_eq!(kadenz_record::numbers::in_a_million(998.6e-6), "1 in a thousand");
/// assert_eq!(kadenz_record::numbers::in_a_million(0.9999), "all");
/// ```
#[must_use]
pub fn in_a_million(rate: f64) -> String {
    const GROUPS: [(f64, &str); 4] = [
        (1e2, "hundred"),
        (1e3, "thousand"),
        (1e6, "million"),
        (1e9, "billion"),
    ];
    let (at, (group, _)) = GROUPS
        .into_iter()
        .enumerate()
        .find(|(_, (group, _))| rate * group >= 1.0)
        .unwrap_or((3, GROUPS[3]));
    let number = round_up_to_two_digits(rate * group);
    if number / group >= 1.0 {
        return "all".to_owned();
    }
    // Rounding up may reach the group before: 999 in a million are 1 in a thousand.
    let before = at.checked_sub(1).map(|before| GROUPS[before]);
    let (number, name) = match before.filter(|(before, _)| number * before >= group) {
        Some((before, name)) => (number * before / group, name),
        None => (number, GROUPS[at].1),
    };
    format!("{} in a {name}", trimmed(number, 9))
}

/// A share as a percentage with three digits at most.
///
/// ```
/// assert_eq!(kadenz_record::numbers::percentage(0.12), "12 %");
/// assert_eq!(kadenz_record::numbers::percentage(312.0 / 60_000.0), "0.52 %");
/// ```
#[must_use]
pub fn percentage(share: f64) -> String {
    format!("{} %", three_digits(100.0 * share))
}

/// How often something happens in an hour: a whole number from ten on.
///
/// ```
/// use kadenz_record::numbers::per_hour;
///
/// assert_eq!(per_hour(312.6), "313");
/// assert_eq!(per_hour(7_199.7), "7,200");
/// assert_eq!(per_hour(0.0481), "0.0481");
/// ```
#[must_use]
pub fn per_hour(number: f64) -> String {
    match number {
        many if many >= 10.0 => thousands(many.round() as u64),
        few => three_digits(few),
    }
}

/// A number with three significant digits at most and no trailing zeros.
#[must_use]
pub fn three_digits(number: f64) -> String {
    if number == 0.0 || !number.is_finite() {
        return format!("{number}");
    }
    let magnitude = number.abs().log10().floor() as i32;
    let decimals = (2 - magnitude).clamp(0, 12) as usize;
    trimmed(number, decimals)
}

fn scale(ns: f64) -> (f64, &'static str) {
    let (divisor, unit) = NANOSECOND_UNITS
        .into_iter()
        .find(|(divisor, _)| ns.abs() >= *divisor)
        .unwrap_or((1.0, "ns"));
    (ns / divisor, unit)
}

fn round_up_to_two_digits(number: f64) -> f64 {
    if number <= 0.0 {
        return 0.0;
    }
    let step = 10_f64.powf(number.log10().floor() - 1.0);
    // A bound that is a round number except for the last bit of an `f64` stays that number.
    (number / step - 1e-9).ceil() * step
}

fn trimmed(number: f64, decimals: usize) -> String {
    let text = format!("{number:.decimals$}");
    if !text.contains('.') {
        return text;
    }
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thousands_are_parted_from_the_right() {
        let cases = [
            (0, "0"),
            (999, "999"),
            (1_000, "1,000"),
            (u64::MAX, "18,446,744,073,709,551,615"),
        ];
        for (count, text) in cases {
            assert_eq!(thousands(count), text);
        }
    }

    #[test]
    fn values_choose_their_unit() {
        let cases = [
            (0.0, "0 ns"),
            (0.5, "0.500 ns"),
            (1_000.0, "1.000 us"),
            (99_990.0, "99.99 us"),
            (999_949.0, "999.9 us"),
            (3.2e12, "3200 s"),
            (-5.0, "-5 ns"),
        ];
        for (ns, text) in cases {
            assert_eq!(value(ns), text);
        }
    }

    #[test]
    fn a_bound_is_never_rounded_down() {
        let cases = [
            (1.0, "all"),
            (0.991, "all"),
            (0.99, "99 in a hundred"),
            (0.95, "95 in a hundred"),
            (0.2589, "26 in a hundred"),
            (0.001, "1 in a thousand"),
            (1.63e-8, "17 in a billion"),
            (1e-10, "0.1 in a billion"),
            (0.0, "0 in a billion"),
            (0.0501, "5.1 in a hundred"),
            (9.999e-5, "100 in a million"),
        ];
        for (rate, text) in cases {
            assert_eq!(in_a_million(rate), text);
        }
    }
}
