//! The answers to each broadcast: in which place each device answered. Sans-IO.

use kadenz_record::run::network::{Broadcasts, Places};
use kadenz_udp::controller::{Burst, BurstSlot, DeviceId, OrderSlot, Place, ReplyOrder};
use kadenz_udp::wire::Sequence;

/// Broadcasts whose answers may still come while later ones are on their way.
const REMEMBERED: usize = 64;

/// Whether the order of answers is recorded: only answers to one packet for all can be compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ranking {
    /// It is recorded.
    Ranked,
    /// It is not recorded.
    Unranked,
}

/// The answers to the last broadcasts, and the order of the answers to all of them.
///
/// A broadcast is entered once: when all devices have answered it, or when it is given up, because a later one needs
/// its place or the run is over.
///
/// # Real-time safety
/// Memory is allocated when it is made.
#[derive(Debug)]
pub(super) struct BroadcastReplies {
    slots: Vec<Slot>,
    order: Option<ReplyOrder<Vec<OrderSlot>>>,
}

#[derive(Debug)]
struct Slot {
    burst: Burst<Vec<BurstSlot>>,
    state: State,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// It waits for answers.
    Awaited,
    /// It has entered the order, or never was.
    Done,
}

impl BroadcastReplies {
    pub(super) fn new(devices: usize, ranking: Ranking) -> Self {
        let slot = || Slot {
            burst: Burst::over(vec![BurstSlot::default(); devices]),
            state: State::Done,
        };
        let order = || ReplyOrder::over(vec![OrderSlot::default(); devices]);
        Self {
            slots: (0..REMEMBERED).map(|_| slot()).collect(),
            order: (ranking == Ranking::Ranked).then(order),
        }
    }

    /// Begins a packet for all devices.
    pub(super) fn begin(&mut self, sequence: Sequence, sent_ns: i64) {
        if let Some(slot) = self.slots.get_mut(sequence.0 as usize % REMEMBERED) {
            slot.enter(self.order.as_mut());
            slot.burst.begin(sequence, sent_ns.cast_unsigned());
            slot.state = State::Awaited;
        }
    }

    /// Takes a device's first answer to it; returns its place, if the broadcast is not given up yet.
    pub(super) fn answered(
        &mut self,
        sequence: Sequence,
        device: DeviceId,
        received_ns: i64,
    ) -> Option<Place> {
        let slot = self.slots.get_mut(sequence.0 as usize % REMEMBERED)?;
        let placed = slot
            .burst
            .answered(sequence, device, received_ns.cast_unsigned());
        if slot.burst.is_complete() {
            slot.enter(self.order.as_mut());
        }
        placed.ok()
    }

    /// Whether every device has answered it.
    pub(super) fn is_complete(&self, sequence: Sequence) -> bool {
        let slot = self.slots.get(sequence.0 as usize % REMEMBERED);
        slot.is_some_and(|it| it.burst.sequence() == Some(sequence) && it.burst.is_complete())
    }

    /// Gives up the broadcasts that still lack answers.
    pub(super) fn give_up(&mut self) {
        for slot in &mut self.slots {
            slot.enter(self.order.as_mut());
        }
    }

    /// Summary of the entered broadcasts; absent where the order is not recorded.
    pub(super) fn broadcasts(&self) -> Option<Broadcasts> {
        self.order.as_ref().map(|order| Broadcasts {
            sent: order.bursts(),
            complete: order.complete(),
            concordance: order.concordance(),
            ..Broadcasts::default()
        })
    }

    /// In which places a device answered them; places count from 1 here.
    pub(super) fn places(&self, device: usize) -> Option<Places> {
        let device = DeviceId(u16::try_from(device).ok()?);
        let places = self.order.as_ref()?.places(device)?;
        let from_one = |place: usize| match places.answers {
            0 => 0,
            _ => u32::try_from(place).unwrap_or(u32::MAX).saturating_add(1),
        };
        Some(Places {
            answers: places.answers,
            first: places.first,
            last: places.last,
            lowest: from_one(places.lowest),
            highest: from_one(places.highest),
            sum: places.sum() + places.answers,
        })
    }
}

