use std::time::Duration;

use super::StampSource;
use crate::tuning::Measure;

/// What a port was granted, read back from the kernel.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Granted {
    /// Room for datagrams that wait to be read, in bytes, as asked for; Linux keeps as much again for
    /// its bookkeeping (socket(7)). `None` where the system does not tell.
    pub receive_buffer: Option<usize>,
    /// Room for datagrams that wait to be sent, in bytes. `None` where the system does not tell.
    pub send_buffer: Option<usize>,
    /// How long an empty receiver polls the card; zero for not at all.
    pub busy_poll: Duration,
    /// The best stamp that received datagrams may carry; `None` for none.
    pub receive_stamps: Option<StampSource>,
    /// The best stamp that sent datagrams may get; `None` for none.
    pub transmit_stamps: Option<StampSource>,
    /// One for each thing that was asked for, with why it was refused and what mends it: the same
    /// that a run records of a thread's tuning.
    pub measures: Vec<Measure>,
}

impl Granted {
    /// Whether everything asked for was granted.
    #[must_use]
    pub fn all_granted(&self) -> bool {
        self.measures.iter().all(|measure| measure.ok)
    }
}
