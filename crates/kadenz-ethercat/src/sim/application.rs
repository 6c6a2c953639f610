//! The application behind a SubDevice's controller: the microcontroller and the hardware that it controls.
//!
//! A controller has registers, memory and states, but no use for them. An [`Application`] accepts or refuses states,
//! answers mailbox messages, takes outputs and gives inputs. It reaches the controller only through its [`Pdi`], as
//! real firmware does.

use std::any::Any;

use super::Time;
use crate::description::Hardware;
use crate::wire::{AlStatusCode, State, SyncManager};

/// A device to be put on a segment.
pub struct Model {
    /// The kind of EtherCAT controller that it has.
    pub hardware: Hardware,
    /// The content of its SII; words count from 0, at most 512 KiB.
    pub sii: Vec<u8>,
    /// What the device does with its process data and messages.
    pub application: Box<dyn Application>,
}

/// A change of state that a MainDevice requests. It is legal: the controller has refused the others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StateChange {
    /// The state that the device is in.
    pub from: State,
    /// The state that it shall change to.
    pub to: State,
}

/// An application's decision about a [`StateChange`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Decision {
    /// The new state takes effect at once.
    Accept,
    /// The old state stays, with the error bit and this code.
    Refuse(AlStatusCode),
    /// The decision takes time: the application calls [`Pdi::settle`] from a later [`Application::run`].
    Later,
}

/// A pulse of the sync unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Signal {
    /// The pulse of SYNC0.
    Sync0,
    /// The pulse of SYNC1.
    Sync1,
}

/// Why an application may not touch a SyncManager's memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum PdiAccessError {
    /// The controller has no such SyncManager.
    #[error("there is no SyncManager {0}")]
    Absent(u8),
    /// The MainDevice has not activated it, or it reaches over the memory.
    #[error("SyncManager {0} is not active")]
    Inactive(u8),
    /// It has the other direction: an application cannot write outputs, nor read inputs.
    #[error("SyncManager {0} goes the other way")]
    Direction(u8),
    /// It is a mailbox: messages come by [`Application::mailbox`] and go by [`Pdi::send`].
    #[error("SyncManager {0} is a mailbox")]
    Mailbox(u8),
}

/// Why the controller does not take a mailbox message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum PdiSendError {
    /// The queue is full of messages that the MainDevice has not read; the message is lost.
    #[error("{0} messages wait already")]
    Full(usize),
    /// It does not fit into the mailbox, or there is none.
    #[error("a message of {length} bytes does not fit into a mailbox of {room}")]
    TooLong {
        /// Bytes of the message, its header included.
        length: usize,
        /// Bytes of the mailbox; 0 where none is active.
        room: usize,
    },
}

/// The process data interface: an application's view of its controller.
///
/// Numbers of SyncManagers are those of the registers: by custom 0 is the mailbox of requests, 1 that of
/// answers, 2 are the outputs and 3 the inputs; without a mailbox, others. Nothing here blocks.
pub trait Pdi {
    /// The segment's time. For models of the outside world: motors, temperatures.
    fn now(&self) -> Time;

    /// The device's system time, which the distributed clocks keep equal everywhere; its own uncorrected time where
    /// it has no clock. Nanoseconds, wraps after 584 years.
    fn system_time(&self) -> u64;

    /// The AL state that the device is in.
    fn state(&self) -> State;

    /// Ends a [`Decision::Later`]: accepts or refuses the requested state. Ignored where no decision is due.
    fn settle(&mut self, result: Result<(), AlStatusCode>);

    /// Leaves the state without a request, with the error bit and a code: a watchdog, a lost clock, a fault. Ignored
    /// where `to` is not below the current state.
    fn leave(&mut self, to: State, code: AlStatusCode);

    /// A SyncManager's registers; `None` where the controller does not have it.
    fn sync_manager(&self, number: u8) -> Option<SyncManager>;

    /// Copies the newest complete outputs, as much as `into` has room for, and returns their length.
    ///
    /// # Errors
    /// [`PdiAccessError`]; `into` stays as it was.
    fn outputs(&mut self, number: u8, into: &mut [u8]) -> Result<usize, PdiAccessError>;

    /// Sets the inputs from now on. A shorter slice leaves the bytes behind it as they were in that buffer; the
    /// excess of a longer one is cut.
    ///
    /// # Errors
    /// [`PdiAccessError`].
    fn set_inputs(&mut self, number: u8, from: &[u8]) -> Result<(), PdiAccessError>;

