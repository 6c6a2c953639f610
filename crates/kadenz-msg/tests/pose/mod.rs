//! A message in the form that `kadenz msg gen` writes, and one of another type.
#![allow(dead_code, unreachable_pub, reason = "not every test needs all of it")]

use kadenz_msg::codec::{DecodeError, EncodeError, Reader, Writer};
use kadenz_msg::message::{Fingerprint, Message};

/// `struct pose { int64_t number; double position[3]; int32_t size; byte image[size]; }`
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Pose {
    pub number: i64,
    pub position: [f64; 3],
    pub image: Vec<u8>,
}

impl Message for Pose {
    const NAME: &'static str = "robot.pose";
    const FINGERPRINT: Fingerprint = Fingerprint(0x1234_5678_9abc_def0);
    const DESCRIPTION: &'static str = "";

    fn body_length(&self) -> usize {
        8 + 24 + 4 + self.image.len()
    }

    fn encode_body(&self, writer: &mut Writer<'_>) -> Result<(), EncodeError> {
        writer.value(self.number)?;
        writer.array(&self.position)?;
        writer.value(i32::try_from(self.image.len()).unwrap_or(i32::MAX))?;
        writer.array(&self.image)
    }

    fn decode_body(&mut self, reader: &mut Reader<'_>) -> Result<(), DecodeError> {
        self.number = reader.value("number")?;
        reader.array("position", &mut self.position)?;
        let size: i32 = reader.value("size")?;
        let size = Reader::length("image", i64::from(size))?;
        reader.vector("image", size, &mut self.image)
    }
}

/// Another type, with the same members.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Other(pub Pose);

impl Message for Other {
    const NAME: &'static str = "robot.other";
    const FINGERPRINT: Fingerprint = Fingerprint(0xfeed_beef_0000_0001);
    const DESCRIPTION: &'static str = "";

    fn body_length(&self) -> usize {
        self.0.body_length()
    }

    fn encode_body(&self, writer: &mut Writer<'_>) -> Result<(), EncodeError> {
        self.0.encode_body(writer)
    }

    fn decode_body(&mut self, reader: &mut Reader<'_>) -> Result<(), DecodeError> {
        self.0.decode_body(reader)
    }
}

/// The pose of that number.
pub fn pose(number: i64) -> Pose {
    Pose {
        number,
        position: [1.0, -0.5, f64::MAX],
        image: vec![7; 150],
    }
}
