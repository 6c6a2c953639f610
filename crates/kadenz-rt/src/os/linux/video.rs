//! Video4Linux2: the structures and ioctls of the kernel's linux/videodev2.h that capturing needs, and the buffers
//! that a driver fills.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd as _;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::memory::Mapped;

/// `V4L2_BUF_TYPE_VIDEO_CAPTURE`.
const CAPTURE: u32 = 1;
/// `V4L2_MEMORY_MMAP`.
const MMAP: u32 = 1;
/// `V4L2_PIX_FMT_PRIV_MAGIC`: the fields of colour behind `priv` count.
const EXTENDED: u32 = 0xfeed_cafe;

/// `struct v4l2_capability`.
#[repr(C)]
#[derive(Debug, Default)]
pub(crate) struct Capability {
    driver: [u8; 16],
    pub(crate) card: [u8; 32],
    bus_info: [u8; 32],
    version: u32,
    capabilities: u32,
    device_caps: u32,
    reserved: [u32; 3],
}

impl Capability {
    /// The capabilities of the opened node itself: `V4L2_CAP_DEVICE_CAPS` says that the driver reports them
    /// separately.
    pub(crate) fn of_node(&self) -> u32 {
        if self.capabilities & 0x8000_0000 == 0 {
            self.capabilities
        } else {
            self.device_caps
        }
    }
}

/// `struct v4l2_fmtdesc`.
#[repr(C)]
#[derive(Debug, Default)]
struct FormatDescription {
    index: u32,
    kind: u32,
    flags: u32,
    description: [u8; 32],
    pixel_format: u32,
    media_bus_code: u32,
    reserved: [u32; 3],
}

/// `struct v4l2_pix_format`.
#[repr(C)]
#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct PixFormat {
    pub(crate) width: u32,
    pub(crate) height: u32,
    pub(crate) pixel_format: u32,
    pub(crate) field: u32,
    pub(crate) bytes_per_line: u32,
    pub(crate) size_image: u32,
    pub(crate) colorspace: u32,
    pub(crate) private: u32,
    pub(crate) flags: u32,
    pub(crate) ycbcr_encoding: u32,
    pub(crate) quantization: u32,
    pub(crate) transfer: u32,
}

/// `struct v4l2_format`, whose union has the alignment of a pointer and 200 bytes.
#[repr(C)]
#[derive(Debug)]
struct Format {
    kind: u32,
    aligned: [usize; 0],
    pix: PixFormat,
    rest: [u8; 152],
}

/// `struct v4l2_streamparm` with `struct v4l2_captureparm`.
#[repr(C)]
#[derive(Debug)]
struct StreamParameters {
    kind: u32,
    capability: u32,
    mode: u32,
    numerator: u32,
    denominator: u32,
    rest: [u8; 184],
}

/// `struct v4l2_requestbuffers`.
#[repr(C)]
#[derive(Debug, Default)]
struct RequestBuffers {
    count: u32,
    kind: u32,
    memory: u32,
    capabilities: u32,
    flags: u8,
    reserved: [u8; 3],
}

/// `struct v4l2_buffer`.
#[repr(C)]
#[derive(Debug)]
pub(crate) struct VideoBuffer {
    pub(crate) index: u32,
    kind: u32,
    pub(crate) bytes_used: u32,
    pub(crate) flags: u32,
    field: u32,
    timestamp: libc::timeval,
    timecode: [u32; 4],
    pub(crate) sequence: u32,
    memory: u32,
    /// The union; with `V4L2_MEMORY_MMAP` its first 32 bits are the offset.
    place: [u32; size_of::<usize>() / 4],
    length: u32,
    reserved: u32,
    request: u32,
}

impl VideoBuffer {
    fn of(index: u32) -> Self {
        Self {
            index,
            kind: CAPTURE,
            bytes_used: 0,
            flags: 0,
            field: 0,
            timestamp: libc::timeval {
                tv_sec: 0,
                tv_usec: 0,
            },
            timecode: [0; 4],
            sequence: 0,
            memory: MMAP,
            place: [0; size_of::<usize>() / 4],
            length: 0,
            reserved: 0,
            request: 0,
        }
    }

