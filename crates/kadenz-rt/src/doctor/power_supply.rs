//! Battery, mains and the platform's power profile.

use super::{Check, Finding, Machine, Severity};

pub(super) struct PowerSupply;

const ID: &str = "power-supply";
const SUPPLIES: &str = "/sys/class/power_supply";
const PROFILE: &str = "/sys/firmware/acpi/platform_profile";

impl Check for PowerSupply {
    fn id(&self) -> &'static str {
        ID
    }

    fn examine(&self, machine: &Machine<'_>) -> Vec<Finding> {
        let mut findings = vec![supply(machine)];
        findings.extend(profile(machine));
        findings
    }
}

fn supply(machine: &Machine<'_>) -> Finding {
    let names = match machine.root.list(SUPPLIES) {
        Ok(names) => names,
        Err(why) => return Finding::unknown(ID, "battery or mains", &why),
    };
    let read = |name: &str, file: &str| machine.root.read(&format!("{SUPPLIES}/{name}/{file}"));
    let is = |name: &str, file: &str, value: &str| read(name, file).is_ok_and(|v| v == value);
    let discharging = names
        .iter()
        // A mouse has a battery too; its scope says that it is a device's.
        .find(|n| is(n, "status", "Discharging") && !is(n, "scope", "Device"));
    let Some(name) = discharging else {
        let evidence = format!("{SUPPLIES}: no battery is discharging");
        return Finding::fine(ID, "the machine is not on battery", evidence);
    };
    Finding::new(ID, Severity::Costs, "the machine runs on battery")
        .cost(
            "firmware and daemons lower clocks and deepen sleep on battery: wake-ups come later and \
             code takes longer, by an amount that only the maker knows",
        )
        .evidence(format!("{SUPPLIES}/{name}/status: Discharging"))
        .remedy("plug the machine in")
}

fn profile(machine: &Machine<'_>) -> Option<Finding> {
    let profile = machine.root.read(PROFILE).ok()?;
    let evidence = format!("{PROFILE}: {profile}");
    if profile == "performance" {
        return Some(Finding::fine(
            ID,
            "the power profile is performance",
            evidence,
        ));
    }
    Some(
        Finding::new(
            ID,
            Severity::Note,
            format!("the power profile is {profile}"),
        )
        .cost("the firmware trades speed for heat and noise by its own rules")
        .evidence(evidence)
        .remedy(super::remedy::sysfs(PROFILE, "performance")),
    )
}
