//! The address of an object: `0x6041`, `0x1018:1`.

use std::str::FromStr;

use kadenz::ethercat::value::number;
use kadenz::ethercat::wire::coe::Address;

/// An object's index, with an entry's sub-index or without.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::commands::ethercat) struct ObjectAddress {
    pub(in crate::commands::ethercat) index: u16,
    pub(in crate::commands::ethercat) sub: Option<u8>,
}

impl ObjectAddress {
    /// The entry: that of sub-index 0 where none was named.
    pub(in crate::commands::ethercat) fn entry(self) -> Address {
        Address::new(self.index, self.sub.unwrap_or(0))
    }
}

impl FromStr for ObjectAddress {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let refused = || {
            format!(
                "`{text}` is not a valid object; write its index in hexadecimal, and its sub-index behind it: 0x1018:1"
            )
        };
        let (index, sub) = match text.split_once(':') {
            Some((index, sub)) => (index, Some(sub)),
            None => (text, None),
        };
        let index = number::hexadecimal(index).ok_or_else(refused)?;
        let sub = sub.map(|sub| number::unsigned(sub).ok_or_else(refused));
        let sub = sub.transpose()?;
        Ok(Self { index, sub })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_is_read_as_it_is_shown() {
        for sub in 0..=u8::MAX {
            let address = Address::new(0x1C32, sub);
            let read: ObjectAddress = address.to_string().parse().unwrap();
            assert_eq!(read.entry(), address);
        }
    }

    #[test]
    fn an_object_is_an_index_and_perhaps_a_sub_index() {
        let of = |text: &str| text.parse::<ObjectAddress>().unwrap();
        assert_eq!(of("0x6041").entry(), Address::new(0x6041, 0));
        assert_eq!(of("0x1018:1").entry(), Address::new(0x1018, 1));
        assert_eq!(of("0x1018:0x0a").sub, Some(10));
        assert_eq!(of("0x6000:10").sub, Some(10));
        for text in [
            "",
            "6041",
            "0x",
            "0x10000",
            "0x1018:",
            "0x1018:256",
            "0x1018:1:2",
            "-1",
        ] {
            let error = text.parse::<ObjectAddress>().unwrap_err();
            assert!(error.contains("0x1018:1"), "{error}");
        }
    }
}
