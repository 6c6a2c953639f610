//! Bringing SubDevices from one state to the next, and saying why one did not come.

use std::time::Duration;

use super::exchange::{ExchangeError, Registers, Whose};
use crate::wire::register::{AL_CONTROL, AL_STATUS, AL_STATUS_CODE};
use crate::wire::{AlControl, AlStatus, AlStatusCode, State};

/// Why a SubDevice is not in the state it should be.
#[derive(Debug, thiserror::Error)]
pub enum StateError {
    /// The segment did not answer.
    #[error(transparent)]
    Exchange(#[from] ExchangeError),
    /// It refused, and said why.
    #[error("it refused {wanted} and is in {status}: {code}", status = shown(*status))]
    Refused {
        /// The state asked for.
        wanted: State,
        /// Where it is.
        status: AlStatus,
        /// Why.
        code: AlStatusCode,
    },
    /// It neither came nor refused.
    #[error("it did not reach {wanted} within {span:?} and is in {status}", status = shown(*status))]
    TooSlow {
        /// The state asked for.
        wanted: State,
        /// Where it is.
        status: AlStatus,
        /// How long it was waited for.
        span: Duration,
    },
}

fn shown(status: AlStatus) -> String {
    match status.state() {
        Some(state) if status.error() => format!("{state} with an error"),
        Some(state) => state.to_string(),
        None => format!("several states (0x{:02X})", status.0),
    }
}

/// How long a change of state may take (ETG.1020, its defaults: 3 s to PREOP, 10 s to SAFEOP and OP).
#[must_use]
pub const fn longest(to: State) -> Duration {
    match to {
        State::Init | State::PreOp | State::Bootstrap => Duration::from_secs(3),
        State::SafeOp | State::Op => Duration::from_secs(10),
    }
}

/// Where a SubDevice is.
///
/// # Errors
/// [`ExchangeError`] when it does not answer.
pub fn read(registers: &mut Registers<'_>, whose: Whose) -> Result<AlStatus, ExchangeError> {
    registers.get_u16(whose, AL_STATUS).map(AlStatus)
}

/// Asks for a state and waits until it is reached. An error that stands is acknowledged first.
///
/// The acknowledgement never is the last word: a SubDevice without firmware shows each bit of what was
/// asked for as its status, that of the acknowledgement as an error.
///
/// # Errors
/// [`StateError`] when it was refused or took too long.
pub fn reach(registers: &mut Registers<'_>, whose: Whose, wanted: State) -> Result<(), StateError> {
    let status = read(registers, whose)?;
    let acknowledged = match status.state() {
        Some(state) if status.error() => Some(state),
        // Several at once, or none: whatever stands is acknowledged together with the request.
        None => Some(wanted),
        Some(_) => None,
    };
    if let Some(state) = acknowledged {
        registers.put_u16(whose, AL_CONTROL, AlControl::acknowledge(state).0)?;
    }
    registers.put_u16(whose, AL_CONTROL, AlControl::request(wanted).0)?;
    wait(registers, whose, wanted, longest(wanted))
}

/// Waits for a state that was asked for.
///
/// # Errors
/// [`StateError`] when it was refused or took too long.
pub fn wait(
    registers: &mut Registers<'_>,
    whose: Whose,
    wanted: State,
    span: Duration,
) -> Result<(), StateError> {
    let end = registers.exchange().now() + span;
    loop {
        let status = read(registers, whose)?;
        if status.state() == Some(wanted) && !status.error() {
            return Ok(());
        }
        if status.error() {
            let code = AlStatusCode(registers.get_u16(whose, AL_STATUS_CODE)?);
            return Err(StateError::Refused {
                wanted,
                status,
                code,
            });
        }
        if registers.exchange().now() >= end {
            return Err(StateError::TooSlow {
                wanted,
                status,
                span,
            });
        }
        registers.exchange().pause(Duration::from_micros(200));
    }
}
