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
        Read(transfer::Read) = transfer::read;
        Write(transfer::Write) = transfer::write;
        List(dictionary::List) = dictionary::list;
        Info(dictionary::Information) = dictionary::info;
    }
}
