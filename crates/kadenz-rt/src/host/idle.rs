//! The idle states of the CPUs, and whether any of them can be held off.
//!
//! Sources: kernel documentation `admin-guide/pm/cpuidle` (states, exit latency, driver, governor)
//! and `power/pm_qos_interface` (`/dev/cpu_dma_latency`).

use super::{Root, kernel, online_cpus, virtualisation};

/// While a program holds it open with a number of microseconds written to it, CPUs stay out of the idle states that
/// take longer than that to leave.
pub const LIMIT: &str = "/dev/cpu_dma_latency";

const CPUS: &str = "/sys/devices/system/cpu";
/// More states than any driver has.
const MAX_STATES: u32 = 16;

/// An idle state that one or more CPUs have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IdleState {
    /// Its place in the driver's table. The governor may always choose number 0.
    pub number: u32,
    /// As the driver calls it: `POLL`, `C1E`, `WFI`.
    pub name: String,
    /// The exit latency, by the driver's table, in microseconds.
    pub latency_us: i64,
    /// Whether sysfs allows it, on at least one CPU.
    pub enabled: bool,
    /// Its folder below `/sys`, of the first CPU that has it.
    pub path: String,
}

/// The idle states of a machine; none on a machine without a cpuidle driver.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct IdleStates {
    /// `intel_idle`, `acpi_idle`, `psci_idle`, `haltpoll`; absent where none is loaded.
    pub driver: Option<String>,
    /// `menu`, `teo`, `ladder`, `haltpoll`.
    pub governor: Option<String>,
    /// The states, shallowest first; a state that many CPUs have appears once.
    pub states: Vec<IdleState>,
}

impl IdleStates {
    /// Reads the states of all CPUs that are online. Allocates and reads files.
    #[must_use]
    pub fn read(root: &Root) -> Self {
        let word = |file: &str| {
            let read = root.read(&format!("{CPUS}/cpuidle/{file}"));
            read.ok().filter(|word| word != "none" && !word.is_empty())
        };
        let governor = word("current_governor").or_else(|| word("current_governor_ro"));
        let mut all = Self {
            driver: word("current_driver"),
            governor,
            states: Vec::new(),
        };
        for cpu in online_cpus(root) {
            let states = (0..MAX_STATES).map_while(|number| state(root, cpu, number));
            states.for_each(|state| all.add(state));
        }
        all.states.sort_by_key(|state| state.latency_us);
        all
    }

    fn add(&mut self, state: IdleState) {
        let same = |it: &&mut IdleState| {
            (it.number, &it.name, it.latency_us) == (state.number, &state.name, state.latency_us)
        };
        match self.states.iter_mut().find(same) {
            Some(known) => known.enabled |= state.enabled,
            None => self.states.push(state),
        }
    }

    /// The enabled state with the longest exit latency.
    #[must_use]
    pub fn deepest(&self) -> Option<&IdleState> {
        self.states.iter().rfind(|state| state.enabled)
    }

    /// "POLL 0 us, C1E 10 us, C10 230 us (off); driver intel_idle, governor menu".
    #[must_use]
    pub fn words(&self) -> String {
        let state = |it: &IdleState| {
            let off = if it.enabled { "" } else { " (off)" };
            format!("{} {} us{off}", it.name, it.latency_us)
        };
        let states: Vec<String> = self.states.iter().map(state).collect();
        let word = |word: &Option<String>| word.clone().unwrap_or_else(|| "not known".to_owned());
        let (driver, governor) = (word(&self.driver), word(&self.governor));
        format!(
            "{}; driver {driver}, governor {governor}",
            states.join(", ")
        )
    }
}

fn state(root: &Root, cpu: u32, number: u32) -> Option<IdleState> {
    let path = format!("{CPUS}/cpu{cpu}/cpuidle/state{number}");
    let latency_us = root.read_number(&format!("{path}/latency")).ok()?;
    let disabled = root.read(&format!("{path}/disable"));
    let name = root.read(&format!("{path}/name"));
    Some(IdleState {
        number,
        name: name.unwrap_or_else(|_| format!("state{number}")),
        latency_us,
        enabled: !disabled.is_ok_and(|text| text != "0"),
        path,
    })
}

