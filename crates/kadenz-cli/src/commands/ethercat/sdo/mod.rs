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
    /// By CoE's SDOs, through the mailbox of one device. A device that is in INIT has none yet, and is brought
    /// to PREOP for it.
    enum Sdo {
        Read(transfer::SdoReadOptions) = transfer::read;
        Write(transfer::SdoWriteOptions) = transfer::write;
        List(dictionary::SdoListOptions) = dictionary::list;
        Info(dictionary::Information) = dictionary::info;
    }
}