    /// Queues a mailbox message, its six bytes of header included, which the MainDevice can read after `after`
    /// nanoseconds at the earliest. Messages stay in order; the queue is bounded.
    ///
    /// # Errors
    /// [`PdiSendError`]; then the message is lost.
    fn send(&mut self, message: &[u8], after: u64) -> Result<(), PdiSendError>;

    /// How many more messages [`send`](Self::send) takes.
    fn room(&self) -> usize;

    /// Reads registers or memory, past SyncManagers; zero beyond the memory.
    fn peek(&self, address: u16, into: &mut [u8]);

    /// Writes registers or memory, past SyncManagers, for uses of a model that this trait lacks. Raises no event.
    fn poke(&mut self, address: u16, from: &[u8]);

    /// The cycles of SYNC0 and SYNC1 in nanoseconds as the MainDevice activated them; `None` for one that
    /// is not active, 0 for one that pulses once.
    fn sync_cycles(&self) -> (Option<u32>, Option<u32>);

    /// Whether outputs come in time; true where the watchdog is off.
    fn outputs_in_time(&self) -> bool;
}

/// The behaviour of a device.
///
/// The segment calls it in the order of the segment's time, never twice at once. All methods but
/// [`change`](Self::change) have defaults that do nothing. To reach a model's own type, upcast:
///
/// ```
/// use std::any::Any;
/// use kadenz_ethercat::sim::{Application, Passive};
///
/// let mut device: Box<dyn Application> = Box::new(Passive);
/// let any: &mut dyn Any = &mut *device;
/// assert!(any.downcast_mut::<Passive>().is_some());
/// ```
pub trait Application: Any + Send {
    /// The device got power, or its controller was reset: the application clears all volatile state. The state is
    /// INIT, the registers are as after power on.
    fn power_on(&mut self, pdi: &mut dyn Pdi) {
        let _ = pdi;
    }

    /// A MainDevice requests another state. To check: mailboxes before PREOP, process data before SAFEOP, outputs
    /// before OP. A change downwards should be accepted.
    fn change(&mut self, change: StateChange, pdi: &mut dyn Pdi) -> Decision;

    /// The state has changed, by request or without one. `from` and `to` are never equal.
    fn changed(&mut self, from: State, to: State, pdi: &mut dyn Pdi) {
        let _ = (from, to, pdi);
    }

    /// A message came, as long as the mailbox is, with its header. The controller hands it over only while
    /// [`Pdi::room`] is at least 1; until then the mailbox stays full and the MainDevice waits.
    fn mailbox(&mut self, message: &[u8], pdi: &mut dyn Pdi) {
        let _ = (message, pdi);
    }

    /// A MainDevice has written a whole buffer of outputs.
    fn outputs_written(&mut self, sync_manager: u8, pdi: &mut dyn Pdi) {
        let _ = (sync_manager, pdi);
    }

    /// A MainDevice has read a whole buffer of inputs.
    fn inputs_read(&mut self, sync_manager: u8, pdi: &mut dyn Pdi) {
        let _ = (sync_manager, pdi);
    }

    /// The sync unit pulsed.
    fn sync(&mut self, signal: Signal, pdi: &mut dyn Pdi) {
        let _ = (signal, pdi);
    }

    /// Outputs did not come in time. Most devices fall back from OP to SAFEOP.
    fn watchdog_expired(&mut self, pdi: &mut dyn Pdi) {
        if pdi.state() == State::Op {
            pdi.leave(State::SafeOp, AlStatusCode::WATCHDOG);
        }
    }

    /// When [`run`](Self::run) is due next; the controller calls this after every other call. A time in the past
    /// means as soon as possible, but never twice at one time.
    fn next_run(&self) -> Time {
        Time::NEVER
    }

    /// The time of [`next_run`](Self::next_run) has come. [`Pdi::now`] may be later, where the segment did not
    /// advance in between, and is never earlier.
    fn run(&mut self, pdi: &mut dyn Pdi) {
        let _ = pdi;
    }

    /// Something inside fails, by a script or a user's command: the device emits an emergency with that code and goes
    /// to its fault state, or reacts in its own way. Codes are CiA 402's and CiA 301's; 0 is the end of the failure.
    fn fail(&mut self, code: u16, pdi: &mut dyn Pdi) {
        let _ = (code, pdi);
    }

    /// The device's identification, when a MainDevice requests it by AL control, such as the value of its switches;
    /// `None` where it has none.
    fn identification(&self) -> Option<u16> {
        None
    }
}

/// A device without process data, mailbox or behaviour: a coupler.
#[derive(Debug, Clone, Copy, Default)]
pub struct Passive;

impl Application for Passive {
    fn change(&mut self, _change: StateChange, _pdi: &mut dyn Pdi) -> Decision {
        Decision::Accept
    }
}
