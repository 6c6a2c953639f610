//! Whole numbers as users type them: decimal, or `0x` and hexadecimal digits.

/// Reads a number without a sign; `None` if it is anything else, or does not fit.
#[must_use]
pub fn unsigned<T: TryFrom<u64>>(text: &str) -> Option<T> {
    let (digits, radix) = match text.strip_prefix("0x") {
        Some(digits) => (digits, 16),
        None => (text, 10),
    };
    // The standard library would accept a sign.
    let value = match digits.starts_with('+') {
        true => None,
        false => u64::from_str_radix(digits, radix).ok(),
    };
    T::try_from(value?).ok()
}

/// As [`unsigned`], of a number that must be hexadecimal.
#[must_use]
pub fn hexadecimal<T: TryFrom<u64>>(text: &str) -> Option<T> {
    match text.starts_with("0x") {
        true => unsigned(text),
        false => None,
    }
}

/// As [`unsigned`], of a number that may have a sign.
#[must_use]
pub fn signed<T: TryFrom<i128>>(text: &str) -> Option<T> {
    let (negative, digits) = match text.strip_prefix('-') {
        Some(digits) => (true, digits),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    let value = i128::from(unsigned::<u64>(digits)?);
    T::try_from(if negative { -value } else { value }).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_is_decimal_or_hexadecimal_and_has_one_sign_at_most() {
        assert_eq!(unsigned("0x3F0"), Some(1008_u16));
        assert_eq!(unsigned("1008"), Some(1008_u16));
        assert_eq!(hexadecimal::<u16>("1008"), None);
        assert_eq!(hexadecimal("0x10"), Some(16_u8));
        assert_eq!(signed("-0x10"), Some(-16_i64));
        assert_eq!(signed("+16"), Some(16_i64));
        for text in ["", "0x", "+1", "0x+1", "-1", "65536", "1.5", "0X10", " 1"] {
            assert_eq!(unsigned::<u16>(text), None, "{text}");
        }
        for text in ["--1", "+-1", "-+1", "0x-1", "-"] {
            assert_eq!(signed::<i64>(text), None, "{text}");
        }
    }
}
