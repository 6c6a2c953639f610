//! The reference clock's datagram: it distributes the reference's time to all others, as long as that is
//! right.
//!
//! With FRMW, all SubDevices write the value in the datagram, also where no reference put its time in: a
//! reference without an address, as it lost its power, would leave the sent value. One that is back, but not
//! set yet, would spread the time since then. So where the last answer did not show its time, the datagram
//! reads its state instead, which no SubDevice writes, and a reference that was away leads again from SAFEOP
//! on: before that it was set ([`Clocks::set_again`](crate::main_device::clocks::Clocks::set_again)).

use kadenz_rt::clock::MonotonicTime;

use crate::wire::register::{AL_STATUS, DC_SYSTEM_TIME};
use crate::wire::{
    AlStatus, Command, Configured, DatagramAddress, DatagramsMut, FrameWriter, OverflowError, Slot,
    State,
};

/// Whether the datagram distributes the reference's time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Trust {
    /// The datagram distributes the time.
    Leads,
    /// The datagram does not distribute it before the reference answers: its last answer did not come.
    Unseen,
    /// The datagram does not distribute it before the reference answers in SAFEOP or OP: it was away.
    Away,
}

/// The datagram of the reference clock, the first one of its frame.
#[derive(Debug)]
pub(super) struct Reference {
    station: Configured,
    slot: Slot,
    trust: Trust,
    /// The value that went out last, and when.
    sent: (u64, MonotonicTime),
    /// The time that it showed last, and when that frame was sent.
    showed: Option<(u64, MonotonicTime)>,
}

impl Reference {
    pub(super) fn push(
        writer: &mut FrameWriter<'_>,
        station: Configured,
    ) -> Result<Self, OverflowError> {
        let address = DatagramAddress::configured(station, DC_SYSTEM_TIME);
        Ok(Self {
            station,
            slot: writer.push(Command::Frmw, 0, address, 8)?,
            trust: Trust::Leads,
            sent: (0, MonotonicTime::from_ns(0)),
            showed: None,
        })
    }

    /// Writes the present request into its frame.
    pub(super) fn write_request(&mut self, frame: &mut [u8], now: MonotonicTime) {
        let (command, register, time) = match self.trust {
            Trust::Leads => (Command::Frmw, DC_SYSTEM_TIME, self.about(now)),
            Trust::Unseen | Trust::Away => (Command::Fprd, AL_STATUS, 0),
        };
        self.sent = (time, now);
        let first = DatagramsMut::of(frame)
            .ok()
            .and_then(|mut all| all.next()?.ok());
        if let Some(mut datagram) = first {
            datagram.set_command(command);
            datagram.set_address(DatagramAddress::configured(self.station, register));
        }
        frame[self.slot.range()].copy_from_slice(&time.to_le_bytes());
    }

    /// About the reference's present time: the value that all write if the reference went since the last
    /// answer. Never quite the time of a clock that runs as ours, so that it shows whether one wrote it.
    fn about(&self, now: MonotonicTime) -> u64 {
        self.showed
            .map_or(0, |(time, at)| time.wrapping_add_signed(now.since(at)) ^ 1)
    }

    /// Takes in the answer; returns the reference's time, where it leads.
    pub(super) fn read_reply(&mut self, frame: &[u8]) -> Option<u64> {
        let answer = frame.get(self.slot.range())?.try_into().ok()?;
        let answer = u64::from_le_bytes(answer);
        let counted = self.slot.working_counter(frame).unwrap_or(0) > 0;
        if self.trust != Trust::Leads {
            self.trust = self.seen(counted, AlStatus(answer as u16));
            return None;
        }
        if !counted || answer == self.sent.0 {
            self.trust = Trust::Unseen;
            return None;
        }
        self.showed = Some((answer, self.sent.1));
        Some(answer)
    }

