//! Wi-Fi.

use super::network_coalescing::not_listed;
use super::nic::{self, Nic};
use super::{Check, Finding, Machine, Severity, remedy};

pub(super) struct Wifi;

const ID: &str = "wifi-power-save";

impl Check for Wifi {
    fn id(&self) -> &'static str {
        ID
    }

    fn examine(&self, machine: &Machine<'_>) -> Vec<Finding> {
        let Some(nics) = nic::up(machine) else {
            return vec![not_listed(ID, "Wi-Fi")];
        };
        let wireless: Vec<&Nic> = nics.iter().filter(|nic| nic.wireless).collect();
        if wireless.is_empty() {
            let evidence = "/sys/class/net/*/wireless: none that is up";
            return vec![Finding::fine(ID, "no Wi-Fi is up", evidence)];
        }
        let findings = wireless.iter();
        findings
            .map(|nic| judge(nic, nic::settings(machine, nic).power_save))
            .collect()
    }
}

fn judge(nic: &Nic, power_save: Option<bool>) -> Finding {
    let name = &nic.name;
    let (severity, seen) = match power_save {
        Some(true) => (Severity::Costs, "power save on"),
        Some(false) => (Severity::Note, "power save off"),
        None => (
            Severity::Note,
            "power save not known, see: iw dev <name> get power_save",
        ),
    };
    let cost = if power_save == Some(false) {
        "a frame waits until the channel is free and may be sent again and again: the delay has no \
         upper limit, whatever the operating system does"
    } else {
        "a frame for a sleeping station waits for the beacon that it wakes for, and beacons come \
         every 102.4 ms by default (IEEE 802.11: 100 time units of 1024 us); besides, the channel \
         must be free, so the delay has no upper limit"
    };
    let connection = "nmcli connection modify <connection> 802-11-wireless.powersave 2";
    Finding::new(ID, severity, format!("{name} is Wi-Fi"))
        .cost(cost)
        .evidence(format!("/sys/class/net/{name}/wireless exists; {seen}"))
        .remedy(remedy::now_and_for_good(
            &format!(
                "sudo iw dev {} set power_save off; better: use a cable",
                remedy::shell_word(name)
            ),
            connection,
        ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn power_save_costs_and_wifi_is_never_fine() {
        let nic = Nic {
            name: "wlan0".to_owned(),
            wireless: true,
            driver: None,
        };
        assert_eq!(judge(&nic, Some(true)).severity, Severity::Costs);
        assert_eq!(judge(&nic, Some(false)).severity, Severity::Note);
        assert_eq!(judge(&nic, None).severity, Severity::Note);
    }
}
