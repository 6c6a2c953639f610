use std::time::Duration;

use kadenz_ethercat::control::cyclic::CycleContext;
use kadenz_ethercat::wire::cia402::{Controlword, DriveState, Goal, Statusword};

use super::device::Drive;
use super::object::{Input, ObjectLocation, ObjectValue, Output};

/// Whether a loop continues.
///
/// # Real-time safety
/// Real-time safe.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Flow {
    /// The next cycle follows.
    Continue,
    /// The outputs of this cycle are the last: an axis that moves loses its power as its drive leaves OP. With a motion,
    /// its axes come to rest first, and the law is called until they do. The loop leaves all devices in PREOP.
    Stop,
    /// The [shutdown cycles](super::NetworkBuilder::shutdown) follow, as after [`StopHandle::stop`](super::StopHandle),
    /// in which [`Io::is_ending`] is true: the law brings its axes to rest, and may return [`Stop`](Self::Stop) once they
    /// are.
    ShutDown,
}

impl Flow {
    /// Stops where `is_over` is true, and continues otherwise.
    #[must_use]
    pub const fn until(is_over: bool) -> Self {
        match is_over {
            true => Self::Stop,
            false => Self::Continue,
        }
    }
}

/// One cycle as the control law sees it: the inputs from the segment, and the outputs to it.
///
/// # Real-time safety
/// No method allocates, locks, or makes a system call.
#[derive(Debug)]
pub struct Io<'i, 'c> {
    context: &'i mut CycleContext<'c>,
    network: u64,
}

impl<'i, 'c> Io<'i, 'c> {
    pub(super) const fn new(context: &'i mut CycleContext<'c>, network: u64) -> Self {
        Self { context, network }
    }

    fn own(&self, place: ObjectLocation) -> ObjectLocation {
        assert!(place.network == self.network, "a handle of another network");
        place
    }

    /// Reads the bits at a place of the inputs.
    pub(super) fn read(&self, place: ObjectLocation) -> u64 {
        self.own(place).read(self.context.inputs())
    }

    /// Writes the bits at a place of the outputs.
    pub(super) fn write(&mut self, place: ObjectLocation, word: u64) {
        self.own(place).write(self.context.outputs(), word);
    }

    /// Whether the device of a place took part in the last exchange.
    pub(super) fn took_part(&self, place: ObjectLocation) -> bool {
        self.context.took_part(self.own(place).device)
    }

    /// The last value that the device sent. Where its frame was lost or it is away, this is an older value, see
    /// [`is_fresh`](Self::is_fresh); zero before it sent any.
    ///
    /// # Panics
    /// For a handle of another network.
    #[must_use]
    pub fn get<T: ObjectValue>(&self, input: Input<T>) -> T {
        T::from_bits(self.read(input.place))
    }

    /// Sets the value that the loop sends to the device until the next call; zero before the first.
    ///
    /// # Panics
    /// For a handle of another network.
    pub fn set<T: ObjectValue>(&mut self, output: Output<T>, value: T) {
        self.write(output.place, value.to_bits());
    }

    /// Writes the controlword that brings a drive one step nearer to the goal, and returns the state that its last
    /// statusword says. Called in each cycle with [`Goal::Enabled`], it enables a drive in a few cycles after the drive
    /// has reached OP. Until then, keep the target at the actual position, so that the drive does not jump.
    ///
    /// A drive with a fault stays in it, or, with `resets_fault`, is reset and enabled again. A drive that missed its
    /// process data for a while, as after a cut cable, has a fault too.
    ///
    /// # Panics
    /// For a handle of another network.
    pub fn control(&mut self, drive: Drive, goal: Goal, resets_fault: bool) -> DriveState {
        let state = Statusword(self.get(drive.status)).state();
        let place = self.own(drive.control.place);
        let before = Controlword(u16::from_bits(place.read(self.context.outputs())));
        let word = goal.controlword(state, resets_fault, before);
        self.set(drive.control, word.0);
        state
    }

    /// Whether the input is new: its device took part in the last exchange. False while frames are lost and while the
    /// device is away. A device takes part from SAFEOP on, before it acts on outputs: the statusword (0x6041) of a
    /// drive says whether it acts. The loop sees devices with fewer than 6 bytes of inputs only by their whole frame:
    /// such a device counts as away while another device of that frame is.
    ///
    /// # Panics
    /// For a handle of another network.
    #[must_use]
    pub fn is_fresh<T>(&self, input: Input<T>) -> bool {
        self.took_part(input.place)
    }

    /// The number of the cycle, from 1.
    #[must_use]
    pub const fn number(&self) -> u64 {
        self.context.number()
    }

    /// The time step of the control law: from the intended time of the cycle before to that of this one; an interval,
    /// and one more for each skipped release time.
    #[must_use]
    pub fn step(&self) -> Duration {
        self.context.step()
    }

    /// Whether the loop was asked to stop, and this is one of its shutdown cycles: the law brings the axes to rest, and
    /// may return [`Flow::Stop`] once they are.
    #[must_use]
    pub const fn is_ending(&self) -> bool {
        self.context.is_ending()
    }

    /// All that the loop knows of the cycle.
    #[must_use]
    pub const fn context(&mut self) -> &mut CycleContext<'c> {
        self.context
    }
}
