//! The server of a device's CoE: one transfer at a time, as in real devices.

use super::pdo::Bits;
use super::{Dictionary, information};
use crate::description::{Entry, Object};
use crate::wire::State;
use crate::wire::coe::{
    Abort, Address, Message, ObjectCode, Request, Response, SEGMENT_OVERHEAD, TRANSFER_OVERHEAD,
};
use crate::wire::mailbox::{self, Counter, ErrorDetail, Header, MailboxError, Protocol};

/// Most bytes of a value that a client writes in pieces.
const MAX: usize = 64 * 1024;

/// An SDO response that owns its data.
type OwnedResponse = Response<Vec<u8>>;

/// An unfinished transfer.
#[derive(Debug, Clone, Default)]
enum Transfer {
    #[default]
    None,
    Upload {
        value: Vec<u8>,
        sent: usize,
        toggle: bool,
    },
    Download {
        address: Address,
        complete: bool,
        size: usize,
        value: Vec<u8>,
        toggle: bool,
    },
}

/// The result of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CoeAnswer {
    /// Bytes of the answer in the caller's buffer; 0 for none.
    pub length: usize,
    /// The entry that was written; with complete access, the first one.
    pub written: Option<Address>,
}

/// Serves a dictionary. Holds no more memory than the longest object and a list of all indices.
///
/// ```
/// use kadenz_ethercat::sim::coe::{Dictionary, CoeServer};
/// use kadenz_ethercat::wire::{State, coe::{Address, Message, Request}, mailbox::{self, Counter, Header, Protocol}};
///
/// let mut dictionary = Dictionary::standard(0x192, Default::default(), "Drive", ("1", "1"), &[]);
/// let mut server = CoeServer::new(true);
/// let mut message = [0; 64];
/// mailbox::write(&mut message, Protocol::Coe, Counter::from_bits(1), |room| {
///     Request::Upload { address: Address::new(0x1000, 0), complete: false }.write(room)
/// })?;
/// let mut answer = [0; 64];
/// let allow = &mut |_: &Dictionary, _, _: &[u8]| Ok(());
/// let length = server.serve(&mut dictionary, State::PreOp, &message, &mut answer, allow).length;
/// let (_, data) = Header::read(&answer[..length])?;
/// assert!(matches!(Message::read(data)?, Message::Response(_)));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Default)]
pub struct CoeServer {
    complete_access: bool,
    transfer: Transfer,
    list: information::Pieces,
    counter: Counter,
    /// Number of the last message that the server received.
    came: Counter,
}

/// A device's own check of a value that the dictionary's rules allow.
pub type ValueCheck<'o> = &'o mut dyn FnMut(&Dictionary, Address, &[u8]) -> Result<(), Abort>;

impl CoeServer {
    /// Creates a server, with or without complete access.
    #[must_use]
    pub fn new(complete_access: bool) -> Self {
        Self {
            complete_access,
            ..Self::default()
        }
    }

    /// Drops unfinished transfers, as after a change to INIT.
    pub(crate) fn reset(&mut self) {
        self.transfer = Transfer::None;
        self.list = information::Pieces::default();
        self.came = Counter::NONE;
    }

    /// Number for the next message without a request.
    pub(crate) fn next_counter(&mut self) -> Counter {
        self.counter = self.counter.next();
        self.counter
    }

    /// Serves a whole mailbox message; writes the answer into `room`, which is as long as the mailbox. A counted
    /// message with the number of the one before is its repetition, from a MainDevice that does not know whether it
    /// arrived: it gets no second answer, and nothing happens twice.
    pub fn serve(
        &mut self,
        dictionary: &mut Dictionary,
        state: State,
        message: &[u8],
        room: &mut [u8],
        check: ValueCheck<'_>,
    ) -> CoeAnswer {
        let mut written = None;
        let length = match Header::read(message) {
            Err(_) => ErrorDetail::INVALID_SIZE.write(self.next_counter(), room),
            Ok((header, _)) if self.repeats(header.counter) => Ok(0),
            Ok((header, data)) => {
                self.counter = header.counter;
                if header.protocol() == Some(Protocol::Coe) {
                    let served = RequestContext {
                        server: self,
                        dictionary,
                        state,
                        written: &mut written,
                    };
                    served.coe(header.counter, data, room, check)
                } else {
                    ErrorDetail::UNSUPPORTED_PROTOCOL.write(header.counter, room)
                }
            }
        };
        CoeAnswer {
            length: length.unwrap_or(0),
            written,
        }
    }

    /// Whether a message has the number of the one before; notes the number.
    fn repeats(&mut self, number: Counter) -> bool {
        let before = std::mem::replace(&mut self.came, number);
        number != Counter::NONE && number == before
    }

