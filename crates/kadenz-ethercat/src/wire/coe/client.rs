//! Whole transfers from the MainDevice's side: the next request, and the result of each answer.
//!
//! Sans-IO: the caller moves mailbox messages and counts time. Buffers are the caller's; nothing is allocated, so a
//! real-time thread may drive a transfer.

use super::{
    Abort, Address, CoeError, Message, Request, Response, SEGMENT_OVERHEAD, TRANSFER_OVERHEAD, sdo,
};
use crate::wire::mailbox::MailboxError;

/// Why a transfer failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum TransferError {
    /// The SubDevice aborted the transfer.
    #[error("{address}: {code}")]
    Aborted {
        /// Index and sub-index of the entry.
        address: Address,
        /// The code by which the device aborted the transfer.
        code: Abort,
    },
    /// The answer is not valid.
    #[error("{0}")]
    Damaged(#[from] CoeError),
    /// The answer belongs to another request.
    #[error(
        "{address}: the SubDevice answered another request; does another program use its mailbox?"
    )]
    Unexpected {
        /// Index and sub-index of the entry.
        address: Address,
    },
    /// The value is longer than the buffer.
    #[error("{address}: the value has {size} bytes, the buffer {room}")]
    TooLong {
        /// Index and sub-index of the entry.
        address: Address,
        /// Bytes of the value.
        size: usize,
        /// Bytes of the buffer.
        room: usize,
    },
    /// The segments of the value are together shorter or longer than its stated size.
    #[error("{address}: the SubDevice stated {size} bytes and sent {have}; read the entry again")]
    Size {
        /// Index and sub-index of the entry.
        address: Address,
        /// Bytes of the value by its first answer.
        size: usize,
        /// Bytes that came.
        have: usize,
    },
}

/// The result of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Progress {
    /// Send the next request.
    Continue,
    /// The transfer is complete; bytes of the value.
    Done(usize),
    /// No answer to this request, for example an emergency, or the late answer to an earlier request: wait on.
    NotMine,
}

/// The entry of a transfer.
#[derive(Debug, Clone, Copy)]
struct RequestedEntry {
    address: Address,
    complete: bool,
}

impl RequestedEntry {
    /// Whether an answer is about this entry. With complete access the sub-index says only where it begins.
    fn is(self, answered: Address) -> bool {
        answered == self.address || self.complete && answered.index == self.address.index
    }

    /// The answer to a request of this transfer; `None` for other messages. The request is the first one, of which the
    /// answer names the entry, unless `is_segmented`. An abort of a segment need not: Beckhoff's stack writes it over the
    /// request, which has none.
    fn response(
        self,
        data: &[u8],
        is_segmented: bool,
    ) -> Result<Option<Response<&[u8]>>, TransferError> {
        let RequestedEntry { address, .. } = self;
        Ok(match Message::read(data)? {
            Message::Response(Response::Abort { address: of, code })
            | Message::Request(Request::Abort { address: of, code }) => {
                if is_segmented || self.is(of) {
                    return Err(TransferError::Aborted { address, code });
                }
                None
            }
            Message::Response(response) => Some(response).filter(|it| match it {
                Response::Upload { address, .. } | Response::Download { address, .. } => {
                    is_segmented || self.is(*address)
                }
                _ => is_segmented,
            }),
            _ => None,
        })
    }
}

/// Reads a value.
///
/// ```
/// use kadenz_ethercat::wire::coe::{Address, Response, client::{Progress, Upload}};
///
/// let mut value = [0; 4];
/// let mut upload = Upload::new(Address::new(0x1018, 1), false, &mut value);
/// let mut message = [0; 64];
/// let length = upload.request(&mut message)?;      // goes to the SubDevice
/// # assert_eq!(length, 10);
///
/// let answer = Response::Upload { address: Address::new(0x1018, 1), complete: false, size: 4, data: &[2, 0, 0, 0] };
/// let length = answer.write(&mut message)?;        // comes back
/// assert_eq!(upload.answer(&message[..length])?, Progress::Done(4));
/// assert_eq!(value, [2, 0, 0, 0]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Upload<'b> {
    entry: RequestedEntry,
    buffer: &'b mut [u8],
    have: usize,
    size: usize,
    /// Toggle bit of the requested segment; `None` before the first answer.
    toggle: Option<bool>,
}

impl<'b> Upload<'b> {
    /// Reads an entry into a buffer; with `complete`, all entries from there on.
    #[must_use]
    pub fn new(address: Address, complete: bool, buffer: &'b mut [u8]) -> Self {
        Self {
            entry: RequestedEntry { address, complete },
            buffer,
            have: 0,
            size: 0,
            toggle: None,
        }
    }

    /// Writes the current request into a mailbox message's data; the same one until the answer comes.
    ///
    /// # Errors
    /// [`MailboxError::NoRoom`].
    pub fn request(&self, data: &mut [u8]) -> Result<usize, MailboxError> {
        match self.toggle {
            None => Request::Upload {
                address: self.entry.address,
                complete: self.entry.complete,
            },
            Some(toggle) => Request::UploadSegment { toggle },
        }
        .write(data)
    }

