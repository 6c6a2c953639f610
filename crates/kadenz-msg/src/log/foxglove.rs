//! Pictures of cameras as Foxglove's messages in protobuf: `foxglove.CompressedVideo` and `foxglove.CompressedImage`.
//!
//! Both have a time, a frame of reference, the bytes of one picture and the name of their coding; their
//! descriptions are in <https://github.com/foxglove/schemas>. The encoding is protobuf's
//! (<https://protobuf.dev/programming-guides/encoding>), and a log carries the description as a
//! `FileDescriptorSet` (<https://mcap.dev/spec/registry>).

use std::sync::Arc;

use kadenz_rt::clock::WallTime;

use super::{LoggedChannel, Schema};

/// The name of protobuf's encoding and of its descriptions in MCAP files.
const PROTOBUF: &str = "protobuf";

/// The coding of a picture.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PictureCoding {
    /// An H.264 access unit as a byte stream (ITU-T H.264, annex B), parameter sets before each IDR; no B-frames.
    H264,
    /// An H.265 access unit as a byte stream (ITU-T H.265, annex B), parameter sets before each IRAP; no B-frames.
    H265,
    /// One JPEG file per picture.
    Jpeg,
}

/// A message with the numbers of its fields; the time is field 1.
struct Description {
    name: &'static str,
    frame_id: u32,
    data: u32,
    format: u32,
}

const TIME: u32 = 1;
const VIDEO: Description = Description {
    name: "CompressedVideo",
    frame_id: 2,
    data: 3,
    format: 4,
};
const IMAGE: Description = Description {
    name: "CompressedImage",
    frame_id: 4,
    data: 2,
    format: 3,
};

impl PictureCoding {
    fn description(self) -> &'static Description {
        match self {
            Self::H264 | Self::H265 => &VIDEO,
            Self::Jpeg => &IMAGE,
        }
    }

    fn format(self) -> &'static str {
        match self {
            Self::H264 => "h264",
            Self::H265 => "h265",
            Self::Jpeg => "jpeg",
        }
    }

    /// A channel of pictures that are coded so, with the description of its messages.
    #[must_use]
    pub fn channel(self, name: &str) -> LoggedChannel {
        let description = self.description();
        let schema = Schema {
            name: format!("foxglove.{}", description.name),
            encoding: PROTOBUF.to_owned(),
            data: description.file_descriptor_set(),
        };
        LoggedChannel {
            name: name.to_owned(),
            encoding: PROTOBUF.to_owned(),
            schema: Some(Arc::new(schema)),
            metadata: Vec::new(),
        }
    }

    /// Encodes the message of a picture that was taken at a time, into `into`, whose content is replaced.
    pub fn encode(self, taken: WallTime, frame_id: &str, picture: &[u8], into: &mut Vec<u8>) {
        let fields = self.description();
        into.clear();
        into.put_bytes(TIME, &timestamp(taken));
        into.put_bytes(fields.frame_id, frame_id.as_bytes());
        into.put_bytes(fields.format, self.format().as_bytes());
        into.put_bytes(fields.data, picture);
    }
}

/// `google.protobuf.Timestamp`.
fn timestamp(time: WallTime) -> Vec<u8> {
    const SECOND: i64 = 1_000_000_000;
    let ns = time.as_unix_ns();
    let mut bytes = Vec::with_capacity(16);
    bytes.put_number(1, ns.div_euclid(SECOND).cast_unsigned());
    bytes.put_number(2, ns.rem_euclid(SECOND).cast_unsigned());
    bytes
}

// Types of fields, as descriptor.proto numbers them.
const INT64: u64 = 3;
const INT32: u64 = 5;
const STRING: u64 = 9;
const MESSAGE: u64 = 11;
const BYTES: u64 = 12;

const TIMESTAMP_FILE: &str = "google/protobuf/timestamp.proto";

impl Description {
    /// Returns the message and all that it refers to, as protobuf describes itself (descriptor.proto).
    fn file_descriptor_set(&self) -> Vec<u8> {
        let time = [("seconds", 1, INT64), ("nanos", 2, INT32)];
        let mut fields = [
            ("timestamp", TIME, MESSAGE),
            ("frame_id", self.frame_id, STRING),
            ("data", self.data, BYTES),
            ("format", self.format, STRING),
        ];
        fields.sort_by_key(|(_, number, _)| *number);
        let file = format!("foxglove/{}.proto", self.name);
        let files = [
            file_descriptor(TIMESTAMP_FILE, "google.protobuf", "Timestamp", &time),
            file_descriptor(&file, "foxglove", self.name, &fields),
        ];
        let mut set = Vec::new();
        for file in files {
            set.put_bytes(1, &file);
        }
        set
    }
}