/// The limit in force, over all programs that hold one, in microseconds; absent where this user may not read it.
/// Reading it requests no limit.
#[must_use]
pub fn limit_us(root: &Root) -> Option<i64> {
    let bytes = root.read_at::<4>(LIMIT, 0).ok()?;
    Some(i64::from(i32::from_ne_bytes(bytes)))
}

/// Why holding idle states off would change nothing on this machine; absent where it may change something. Whether
/// this user may hold them off is another question.
#[must_use]
pub fn nothing_to_hold_off(root: &Root) -> Option<String> {
    let idle = IdleStates::read(root);
    if idle.states.is_empty() {
        return Some(without_states(root));
    }
    let latencies = idle.states.iter().filter(|it| it.enabled && it.number > 0);
    let shallowest = latencies.map(|it| it.latency_us).filter(|&us| us > 0).min();
    let Some(shallowest_us) = shallowest else {
        return Some("no enabled idle state takes time to leave".to_owned());
    };
    let held_us = limit_us(root).filter(|&held| held < shallowest_us)?;
    Some(format!(
        "another program holds {LIMIT} at {held_us} us already, which leaves no idle state to hold off"
    ))
}

fn without_states(root: &Root) -> String {
    if kernel::parameter(root, "idle").is_some_and(|value| value == "poll") {
        return "idle CPUs do not sleep: idle=poll is on the kernel's command line".to_owned();
    }
    let host = match virtualisation::read(root).hypervisor {
        Some(_) => ", and in this virtual machine the host decides how deep idle CPUs sleep",
        None => "",
    };
    format!("the kernel has no idle states here ({CPUS}/cpu*/cpuidle absent){host}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::fake;

    fn at<T>(
        make: fn(&std::path::Path) -> std::io::Result<Root>,
        change: &[fake::FakeFile],
        ask: impl FnOnce(&Root) -> T,
    ) -> T {
        let folder = tempfile::tempdir().expect("a folder for a test");
        make(folder.path()).expect("the files of a fake machine");
        ask(&fake::write(folder.path(), change).expect("more files"))
    }

    #[test]
    fn states_are_listed_once_with_driver_and_governor() {
        let second_cpu: &[fake::FakeFile] = &[
            (
                "/sys/devices/system/cpu/cpuidle/current_governor",
                b"menu\n",
            ),
            (
                "/sys/devices/system/cpu/cpu1/cpuidle/state0/name",
                b"POLL\n",
            ),
            (
                "/sys/devices/system/cpu/cpu1/cpuidle/state0/latency",
                b"0\n",
            ),
            ("/sys/devices/system/cpu/cpu1/cpuidle/state1/name", b"C6\n"),
            (
                "/sys/devices/system/cpu/cpu1/cpuidle/state1/latency",
                b"500\n",
            ),
            (
                "/sys/devices/system/cpu/cpu1/cpuidle/state1/disable",
                b"1\n",
            ),
        ];
        let idle = at(fake::laptop, second_cpu, IdleStates::read);
        assert_eq!(
            idle.words(),
            "POLL 0 us, C1E 10 us, C10 230 us, C6 500 us (off); driver intel_idle, governor menu"
        );
        assert_eq!(idle.deepest().map(|it| it.latency_us), Some(230));
    }

    #[test]
    fn where_there_is_nothing_to_hold_off_it_says_why() {
        let why = |make, change| at(make, change, nothing_to_hold_off);
        assert_eq!(why(fake::laptop, &[]), None);
        let held = why(fake::laptop, &[(LIMIT, &[9, 0, 0, 0])]);
        assert!(held.is_some_and(|it| it.contains("at 9 us already")));
        assert_eq!(why(fake::laptop, &[(LIMIT, &[10, 0, 0, 0])]), None);
        let virtual_machine = why(fake::virtual_machine, &[]);
        assert!(
            virtual_machine.is_some_and(|it| it.contains("cpuidle absent") && it.contains("host"))
        );
        let poll = why(
            fake::virtual_machine,
            &[("/proc/cmdline", b"ro idle=poll\n")],
        );
        assert!(poll.is_some_and(|it| it.contains("idle=poll")));
        let state = "/sys/devices/system/cpu/cpu0/cpuidle/state1/disable";
        let disabled = why(fake::ideal, &[(state, b"1\n")]);
        assert!(disabled.is_some_and(|it| it.contains("no enabled idle state")));
    }
}
