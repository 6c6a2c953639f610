//! Why a transfer was broken off.

/// An abort code (ETG.1000.6, table 41; CiA 301).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, thiserror::Error)]
#[error("SDO abort 0x{0:08X}: {text}", text = self.text().unwrap_or("vendor specific"))]
pub struct Abort(pub u32);

macro_rules! codes {
    ($($name:ident = $number:literal, $text:literal;)*) => {
        impl Abort {
            $(#[doc = $text] pub const $name: Self = Self($number);)*

            /// Every code of the standard.
            pub const ALL: &'static [Self] = &[$(Self::$name,)*];

            /// What the code means; `None` for a vendor's own.
            #[must_use]
            pub const fn text(self) -> Option<&'static str> {
                match self.0 { $($number => Some($text),)* _ => None }
            }
        }
    };
}

codes! {
    TOGGLE = 0x0503_0000, "toggle bit not changed";
    TIMEOUT = 0x0504_0000, "SDO protocol timeout";
    COMMAND = 0x0504_0001, "client or server command specifier not valid or unknown";
    OUT_OF_MEMORY = 0x0504_0005, "out of memory";
    UNSUPPORTED_ACCESS = 0x0601_0000, "unsupported access to an object";
    WRITE_ONLY = 0x0601_0001, "attempt to read a write only object";
    READ_ONLY = 0x0601_0002, "attempt to write a read only object";
    SUB_ZERO_NOT_CLEARED = 0x0601_0003, "the entry cannot be written while sub-index 0 is not 0";
    NO_COMPLETE_ACCESS = 0x0601_0004, "complete access is not supported for this object";
    LONGER_THAN_MAILBOX = 0x0601_0005, "the object is longer than the mailbox";
    MAPPED = 0x0601_0006, "the object is mapped to an RxPDO, download is blocked";
    NO_OBJECT = 0x0602_0000, "the object does not exist in the object dictionary";
    NOT_MAPPABLE = 0x0604_0041, "the object cannot be mapped to the PDO";
    PDO_TOO_LONG = 0x0604_0042, "number and length of the mapped objects exceed the PDO";
    PARAMETERS_INCOMPATIBLE = 0x0604_0043, "general parameter incompatibility";
    INTERNAL_INCOMPATIBLE = 0x0604_0047, "general internal incompatibility in the device";
    HARDWARE = 0x0606_0000, "access failed by a hardware error";
    LENGTH = 0x0607_0010, "data type does not match, length of the parameter does not match";
    TOO_LONG = 0x0607_0012, "data type does not match, the parameter is too long";
    TOO_SHORT = 0x0607_0013, "data type does not match, the parameter is too short";
    NO_SUB_INDEX = 0x0609_0011, "the sub-index does not exist";
    VALUE = 0x0609_0030, "the value is out of range";
    VALUE_TOO_HIGH = 0x0609_0031, "the value is too high";
    VALUE_TOO_LOW = 0x0609_0032, "the value is too low";
    MAXIMUM_BELOW_MINIMUM = 0x0609_0036, "the maximum is less than the minimum";
    GENERAL = 0x0800_0000, "general error";
    CANNOT_STORE = 0x0800_0020, "data cannot be transferred or stored to the application";
    LOCAL_CONTROL = 0x0800_0021, "data cannot be transferred or stored because of local control";
    STATE = 0x0800_0022, "data cannot be transferred or stored in the present device state";
    NO_DICTIONARY = 0x0800_0023, "the object dictionary cannot be made or is not there";
}
