//! Brings SubDevices from one state to the next, and reports why one did not get there.
//!
//! AL control is a mailbox of one value where there is firmware: it takes the next when the application has looked at
//! the last, and until then an error that was acknowledged stays (Beckhoff's ESC data sheet, section II, register
//! 0x0120). So after an acknowledgement the MainDevice waits for the error to end before it requests more, and an error
//! that stood before the request is not an answer to it.

use std::time::Duration;

use super::exchange::{ExchangeError, ExchangeResult, Registers, Target};
use crate::wire::register::{AL_CONTROL, AL_STATUS, AL_STATUS_CODE, PDI_CONTROL, pdi_control};
use crate::wire::{AlControl, AlStatus, AlStatusCode, State};

/// How long an application may take to look at AL control: many look once a cycle of theirs, some when they are idle.
pub const REACTION: Duration = Duration::from_millis(200);
/// The interval of polls of a state.
const POLL_INTERVAL: Duration = Duration::from_micros(200);
/// The interval of broadcasts that request INIT.
const ROUND: Duration = Duration::from_millis(50);

/// The reason why a SubDevice is not in the wanted state.
#[derive(Debug, thiserror::Error)]
pub enum StateError {
    /// The segment did not answer.
    #[error("{0}")]
    Exchange(#[from] ExchangeError),
    /// The SubDevice refused, with an AL status code.
    #[error(
        "it refused {wanted} and is in {status}: {code}; fix the cause that the AL status code names, and retry"
    )]
    Refused {
        /// The state that was requested.
        wanted: State,
        /// The AL status that the SubDevice reported last.
        status: AlStatus,
        /// The AL status code by which the device refused.
        code: AlStatusCode,
    },
    /// The SubDevice neither reached the state nor refused it.
    #[error(
        "it did not reach {wanted} within {span:?} and is in {status}; if it stays there, switch its power \
         off and on"
    )]
    TooSlow {
        /// The state that was requested.
        wanted: State,
        /// The AL status that the SubDevice reported last.
        status: AlStatus,
        /// How long the MainDevice waited.
        span: Duration,
    },
}

/// How long a change of state may take (ETG.1020, its defaults: 3 s to PREOP, 10 s to SAFEOP and OP, 5 s back to INIT).
#[must_use]
pub const fn longest(to: State) -> Duration {
    match to {
        State::PreOp | State::Bootstrap => Duration::from_secs(3),
        State::Init => Duration::from_secs(5),
        State::SafeOp | State::Op => Duration::from_secs(10),
    }
}

/// Reads the AL status of a SubDevice.
///
/// # Errors
/// [`ExchangeError`] when it does not answer.
pub fn read(registers: &mut Registers<'_>, target: Target) -> ExchangeResult<AlStatus> {
    registers.get_u16(target, AL_STATUS).map(AlStatus)
}

/// Requests a state and waits until it is reached. Acknowledges a standing error first, and waits for its end, up to
/// [`REACTION`].
///
/// The acknowledgement is never the last request: a SubDevice without firmware shows each requested bit as its status,
/// that of the acknowledgement as an error.
///
/// # Errors
/// [`StateError`] when the SubDevice refused or took too long.
pub fn reach(
    registers: &mut Registers<'_>,
    target: Target,
    wanted: State,
) -> Result<(), StateError> {
    let before = read(registers, target)?;
    let clean = match before.error() {
        true => acknowledge(registers, target, before.state().unwrap_or(wanted))?,
        false => true,
    };
    request(registers, target, AlControl::request(wanted))?;
    watch(registers, target, wanted, longest(wanted), clean)
}

/// Waits for a requested state. An error that stands from the start counts as the answer only when [`REACTION`] has
/// passed: before that it may be an old one.
///
/// # Errors
/// [`StateError`] when the SubDevice refused or took too long.
pub fn wait(
    registers: &mut Registers<'_>,
    target: Target,
    wanted: State,
    span: Duration,
) -> Result<(), StateError> {
    watch(registers, target, wanted, span, false)
}