    /// The driver's stamp.
    pub(crate) fn stamp(&self) -> Duration {
        let seconds = u64::try_from(self.timestamp.tv_sec).unwrap_or(0);
        let microseconds = u64::try_from(self.timestamp.tv_usec).unwrap_or(0);
        Duration::from_secs(seconds) + Duration::from_micros(microseconds)
    }
}

const QUERYCAP: libc::Ioctl = libc::_IOR::<Capability>(V, 0);
const ENUM_FMT: libc::Ioctl = libc::_IOWR::<FormatDescription>(V, 2);
const G_FMT: libc::Ioctl = libc::_IOWR::<Format>(V, 4);
const S_FMT: libc::Ioctl = libc::_IOWR::<Format>(V, 5);
const REQBUFS: libc::Ioctl = libc::_IOWR::<RequestBuffers>(V, 8);
const QUERYBUF: libc::Ioctl = libc::_IOWR::<VideoBuffer>(V, 9);
const QBUF: libc::Ioctl = libc::_IOWR::<VideoBuffer>(V, 15);
const DQBUF: libc::Ioctl = libc::_IOWR::<VideoBuffer>(V, 17);
const STREAMON: libc::Ioctl = libc::_IOW::<libc::c_int>(V, 18);
const G_PARM: libc::Ioctl = libc::_IOWR::<StreamParameters>(V, 21);
const S_PARM: libc::Ioctl = libc::_IOWR::<StreamParameters>(V, 22);
const V: u32 = b'V' as u32;

/// # Safety
/// `T` must be the structure of the command.
unsafe fn ask<T>(file: &File, command: libc::Ioctl, structure: &mut T) -> io::Result<()> {
    loop {
        // SAFETY: the descriptor is open, and the structure live; the caller answers for its type.
        let outcome = unsafe { libc::ioctl(file.as_raw_fd(), command, &raw mut *structure) };
        if outcome >= 0 {
            return Ok(());
        }
        let error = io::Error::last_os_error();
        if error.kind() != io::ErrorKind::Interrupted {
            return Err(error);
        }
    }
}

/// The device's identity and capabilities.
pub(crate) fn capability(file: &File) -> io::Result<Capability> {
    let mut answer = Capability::default();
    // SAFETY: the structure is that of the command.
    unsafe { ask(file, QUERYCAP, &mut answer) }?;
    Ok(answer)
}

/// The format of that index for capturing, as a four-character code; `None` behind the last.
pub(crate) fn format_at(file: &File, index: u32) -> Option<u32> {
    let mut description = FormatDescription {
        index,
        kind: CAPTURE,
        ..FormatDescription::default()
    };
    // SAFETY: the structure is that of the command.
    unsafe { ask(file, ENUM_FMT, &mut description) }.ok()?;
    Some(description.pixel_format)
}

/// Sets the format nearest to `wanted`, if given, and returns the present format.
pub(crate) fn format(file: &File, wanted: Option<PixFormat>) -> io::Result<PixFormat> {
    let mut format = Format {
        kind: CAPTURE,
        aligned: [],
        pix: PixFormat {
            private: EXTENDED,
            ..wanted.unwrap_or_default()
        },
        rest: [0; 152],
    };
    let command = if wanted.is_some() { S_FMT } else { G_FMT };
    // SAFETY: the structure is that of both commands.
    unsafe { ask(file, command, &mut format) }?;
    Ok(format.pix)
}

/// Numerator and denominator of the seconds between frames: the present ones, or those nearest to `wanted`, which
/// the device then uses.
pub(crate) fn interval(file: &File, wanted: Option<(u32, u32)>) -> io::Result<(u32, u32)> {
    let (numerator, denominator) = wanted.unwrap_or_default();
    let mut parameters = StreamParameters {
        kind: CAPTURE,
        capability: 0,
        mode: 0,
        numerator,
        denominator,
        rest: [0; 184],
    };
    let command = if wanted.is_some() { S_PARM } else { G_PARM };
    // SAFETY: the structure is that of both commands.
    unsafe { ask(file, command, &mut parameters) }?;
    Ok((parameters.numerator, parameters.denominator))
}