impl Slot {
    fn enter(&mut self, order: Option<&mut ReplyOrder<Vec<OrderSlot>>>) {
        if self.state == State::Done {
            return;
        }
        self.state = State::Done;
        if let Some(order) = order {
            order.enter(&self.burst);
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "in a test a panic is the answer")]

    use super::*;

    const LAST: u32 = 199;

    /// Simulates 200 broadcasts to three devices that answer in the order of `answers`.
    fn played(ranking: Ranking, answers: impl Fn(u32) -> Vec<u16>) -> BroadcastReplies {
        let mut bursts = BroadcastReplies::new(3, ranking);
        for number in 0..=LAST {
            let sequence = Sequence(number);
            bursts.begin(sequence, i64::from(number) * 1_000_000);
            for (place, device) in answers(number).into_iter().enumerate() {
                let placed = bursts.answered(sequence, DeviceId(device), 2_000_000_000);
                assert_eq!(placed.unwrap().place, place);
            }
        }
        bursts
    }

    #[test]
    fn a_broadcast_is_entered_once_complete_or_given_up() {
        // The device 1 does not answer every tenth, nor the last.
        let silent = |number: u32| number.is_multiple_of(10) || number == LAST;
        let answers = |number| match silent(number) {
            true => vec![2, 0],
            false => vec![2, 0, 1],
        };
        let mut bursts = played(Ranking::Ranked, answers);
        // Of the last 64 those that lack an answer may still get one.
        let awaited = (LAST - 63..=LAST).filter(|it| silent(*it)).count() as u64;
        assert_eq!(bursts.broadcasts().unwrap().sent, 200 - awaited);
        bursts.give_up();
        bursts.give_up();
        let broadcasts = bursts.broadcasts().unwrap();
        assert_eq!((broadcasts.sent, broadcasts.complete), (200, 179));
        assert_eq!(broadcasts.concordance, Some(1.0));
        let places = [0, 1, 2].map(|device| bursts.places(device).unwrap());
        assert_eq!((places[2].first, places[2].highest), (200, 1));
        assert_eq!((places[1].answers, places[1].last), (179, 179));
        assert_eq!((places[0].mean(), places[0].last), (Some(2.0), 0));
        assert_eq!((places[1].lowest, places[1].highest), (3, 3));
    }

    #[test]
    fn an_answer_to_what_was_given_up_has_no_place() {
        let mut bursts = played(Ranking::Ranked, |number| match number {
            LAST => vec![],
            _ => vec![0, 1, 2],
        });
        let late = |bursts: &mut BroadcastReplies, sequence| {
            bursts.answered(Sequence(sequence), DeviceId(1), 2_000_000_000)
        };
        assert_eq!(late(&mut bursts, LAST - 64), None);
        assert_eq!(late(&mut bursts, LAST).unwrap().place, 0);
        assert_eq!(late(&mut bursts, LAST), None, "it has a place");
        assert!(bursts.is_complete(Sequence(LAST - 1)));
        assert!(!bursts.is_complete(Sequence(LAST)));
        bursts.give_up();
        assert_eq!(bursts.places(1).unwrap().first, 1);
        let never = BroadcastReplies::new(3, Ranking::Ranked).places(0).unwrap();
        assert_eq!((never.lowest, never.highest, never.mean()), (0, 0, None));
    }

    #[test]
    fn packets_to_each_device_have_no_order() {
        let mut bursts = played(Ranking::Unranked, |_| vec![0, 2, 1]);
        bursts.give_up();
        assert_eq!(bursts.broadcasts(), None);
        assert_eq!(bursts.places(0), None);
        assert!(bursts.is_complete(Sequence(LAST)));
    }
}
