//! `kadenz ethercat sii`.

pub(super) mod read;
pub(super) mod write;

commands! {
    /// Read or write the SII of a device.
    ///
    /// The slave information interface (SII) is the device's EEPROM. At power-on the controller reads its wiring and
    /// its alias from it, and every MainDevice reads the identity and the features of the device.
    enum Sii {
        Read(read::SiiReadOptions) = read::run;
        Write(write::SiiWriteOptions) = write::run;
    }
}