    /// The next piece of a list that did not fit into one message; to be sent when the mailbox is free.
    pub fn more(&mut self, room: &mut [u8]) -> Option<usize> {
        let piece = self.list.next(room.len())?;
        let counter = self.next_counter();
        mailbox::write(room, Protocol::Coe, counter, |it| piece.write(it)).ok()
    }
}

/// The context of a message while the server handles it.
struct RequestContext<'s> {
    server: &'s mut CoeServer,
    dictionary: &'s mut Dictionary,
    state: State,
    written: &'s mut Option<Address>,
}

impl RequestContext<'_> {
    fn coe(
        mut self,
        counter: Counter,
        data: &[u8],
        room: &mut [u8],
        check: ValueCheck<'_>,
    ) -> Result<usize, MailboxError> {
        let size = room.len();
        match Message::read(data) {
            Err(_) => ErrorDetail::INVALID_HEADER.write(counter, room),
            Ok(Message::Request(request)) => {
                let (address, answer) = self.request(&request, size, check);
                match answer {
                    Ok(None) => Ok(0),
                    Ok(Some(reply)) => {
                        mailbox::write(room, Protocol::Coe, counter, |it| reply.write(it))
                    }
                    Err(code) => {
                        self.server.transfer = Transfer::None;
                        mailbox::write(room, Protocol::Coe, counter, |it| {
                            OwnedResponse::Abort { address, code }.write(it)
                        })
                    }
                }
            }
            Ok(Message::Info(info)) => {
                let piece = self.server.list.ask(self.dictionary, &info, size);
                mailbox::write(room, Protocol::Coe, counter, |it| piece.write(it))
            }
            Ok(_) => ErrorDetail::SERVICE_NOT_SUPPORTED.write(counter, room),
        }
    }

    fn request(
        &mut self,
        request: &Request<'_>,
        mailbox: usize,
        check: ValueCheck<'_>,
    ) -> (Address, Result<Option<OwnedResponse>, Abort>) {
        let nowhere = Address::new(0, 0);
        match *request {
            Request::Upload { address, complete } => {
                (address, self.upload(address, complete, mailbox).map(Some))
            }
            Request::UploadSegment { toggle } => {
                (nowhere, self.upload_segment(toggle, mailbox).map(Some))
            }
            Request::Download {
                address,
                complete,
                size,
                data,
            } => {
                let answer = self.download(address, complete, size as usize, data, check);
                (address, answer.map(Some))
            }
            Request::DownloadSegment { toggle, last, data } => {
                let address = match &self.server.transfer {
                    Transfer::Download { address, .. } => *address,
                    _ => nowhere,
                };
                let answer = self.download_segment(toggle, last, data, check);
                (address, answer.map(Some))
            }
            Request::Abort { .. } => {
                self.server.transfer = Transfer::None;
                (nowhere, Ok(None))
            }
        }
    }

    fn allows_complete(&self, address: Address) -> Result<&Object, Abort> {
        let object = self
            .dictionary
            .object(address.index)
            .ok_or(Abort::NO_OBJECT)?;
        // A list that is empty now has no entries, but is still a list.
        let is_list = object.code != ObjectCode::Variable;
        if !self.server.complete_access || address.sub > 1 || !is_list {
            return Err(Abort::UNSUPPORTED_ACCESS);
        }
        Ok(object)
    }

    /// All values of an object, bit by bit: sub-index 0 as two bytes, then those that it counts.
    fn whole(&self, address: Address) -> Result<Vec<u8>, Abort> {
        let mut bits = Bits::default();
        for entry in self.counted(address)? {
            let at = Address::new(address.index, entry.sub);
            bits.put(self.dictionary.read(at, self.state)?, entry);
        }
        Ok(bits.bytes)
    }

    /// The entries that complete access covers now.
    fn counted(&self, address: Address) -> Result<Vec<&Entry>, Abort> {
        let object = self.allows_complete(address)?;
        let count = self.dictionary.number(Address::new(address.index, 0));
        let count = count.unwrap_or(0).clamp(0, 255) as u8;
        let entries = object.entries().iter();
        Ok(entries
            .filter(|it| (address.sub..=count).contains(&it.sub))
            .collect())
    }

    fn upload(
        &mut self,
        address: Address,
        complete: bool,
        mailbox: usize,
    ) -> Result<OwnedResponse, Abort> {
        let value = if complete {
            self.whole(address)?
        } else {
            self.dictionary.read(address, self.state)?.to_vec()
        };
        let room = mailbox.saturating_sub(TRANSFER_OVERHEAD);
        let size = value.len() as u32;
        let first = value[..value.len().min(if value.len() <= 4 { 4 } else { room })].to_vec();
        self.server.transfer = if first.len() < value.len() {
            Transfer::Upload {
                sent: first.len(),
                value,
                toggle: false,
            }
        } else {
            Transfer::None
        };
        Ok(OwnedResponse::Upload {
            address,
            complete,
            size,
            data: first,
        })
    }

    fn upload_segment(&mut self, asked: bool, mailbox: usize) -> Result<OwnedResponse, Abort> {
        let Transfer::Upload {
            value,
            sent,
            toggle,
        } = &mut self.server.transfer
        else {
            return Err(Abort::COMMAND);
        };
        if asked != *toggle {
            return Err(Abort::TOGGLE);
        }
        let room = mailbox.saturating_sub(SEGMENT_OVERHEAD).max(1);
        let end = value.len().min(*sent + room);
        let data = value[*sent..end].to_vec();
        let last = end == value.len();
        *sent = end;
        *toggle = !asked;
        if last {
            self.server.transfer = Transfer::None;
        }
        Ok(OwnedResponse::UploadSegment {
            toggle: asked,
            last,
            data,
        })
    }

    fn download(
        &mut self,
        address: Address,
        complete: bool,
        size: usize,
        data: &[u8],
        check: ValueCheck<'_>,
    ) -> Result<OwnedResponse, Abort> {
        self.server.transfer = Transfer::None;
        if complete {
            self.allows_complete(address)?;
        } else {
            self.dictionary.entry(address)?;
        }
        if size > MAX {
            return Err(Abort::TOO_LONG);
        }
        if data.len() < size {
            self.server.transfer = Transfer::Download {
                address,
                complete,
                size,
                value: data.to_vec(),
                toggle: false,
            };
        } else {
            self.store(address, complete, data, check)?;
        }
        Ok(OwnedResponse::Download { address, complete })
    }

    fn download_segment(
        &mut self,
        asked: bool,
        last: bool,
        data: &[u8],
        check: ValueCheck<'_>,
    ) -> Result<OwnedResponse, Abort> {
        let Transfer::Download {
            address,
            complete,
            size,
            value,
            toggle,
        } = &mut self.server.transfer
        else {
            return Err(Abort::COMMAND);
        };
        if asked != *toggle {
            return Err(Abort::TOGGLE);
        }
        if value.len() + data.len() > *size {
            return Err(Abort::TOO_LONG);
        }
        value.extend_from_slice(data);
        *toggle = !asked;
        if last {
            if value.len() < *size {
                return Err(Abort::TOO_SHORT);
            }
            let (address, complete) = (*address, *complete);
            let value = std::mem::take(value);
            self.server.transfer = Transfer::None;
            self.store(address, complete, &value, check)?;
        }
        Ok(OwnedResponse::DownloadSegment { toggle: asked })
    }

    fn store(
        &mut self,
        address: Address,
        complete: bool,
        value: &[u8],
        check: ValueCheck<'_>,
    ) -> Result<(), Abort> {
        if complete {
            let before = self.dictionary.snapshot(address.index);
            if let Err(code) = self.store_whole(address, value, check) {
                self.dictionary.restore(address.index, &before);
                return Err(code);
            }
        } else {
            self.dictionary.check(address, self.state, value)?;
            check(self.dictionary, address, value)?;
            self.dictionary.write(address, self.state, value)?;
        }
        *self.written = Some(address);
        Ok(())
    }

    /// Writes entries one by one; sets the count of a list to 0 meanwhile, and writes it last.
    fn store_whole(
        &mut self,
        address: Address,
        value: &[u8],
        check: ValueCheck<'_>,
    ) -> Result<(), Abort> {
        let zero = Address::new(address.index, 0);
        let entries: Vec<Entry> = self.allows_complete(address)?.entries().to_vec();
        let mut bits = Bits {
            bytes: value.to_vec(),
            bit: 0,
        };
        let mut count = None;
        if address.sub == 0 {
            count = Some(*value.first().ok_or(Abort::TOO_SHORT)?);
            bits.bit = 16;
        } else if let Ok([now]) = self.dictionary.read(zero, self.state) {
            count = Some(*now);
        }
        // Where the count is read only, it must stay the same.
        let counts = self.dictionary.check(zero, self.state, &[0]).is_ok();
        if counts {
            self.dictionary.write(zero, self.state, &[0])?;
        } else if address.sub == 0 && self.dictionary.number(zero) != count.map(i64::from) {
            return Err(Abort::READ_ONLY);
        }
        let count = count.unwrap_or(0);
        for entry in entries.iter().filter(|it| (1..=count).contains(&it.sub)) {
            let at = Address::new(address.index, entry.sub);
            let piece = bits
                .take(entry, self.dictionary.bytes(entry).len())
                .ok_or(Abort::TOO_SHORT)?;
            self.dictionary.check(at, self.state, &piece)?;
            check(self.dictionary, at, &piece)?;
            self.dictionary.write(at, self.state, &piece)?;
        }
        if counts {
            check(self.dictionary, zero, &[count])?;
            self.dictionary.write(zero, self.state, &[count])?;
        }
        Ok(())
    }
}
