//! Facts of macOS by name, `sysctlbyname(3)`.

use std::ffi::CString;

/// The text behind a name, for example `kern.osrelease`; `None` when there is none.
pub(crate) fn text(name: &str) -> Option<String> {
    let bytes = bytes(name)?;
    let text = String::from_utf8_lossy(&bytes);
    Some(text.trim_end_matches('\0').to_owned())
}

/// The number behind a name, for example `hw.memsize`; `None` when there is none.
pub(crate) fn number(name: &str) -> Option<u64> {
    let bytes = bytes(name)?;
    match bytes.len() {
        4 => Some(u64::from(u32::from_ne_bytes(bytes.try_into().ok()?))),
        8 => Some(u64::from_ne_bytes(bytes.try_into().ok()?)),
        _ => None,
    }
}

fn bytes(name: &str) -> Option<Vec<u8>> {
    let name = CString::new(name).ok()?;
    let mut bytes = vec![0_u8; 1024];
    let mut length = bytes.len();
    let none = std::ptr::null_mut();
    // SAFETY: the name ends with a zero; `length` says how many bytes may be written behind the
    // pointer, and both live through the call; nothing is set, so the last two are null and 0.
    let result = unsafe {
        libc::sysctlbyname(
            name.as_ptr(),
            bytes.as_mut_ptr().cast(),
            &raw mut length,
            none,
            0,
        )
    };
    bytes.truncate(length);
    (result == 0).then_some(bytes)
}
