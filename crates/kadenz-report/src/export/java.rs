//! Numbers as Java prints them.

/// `%.<decimals>f` as Java prints it: the shortest decimal form that stands for `value` is rounded,
/// halves away from zero. Rust rounds the exact binary value instead, which differs in the last
/// digit for about one value in a thousand.
pub(super) fn fixed(value: f64, decimals: usize) -> String {
    let shortest = format!("{}", value.abs());
    let (whole, fraction) = shortest.split_once('.').unwrap_or((&shortest, ""));
    let round_up = fraction
        .as_bytes()
        .get(decimals)
        .is_some_and(|&digit| digit >= b'5');
    let kept = fraction
        .bytes()
        .chain(std::iter::repeat(b'0'))
        .take(decimals);
    let mut digits: Vec<u8> = whole.bytes().chain(kept).collect();
    if round_up {
        increment(&mut digits);
    }
    let point = digits.len() - decimals;
    let digits = String::from_utf8_lossy(&digits);
    let sign = if value.is_sign_negative() { "-" } else { "" };
    if decimals == 0 {
        return format!("{sign}{digits}");
    }
    format!("{sign}{}.{}", &digits[..point], &digits[point..])
}

fn increment(digits: &mut Vec<u8>) {
    for digit in digits.iter_mut().rev() {
        if *digit != b'9' {
            *digit += 1;
            return;
        }
        *digit = b'0';
    }
    digits.insert(0, b'1');
}

#[cfg(test)]
mod tests {
    use super::fixed;

    /// The right column was printed by Java 17.
    #[test]
    fn numbers_look_as_in_java() {
        let cases = [
            (0.0, 3, "0.000"),
            (0.125, 2, "0.13"),
            (1.0005, 3, "1.001"),
            (2.675, 2, "2.68"),
            (0.0005, 3, "0.001"),
            (999.9996, 3, "1000.000"),
            (-1.25, 1, "-1.3"),
            (1e15, 2, "1000000000000000.00"),
            (12.0, 0, "12"),
            (9.5, 0, "10"),
            (1e-7, 3, "0.000"),
        ];
        for (value, decimals, expected) in cases {
            assert_eq!(fixed(value, decimals), expected, "{value}");
        }
    }
}