/// Requests buffers in the driver's memory, and returns how many the driver gives.
pub(crate) fn request_buffers(file: &File, count: u32) -> io::Result<u32> {
    let mut request = RequestBuffers {
        count,
        kind: CAPTURE,
        memory: MMAP,
        ..RequestBuffers::default()
    };
    // SAFETY: the structure is that of the command.
    unsafe { ask(file, REQBUFS, &mut request) }?;
    Ok(request.count)
}

pub(crate) fn stream_on(file: &File) -> io::Result<()> {
    let mut kind: libc::c_int = CAPTURE as libc::c_int;
    // SAFETY: the command takes a number of this type.
    unsafe { ask(file, STREAMON, &mut kind) }
}

/// Gives a buffer to the driver.
pub(crate) fn enqueue(file: &File, index: u32) -> io::Result<()> {
    // SAFETY: the structure is that of the command.
    unsafe { ask(file, QBUF, &mut VideoBuffer::of(index)) }
}

/// Takes the oldest filled buffer from the driver; `None` where there is none yet.
pub(crate) fn dequeue(file: &File) -> io::Result<Option<VideoBuffer>> {
    let mut buffer = VideoBuffer::of(0);
    // SAFETY: the structure is that of the command.
    match unsafe { ask(file, DQBUF, &mut buffer) } {
        Ok(()) => Ok(Some(buffer)),
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(None),
        Err(error) => Err(error),
    }
}

/// Waits until a buffer is filled, for at most a span; returns whether one is, or the device went away.
pub(crate) fn wait(file: &File, span: Duration) -> bool {
    let mut descriptor = [PollFd::new(file, PollFlags::IN)];
    let span = Timespec::try_from(span).ok();
    poll(&mut descriptor, span.as_ref()).is_ok_and(|ready| ready > 0)
}

/// A driver's buffer in this process's memory, for reading.
#[derive(Debug)]
pub(crate) struct DriverMemory(Mapped);

// SAFETY: the mapping is the whole process's.
unsafe impl Send for DriverMemory {}

impl DriverMemory {
    /// Maps the buffer of an index.
    pub(crate) fn of(file: &File, index: u32) -> io::Result<Self> {
        let mut buffer = VideoBuffer::of(index);
        // SAFETY: the structure is that of the command.
        unsafe { ask(file, QUERYBUF, &mut buffer) }?;
        // The driver reports where its buffer lies.
        let (length, offset) = (buffer.length as usize, buffer.place[0].into());
        Mapped::of(file, length, offset, libc::PROT_READ, 0).map(Self)
    }

    /// The first bytes. The driver must not own the buffer: between DQBUF and QBUF it does not write.
    pub(crate) fn filled(&self, count: usize) -> &[u8] {
        // SAFETY: inside the mapping; the caller has dequeued the buffer and not queued it again, so that its driver
        // leaves it alone.
        unsafe { std::slice::from_raw_parts(self.0.start().as_ptr(), count.min(self.0.length())) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
    fn the_commands_are_those_of_the_kernel() {
        // As a C compiler prints them from linux/videodev2.h, with the sizes of the structures in them.
        let commands = [
            (QUERYCAP, 0x8068_5600_u32),
            (ENUM_FMT, 0xc040_5602),
            (G_FMT, 0xc0d0_5604),
            (S_FMT, 0xc0d0_5605),
            (REQBUFS, 0xc014_5608),
            (QUERYBUF, 0xc058_5609),
            (QBUF, 0xc058_560f),
            (DQBUF, 0xc058_5611),
            (STREAMON, 0x4004_5612),
            (G_PARM, 0xc0cc_5615),
            (S_PARM, 0xc0cc_5616),
        ];
        for (ours, kernel) in commands {
            assert_eq!(ours as u32, kernel, "{ours:#x}");
        }
    }
}