/// Brings all of a segment to INIT, from any states; sends the acknowledgement and the plain request again and again,
/// as each SubDevice may still have to look at something older.
///
/// # Errors
/// [`StateError`] when they took too long.
pub(super) fn all_to_init(registers: &mut Registers<'_>, count: u16) -> Result<(), StateError> {
    let (all, span) = (Target::All(count), longest(State::Init));
    let end = registers.exchange().now() + span;
    let is_there = |it: AlStatus| it.state() == Some(State::Init) && !it.error();
    loop {
        let round = registers.exchange().now() + ROUND;
        let (both, plain) = (
            AlControl::acknowledge(State::Init),
            AlControl::request(State::Init),
        );
        // The number of SubDevices that take it does not matter: the others get it the next time. SubDevices without
        // firmware show the acknowledgement as an error, until the plain request.
        for control in [both, plain] {
            registers.count_writing(all, AL_CONTROL, &control.0.to_le_bytes())?;
            registers.exchange().pause(POLL_INTERVAL);
        }
        loop {
            let status = read(registers, all)?;
            if is_there(status) {
                return Ok(());
            }
            let now = registers.exchange().now();
            if now >= end {
                let wanted = State::Init;
                return Err(StateError::TooSlow {
                    wanted,
                    status,
                    span,
                });
            }
            if now >= round {
                break;
            }
            registers.exchange().pause(POLL_INTERVAL);
        }
    }
}

/// Acknowledges an error and waits for its end; returns whether it ended.
fn acknowledge(
    registers: &mut Registers<'_>,
    target: Target,
    state: State,
) -> Result<bool, StateError> {
    request(registers, target, AlControl::acknowledge(state))?;
    let mut control = [0; 2];
    registers.count_reading(target, PDI_CONTROL, &mut control)?;
    if u16::from_le_bytes(control) & pdi_control::EMULATION != 0 {
        return Ok(false);
    }
    let end = registers.exchange().now() + REACTION;
    while read(registers, target)?.error() {
        if registers.exchange().now() >= end {
            return Ok(false);
        }
        registers.exchange().pause(POLL_INTERVAL);
    }
    Ok(true)
}

/// Writes AL control, again if it still holds a value that the application has not looked at.
fn request(registers: &mut Registers<'_>, target: Target, control: AlControl) -> ExchangeResult {
    let (command, _, expected) = target.writing(AL_CONTROL);
    // Several SubDevices that are asked again and again would never be ready all at once.
    let pause = match target {
        Target::All(_) => REACTION,
        Target::At(_) | Target::Of(_) => POLL_INTERVAL,
    };
    let end = registers.exchange().now() + REACTION;
    loop {
        let got = registers.count_writing(target, AL_CONTROL, &control.0.to_le_bytes())?;
        if got == expected {
            return Ok(());
        }
        if registers.exchange().now() >= end {
            return Err(ExchangeError::WorkingCounter {
                command,
                register: AL_CONTROL,
                target,
                expected,
                got,
            });
        }
        registers.exchange().pause(pause);
    }
}

/// Waits for a state. `clean` says that no error stood at the request, so that any error is the answer.
fn watch(
    registers: &mut Registers<'_>,
    target: Target,
    wanted: State,
    span: Duration,
    mut clean: bool,
) -> Result<(), StateError> {
    let start = registers.exchange().now();
    loop {
        let status = read(registers, target)?;
        if status.state() == Some(wanted) && !status.error() {
            return Ok(());
        }
        let now = registers.exchange().now();
        clean |= !status.error() || now >= start + REACTION;
        if status.error() && clean {
            let code = AlStatusCode(registers.get_u16(target, AL_STATUS_CODE)?);
            return Err(StateError::Refused {
                wanted,
                status,
                code,
            });
        }
        if now >= start + span {
            return Err(StateError::TooSlow {
                wanted,
                status,
                span,
            });
        }
        registers.exchange().pause(POLL_INTERVAL);
    }
}

#[cfg(test)]
mod tests;
