//! Channels as Zenoh's key expressions.

/// What a key expression must not hold, or takes for a pattern, and the sign that stands before them.
const SPECIAL: &[u8] = b"*$?#%";

/// The key of a channel: the prefix, a slash, and the name, in which special signs, and slashes that
/// would leave a part empty, are written as `%` and two digits.
pub(super) fn key_of(prefix: &str, channel: &str) -> String {
    use std::fmt::Write as _;
    let mut key = format!("{prefix}/");
    let bytes = channel.as_bytes();
    for (at, sign) in channel.char_indices() {
        let is_empty_part =
            sign == '/' && (at == 0 || at + 1 == bytes.len() || bytes[at - 1] == b'/');
        if is_empty_part || u8::try_from(sign).is_ok_and(|sign| SPECIAL.contains(&sign)) {
            // Writing to a string cannot fail.
            let _ = write!(key, "%{:02x}", u32::from(sign));
        } else {
            key.push(sign);
        }
    }
    key
}

/// The channel of a key; `None` for a key that is not of this bus.
pub(super) fn channel_of(prefix: &str, key: &str) -> Option<String> {
    let name = key.strip_prefix(prefix)?.strip_prefix('/')?;
    let mut parts = name.split('%');
    let mut channel = parts.next()?.to_owned();
    for part in parts {
        let (code, rest) = part.split_at_checked(2)?;
        let code = u8::from_str_radix(code, 16).ok()?;
        channel.push(char::from(code));
        channel.push_str(rest);
    }
    Some(channel)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_channel_comes_back_from_a_key_that_zenoh_takes(channel in "[ -~äß]{1,30}") {
            let key = key_of("kadenz", &channel);
            prop_assert!(zenoh::key_expr::KeyExpr::try_from(key.as_str()).is_ok(), "{}", key);
            prop_assert_eq!(channel_of("kadenz", &key), Some(channel));
        }
    }

    #[test]
    fn a_key_of_another_bus_is_no_channel() {
        assert_eq!(channel_of("kadenz", "kadenzer/A"), None);
        assert_eq!(channel_of("kadenz", "kadenz/%z1"), None);
    }
}
