//! Requests of any program, for fuzzing.

use super::Parameters;
use super::registry::answer;
use crate::message::Message;
use crate::service::fuzzing::said;
use crate::service::messages::{ParameterAnswer, ParameterQuery, Request};
use crate::service::request::fuzzing::FuzzedServer;

/// Requests of any program to a program's parameters: each is answered, refused or counted, and after any
/// setting all parameters can still be sent and keep their bounds.
///
/// # Panics
/// If one does not.
pub fn parameters(bytes: &[u8]) {
    let mut parameters = Parameters::new();
    let gain = parameters.number("gain", 0.5, 0.0..=1.0, "1/s");
    let poles = parameters.integer("poles", 7, 1..=50, "");
    let mode = parameters.text("mode", "idle", 10, "");
    let enabled = parameters.truth("on", false, "");
    let (Ok(gain), Ok(poles), Ok(mode), Ok(_)) = (gain, poles, mode, enabled) else {
        unreachable!("they can be");
    };
    let entries = parameters.entries();
    let mut served = FuzzedServer::new(1000, |query: &ParameterQuery, _: &_| {
        answer(entries, query, || ())
    });
    for said in said(bytes) {
        let message = match said.kind % 4 {
            // A whole request as received, or a question within a correct request.
            0 => said.as_message::<Request>(),
            client => request(
                i64::from(client),
                said.at.as_ns(),
                said.as_message::<ParameterQuery>(),
            ),
        };
        served.receive::<ParameterAnswer>(&message);
        assert!((0.0..=1.0).contains(&gain.get()) && (1..=50).contains(&poles.get()));
        assert!(mode.get().len() <= 10);
        let all = answer(entries, &ParameterQuery::default(), || ());
        assert!(
            all.is_ok_and(|it| it.count == 4 && it.encode().is_ok()),
            "all can be told"
        );
    }
}

fn request(client: i64, number: u64, payload: Vec<u8>) -> Vec<u8> {
    let request = Request {
        client,
        number: i64::try_from(number).unwrap_or(i64::MAX),
        size: i32::try_from(payload.len()).unwrap_or(i32::MAX),
        payload,
    };
    request.encode().unwrap_or_default()
}
