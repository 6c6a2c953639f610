//! Questions and answers of any program, for fuzzing.

use super::requester::{LookupStep, TypeRequester};
use super::responder::AnswerSchedule;
use crate::message::{Fingerprint, Message};
use crate::service::fuzzing::said;
use crate::service::messages::{Heartbeat, TypeAnswer};

/// Questions and answers of any program: an accepted type has the requested fingerprint, and a type is
/// described once at a time.
///
/// # Panics
/// If it is not.
pub fn types_on_wire(bytes: &[u8]) {
    let (mut requester, mut schedule) = (TypeRequester::default(), AnswerSchedule::default());
    let mut answered_at = None;
    for said in said(bytes) {
        let stranger = said
            .body
            .first_chunk()
            .map_or(0, |it| u64::from_be_bytes(*it));
        match said.kind % 4 {
            0 => drop(requester.want(Fingerprint(stranger), said.at)),
            1 => drop(requester.want(Heartbeat::FINGERPRINT, said.at)),
            2 => schedule.asked(Heartbeat::FINGERPRINT, said.at),
            _ => check_answer(&mut requester, &said.as_message::<TypeAnswer>()),
        }
        if let Some(fingerprint) = schedule.due(said.at) {
            assert_eq!(fingerprint, Heartbeat::FINGERPRINT);
            let rested = answered_at.is_none_or(|it| said.at.since(it) >= 400_000_000);
            assert!(rested, "answered again too soon");
            answered_at = Some(said.at);
        }
        if let LookupStep::Known(found) = requester.want(Heartbeat::FINGERPRINT, said.at) {
            assert_eq!(
                found.types.fingerprint(&found.name),
                Some(Heartbeat::FINGERPRINT)
            );
        }
    }
}

fn check_answer(requester: &mut TypeRequester, message: &[u8]) {
    let Ok(answer) = TypeAnswer::decode(message) else {
        return;
    };
    let asked = Fingerprint(answer.fingerprint.cast_unsigned());
    if let Some(Ok(found)) = requester.take_answer(&answer) {
        assert_eq!(found.fingerprint, asked);
        assert_eq!(found.types.fingerprint(&found.name), Some(asked));
    }
}
