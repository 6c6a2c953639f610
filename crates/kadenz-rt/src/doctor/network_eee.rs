//! Energy-Efficient Ethernet: links that sleep between frames.

use super::ethtool::EnergyEfficient;
use super::network_coalescing::not_listed;
use super::nic::{self, Nic};
use super::{Check, Finding, Machine, Severity, remedy};

pub(super) struct NetworkEee;

const ID: &str = "network-eee";

impl Check for NetworkEee {
    fn id(&self) -> &'static str {
        ID
    }

    fn examine(&self, machine: &Machine<'_>) -> Vec<Finding> {
        let Some(nics) = nic::up(machine) else {
            return vec![not_listed(ID, "Energy-Efficient Ethernet")];
        };
        let wired: Vec<&Nic> = nics.iter().filter(|nic| !nic.wireless).collect();
        if wired.is_empty() {
            let evidence = "/sys/class/net: no wired card is up";
            return vec![Finding::fine(ID, "no wired network card is up", evidence)];
        }
        let findings = wired.iter();
        findings
            .map(|nic| judge(nic, nic::settings(machine, nic).energy_efficient))
            .collect()
    }
}

fn judge(nic: &Nic, eee: Option<EnergyEfficient>) -> Finding {
    let name = &nic.name;
    let Some(EnergyEfficient { enabled, active }) = eee else {
        return Finding::new(
            ID,
            Severity::Note,
            format!("{name}: energy saving not known"),
        )
        .cost("not known")
        .evidence(format!(
            "not known here: the driver of {name} does not answer ETHTOOL_GEEE"
        ));
    };
    let evidence = format!("ethtool --show-eee {name}: enabled {enabled}, active {active}");
    if !enabled && !active {
        return Finding::fine(
            ID,
            format!("{name} does not save energy between frames"),
            evidence,
        );
    }
    let severity = if active {
        Severity::Costs
    } else {
        Severity::Note
    };
    Finding::new(ID, severity, format!("{name} saves energy between frames"))
        .cost(
            "the link sleeps between frames and takes about 17 us at 1 Gbit/s and 30 us at 100 Mbit/s \
             to wake (IEEE 802.3az, as switch makers state it), at every hop that saves energy too",
        )
        .evidence(evidence)
        .remedy(nic::remedy(nic, "eee", &format!("--set-eee {} eee off", remedy::shell_word(name))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_active_link_costs_and_an_idle_setting_is_a_note() {
        let nic = Nic {
            name: "eth0".to_owned(),
            wireless: false,
            driver: None,
        };
        let of = |enabled, active| judge(&nic, Some(EnergyEfficient { enabled, active })).severity;
        assert_eq!(of(true, true), Severity::Costs);
        assert_eq!(of(true, false), Severity::Note);
        assert_eq!(of(false, false), Severity::Fine);
    }
}
