//! The compression of parts of logs.

use std::fmt;
use std::io::{Read, Write as _};
use std::str::FromStr;

/// The compression of the chunks of a log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Compression {
    /// Chunks are written uncompressed.
    None,
    /// By LZ4, in its frame format.
    #[default]
    Lz4,
    /// By Zstandard. Written at its fastest level.
    Zstd,
    /// By bzip2: ROS 1 alone; only read.
    Bzip2,
}

impl Compression {
    /// The compressions that Kadenz writes.
    pub const WRITTEN: [Self; 3] = [Self::None, Self::Lz4, Self::Zstd];

    /// Returns its name in MCAP; empty for none.
    #[must_use]
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::None => "",
            Self::Lz4 => "lz4",
            Self::Zstd => "zstd",
            Self::Bzip2 => "bz2",
        }
    }

    /// Returns the compression by its name in a file.
    #[must_use]
    pub(crate) fn named(name: &[u8]) -> Option<Self> {
        Some(match name {
            b"" | b"none" => Self::None,
            b"lz4" => Self::Lz4,
            b"zstd" => Self::Zstd,
            b"bz2" => Self::Bzip2,
            _ => return None,
        })
    }

    /// Compresses bytes and appends them to a vector.
    pub(crate) fn compress(self, bytes: &[u8], into: &mut Vec<u8>) -> std::io::Result<()> {
        match self {
            Self::None => into.extend_from_slice(bytes),
            Self::Lz4 => {
                let mut encoder =
                    lz4_flex::frame::FrameEncoder::with_frame_info(frame(bytes.len()), into);
                encoder.write_all(bytes)?;
                encoder.finish().map_err(std::io::Error::other)?;
            }
            Self::Zstd => {
                let level = ruzstd::encoding::CompressionLevel::Fastest;
                ruzstd::encoding::compress(bytes, into, level);
            }
            Self::Bzip2 => return Err(std::io::ErrorKind::Unsupported.into()),
        }
        Ok(())
    }

    /// Decompresses bytes into an existing vector. Takes as much memory as `length` states, which the caller
    /// bounds; `None` if the bytes are damaged or decompress to fewer.
    pub(crate) fn decompress(self, bytes: &[u8], length: u64, into: &mut Vec<u8>) -> Option<()> {
        into.clear();
        // A vector that grows by doubling takes twice as much.
        into.reserve_exact(usize::try_from(length).ok()?);
        let read = match self {
            Self::None => bytes.take(length).read_to_end(into),
            Self::Lz4 => lz4_flex::frame::FrameDecoder::new(bytes)
                .take(length)
                .read_to_end(into),
            Self::Zstd => ruzstd::decoding::StreamingDecoder::new(bytes)
                .ok()?
                .take(length)
                .read_to_end(into),
            Self::Bzip2 => bzip2::read::MultiBzDecoder::new(bytes)
                .take(length)
                .read_to_end(into),
        };
        (read.ok()? as u64 == length).then_some(())
    }
}

/// Returns the smallest block size that holds all bytes, up to 1 MiB: a reader takes memory for a block at
/// once, however few bytes are in it.
fn frame(length: usize) -> lz4_flex::frame::FrameInfo {
    use lz4_flex::frame::BlockSize;
    lz4_flex::frame::FrameInfo::new().block_size(match length >> 10 {
        ..64 => BlockSize::Max64KB,
        64..256 => BlockSize::Max256KB,
        _ => BlockSize::Max1MB,
    })
}

/// The word names no compression.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a valid compression; there are none, lz4 and zstd")]
pub struct ParseCompressionError(String);

impl FromStr for Compression {
    type Err = ParseCompressionError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let found = Self::WRITTEN.into_iter().find(|it| it.to_string() == text);
        found.ok_or_else(|| ParseCompressionError(text.to_owned()))
    }
}

impl fmt::Display for Compression {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::None => "none",
            other => other.as_str(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_short_lies_in_small_blocks() {
        for (length, block) in [(0, 4), (65_535, 4), (65_536, 5), (1 << 20, 6), (5 << 20, 6)] {
            let mut small = Vec::new();
            let compressed = Compression::Lz4.compress(&vec![0; length], &mut small);
            compressed.unwrap();
            // The fourth to sixth bit of the frame's sixth byte.
            assert_eq!(small[5] >> 4, block, "{length}");
        }
    }

    #[test]
    fn what_is_compressed_comes_back_and_a_wrong_length_is_refused() {
        let bytes: Vec<u8> = (0..300_000_u32).map(|n| (n / 7) as u8).collect();
        for compression in [Compression::None, Compression::Lz4, Compression::Zstd] {
            let (mut small, mut again) = (Vec::new(), Vec::new());
            compression.compress(&bytes, &mut small).unwrap();
            let length = bytes.len() as u64;
            compression.decompress(&small, length, &mut again).unwrap();
            assert_eq!(again, bytes, "{compression}");
            assert!(
                compression
                    .decompress(&small, length + 1, &mut again)
                    .is_none()
            );
            let torn = &small[..small.len() / 2];
            assert!(compression.decompress(torn, length, &mut again).is_none());
        }
    }
}
