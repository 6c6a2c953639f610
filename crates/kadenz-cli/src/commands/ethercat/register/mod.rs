//! `kadenz ethercat register`.

mod address;
pub(super) mod read;
pub(super) mod write;

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
