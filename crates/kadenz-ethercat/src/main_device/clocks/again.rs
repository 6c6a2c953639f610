//! Sets the clock of a SubDevice that has come back, while the others go on.

use std::time::Duration;

use super::{ClockError, Clocks, DeviceClock, Width, set_one, start_sync};
use crate::main_device::exchange::{ExchangeError, ExchangeResult, FrameBuffer, Registers, Target};
use crate::main_device::states;
use crate::wire::register::{AL_STATUS, DC_OFFSET, DC_RECEIVE_TIME, DC_RECEIVE_TIME_UNIT};
use crate::wire::{
    AlStatus, Command, Configured, DatagramAddress, OverflowError, Position, Slot, State,
};

/// How far ahead the pulses of a SubDevice that came back start: while a loop runs, each of the writes that
/// set them takes a cycle or more.
const LEAD: Duration = Duration::from_millis(50);
/// How long the reference may take to be set, where it has come back too.
const MAX: Duration = Duration::from_millis(500);
/// The interval of polls of the reference.
const POLL_INTERVAL: Duration = Duration::from_millis(1);
/// The number of clocks that one frame can read.
const TOGETHER: usize = 20;

/// AL status, offset and local time of a clock, all for the frame of its present receive times.
#[derive(Debug, Clone, Copy)]
struct ClockSample {
    status: AlStatus,
    offset: u64,
    local: u64,
}

impl ClockSample {
    fn system(&self) -> u64 {
        self.local.wrapping_add(self.offset)
    }

    /// Whether its time counts: before SAFEOP it may have restarted.
    fn counts(&self) -> bool {
        counts(self.status)
    }
}

fn counts(status: AlStatus) -> bool {
    matches!(status.state(), Some(State::SafeOp | State::Op))
}

impl Clocks {
    /// Sets the clock of a SubDevice that has come back, by its measured delay, while the others go on; one
    /// that [pulsed](Self::pulse) pulses again, with the others. Before SAFEOP, and for many at once: a
    /// SubDevice other than the reference waits until the reference is set, up to half a second. Where it is
    /// the reference itself, time goes on by the first other 64-bit clock in SAFEOP or OP, and restarts
    /// where there is none. Does nothing without a clock. Waits, allocates.
    ///
    /// # Errors
    /// [`ClockError::Exchange`], [`ClockError::Sync`].
    pub fn set_again(
        &self,
        registers: &mut Registers<'_>,
        position: Position,
    ) -> Result<(), ClockError> {
        let device = self.with_clock().find(|it| it.position == position);
        let (Some(device), Some(reference)) = (device, self.reference()) else {
            return Ok(());
        };
        let (there, here) = match device.station == reference {
            true => self.times_without(registers, device)?,
            false => times_with(registers, reference, device)?,
        };
        set_one(registers, device, there, here)?;
        let mut pulses = self.pulses.iter();
        if let Some(pulse) = pulses.find(|it| it.0 == position) {
            // Starts are whole cycles of system time, so its pulses coincide with the others'.
            start_sync(registers, self, &[*pulse], LEAD)?;
        }
        Ok(())
    }

    /// The system time at the reference, by another clock, and the reference's own time then.
    fn times_without(
        &self,
        registers: &mut Registers<'_>,
        reference: &DeviceClock,
    ) -> ExchangeResult<(u64, u64)> {
        latch(registers)?;
        let others = self
            .with_clock()
            .filter(|it| it.station != reference.station && it.width == Some(Width::Bits64));
        let others: Vec<_> = others.collect();
        for some in others.chunks(TOGETHER) {
            let stations = some.iter().map(|it| it.station);
            let shown = look(registers, reference.station, stations)?;
            let own = shown[0].ok_or(silent(reference.station))?;
            let mut samples = some.iter().zip(&shown[1..]);
            let time = samples.find_map(|(other, shown)| {
                let shown = shown.filter(ClockSample::counts)?;
                Some(shown.system().wrapping_sub(other.delay_ns.into()))
            });
            if let Some(time) = time {
                return Ok((time, own.local));
            }
        }
        let own = look(registers, reference.station, [])?[0];
        let own = own.ok_or(silent(reference.station))?;
        Ok((own.system(), own.local))
    }
}

/// The system time at the reference, and a clock's own time then.
fn times_with(
    registers: &mut Registers<'_>,
    reference: Configured,
    device: &DeviceClock,
) -> ExchangeResult<(u64, u64)> {
    let end = registers.exchange().now() + MAX;
    while !counts(states::read(registers, Target::Of(reference))?) {
        if registers.exchange().now() >= end {
            break;
        }
        registers.exchange().pause(POLL_INTERVAL);
    }
    latch(registers)?;
    let shown = look(registers, reference, [device.station])?;
    match shown[..] {
        [Some(there), Some(here)] => Ok((there.system(), here.local)),
        [None, ..] => Err(silent(reference)),
        _ => Err(silent(device.station)),
    }
}

fn latch(registers: &mut Registers<'_>) -> ExchangeResult<u16> {
    registers.count_writing(Target::All(0), DC_RECEIVE_TIME, &[0; 4])
}

/// Reads clocks, the first one's sample first; `None` for a clock that does not answer. One frame reads all
/// of them: another thread may latch receive times again before the next.
fn look(
    registers: &mut Registers<'_>,
    first: Configured,
    others: impl IntoIterator<Item = Configured>,
) -> ExchangeResult<Vec<Option<ClockSample>>> {
    let mut frame = FrameBuffer::default();
    let slots = frame.write(|writer| {
        let mut slots = Vec::new();
        for station in std::iter::once(first).chain(others) {
            let mut push = |register, length| {
                let address = DatagramAddress::configured(station, register);
                writer.push(Command::Fprd, 0, address, length)
            };
            let status = push(AL_STATUS, 2)?;
            let offset = push(DC_OFFSET, 8)?;
            slots.push([status, offset, push(DC_RECEIVE_TIME_UNIT, 8)?]);
        }
        Ok::<_, OverflowError>(slots)
    })?;
    registers.exchange().exchange(&mut frame)?;
    let bytes = frame.bytes();
    let shown = slots.into_iter().map(|[status, offset, local]| {
        Some(ClockSample {
            status: AlStatus(number(bytes, status)? as u16),
            offset: number(bytes, offset)?,
            local: number(bytes, local)?,
        })
    });
    Ok(shown.collect())
}

/// The value that one SubDevice answered, of up to eight bytes.
fn number(frame: &[u8], slot: Slot) -> Option<u64> {
    let data = frame.get(slot.range())?;
    let mut word = [0; 8];
    word.get_mut(..data.len())?.copy_from_slice(data);
    (slot.working_counter(frame)? == 1).then(|| u64::from_le_bytes(word))
}

/// The error of a clock that does not answer.
const fn silent(station: Configured) -> ExchangeError {
    ExchangeError::WorkingCounter {
        command: Command::Fprd,
        register: DC_RECEIVE_TIME_UNIT,
        target: Target::Of(station),
        expected: 1,
        got: 0,
    }
}
