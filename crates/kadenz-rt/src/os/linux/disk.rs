//! What a file system has left.

use std::ffi::CString;
use std::io;
use std::mem::MaybeUninit;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// Bytes that an ordinary user may still write below `path`.
pub(crate) fn free_bytes(path: &Path) -> io::Result<u64> {
    let path = CString::new(path.as_os_str().as_bytes())?;
    let mut room = MaybeUninit::<libc::statvfs>::zeroed();
    // SAFETY: `path` ends with a zero and `room` is there to be written; both outlive the call.
    if unsafe { libc::statvfs(path.as_ptr(), room.as_mut_ptr()) } != 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the call has written it; zeroed memory would be a valid value, too.
    let room = unsafe { room.assume_init() };
    #[allow(
        clippy::unnecessary_cast,
        clippy::useless_conversion,
        reason = "both are narrower on 32-bit systems"
    )]
    let (blocks, size) = (u64::from(room.f_bavail), room.f_frsize as u64);
    Ok(blocks.saturating_mul(size))
}
