//! How long a network card waits before it interrupts.

use super::ethtool::Coalesce;
use super::nic::{self, Nic};
use super::{Check, Finding, Machine, Severity, remedy};

pub(super) struct NetworkCoalescing;

pub(super) const ID: &str = "network-coalescing";

impl Check for NetworkCoalescing {
    fn id(&self) -> &'static str {
        ID
    }

    fn examine(&self, machine: &Machine<'_>) -> Vec<Finding> {
        let Some(nics) = nic::up(machine) else {
            return vec![not_listed(ID, "interrupt coalescing")];
        };
        if nics.is_empty() {
            let evidence = "/sys/class/net: none with a device is up";
            return vec![Finding::fine(ID, "no network card is up", evidence)];
        }
        let wired = nics.iter().filter(|nic| !nic.wireless);
        wired
            .map(|nic| judge(nic, nic::settings(machine, nic).coalesce))
            .collect()
    }
}

/// The finding of all network checks where interfaces cannot be listed.
pub(super) fn not_listed(id: &'static str, what: &str) -> Finding {
    Finding::new(id, Severity::Note, format!("{what}: not known"))
        .cost("not known")
        .evidence("not known here: /sys/class/net absent")
}

fn judge(nic: &Nic, coalesce: Option<Coalesce>) -> Finding {
    let name = &nic.name;
    let Some(coalesce) = coalesce else {
        let driver = nic.driver.as_deref().unwrap_or("unknown");
        return Finding::new(
            ID,
            Severity::Note,
            format!("{name}: interrupt coalescing not known"),
        )
        .cost("not known")
        .evidence(format!(
            "not known here: the driver ({driver}) of {name} does not answer ETHTOOL_GCOALESCE"
        ));
    };
    let Coalesce {
        rx_us,
        rx_frames,
        tx_us,
        adaptive_rx,
    } = coalesce;
    let evidence = format!(
        "ethtool -c {name}: rx-usecs {rx_us}, rx-frames {rx_frames}, tx-usecs {tx_us}, adaptive-rx {}",
        if adaptive_rx { "on" } else { "off" }
    );
    if rx_us == 0 && !adaptive_rx {
        return Finding::fine(ID, format!("{name} interrupts for every frame"), evidence);
    }
    let wait = if adaptive_rx {
        "the driver changes how long a frame waits by the load of the moment, so the delay varies"
            .to_owned()
    } else {
        format!("a frame that comes alone waits up to {rx_us} us before the card interrupts")
    };
    Finding::new(ID, Severity::Costs, format!("{name} gathers interrupts"))
        .cost(format!("{wait} (ethtool(8), --coalesce)"))
        .evidence(evidence)
        .remedy(nic::remedy(nic, "coalescing", &arguments(nic, coalesce)))
}

/// Only what is to change: many drivers refuse a whole command for one setting they lack.
fn arguments(nic: &Nic, coalesce: Coalesce) -> String {
    let name = remedy::shell_word(&nic.name);
    let adaptive = if coalesce.adaptive_rx {
        " adaptive-rx off"
    } else {
        ""
    };
    let tx = if coalesce.tx_us > 0 {
        " tx-usecs 0"
    } else {
        ""
    };
    format!("-C {name}{adaptive} rx-usecs 0{tx}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_waiting_card_costs_what_it_waits() {
        let nic = Nic {
            name: "eth0".to_owned(),
            wireless: false,
            driver: None,
        };
        let coalesce = Coalesce {
            rx_us: 125,
            rx_frames: 0,
            tx_us: 0,
            adaptive_rx: false,
        };
        let finding = judge(&nic, Some(coalesce));
        assert_eq!(finding.severity, Severity::Costs);
        assert!(finding.cost.contains("125 us"), "{}", finding.cost);
        let quiet = judge(
            &nic,
            Some(Coalesce {
                rx_us: 0,
                ..coalesce
            }),
        );
        assert_eq!(quiet.severity, Severity::Fine);
        assert!(!judge(&nic, None).is_known());
    }
}