    fn take(&mut self, piece: &[u8]) -> Result<(), TransferError> {
        let end = self.have + piece.len();
        let room = self.buffer.len();
        let Some(target) = self.buffer.get_mut(self.have..end) else {
            return Err(TransferError::TooLong {
                address: self.entry.address,
                size: end.max(self.size),
                room,
            });
        };
        target.copy_from_slice(piece);
        self.have = end;
        Ok(())
    }

    /// Refuses segments that are longer than the stated size. A value that ends before is whole: devices state the
    /// largest size of a string.
    fn check_size(&self) -> Result<(), TransferError> {
        let (have, size) = (self.have, self.size);
        let address = self.entry.address;
        match have > size {
            true => Err(TransferError::Size {
                address,
                size,
                have,
            }),
            false => Ok(()),
        }
    }

    /// Takes the data of a mailbox message that the SubDevice sent.
    ///
    /// # Errors
    /// [`TransferError`]; the transfer is over then.
    pub fn answer(&mut self, data: &[u8]) -> Result<Progress, TransferError> {
        let unexpected = TransferError::Unexpected {
            address: self.entry.address,
        };
        let is_segmented = self.toggle.is_some();
        let Some(response) = self.entry.response(data, is_segmented)? else {
            return Ok(Progress::NotMine);
        };
        let done = match (response, self.toggle) {
            (
                Response::Upload {
                    size, data: piece, ..
                },
                None,
            ) => {
                let is_sized = sdo::says_size(data);
                let piece = match is_sized {
                    true => piece,
                    // The buffer is as long as the value's type.
                    false => &piece[..piece.len().min(self.buffer.len())],
                };
                self.size = if is_sized { size as usize } else { piece.len() };
                self.take(piece)?;
                self.toggle = Some(false);
                self.have >= self.size
            }
            (Response::UploadSegment { toggle, last, data }, Some(expected))
                if toggle == expected && (last || !data.is_empty()) =>
            {
                self.take(data)?;
                self.check_size()?;
                self.toggle = Some(!expected);
                last
            }
            // The late answer to an earlier request to write the same entry.
            (_, None) => return Ok(Progress::NotMine),
            _ => return Err(unexpected),
        };
        Ok(if done {
            Progress::Done(self.have)
        } else {
            Progress::Continue
        })
    }
}

/// Writes a value, piece by piece.
#[derive(Debug)]
pub struct Download<'d> {
    entry: RequestedEntry,
    value: &'d [u8],
    mailbox: usize,
    /// Bytes that the SubDevice took.
    taken: usize,
    toggle: Option<bool>,
}

impl<'d> Download<'d> {
    /// Writes an entry, over a mailbox of that many bytes, which include the header.
    #[must_use]
    pub fn new(address: Address, complete: bool, value: &'d [u8], mailbox: usize) -> Self {
        Self {
            entry: RequestedEntry { address, complete },
            value,
            mailbox,
            taken: 0,
            toggle: None,
        }
    }

    fn piece(&self) -> &'d [u8] {
        let overhead = match self.toggle {
            None => TRANSFER_OVERHEAD,
            Some(_) => SEGMENT_OVERHEAD,
        };
        let rest = &self.value[self.taken..];
        let expedited = self.toggle.is_none() && rest.len() <= 4;
        let limit = self.mailbox.saturating_sub(overhead);
        &rest[..if expedited {
            rest.len()
        } else {
            rest.len().min(limit)
        }]
    }

    /// Writes the current request into a mailbox message's data; the same one until the answer comes.
    ///
    /// # Errors
    /// [`MailboxError::NoRoom`].
    pub fn request(&self, data: &mut [u8]) -> Result<usize, MailboxError> {
        let piece = self.piece();
        match self.toggle {
            None => Request::Download {
                address: self.entry.address,
                complete: self.entry.complete,
                size: u32::try_from(self.value.len()).map_err(|_| MailboxError::NoRoom {
                    need: self.value.len(),
                    room: self.mailbox,
                })?,
                data: piece,
            },
            Some(toggle) => {
                if piece.is_empty() {
                    return Err(MailboxError::NoRoom {
                        need: SEGMENT_OVERHEAD + 1,
                        room: self.mailbox,
                    });
                }
                Request::DownloadSegment {
                    toggle,
                    last: self.taken + piece.len() == self.value.len(),
                    data: piece,
                }
            }
        }
        .write(&mut data[..])
    }

    /// Takes the data of a mailbox message that the SubDevice sent.
    ///
    /// # Errors
    /// [`TransferError`]; the transfer is over then.
    pub fn answer(&mut self, data: &[u8]) -> Result<Progress, TransferError> {
        let is_segmented = self.toggle.is_some();
        let Some(response) = self.entry.response(data, is_segmented)? else {
            return Ok(Progress::NotMine);
        };
        let next = match (response, self.toggle) {
            (Response::Download { .. }, None) => false,
            (Response::DownloadSegment { toggle }, Some(expected)) if toggle == expected => {
                !expected
            }
            (_, None) => return Ok(Progress::NotMine),
            _ => {
                return Err(TransferError::Unexpected {
                    address: self.entry.address,
                });
            }
        };
        self.taken += self.piece().len();
        self.toggle = Some(next);
        Ok(if self.taken == self.value.len() {
            Progress::Done(self.taken)
        } else {
            Progress::Continue
        })
    }
}
