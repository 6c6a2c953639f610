//! Times and senders of messages, as text and as numbers.

use kadenz::msg::arrival::SenderId;
use kadenz::msg::bus::Delivery;
use kadenz::rt::clock::{self, MonotonicTime, WallTime};

/// The wall time of a past moment, by the present offset between both clocks.
pub(super) fn wall_ns(at: MonotonicTime) -> i64 {
    let (wall, now) = (WallTime::now(), clock::now());
    wall.as_unix_ns().saturating_sub(now.since(at))
}

/// Time of reception: the kernel's stamp if there is one.
pub(super) fn came(delivery: &Delivery) -> MonotonicTime {
    let stamps = delivery.info.stamps;
    stamps.kernel.unwrap_or(stamps.taken)
}

/// `2026-11-22T19:20:01.123456Z`.
pub(super) fn time_of_day(wall_ns: i64) -> String {
    match jiff::Timestamp::from_nanosecond(wall_ns.into()) {
        Ok(time) => format!("{time:.6}"),
        Err(_) => format!("{wall_ns} ns"),
    }
}

/// A sender in the provider's form: over `udpm://` address and port, else a number.
pub(super) fn sender(url: &str, sender: SenderId) -> String {
    let number = sender.0;
    let ip = u32::try_from(number >> 16);
    match (url.starts_with("udpm://"), ip) {
        (true, Ok(ip)) => {
            let port = number & 0xffff;
            format!("{}:{port}", std::net::Ipv4Addr::from_bits(ip))
        }
        _ => format!("#{number:x}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sender_is_an_address_where_the_network_gives_one() {
        let id = SenderId((0x7f00_0001_u128 << 16) | 7667);
        assert_eq!(sender("udpm://239.255.76.67:7667", id), "127.0.0.1:7667");
        assert_eq!(sender("shm://robot", SenderId(255)), "#ff");
    }

    #[test]
    fn a_time_of_day_has_microseconds() {
        assert_eq!(
            time_of_day(1_700_000_000_123_456_789),
            "2023-11-14T22:13:20.123456Z"
        );
    }
}
