//! The messages of the examples, as `types.lcm` describes them.
#![allow(dead_code, unreachable_pub, reason = "no example needs all of them")]

use kadenz_msg::codec::{DecodeError, EncodeError, Reader, Writer};
use kadenz_msg::message::{Fingerprint, Message};

/// Target positions and velocities of the joints.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Command {
    /// In rad.
    pub position: [f64; 3],
    /// In rad/s.
    pub velocity: [f64; 3],
}

impl Message for Command {
    const NAME: &'static str = "types.command";
    const FINGERPRINT: Fingerprint = Fingerprint(0x933f_b1fb_54ce_c28e);
    const DESCRIPTION: &'static str = "package types;

struct command
{
    double position[3];
    double velocity[3];
}
";

    fn body_length(&self) -> usize {
        48
    }

    fn encode_body(&self, writer: &mut Writer<'_>) -> Result<(), EncodeError> {
        writer.array(&self.position)?;
        writer.array(&self.velocity)?;
        Ok(())
    }

    fn decode_body(&mut self, reader: &mut Reader<'_>) -> Result<(), DecodeError> {
        reader.array("position", &mut self.position)?;
        reader.array("velocity", &mut self.velocity)?;
        Ok(())
    }
}

/// Measured state of the joints.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Feedback {
    /// The member `number`.
    pub number: i64,
    /// In rad.
    pub position: [f64; 3],
    /// In rad/s.
    pub velocity: [f64; 3],
}

impl Message for Feedback {
    const NAME: &'static str = "types.feedback";
    const FINGERPRINT: Fingerprint = Fingerprint(0xbaf5_85be_0f59_376b);
    const DESCRIPTION: &'static str = "package types;

struct feedback
{
    int64_t number;
    double position[3];
    double velocity[3];
}
";

    fn body_length(&self) -> usize {
        56
    }

    fn encode_body(&self, writer: &mut Writer<'_>) -> Result<(), EncodeError> {
        writer.value(self.number)?;
        writer.array(&self.position)?;
        writer.array(&self.velocity)?;
        Ok(())
    }

    fn decode_body(&mut self, reader: &mut Reader<'_>) -> Result<(), DecodeError> {
        self.number = reader.value("number")?;
        reader.array("position", &mut self.position)?;
        reader.array("velocity", &mut self.velocity)?;
        Ok(())
    }
}

/// One sweep of a laser scanner.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Scan {
    /// The member `number`.
    pub number: i64,
    /// The member `count`.
    pub count: i32,
    /// In m.
    pub ranges: Vec<f32>,
}

impl Message for Scan {
    const NAME: &'static str = "types.scan";
    const FINGERPRINT: Fingerprint = Fingerprint(0x0549_556b_c660_5764);
    const DESCRIPTION: &'static str = "package types;

struct scan
{
    int64_t number;
    int32_t count;
    float ranges[count];
}
";

    fn body_length(&self) -> usize {
        12 + 4 * self.ranges.len()
    }

    fn encode_body(&self, writer: &mut Writer<'_>) -> Result<(), EncodeError> {
        Writer::agree("ranges", self.ranges.len(), "count", i64::from(self.count))?;
        writer.value(self.number)?;
        writer.value(self.count)?;
        writer.array(&self.ranges)?;
        Ok(())
    }

    fn decode_body(&mut self, reader: &mut Reader<'_>) -> Result<(), DecodeError> {
        self.number = reader.value("number")?;
        self.count = reader.value("count")?;
        let length = Reader::length("ranges", i64::from(self.count))?;
        reader.vector("ranges", length, &mut self.ranges)?;
        Ok(())
    }
}
