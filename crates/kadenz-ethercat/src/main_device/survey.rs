//! Surveys the SubDevices of a segment, for tools that only look: changes no state, and gives no address.
//!
//! The survey takes the SII from the application while it reads, and gives it back.

use super::device::SubDevice;
use super::discover::{self, DiscoverError, FIRST_STATION};
use super::exchange::{ExchangeError, ExchangeResult, Registers, Target};
use super::states;
use crate::wire::register::{
    AL_STATUS_CODE, SII_CONFIGURATION, STATION_ADDRESS, SYNC_MANAGER, SYNC_MANAGER_SIZE,
};
use crate::wire::sii::{Direction, Image, SyncManagerUse};
use crate::wire::{AlStatus, AlStatusCode, Configured, Position, State, SyncManager};

use super::layout::Demand;

/// A SubDevice as the survey found it.
#[derive(Debug, Clone)]
pub struct SurveyedDevice {
    /// Its SII and registers. Its station is the one that it has: 0 when it was given none.
    pub device: SubDevice,
    /// The state that it is in.
    pub status: AlStatus,
    /// The reason why it left or refused a state.
    pub code: AlStatusCode,
    /// Bytes of its process data: as it is configured from SAFEOP on, before that as its SII says.
    pub demand: Demand,
}

/// Looks at every SubDevice. Waits, allocates.
///
/// ```
/// use kadenz_ethercat::main_device::exchange::{RetryPolicy, Registers, BlockingExchange};
/// use kadenz_ethercat::main_device::{link::Link, survey::survey};
/// use kadenz_ethercat::sim::WirePort;
/// use kadenz_ethercat::sim::humanoid::humanoid;
///
/// let mut link = Link::new(WirePort::new(humanoid(59).build()?), 1);
/// let mut exchange = BlockingExchange { link: &mut link, retry: RetryPolicy::default() };
/// let met = survey(&mut Registers::by(&mut exchange))?;
/// assert_eq!(met.len(), 59);
/// assert_eq!(met[0].device.name, "EK1100");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// [`DiscoverError`], for example when no SubDevice answers.
pub fn survey(registers: &mut Registers<'_>) -> Result<Vec<SurveyedDevice>, DiscoverError> {
    let count = discover::count(registers)?;
    (0..count)
        .map(|position| survey_one(registers, Position(position)))
        .collect()
}

/// Gives an address of its own to every SubDevice that has none, or that of another.
///
/// # Errors
/// [`ExchangeError`] when a SubDevice does not take it.
pub fn adopt(registers: &mut Registers<'_>, met: &mut [SurveyedDevice]) -> ExchangeResult {
    let mut taken: Vec<u16> = Vec::with_capacity(met.len());
    for place in 0..met.len() {
        let has = met[place].device.station.0;
        let station = if has != 0 && !taken.contains(&has) {
            has
        } else {
            let others = || met.iter().map(|it| it.device.station.0);
            let free =
                |it: &u16| *it != 0 && !taken.contains(it) && !others().any(|had| had == *it);
            let first = FIRST_STATION.wrapping_add(place as u16);
            let given = (0..=u16::MAX)
                .map(|ahead| first.wrapping_add(ahead))
                .find(free);
            let given = given.unwrap_or(first);
            let target = Target::At(met[place].device.position);
            registers.put_u16(target, STATION_ADDRESS, given)?;
            given
        };
        met[place].device.station = Configured(station);
        taken.push(station);
    }
    Ok(())
}

fn survey_one(
    registers: &mut Registers<'_>,
    position: Position,
) -> Result<SurveyedDevice, DiscoverError> {
    let target = Target::At(position);
    let station = Configured(registers.get_u16(target, STATION_ADDRESS)?);
    let [owner] = registers.get(target, SII_CONFIGURATION)?;
    let device = discover::describe(registers, target, position, station);
    if owner & 1 != 0 {
        registers.write(target, SII_CONFIGURATION, &[1])?;
    }
    state_of(registers, target, device?)
}

/// Looks at a SubDevice whose SII is known, such as one of a running loop: reads only registers. Waits.
///
/// # Errors
/// [`ExchangeError`] when it does not answer.
pub fn survey_known(
    registers: &mut Registers<'_>,
    device: SubDevice,
) -> ExchangeResult<SurveyedDevice> {
    let target = device.target();
    let device = discover::with_registers(registers, target, device)?;
    state_of(registers, target, device)
}

