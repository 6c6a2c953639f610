//! `kadenz ethercat sii`.

pub(super) mod read;
pub(super) mod write;

commands! {
    /// Read or write the SII of a device.
    ///
    /// The slave information interface, SII: its EEPROM, from which the controller takes how it is wired and its
    /// alias when power comes, and every MainDevice the identity of the device and what it has.
    enum Sii {
        Read(read::SiiReadOptions) = read::run;
        Write(write::SiiWriteOptions) = write::run;
    }
}
