//! `kadenz ethercat sdo`.

mod address;
pub(super) mod dictionary;
mod objects;
pub(super) mod transfer;

#[cfg(target_os = "linux")]
pub(super) use address::ObjectAddress;

commands! {
    /// Read, write and list the objects of a device.
    ///
    /// Uses CoE's SDOs, through the mailbox of one device. A device in INIT has no mailbox yet; the command brings it
    /// to PREOP first.
    enum Sdo {
        Read(transfer::SdoReadOptions) = transfer::read;
        Write(transfer::SdoWriteOptions) = transfer::write;
        List(dictionary::SdoListOptions) = dictionary::list;
        Info(dictionary::Information) = dictionary::info;
    }
}
