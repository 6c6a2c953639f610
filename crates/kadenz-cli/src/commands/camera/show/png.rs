//! PNG files (ISO/IEC 15948) of 8-bit gray and RGB pictures.

use std::io::{self, Write as _};

use flate2::Compression;
use flate2::write::ZlibEncoder;
use kadenz::camera::layout::Channels;
use kadenz::camera::ring::Shape;

/// Encodes rows of interleaved pixels as a PNG file.
pub(super) fn encode(bytes: &[u8], shape: &Shape) -> io::Result<Vec<u8>> {
    let row_bytes = shape.size.width as usize * shape.channels.count();
    let mut data = ZlibEncoder::new(Vec::new(), Compression::fast());
    let mut rgb = Vec::with_capacity(row_bytes);
    for row in bytes.chunks_exact(row_bytes) {
        // Each row begins with its filter type: none.
        data.write_all(&[0])?;
        rgb.clear();
        rgb.extend_from_slice(row);
        if shape.channels == Channels::Bgr {
            rgb.chunks_exact_mut(3).for_each(|pixel| pixel.swap(0, 2));
        }
        data.write_all(&rgb)?;
    }
    let colour = if shape.channels == Channels::Gray {
        0
    } else {
        2
    };
    let mut header = Vec::new();
    header.extend(shape.size.width.to_be_bytes());
    header.extend(shape.size.height.to_be_bytes());
    // 8 bits a sample; deflate, adaptive filters, no interlace.
    header.extend([8, colour, 0, 0, 0]);
    let mut file = b"\x89PNG\r\n\x1a\n".to_vec();
    chunk(&mut file, b"IHDR", &header);
    chunk(&mut file, b"IDAT", &data.finish()?);
    chunk(&mut file, b"IEND", &[]);
    Ok(file)
}

fn chunk(file: &mut Vec<u8>, kind: &[u8; 4], data: &[u8]) {
    let length = u32::try_from(data.len()).unwrap_or(u32::MAX);
    file.extend(length.to_be_bytes());
    let from = file.len();
    file.extend(kind);
    file.extend(data);
    let check = crc32fast::hash(&file[from..]);
    file.extend(check.to_be_bytes());
}
