//! Bringing SubDevices from one state to the next, and saying why one did not come.
//!
//! AL control is a mailbox of one value where there is firmware: it takes the next when the application has
//! looked at the last, and until then an error that was acknowledged goes on standing (Beckhoff's ESC data
//! sheet, section II, register 0x0120). So whoever acknowledges waits for the error to end before asking for
//! more, and an error that stood before the question is no answer to it.

use std::time::Duration;

use super::exchange::{ExchangeError, ExchangeResult, Registers, Target};
use crate::wire::register::{AL_CONTROL, AL_STATUS, AL_STATUS_CODE, PDI_CONTROL, pdi_control};
use crate::wire::{AlControl, AlStatus, AlStatusCode, State};

/// How long an application may take to look at AL control: many look once a cycle of theirs, some when
/// nothing else is to be done.
pub const REACTION: Duration = Duration::from_millis(200);
/// From one look at a state to the next.
const POLL_INTERVAL: Duration = Duration::from_micros(200);
/// From one broadcast that asks for INIT to the next.
const ROUND: Duration = Duration::from_millis(50);

/// Why a SubDevice is not in the state it should be.
#[derive(Debug, thiserror::Error)]
pub enum StateError {
    /// The segment did not answer.
    #[error("{0}")]
    Exchange(#[from] ExchangeError),
    /// It refused, and said why.
    #[error(
        "it refused {wanted} and is in {status}: {code}; mend what the code names, and ask again"
    )]
    Refused {
        /// The state asked for.
        wanted: State,
        /// Where it is.
        status: AlStatus,
        /// The AL status code by which the device refused.
        code: AlStatusCode,
    },
    /// It neither came nor refused.
    #[error(
        "it did not reach {wanted} within {span:?} and is in {status}; if it stays there, switch its power \
         off and on"
    )]
    TooSlow {
        /// The state asked for.
        wanted: State,
        /// Where it is.
        status: AlStatus,
        /// How long it was waited for.
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

/// Where a SubDevice is.
///
/// # Errors
/// [`ExchangeError`] when it does not answer.
pub fn read(registers: &mut Registers<'_>, whose: Target) -> ExchangeResult<AlStatus> {
    registers.get_u16(whose, AL_STATUS).map(AlStatus)
}

/// Asks for a state and waits until it is reached. An error that stands is acknowledged first, and its end
/// waited for, up to [`REACTION`].
///
/// The acknowledgement never is the last word: a SubDevice without firmware shows each bit of what was
/// asked for as its status, that of the acknowledgement as an error.
///
/// # Errors
/// [`StateError`] when it was refused or took too long.
pub fn reach(
    registers: &mut Registers<'_>,
    whose: Target,
    wanted: State,
) -> Result<(), StateError> {
    let before = read(registers, whose)?;
    let clean = match before.error() {
        true => acknowledge(registers, whose, before.state().unwrap_or(wanted))?,
        false => true,
    };
    ask(registers, whose, AlControl::request(wanted))?;
    watch(registers, whose, wanted, longest(wanted), clean)
}

/// Waits for a state that was asked for. An error that stands from the start counts as the answer only when
/// [`REACTION`] has passed: before that it may be an old one.
///
/// # Errors
/// [`StateError`] when it was refused or took too long.
pub fn wait(
    registers: &mut Registers<'_>,
    whose: Target,
    wanted: State,
    span: Duration,
) -> Result<(), StateError> {
    watch(registers, whose, wanted, span, false)
}

/// Brings all of a segment to INIT, whatever somebody else left them in; the acknowledgement and the plain
/// request go out again and again, as each SubDevice may still have to look at something older.
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
        // How many take it does not matter: the others get it the next time. Those without firmware show
        // the acknowledgement as an error, until they are asked without.
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

/// Acknowledges an error and waits for its end: whether that was seen.
fn acknowledge(
    registers: &mut Registers<'_>,
    whose: Target,
    state: State,
) -> Result<bool, StateError> {
    ask(registers, whose, AlControl::acknowledge(state))?;
    let mut control = [0; 2];
    registers.count_reading(whose, PDI_CONTROL, &mut control)?;
    if u16::from_le_bytes(control) & pdi_control::EMULATION != 0 {
        return Ok(false);
    }
    let end = registers.exchange().now() + REACTION;
    while read(registers, whose)?.error() {
        if registers.exchange().now() >= end {
            return Ok(false);
        }
        registers.exchange().pause(POLL_INTERVAL);
    }
    Ok(true)
}

/// Writes AL control, again if it still holds what the application has not looked at.
fn ask(registers: &mut Registers<'_>, whose: Target, control: AlControl) -> ExchangeResult {
    let (command, _, expected) = whose.writing(AL_CONTROL);
    // Several that are asked again and again would never be ready all at once.
    let pause = match whose {
        Target::All(_) => REACTION,
        Target::At(_) | Target::Of(_) => POLL_INTERVAL,
    };
    let end = registers.exchange().now() + REACTION;
    loop {
        let got = registers.count_writing(whose, AL_CONTROL, &control.0.to_le_bytes())?;
        if got == expected {
            return Ok(());
        }
        if registers.exchange().now() >= end {
            return Err(ExchangeError::WorkingCounter {
                command,
                register: AL_CONTROL,
                whose,
                expected,
                got,
            });
        }
        registers.exchange().pause(pause);
    }
}

/// Waits for a state. `clean` says that no error stood when it was asked for, so that any is the answer.
fn watch(
    registers: &mut Registers<'_>,
    whose: Target,
    wanted: State,
    span: Duration,
    mut clean: bool,
) -> Result<(), StateError> {
    let start = registers.exchange().now();
    loop {
        let status = read(registers, whose)?;
        if status.state() == Some(wanted) && !status.error() {
            return Ok(());
        }
        let now = registers.exchange().now();
        clean |= !status.error() || now >= start + REACTION;
        if status.error() && clean {
            let code = AlStatusCode(registers.get_u16(whose, AL_STATUS_CODE)?);
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