    /// The trust that follows from its state, or from a missing one.
    fn seen(&self, counted: bool, status: AlStatus) -> Trust {
        let is_set = matches!(status.state(), Some(State::SafeOp | State::Op));
        match self.trust {
            _ if !counted => Trust::Away,
            Trust::Away if !is_set => Trust::Away,
            _ => Trust::Leads,
        }
    }

    /// Notes that nothing came back.
    pub(super) fn miss(&mut self) {
        if self.trust == Trust::Leads {
            self.trust = Trust::Unseen;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::{Datagrams, MAX_FRAME};

    const STATION: Configured = Configured(0x1001);

    /// A reference's frame, on the way and back.
    struct Rig {
        reference: Reference,
        frame: Vec<u8>,
        now: MonotonicTime,
    }

    impl Rig {
        fn new() -> Self {
            let mut frame = vec![0; MAX_FRAME];
            let mut writer = FrameWriter::new(&mut frame, [0; 6]).unwrap();
            let reference = Reference::push(&mut writer, STATION).unwrap();
            let length = writer.finish();
            frame.truncate(length);
            Self {
                reference,
                frame,
                now: MonotonicTime::from_ns(5),
            }
        }

        /// The request a millisecond later.
        fn write_request(&mut self) -> (Command, u16, u64) {
            self.now = self.now + std::time::Duration::from_millis(1);
            self.reference.write_request(&mut self.frame, self.now);
            let it = Datagrams::of(&self.frame).unwrap().next().unwrap().unwrap();
            let data = u64::from_le_bytes(it.data.try_into().unwrap());
            (it.command, it.address.register(), data)
        }

        /// The answer: how many SubDevices wrote, and which value.
        fn answer(&mut self, counted: u16, data: u64) -> Option<u64> {
            let mut answer = self.frame.clone();
            for mut datagram in DatagramsMut::of(&mut answer).unwrap().flatten() {
                datagram.data.copy_from_slice(&data.to_le_bytes());
                datagram.count(counted);
            }
            self.reference.read_reply(&answer)
        }

        fn leads(&mut self) -> bool {
            self.write_request().0 == Command::Frmw
        }
    }

    fn state(state: State) -> u64 {
        AlStatus::new(state, false).0.into()
    }

    #[test]
    fn a_reference_that_goes_leads_no_clock_and_leads_again_from_safeop_on() {
        let mut rig = Rig::new();
        assert_eq!(rig.write_request(), (Command::Frmw, DC_SYSTEM_TIME, 0));
        assert_eq!(rig.answer(8, 4_000_000), Some(4_000_000));
        // A SubDevice behind a reference that is gone receives about the time that it would have shown.
        let (command, _, time) = rig.write_request();
        assert_eq!(command, Command::Frmw);
        assert!(time.abs_diff(5_000_000) <= 1 && time != 5_000_000, "{time}");
        // The others wrote it, and no SubDevice put another time in.
        assert_eq!(rig.answer(7, time), None);
        for _ in 0..3 {
            assert_eq!(rig.write_request(), (Command::Fprd, AL_STATUS, 0));
            assert_eq!(rig.answer(0, 0), None);
        }
        for it in [State::Init, State::PreOp, State::SafeOp] {
            assert!(!rig.leads());
            assert_eq!(rig.answer(1, state(it)), None);
        }
        assert!(rig.leads());
        assert_eq!(rig.answer(8, 11_000_000), Some(11_000_000));
    }

    #[test]
    fn after_a_frame_that_got_lost_it_leads_when_it_was_seen_in_whichever_state() {
        let mut rig = Rig::new();
        assert!(rig.leads());
        rig.answer(8, 4_000_000);
        for it in [State::PreOp, State::Op] {
            assert!(rig.leads());
            rig.reference.miss();
            assert!(!rig.leads());
            rig.reference.miss();
            assert!(!rig.leads());
            assert_eq!(rig.answer(1, state(it)), None);
        }
        assert!(rig.leads());
        assert_eq!(rig.answer(8, 9_000_000), Some(9_000_000));
    }
}
