//! States of a SubDevice's application layer, their requests, and the reasons for refusals.

numbered! {
    /// The state machine of a SubDevice (ETG.1000.6, chapter 6.4).
    #[derive(PartialOrd, Ord)]
    pub enum State: u8 {
        /// No communication except with registers.
        Init = 1,
        /// Mailboxes work; there is no process data.
        PreOp = 2,
        /// Mailboxes with another layout, for firmware.
        Bootstrap = 3,
        /// Inputs are valid, outputs stay safe.
        SafeOp = 4,
        /// Inputs and outputs are valid.
        Op = 8,
    }
}

impl State {
    /// The state with that [`name`](Self::name), in upper or lower case.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL
            .into_iter()
            .find(|it| it.name().eq_ignore_ascii_case(name))
    }

    /// Its name as users of EtherCAT write it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Init => "INIT",
            Self::PreOp => "PREOP",
            Self::Bootstrap => "BOOT",
            Self::SafeOp => "SAFEOP",
            Self::Op => "OP",
        }
    }
}

impl std::fmt::Display for State {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(self.name())
    }
}

/// The value that a MainDevice writes to [`register::AL_CONTROL`](super::register::AL_CONTROL).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AlControl(pub u16);

impl AlControl {
    /// Makes the value that requests this state.
    #[must_use]
    pub const fn request(state: State) -> Self {
        Self(state as u16)
    }

    /// Requests a state and acknowledges the error.
    #[must_use]
    pub(crate) const fn acknowledge(state: State) -> Self {
        Self(state as u16 | 0x10)
    }

    /// The requested state; `None` for a number that is not a state.
    #[must_use]
    pub const fn state(self) -> Option<State> {
        State::from_number((self.0 & 0x0F) as u8)
    }

    /// Whether the request acknowledges the error.
    #[must_use]
    pub const fn acknowledges(self) -> bool {
        self.0 & 0x10 != 0
    }
}

/// The value of [`register::AL_STATUS`](super::register::AL_STATUS) in a SubDevice; of a broadcast, the OR of all.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct AlStatus(pub u16);

impl AlStatus {
    /// A state, with the error bit or without.
    #[must_use]
    pub const fn new(state: State, error: bool) -> Self {
        Self(state as u16 | if error { 0x10 } else { 0 })
    }

    /// The state; `None` for several at once or none.
    #[must_use]
    pub const fn state(self) -> Option<State> {
        State::from_number((self.0 & 0x0F) as u8)
    }

    /// Whether the SubDevice refused or left a state, and the MainDevice has not acknowledged that yet.
    #[must_use]
    pub const fn error(self) -> bool {
        self.0 & 0x10 != 0
    }
}

impl std::fmt::Display for AlStatus {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.state() {
            Some(state) if self.error() => write!(f, "{state} with an error"),
            Some(state) => write!(f, "{state}"),
            None => write!(f, "no state or several (0x{:02X})", self.0),
        }
    }
}

/// Why a SubDevice refused or left a state (ETG.1000.6, table 11; ETG.1020).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct AlStatusCode(pub u16);

