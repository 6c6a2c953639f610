//! Which generator makes which kind of load.

use super::workers::Site;
use super::{Generator, LoadKind, LoadOptions, StartLoadError};
use super::{cpu, disk, files, memory, network, processes, timer};

/// Starts the threads of one kind; they wait before the site's gate.
pub(super) fn open(
    kind: LoadKind,
    options: &LoadOptions,
    site: &Site,
) -> Result<Box<dyn Generator>, StartLoadError> {
    Ok(match kind {
        LoadKind::Cpu => Box::new(cpu::Busy::start(options, site)?),
        LoadKind::Disk => Box::new(disk::Writers::start(options, site)?),
        LoadKind::Processes => Box::new(processes::Processes::start(options, site)?),
        LoadKind::Network => Box::new(network::Flood::start(options, site)?),
        LoadKind::Files => Box::new(files::Walk::start(options, site)?),
        LoadKind::Memory => Box::new(memory::Traffic::start(options, site)?),
        LoadKind::Timer => Box::new(timer::Alarms::start(options, site)?),
        // `kind::parts_of` has taken it apart.
        LoadKind::Heavy => return Err(StartLoadError::Nothing),
    })
}
