//! What a user wants of a described device otherwise than its file has it by default.

use std::sync::Arc;

use super::super::device::SubDevice;
use super::described::SelectionError;
use super::{Described, Matched};

/// What is chosen among what a file offers.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Choice {
    /// The PDOs that are carried, in place of those that the file carries by default.
    pub pdos: Option<Vec<u16>>,
    /// The operation mode by which the device pulses, in place of the first that does.
    pub mode: Option<String>,
}

/// Why that cannot be chosen.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ChoiceError {
    /// Nothing is offered.
    #[error(
        "no ESI file that was read describes it; name that of its vendor, or leave the choice out"
    )]
    NotDescribed,
    /// These PDOs cannot be carried.
    #[error(transparent)]
    Pdos(#[from] SelectionError),
    /// There is no such mode.
    #[error("its ESI file has no operation mode `{mode}`; it has {there}")]
    Mode {
        /// What was asked for.
        mode: String,
        /// Those that there are.
        there: String,
    },
}

impl Matched {
    /// Lets a device be configured as is chosen, before [`prepare`](Self::prepare) and all else.
    ///
    /// # Errors
    /// [`ChoiceError`]; all stays as it was.
    pub fn choose(&mut self, device: &SubDevice, choice: &Choice) -> Result<(), ChoiceError> {
        let mut all = self.0.iter_mut();
        let found = all.find(|it| it.0 == device.station);
        let found = found.ok_or(ChoiceError::NotDescribed)?;
        let mut described = Described::clone(&found.1);
        if let Some(pdos) = &choice.pdos {
            described = described.with_pdos(pdos)?;
        }
        if let Some(mode) = &choice.mode {
            let there = described.modes().collect::<Vec<_>>().join(", ");
            let chosen = described.with_mode(mode);
            described = chosen.ok_or_else(|| ChoiceError::Mode {
                mode: mode.clone(),
                there: match there.as_str() {
                    "" => "none".to_owned(),
                    _ => there,
                },
            })?;
        }
        found.1 = Arc::new(described);
        Ok(())
    }
}