codes! {
    AlStatusCode;
    NONE = 0x0000, "no error";
    UNSPECIFIED = 0x0001, "unspecified error";
    NO_MEMORY = 0x0002, "no memory";
    INVALID_SETUP = 0x0003, "invalid device setup";
    INVALID_CHANGE = 0x0011, "invalid requested state change";
    UNKNOWN_STATE = 0x0012, "unknown requested state";
    NO_BOOTSTRAP = 0x0013, "bootstrap not supported";
    NO_FIRMWARE = 0x0014, "no valid firmware";
    BAD_BOOT_MAILBOX = 0x0015, "invalid mailbox configuration in BOOT";
    BAD_MAILBOX = 0x0016, "invalid mailbox configuration in PREOP";
    BAD_SYNC_MANAGER = 0x0017, "invalid sync manager configuration";
    NO_INPUTS = 0x0018, "no valid inputs available";
    NO_OUTPUTS = 0x0019, "no valid outputs";
    SYNCHRONIZATION = 0x001A, "synchronization error";
    WATCHDOG = 0x001B, "sync manager watchdog";
    BAD_SYNC_TYPES = 0x001C, "invalid sync manager types";
    BAD_OUTPUTS = 0x001D, "invalid output configuration";
    BAD_INPUTS = 0x001E, "invalid input configuration";
    BAD_WATCHDOG = 0x001F, "invalid watchdog configuration";
    NEEDS_COLD_START = 0x0020, "needs a cold start";
    NEEDS_INIT = 0x0021, "needs INIT";
    NEEDS_PREOP = 0x0022, "needs PREOP";
    NEEDS_SAFEOP = 0x0023, "needs SAFEOP";
    BAD_INPUT_MAPPING = 0x0024, "invalid input mapping";
    BAD_OUTPUT_MAPPING = 0x0025, "invalid output mapping";
    INCONSISTENT = 0x0026, "inconsistent settings";
    FREE_RUN_UNSUPPORTED = 0x0027, "free run not supported";
    SYNC_UNSUPPORTED = 0x0028, "synchronization not supported";
    FREE_RUN_NEEDS_BUFFERS = 0x0029, "free run needs three-buffer mode";
    BACKGROUND_WATCHDOG = 0x002A, "background watchdog";
    NO_VALID_INPUTS_OUTPUTS = 0x002B, "no valid inputs and outputs";
    FATAL_SYNC = 0x002C, "fatal synchronization error";
    NO_SYNC = 0x002D, "no synchronization signal";
    CYCLE_TOO_SHORT = 0x002E, "cycle time too short";
    BAD_DC_SYNC = 0x0030, "invalid distributed clock synchronization configuration";
    BAD_DC_LATCH = 0x0031, "invalid distributed clock latch configuration";
    PLL = 0x0032, "phase-locked loop error";
    DC_IO = 0x0033, "distributed clock I/O error";
    DC_TIMEOUT = 0x0034, "distributed clock timeout";
    BAD_DC_CYCLE = 0x0035, "invalid distributed clock cycle time";
    BAD_SYNC0_CYCLE = 0x0036, "invalid SYNC0 cycle time";
    BAD_SYNC1_CYCLE = 0x0037, "invalid SYNC1 cycle time";
    NO_EEPROM_ACCESS = 0x0050, "no access to the EEPROM";
    EEPROM = 0x0051, "error in the EEPROM";
    HARDWARE_NOT_READY = 0x0052, "hardware not ready";
    RESTARTED = 0x0060, "restarted on its own";
    ID_UPDATED = 0x0061, "device identification updated";
}

impl std::fmt::Display for AlStatusCode {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "0x{:04X}, {}",
            self.0,
            self.text().unwrap_or("vendor specific")
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_broadcast_over_unequal_states_is_no_state() {
        let all =
            AlStatus(AlStatus::new(State::Op, false).0 | AlStatus::new(State::SafeOp, true).0);
        assert_eq!((all.state(), all.error()), (None, true));
    }

    #[test]
    fn a_status_says_what_it_is() {
        let text = |it: u16| AlStatus(it).to_string();
        assert_eq!(text(0x08), "OP");
        assert_eq!(text(0x14), "SAFEOP with an error");
        assert_eq!(text(0x0C), "no state or several (0x0C)");
    }

    #[test]
    fn a_code_says_what_it_means() {
        assert_eq!(
            AlStatusCode::WATCHDOG.to_string(),
            "0x001B, sync manager watchdog"
        );
        assert_eq!(AlStatusCode(0x8001).to_string(), "0x8001, vendor specific");
    }

    #[test]
    fn an_acknowledgement_asks_for_a_state_too() {
        let control = AlControl::acknowledge(State::PreOp);
        assert_eq!(
            (control.state(), control.acknowledges()),
            (Some(State::PreOp), true)
        );
        assert!(!AlControl::request(State::Op).acknowledges());
    }
}
