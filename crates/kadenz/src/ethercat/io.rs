use std::time::Duration;

use kadenz_ethercat::control::cyclic::CycleContext;

use super::object::{Input, ObjectLocation, ObjectValue, Output};

/// Whether a loop goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Flow {
    /// With the next cycle.
    Continue,
    /// No: this cycle's outputs are the last. All devices are left in PREOP.
    Stop,
}

impl Flow {
    /// Stops where it is over, and goes on else.
    #[must_use]
    pub const fn until(is_over: bool) -> Self {
        match is_over {
            true => Self::Stop,
            false => Self::Continue,
        }
    }
}

/// A cycle as the control law sees it: what came of the segment, and what goes there.
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

    /// The bits at a place of the inputs.
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

    /// What the device told last. Where its frame was lost or it is away, that is an older value, see
    /// [`is_fresh`](Self::is_fresh); zero before it told anything.
    ///
    /// # Panics
    /// For a handle of another network.
    #[must_use]
    pub fn get<T: ObjectValue>(&self, input: Input<T>) -> T {
        T::from_bits(self.read(input.place))
    }

    /// What the device is told from now on, until it is set again; zero before it was set.
    ///
    /// # Panics
    /// For a handle of another network.
    pub fn set<T: ObjectValue>(&mut self, output: Output<T>, value: T) {
        self.write(output.place, value.to_bits());
    }

    /// Whether the input is new: its device took part in the last exchange. False while frames are lost and while the
    /// device is away. A device takes part from SAFEOP on, before it acts on outputs: whether a drive does, its
    /// statusword (0x6041) says. Of a device with fewer than 6 bytes of inputs only the whole frame tells; it counts as
    /// away while another device of that frame is.
    ///
    /// # Panics
    /// For a handle of another network.
    #[must_use]
    pub fn is_fresh<T>(&self, input: Input<T>) -> bool {
        self.took_part(input.place)
    }

    /// Which cycle it is, from 1.
    #[must_use]
    pub const fn number(&self) -> u64 {
        self.context.number()
    }

    /// By how much a control law has to go on: from the intended time of the cycle before to that of this one; an
    /// interval, and one more for each beat that was left out.
    #[must_use]
    pub fn step(&self) -> Duration {
        self.context.step()
    }

    /// Whether somebody asked the loop to stop, and these are its shutdown cycles: the law brings the axes to rest, and
    /// may say [`Flow::Stop`] once they are.
    #[must_use]
    pub const fn is_ending(&self) -> bool {
        self.context.is_ending()
    }

    /// All that the loop tells of a cycle.
    #[must_use]
    pub const fn context(&mut self) -> &mut CycleContext<'c> {
        self.context
    }
}