fn state_of<E: From<ExchangeError>>(
    registers: &mut Registers<'_>,
    target: Target,
    device: SubDevice,
) -> Result<SurveyedDevice, E> {
    let status = states::read(registers, target)?;
    let code = AlStatusCode(registers.get_u16(target, AL_STATUS_CODE)?);
    let demand = match status.state() {
        Some(State::SafeOp | State::Op) => demand_as_configured(registers, target, &device)?,
        _ => Image::of(&device.sii).map_or_else(|_| Demand::default(), |it| demand_by_sii(&it)),
    };
    Ok(SurveyedDevice {
        device,
        status,
        code,
        demand,
    })
}

/// Bytes of the SyncManagers that are active, as the SII says what each is for.
fn demand_as_configured(
    registers: &mut Registers<'_>,
    target: Target,
    device: &SubDevice,
) -> ExchangeResult<Demand> {
    let mut demand = Demand::default();
    let Ok(image) = Image::of(&device.sii) else {
        return Ok(demand);
    };
    for (number, default) in (0_u16..16).zip(image.sync_managers()) {
        let register = SYNC_MANAGER + number * SYNC_MANAGER_SIZE;
        let manager = SyncManager::from_bytes(registers.get(target, register)?);
        let length = if manager.active() { manager.length } else { 0 };
        match default.usage {
            SyncManagerUse::Outputs => demand.outputs = demand.outputs.saturating_add(length),
            SyncManagerUse::Inputs => demand.inputs = demand.inputs.saturating_add(length),
            _ => {}
        }
    }
    Ok(demand)
}

/// Bytes of the PDOs that the SII assigns, each SyncManager's rounded up.
fn demand_by_sii(image: &Image<'_>) -> Demand {
    let bytes = |direction| {
        let of_manager = |number: u8| -> u32 {
            let mine = image
                .pdos(direction)
                .filter(|it| it.header.sync_manager == number);
            mine.map(|it| it.bits()).sum()
        };
        let all: u32 = (0..16).map(|it| of_manager(it).div_ceil(8)).sum();
        u16::try_from(all).unwrap_or(u16::MAX)
    };
    Demand {
        outputs: bytes(Direction::Outputs),
        inputs: bytes(Direction::Inputs),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::main_device::bring_up;
    use crate::main_device::exchange::BlockingExchange;
    use crate::main_device::link::Link;
    use crate::sim::WirePort;
    use crate::sim::humanoid::humanoid;

    fn with_humanoid(work: impl FnOnce(&mut Registers<'_>)) {
        let mut link = Link::new(WirePort::new(humanoid(8).build().unwrap()), 1);
        let mut exchange = BlockingExchange::over(&mut link);
        work(&mut Registers::by(&mut exchange));
    }

    #[test]
    fn looking_on_changes_no_state_and_gives_no_address() {
        with_humanoid(|registers| {
            for _ in 0..2 {
                let met = survey(registers).unwrap();
                assert_eq!(met.len(), 8);
                assert!(met.iter().all(|it| it.status.state() == Some(State::Init)));
                assert!(met.iter().all(|it| it.device.station.0 == 0));
            }
        });
    }

    #[test]
    fn a_configured_device_stays_so_with_its_configured_process_data() {
        with_humanoid(|registers| {
            let mut devices = bring_up::find(registers).unwrap();
            let cycle = bring_up::prepare(registers, &mut devices, None).unwrap();
            let met = survey(registers).unwrap();
            for (met, (device, share)) in met.iter().zip(devices.iter().zip(&cycle.layout().shares))
            {
                assert_eq!(met.status.state(), Some(State::SafeOp));
                assert_eq!(met.device.station, device.station);
                assert_eq!(usize::from(met.demand.outputs), share.outputs.len());
                assert_eq!(usize::from(met.demand.inputs), share.inputs.len());
            }
            // A drive's SII says the same before it is configured.
            let demands: Vec<_> = met.iter().map(|it| it.demand).collect();
            bring_up::find(registers).unwrap();
            let again: Vec<_> = survey(registers)
                .unwrap()
                .iter()
                .map(|it| it.demand)
                .collect();
            assert_eq!(again, demands);
        });
    }

    #[test]
    fn addresses_are_given_to_those_without_and_no_two_get_the_same() {
        with_humanoid(|registers| {
            for (position, station) in [(1, 0x1001_u16), (2, 0x1001), (3, 7)] {
                let target = Target::At(Position(position));
                registers.put_u16(target, STATION_ADDRESS, station).unwrap();
            }
            let mut met = survey(registers).unwrap();
            adopt(registers, &mut met).unwrap();
            let again = survey(registers).unwrap();
            let stations: Vec<_> = again.iter().map(|it| it.device.station.0).collect();
            assert_eq!(
                (stations[1], stations[3]),
                (0x1001, 7),
                "a device with an address keeps it"
            );
            let mut unique = stations.clone();
            unique.sort_unstable();
            unique.dedup();
            assert!(unique.len() == 8 && !unique.contains(&0), "{stations:?}");
        });
    }
}
