//! `kadenz ethercat register`.

mod address;
pub(super) mod read;
pub(super) mod write;

commands! {
    /// Read or write ESC registers.
    ///
    /// Those of its controller, from 0x0000 on, and from 0x1000 on its process memory. Reading looks on only, and
    /// disturbs no MainDevice that runs.
    enum Register {
        Read(read::RegisterReadOptions) = read::run;
        Write(write::RegisterWriteOptions) = write::run;
    }
}
