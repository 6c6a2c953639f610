//! What the server's transfers are made of.

use crate::description::Entry;
use crate::wire::coe::{Address, Response};
use crate::wire::copy_bits;

/// Values one behind the other, as complete access has them.
#[derive(Default)]
pub(super) struct Bits {
    pub(super) bytes: Vec<u8>,
    pub(super) bit: usize,
}

impl Bits {
    pub(super) fn put(&mut self, value: &[u8], entry: &Entry) {
        let bits = if entry.sub == 0 {
            16
        } else {
            width(entry, value.len())
        };
        // What stands in 16 bits may have 8.
        let padded = [value, &[0]].concat();
        let end = self.bit + bits;
        self.bytes.resize(end.div_ceil(8), 0);
        copy_bits(&padded, 0, &mut self.bytes, self.bit, bits);
        self.bit = end;
    }

    pub(super) fn take(&mut self, entry: &Entry, length: usize) -> Option<Vec<u8>> {
        let mut value = vec![0; length];
        let end = self.bit + width(entry, length);
        if end > self.bytes.len() * 8 {
            return None;
        }
        copy_bits(&self.bytes, self.bit, &mut value, 0, end - self.bit);
        self.bit = end;
        Some(value)
    }
}

fn width(entry: &Entry, bytes: usize) -> usize {
    usize::from(entry.bits).min(bytes * 8)
}

/// An answer that holds its data.
pub(super) enum Reply {
    Upload {
        address: Address,
        complete: bool,
        size: u32,
        data: Vec<u8>,
    },
    UploadSegment {
        toggle: bool,
        last: bool,
        data: Vec<u8>,
    },
    Download {
        address: Address,
        complete: bool,
    },
    DownloadSegment {
        toggle: bool,
    },
}

impl Reply {
    pub(super) fn response(&self) -> Response<'_> {
        match self {
            Self::Upload {
                address,
                complete,
                size,
                data,
            } => Response::Upload {
                address: *address,
                complete: *complete,
                size: *size,
                data,
            },
            Self::UploadSegment { toggle, last, data } => Response::UploadSegment {
                toggle: *toggle,
                last: *last,
                data,
            },
            Self::Download { address, complete } => Response::Download {
                address: *address,
                complete: *complete,
            },
            Self::DownloadSegment { toggle } => Response::DownloadSegment { toggle: *toggle },
        }
    }
}
