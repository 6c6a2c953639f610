//! Figures on a page: as [`crate::numbers`] writes them for terminals, with the signs of print (`µs`, `−`) and
//! non-breaking spaces.

pub(crate) use crate::numbers::in_a_million as bound;
pub(crate) use crate::numbers::thousands as count;

/// A duration with four significant digits in the unit that suits it: `52.34 µs`.
pub(crate) fn duration(ns: f64) -> String {
    const UNITS: [(&str, f64); 3] = [("s", 1e9), ("ms", 1e6), ("µs", 1e3)];
    let ns = (ns * 100.0).round() / 100.0;
    let mut units = UNITS.into_iter().map(|(unit, scale)| (unit, scale, 4));
    let large = units.find(|(_, scale, _)| ns.abs() >= 0.999_95 * scale);
    let (unit, scale, digits) = large.unwrap_or(("ns", 1.0, 3));
    let number = significant(ns / scale, digits);
    format!("{}\u{a0}{unit}", number.replace('-', "−"))
}

/// A whole number of nanoseconds as [`duration`].
pub(crate) fn span(ns: i64) -> String {
    duration(ns as f64)
}

/// How long something lasted, for a reader rather than a table: `24 h`, `2 min 30 s`, `10 s`.
pub(crate) fn lasting(ns: u64) -> String {
    let seconds = ns / 1_000_000_000;
    let (h, m, s) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    if seconds < 60 {
        return duration(ns as f64);
    }
    let mut words = Vec::new();
    for (amount, unit) in [(h, "h"), (m, "min"), (s, "s")] {
        if amount > 0 && !(h > 0 && unit == "s") {
            words.push(format!("{amount}\u{a0}{unit}"));
        }
    }
    words.join(" ")
}

/// Rounded to this many significant digits, no trailing zeros.
pub(crate) fn significant(value: f64, digits: usize) -> String {
    if value == 0.0 || !value.is_finite() {
        return if value == 0.0 {
            String::from("0")
        } else {
            String::from("—")
        };
    }
    let whole = value.abs().log10().floor() as i32 + 1;
    let decimals = (digits as i32 - whole).clamp(0, 12) as usize;
    let text = format!("{value:.decimals$}");
    match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => text,
    }
}

/// With a capital first letter.
pub(crate) fn capitalised(text: &str) -> String {
    let mut letters = text.chars();
    let first = letters.next().into_iter().flat_map(char::to_uppercase);
    first.collect::<String>() + letters.as_str()
}

/// A noun with its number: `1 miss`, `3 misses`.
pub(crate) fn plural(number: u64, one: &str, many: &str) -> String {
    format!("{} {}", count(number), if number == 1 { one } else { many })
}

/// An observed rate in suitable words: `0.52 %`, `50 in a million`.
pub(crate) fn rate(rate: f64) -> String {
    match rate {
        0.0 => String::from("0"),
        _ if rate >= 0.000_1 => format!("{}\u{a0}%", significant(rate * 100.0, 3)),
        _ if rate >= 1e-6 => format!("{} in a million", significant(rate * 1e6, 3)),
        _ => format!("{} in a billion", significant(rate * 1e9, 3)),
    }
}

/// A percentile's name: `99.9 %`.
pub(crate) fn percent(percent: f64) -> String {
    format!("{percent}\u{a0}%")
}

/// A sentence made for a terminal, with the sign of print: `400 us` becomes `400 µs`.
pub(crate) fn printed(sentence: &str) -> String {
    let mut out = String::with_capacity(sentence.len() + 8);
    let mut words = sentence.split(' ').peekable();
    while let Some(word) = words.next() {
        let number = word.ends_with(|last: char| last.is_ascii_digit());
        out.push_str(word);
        match words.peek() {
            Some(unit)
                if number
                    && unit.starts_with("us")
                    && !unit[2..].starts_with(char::is_alphanumeric) =>
            {
                out.push_str("\u{a0}µ");
                out.push_str(&unit[1..]);
                words.next();
                if words.peek().is_some() {
                    out.push(' ');
                }
            }
            Some(_) => out.push(' '),
            None => {}
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_take_the_unit_that_suits_them() {
        let cases = [
            (0.0, "0 ns"),
            (850.0, "850 ns"),
            (52_340.0, "52.34 µs"),
            (400_000.0, "400 µs"),
            (17_170_000.0, "17.17 ms"),
            (-1_500.0, "−1.5 µs"),
            (999_999.0, "1 ms"),
            (2.5e9, "2.5 s"),
        ];
        for (ns, words) in cases {
            assert_eq!(duration(ns).replace('\u{a0}', " "), words);
        }
    }

    #[test]
    fn long_spans_are_in_words() {
        let words = |seconds: u64| lasting(seconds * 1_000_000_000).replace('\u{a0}', " ");
        assert_eq!(words(86_400), "24 h");
        assert_eq!(words(150), "2 min 30 s");
        assert_eq!(words(10), "10 s");
    }

    #[test]
    fn sentences_get_the_signs_of_print() {
        let sentence = "keeps 1 kHz with a 400 us deadline, 3 users";
        assert_eq!(
            printed(sentence),
            "keeps 1 kHz with a 400\u{a0}µs deadline, 3 users"
        );
        assert_eq!(printed("within 5 us."), "within 5\u{a0}µs.");
    }

    #[test]
    fn rates_and_counts() {
        assert_eq!(rate(0.000_049_9), "49.9 in a million");
        assert_eq!(rate(0.0052).replace('\u{a0}', " "), "0.52 %");
        assert_eq!(plural(1, "miss", "misses"), "1 miss");
    }
}
