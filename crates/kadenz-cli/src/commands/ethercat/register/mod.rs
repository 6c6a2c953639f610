//! `kadenz ethercat register`.

pub(super) mod read;
pub(super) mod write;

use std::str::FromStr;

use kadenz::ethercat::value::{EntryType, number};
use kadenz::ethercat::wire::register::{self, KnownRegister};

commands! {
    /// Read or write ESC registers.
    ///
    /// Reaches the registers of a device's controller, from 0x0000 on, and its process memory, from 0x1000 on.
    /// Reading changes nothing, and does not disturb a running MainDevice.
    enum Register {
        Read(read::RegisterReadOptions) = read::run;
        Write(write::RegisterWriteOptions) = write::run;
    }
}

/// Most bytes per access: one datagram carries them, so that they are consistent.
const MAX: u16 = 1024;

/// An address in a controller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct RegisterAddress(u16);

impl FromStr for RegisterAddress {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        number::hexadecimal(text).map(Self).ok_or_else(|| {
            format!("`{text}` is not a valid address of a register; write it in hexadecimal, 0x0000 to 0xFFFF: 0x0130")
        })
    }
}

impl std::fmt::Display for RegisterAddress {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "0x{:04X}", self.0)?;
        self.known().map_or(Ok(()), |it| write!(f, " {}", it.name))
    }
}

impl RegisterAddress {
    /// The register of the standard at this address.
    fn known(self) -> Option<&'static KnownRegister> {
        register::known(self.0)
    }

    /// The register's type by the standard.
    fn r#type(self) -> Option<EntryType> {
        self.known().map(|it| match u8::try_from(it.bytes) {
            Ok(bytes @ 1..=8) if it.is_number => EntryType::Unsigned(bytes),
            _ => EntryType::Bytes,
        })
    }

    /// Number and type of the bytes to read.
    fn span(
        self,
        r#type: Option<EntryType>,
        length: Option<u16>,
    ) -> anyhow::Result<(EntryType, u16)> {
        let known_bytes = self.known().map(|it| it.bytes);
        let (r#type, length) = match (r#type, length) {
            (Some(r#type), length) => {
                let own = r#type.bytes().or(length).or(known_bytes);
                anyhow::ensure!(
                    length.is_none() || own == length,
                    "a {type} has {} bytes; leave the length out, or take --type bytes",
                    r#type.bytes().unwrap_or(0)
                );
                (r#type, own)
            }
            (None, length) if length.is_none() || length == known_bytes => {
                (self.r#type().unwrap_or(EntryType::Bytes), known_bytes)
            }
            (None, length) => (EntryType::Bytes, length),
        };
        let Some(length) = length else {
            anyhow::bail!(
                "no register that Kadenz knows begins at {self}; say how many bytes, or which type: 2, or --type u16"
            );
        };
        self.ensure_inside(length.into())?;
        Ok((r#type, length))
    }

    /// Refuses a range beyond the last address, and more than one datagram carries.
    fn ensure_inside(self, bytes: usize) -> anyhow::Result<()> {
        anyhow::ensure!(
            (1..=usize::from(MAX)).contains(&bytes),
            "{bytes} bytes are not a valid length; take 1 to {MAX}"
        );
        anyhow::ensure!(
            usize::from(self.0) + bytes <= 0x1_0000,
            "{bytes} bytes from {self} on reach over the last address, 0xFFFF"
        );
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> RegisterAddress {
        text.parse().unwrap()
    }

    #[test]
    fn an_address_is_hexadecimal() {
        assert_eq!(of("0x0130").0, 0x0130);
        assert_eq!(of("0x130").to_string(), "0x0130 AL status");
        assert_eq!(of("0x0131").to_string(), "0x0131");
        for text in ["", "130", "0x", "0x10000", "-1", "0xg"] {
            let error = text.parse::<RegisterAddress>().unwrap_err();
            assert!(error.contains("0x0130"), "{error}");
        }
    }

    #[test]
    fn bytes_and_type_are_the_register_s_or_the_user_s() {
        let span = |at: &str, r#type: Option<&str>, length| {
            let r#type = r#type.map(|it| it.parse().unwrap());
            let (r#type, length) = of(at).span(r#type, length).map_err(|it| it.to_string())?;
            Ok::<_, String>((r#type.to_string(), length))
        };
        let is = |it: &str, length| Ok((it.to_owned(), length));
        assert_eq!(span("0x0130", None, None), is("u16", 2));
        assert_eq!(span("0x0910", None, None), is("u64", 8));
        assert_eq!(span("0x0300", None, None), is("bytes", 8));
        assert_eq!(span("0x0130", None, Some(2)), is("u16", 2));
        assert_eq!(span("0x0130", None, Some(6)), is("bytes", 6));
        assert_eq!(span("0x0130", Some("u8"), None), is("u8", 1));
        assert_eq!(span("0x1000", Some("text"), Some(9)), is("text", 9));
        for (at, r#type, length, word) in [
            ("0x1000", None, None, "--type u16"),
            ("0x1000", Some("u16"), Some(3), "has 2 bytes"),
            ("0xFFFF", Some("u16"), None, "over the last address"),
            ("0x1000", None, Some(0), "1 to 1024"),
            ("0x1000", None, Some(1025), "1 to 1024"),
        ] {
            let error = span(at, r#type, length).unwrap_err();
            assert!(error.contains(word), "{error}");
        }
    }
}
