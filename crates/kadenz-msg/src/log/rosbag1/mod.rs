//! Bags of ROS 1, version 2.0 (<http://wiki.ros.org/Bags/Format/2.0>); only read.

mod reader;
mod records;
mod scan;

pub use reader::Rosbag1Reader;

/// What a bag begins with.
const MAGIC: &[u8] = b"#ROSBAG V2.0\n";

/// The numbers of records.
mod op {
    pub(super) const MESSAGE: u8 = 2;
    pub(super) const BAG_HEADER: u8 = 3;
    pub(super) const INDEX: u8 = 4;
    pub(super) const CHUNK: u8 = 5;
    pub(super) const CHUNK_INFO: u8 = 6;
    pub(super) const CONNECTION: u8 = 7;
}
