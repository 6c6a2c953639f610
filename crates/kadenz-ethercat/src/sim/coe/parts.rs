//! What the server's transfers are made of.

use super::Entry;
use crate::wire::coe::{Address, Response};

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
        let padded = [value, &[0]].concat();
        for at in 0..bits {
            if self.bit.is_multiple_of(8) {
                self.bytes.push(0);
            }
            let set = padded.get(at / 8).is_some_and(|it| it >> (at % 8) & 1 == 1);
            if let Some(last) = self.bytes.last_mut().filter(|_| set) {
                *last |= 1 << (self.bit % 8);
            }
            self.bit += 1;
        }
    }

    pub(super) fn take(&mut self, entry: &Entry, length: usize) -> Option<Vec<u8>> {
        let mut value = vec![0; length];
        for at in 0..width(entry, length) {
            let byte = self.bytes.get(self.bit / 8)?;
            if byte >> (self.bit % 8) & 1 == 1 {
                value[at / 8] |= 1 << (at % 8);
            }
            self.bit += 1;
        }
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
