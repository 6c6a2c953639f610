//! Waiting for many descriptors, of which few are ready: epoll(7), edge-triggered.

use std::mem::MaybeUninit;
use std::os::fd::{BorrowedFd, OwnedFd, RawFd};
use std::ptr;

use rustix::event::epoll::{self, CreateFlags, Event, EventData, EventFlags};

use super::clock::{span_of_ns, timespec_of_ns};
use super::{errno, number};

/// One call reports at most so many descriptors.
const MAX_EVENTS: usize = 256;

/// A set of descriptors, each with a number that its owner chose, to wait for.
pub(crate) struct Epoll {
    descriptor: OwnedFd,
    /// The changes that the last wait found; never more than the initial capacity.
    changes: Vec<EpollEvent>,
}

/// A change of one descriptor.
#[derive(Debug, Clone, Copy)]
pub(crate) struct EpollEvent {
    pub(crate) token: u64,
    pub(crate) readable: bool,
    pub(crate) writable: bool,
    /// The peer sends no more, or the connection failed.
    pub(crate) ended: bool,
}

impl std::fmt::Debug for Epoll {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut shown = formatter.debug_struct("Epoll");
        shown.field("descriptor", &self.descriptor);
        shown.finish_non_exhaustive()
    }
}

impl Epoll {
    pub(crate) fn create() -> Result<Self, i32> {
        Ok(Self {
            descriptor: number(epoll::create(CreateFlags::CLOEXEC))?,
            changes: Vec::with_capacity(MAX_EVENTS),
        })
    }

    /// Adds this descriptor to the wait, until it is closed.
    pub(crate) fn add(&self, fd: RawFd, token: u64) -> Result<(), i32> {
        self.register(
            fd,
            token,
            EventFlags::IN | EventFlags::OUT | EventFlags::RDHUP,
        )
    }

    /// Adds a descriptor for reading alone: an event descriptor that was read becomes writable again, which is of
    /// no interest.
    pub(crate) fn add_reading(&self, fd: RawFd, token: u64) -> Result<(), i32> {
        self.register(fd, token, EventFlags::IN)
    }

    fn register(&self, fd: RawFd, token: u64, flags: EventFlags) -> Result<(), i32> {
        // SAFETY: the number is used in this call alone, and the kernel refuses one that is not open.
        let fd = unsafe { BorrowedFd::borrow_raw(fd) };
        let data = EventData::new_u64(token);
        number(epoll::add(
            &self.descriptor,
            fd,
            data,
            flags | EventFlags::ET,
        ))
    }

    /// Waits until a descriptor has changed, or so many milliseconds, or without end for `None`. An error of
    /// `EINTR` means that a signal was handled.
    pub(crate) fn wait(&mut self, span_ms: Option<u32>) -> Result<usize, i32> {
        self.changes.clear();
        // A longer span needs another system call, which older kernels lack.
        let span = span_ms.map(|it| it.min(i32::MAX.unsigned_abs()));
        let span = span.map(|ms| span_of_ns(u64::from(ms) * 1_000_000));
        let mut room = [MaybeUninit::uninit(); MAX_EVENTS];
        let events = epoll::wait(&self.descriptor, &mut room[..], span.as_ref());
        let (events, _) = number(events)?;
        self.changes.extend(events.iter().map(EpollEvent::of));
        Ok(self.changes.len())
    }

    /// The changes that the last wait found.
    pub(crate) fn changes(&self) -> impl Iterator<Item = EpollEvent> + '_ {
        self.changes.iter().copied()
    }
}

impl EpollEvent {
    fn of(event: &Event) -> Self {
        let flags = event.flags;
        let ended = flags.intersects(EventFlags::RDHUP | EventFlags::HUP | EventFlags::ERR);
        Self {
            token: event.data.u64(),
            readable: flags.contains(EventFlags::IN) || ended,
            writable: flags.contains(EventFlags::OUT),
            ended,
        }
    }
}

// Waiting for several descriptors: ppoll(2).

/// Descriptors to wait for, by their places.
#[derive(Debug, Default)]
pub(crate) struct Polled(Vec<libc::pollfd>);

impl Polled {
    pub(crate) fn clear(&mut self) {
        self.0.clear();
    }

    /// Adds a descriptor to wait for until it is readable or, with `writes`, writable.
    pub(crate) fn push(&mut self, fd: i32, writes: bool) {
        let writing = if writes { libc::POLLOUT } else { 0 };
        self.0.push(libc::pollfd {
            fd,
            events: libc::POLLIN | writing,
            revents: 0,
        });
    }

    /// Waits until a descriptor is ready, or so long, and returns how many are. An error of `EINTR` means that a
    /// signal was handled.
    pub(crate) fn wait(&mut self, span_ns: Option<u64>) -> Result<usize, i32> {
        let span = timespec_of_ns(span_ns.unwrap_or(0));
        let timeout = if span_ns.is_some() {
            &raw const span
        } else {
            ptr::null()
        };
        let count = self.0.len() as libc::nfds_t;
        // SAFETY: the array is live and has `count` entries; the time is live and normalised, or null for no limit;
        // a null mask leaves the signal mask as it is. A descriptor that is not open is marked, not followed.
        let ready = unsafe { libc::ppoll(self.0.as_mut_ptr(), count, timeout, ptr::null()) };
        if ready < 0 {
            self.0.iter_mut().for_each(|one| one.revents = 0);
            return Err(errno());
        }
        Ok(ready.unsigned_abs() as usize)
    }

    /// Whether the descriptor at this place can be read, or has ended or failed, which a read shows.
    pub(crate) fn reads(&self, place: usize) -> bool {
        self.0
            .get(place)
            .is_some_and(|one| one.revents & !libc::POLLOUT != 0)
    }

    /// Whether the descriptor at this place can be written.
    pub(crate) fn writes(&self, place: usize) -> bool {
        self.0
            .get(place)
            .is_some_and(|one| one.revents & libc::POLLOUT != 0)
    }
}
