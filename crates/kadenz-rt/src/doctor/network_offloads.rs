//! Offloads that hold frames back to hand them over together.

use super::ethtool::Settings;
use super::network_coalescing::not_listed;
use super::nic::{self, Nic};
use super::{Check, Finding, Machine, Severity, remedy};

pub(super) struct NetworkOffloads;

const ID: &str = "network-offloads";

impl Check for NetworkOffloads {
    fn id(&self) -> &'static str {
        ID
    }

    fn examine(&self, machine: &Machine<'_>) -> Vec<Finding> {
        let Some(nics) = nic::up(machine) else {
            return vec![not_listed(ID, "receive offloads")];
        };
        let wired = nics.iter().filter(|nic| !nic.wireless);
        let mut findings: Vec<Finding> = wired
            .clone()
            .map(|nic| merging(nic, nic::settings(machine, nic)))
            .collect();
        findings.extend(wired.filter_map(|nic| deferring(machine, nic)));
        if findings.is_empty() {
            let evidence = "/sys/class/net: no wired card is up";
            findings.push(Finding::fine(ID, "no wired network card is up", evidence));
        }
        findings
    }
}

fn merging(nic: &Nic, settings: Settings) -> Finding {
    let name = &nic.name;
    let flags = (
        settings.generic_receive_offload,
        settings.large_receive_offload,
    );
    let (generic, large) = match flags {
        (None, None) => {
            return Finding::new(
                ID,
                Severity::Note,
                format!("{name}: receive offloads not known"),
            )
            .cost("not known")
            .evidence(format!(
                "not known here: the driver of {name} answers neither ETHTOOL_GGRO nor \
                     ETHTOOL_GFLAGS"
            ));
        }
        (generic, large) => (generic.unwrap_or(false), large.unwrap_or(false)),
    };
    let word = |on| if on { "on" } else { "off" };
    let evidence = format!(
        "ethtool -k {name}: gro {}, lro {}",
        word(generic),
        word(large)
    );
    if !generic && !large {
        return Finding::fine(
            ID,
            format!("{name} hands every frame over by itself"),
            evidence,
        );
    }
    Finding::new(
        ID,
        Severity::Note,
        format!("{name} merges frames that arrive together"),
    )
    .cost(
        "frames of one TCP stream wait for the end of a batch; a lone UDP frame does not, and \
             raw EtherCAT is not merged (kernel documentation segmentation-offloads)",
    )
    .evidence(evidence)
    .remedy(nic::remedy(
        nic,
        "offloads",
        &format!("-K {} gro off lro off", remedy::shell_word(name)),
    ))
}

/// Interrupts held off by software, `Documentation/networking/napi.rst`.
fn deferring(machine: &Machine<'_>, nic: &Nic) -> Option<Finding> {
    let (ns, path) = nic::number(machine, nic, "gro_flush_timeout")?;
    if ns <= 0 {
        return None;
    }
    Some(
        Finding::new(
            ID,
            Severity::Costs,
            format!("{} defers its interrupts", nic.name),
        )
        .cost(format!(
            "a received frame may wait up to {} us for the next poll (kernel documentation napi, \
                 gro_flush_timeout)",
            ns / 1000
        ))
        .evidence(format!("{path}: {ns}"))
        .remedy(remedy::sysfs(&remedy::shell_word(&path), "0")),
    )
}