/// A file with one message, whose only fields of another type are times.
fn file_descriptor(
    file: &str,
    package: &str,
    message: &str,
    fields: &[(&str, u32, u64)],
) -> Vec<u8> {
    let (mut described, mut dependency) = (Vec::new(), None);
    described.put_bytes(1, message.as_bytes());
    for (name, number, kind) in fields {
        let mut field = Vec::new();
        field.put_bytes(1, name.as_bytes());
        field.put_number(3, u64::from(*number));
        // Optional, as every field of proto3 is.
        field.put_number(4, 1);
        field.put_number(5, *kind);
        if *kind == MESSAGE {
            dependency = Some(TIMESTAMP_FILE);
            field.put_bytes(6, b".google.protobuf.Timestamp");
        }
        described.put_bytes(2, &field);
    }
    let mut bytes = Vec::new();
    bytes.put_bytes(1, file.as_bytes());
    bytes.put_bytes(2, package.as_bytes());
    if let Some(dependency) = dependency {
        bytes.put_bytes(3, dependency.as_bytes());
    }
    bytes.put_bytes(4, &described);
    bytes.put_bytes(12, b"proto3");
    bytes
}

/// Writes fields of protobuf behind what a vector holds.
trait PutProtobuf {
    fn put_varint(&mut self, value: u64);
    fn put_number(&mut self, field: u32, value: u64);
    fn put_bytes(&mut self, field: u32, bytes: &[u8]);
}

impl PutProtobuf for Vec<u8> {
    fn put_varint(&mut self, mut value: u64) {
        while value > 0x7f {
            self.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.push(value as u8);
    }

    fn put_number(&mut self, field: u32, value: u64) {
        self.put_varint(u64::from(field) << 3);
        self.put_varint(value);
    }

    fn put_bytes(&mut self, field: u32, bytes: &[u8]) {
        self.put_varint(u64::from(field) << 3 | 2);
        self.put_varint(bytes.len() as u64);
        self.extend_from_slice(bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the fields of a message: numbers of those that are varints, bytes of the others.
    fn fields(mut bytes: &[u8]) -> Vec<(u64, u64, &[u8])> {
        fn varint(bytes: &mut &[u8]) -> u64 {
            let length = bytes.iter().position(|it| it & 0x80 == 0).unwrap() + 1;
            let (varint, rest) = bytes.split_at(length);
            *bytes = rest;
            let parts = varint.iter().rev();
            parts.fold(0, |value, part| value << 7 | u64::from(part & 0x7f))
        }
        let mut fields = Vec::new();
        while !bytes.is_empty() {
            let tag = varint(&mut bytes);
            let value = varint(&mut bytes);
            let length = if tag & 7 == 2 { value as usize } else { 0 };
            let (content, rest) = bytes.split_at(length);
            fields.push((tag >> 3, value, content));
            bytes = rest;
        }
        fields
    }

    fn text(bytes: &[u8], field: u64) -> &str {
        let found = fields(bytes).into_iter().find(|it| it.0 == field);
        std::str::from_utf8(found.unwrap().2).unwrap()
    }

    #[test]
    fn a_message_has_its_time_its_frame_its_picture_and_its_format() {
        let mut message = vec![9; 100];
        let taken = WallTime::from_unix_ns(1_700_000_000_000_000_300);
        PictureCoding::H265.encode(taken, "left", &[1, 2, 3], &mut message);
        let all = fields(&message);
        let time: Vec<_> = fields(all[0].2).iter().map(|it| (it.0, it.1)).collect();
        assert_eq!(time, [(1, 1_700_000_000), (2, 300)]);
        let others: Vec<_> = all[1..].iter().map(|it| (it.0, it.2)).collect();
        assert_eq!(others, [(2, &b"left"[..]), (4, b"h265"), (3, &[1, 2, 3])]);
        // Before 1970 nanoseconds still count upwards.
        let before = timestamp(WallTime::from_unix_ns(-1));
        let before = fields(&before);
        assert_eq!((before[0].1, before[1].1), (u64::MAX, 999_999_999));
    }

    /// In the order of their numbers: name, label, type.
    #[test]
    fn a_log_describes_the_messages_and_what_they_refer_to() {
        for (coding, order) in [
            (
                PictureCoding::H264,
                ["timestamp", "frame_id", "data", "format"],
            ),
            (
                PictureCoding::Jpeg,
                ["timestamp", "data", "format", "frame_id"],
            ),
        ] {
            let channel = coding.channel("left/video");
            assert_eq!(channel.encoding, "protobuf");
            let schema = channel.schema.unwrap();
            let files = fields(&schema.data);
            let [time, own] = [files[0].2, files[1].2];
            assert_eq!(text(time, 1), text(own, 3), "the file it refers to");
            assert_eq!(text(time, 2), "google.protobuf");
            assert_eq!([text(time, 12), text(own, 12)], ["proto3"; 2]);
            let message = fields(own).into_iter().find(|it| it.0 == 4).unwrap().2;
            assert_eq!(
                format!("{}.{}", text(own, 2), text(message, 1)),
                schema.name
            );
            let of_message = fields(message);
            let described = of_message.iter().filter(|it| it.0 == 2);
            for ((_, _, field), (number, name)) in described.zip((1..).zip(order)) {
                let numbers: Vec<_> = fields(field).iter().map(|it| (it.0, it.1)).collect();
                let kind = match name {
                    "timestamp" => 11,
                    "data" => 12,
                    _ => 9,
                };
                assert_eq!(text(field, 1), name);
                assert_eq!(numbers[1..4], [(3, number), (4, 1), (5, kind)], "{name}");
                if kind == 11 {
                    assert_eq!(text(field, 6), ".google.protobuf.Timestamp");
                }
            }
        }
    }
}
