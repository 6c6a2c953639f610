//! Network cards: how long they delay frames and interrupts, and whether they sleep.

use super::finding::{Unknown, costs, fine, found, note, or_else};
use super::{Finding, Machine, Severity, finding};

const FOLDER: &str = "/sys/class/net";

/// A network interface with hardware behind it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Nic {
    name: String,
    wireless: bool,
    driver: Option<String>,
}

/// Interfaces that are up and have a device.
fn up(machine: &Machine<'_>) -> Result<Vec<Nic>, Unknown> {
    let names = machine
        .root
        .list(FOLDER)
        .map_err(|_| Unknown::absent(FOLDER))?;
    let nics = names.into_iter().filter_map(|name| {
        let has = |file: &str| machine.root.has(&format!("{FOLDER}/{name}/{file}"));
        let state = machine.root.read(&format!("{FOLDER}/{name}/operstate"));
        // Some drivers do not report it; then the interface counts as up.
        let up = state.is_ok_and(|state| state == "up" || state == "unknown");
        let wireless = has("wireless") || has("phy80211");
        let driver = format!("{FOLDER}/{name}/device/driver");
        let driver = machine.root.link_name(&driver);
        (up && has("device")).then_some(Nic {
            name,
            wireless,
            driver,
        })
    });
    Ok(nics.collect())
}

/// The cards with a cable that are up.
fn wired(machine: &Machine<'_>) -> Result<Vec<Nic>, Unknown> {
    let mut nics = up(machine)?;
    nics.retain(|nic| !nic.wireless);
    Ok(nics)
}

fn no_wired() -> Finding {
    fine(
        "no wired network card is up",
        format!("{FOLDER}: no wired card is up"),
    )
}

impl Nic {
    /// The driver's settings; all absent except on a live Linux.
    fn settings(&self, machine: &Machine<'_>) -> Settings {
        if machine.root.is_live() {
            ask(&self.name)
        } else {
            Settings::default()
        }
    }

    fn unknown(&self, what: &str, why: &str) -> Finding {
        note(format!("{}: {what} not known", self.name))
            .cost("unknown")
            .evidence(format!("not known here: {why}"))
    }

    /// The remedy for a setting of the program `ethtool`, now and for good.
    fn remedy(&self, what: &str, option: &str, values: &str) -> String {
        let arguments = format!("{option} {}{values}", finding::shell_word(&self.name));
        let command = format!("ethtool {arguments}");
        let at_boot = finding::at_boot(&format!("{what}-{}", self.name), &command);
        finding::now_and_for_good(&format!("sudo {command}"), &at_boot)
    }
}

/// The driver's settings; absent where it does not support the request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Settings {
    coalesce: Option<Coalesce>,
    energy_efficient: Option<EnergyEfficient>,
    generic_receive_offload: Option<bool>,
    large_receive_offload: Option<bool>,
    power_save: Option<bool>,
}

/// Interrupt coalescing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Coalesce {
    rx_us: u32,
    rx_frames: u32,
    tx_us: u32,
    adaptive_rx: bool,
}

/// Energy-Efficient Ethernet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct EnergyEfficient {
    enabled: bool,
    active: bool,
}

#[cfg(not(target_os = "linux"))]
fn ask(_: &str) -> Settings {
    Settings::default()
}

/// Queries all settings from the driver of one interface. Needs no rights.
#[cfg(target_os = "linux")]
fn ask(interface: &str) -> Settings {
    use crate::os::linux::ethtool::{Interface, command};

    /// `ETH_FLAG_LRO` of `ethtool.h`.
    const LARGE_RECEIVE_OFFLOAD: u32 = 1 << 15;
    let Some(interface) = Interface::open(interface) else {
        return Settings::default();
    };
    let value = |command| {
        let mut words = [command, 0];
        interface.ask(&mut words).then_some(words[1])
    };
    Settings {
        coalesce: ask_coalesce(&interface),
        energy_efficient: ask_energy_efficient(&interface),
        generic_receive_offload: value(command::GET_GRO).map(|value| value != 0),
        large_receive_offload: value(command::GET_FLAGS).map(|f| f & LARGE_RECEIVE_OFFLOAD != 0),
        power_save: interface.power_save(),
    }
}

/// The command and the 22 numbers of `struct ethtool_coalesce`.
#[cfg(target_os = "linux")]
fn ask_coalesce(interface: &crate::os::linux::ethtool::Interface) -> Option<Coalesce> {
    let mut words = [0; 23];
    words[0] = crate::os::linux::ethtool::command::GET_COALESCE;
    interface.ask(&mut words).then(|| Coalesce {
        rx_us: words[1],
        rx_frames: words[2],
        tx_us: words[5],
        adaptive_rx: words[10] != 0,
    })
}

/// The command, the 7 numbers and the 2 reserved ones of `struct ethtool_eee`.
#[cfg(target_os = "linux")]
fn ask_energy_efficient(
    interface: &crate::os::linux::ethtool::Interface,
) -> Option<EnergyEfficient> {
    let mut words = [0; 10];
    words[0] = crate::os::linux::ethtool::command::GET_EEE;
    interface.ask(&mut words).then(|| EnergyEfficient {
        active: words[4] != 0,
        enabled: words[5] != 0,
    })
}

/// How long a network card waits before it interrupts.
pub(super) fn coalescing(machine: &Machine<'_>) -> Result<Vec<Finding>, Unknown> {
    let nics = up(machine)?;
    if nics.is_empty() {
        let evidence = format!("{FOLDER}: none with a device is up");
        return Ok(vec![fine("no network card is up", evidence)]);
    }
    let wired = nics.iter().filter(|nic| !nic.wireless);
    let findings = wired.map(|nic| judge_coalescing(nic, nic.settings(machine).coalesce));
    Ok(findings.collect())
}

fn judge_coalescing(nic: &Nic, coalesce: Option<Coalesce>) -> Finding {
    let name = &nic.name;
    let Some(coalesce) = coalesce else {
        let driver = nic.driver.as_deref().unwrap_or("unknown");
        let why = format!("the driver ({driver}) of {name} does not answer ETHTOOL_GCOALESCE");
        return nic.unknown("interrupt coalescing", &why);
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
        return fine(format!("{name} interrupts for every frame"), evidence);
    }
    let wait = if adaptive_rx {
        "the driver changes how long a frame waits by the load of the moment, so the delay varies"
            .to_owned()
    } else {
        format!("a frame that comes alone waits up to {rx_us} us before the card interrupts")
    };
    // Only the settings to change: many drivers refuse a whole command for one setting they lack.
    let adaptive = if adaptive_rx { " adaptive-rx off" } else { "" };
    let tx = if tx_us > 0 { " tx-usecs 0" } else { "" };
    costs(format!("{name} gathers interrupts"))
        .cost(format!("{wait} (ethtool(8), --coalesce)"))
        .evidence(evidence)
        .remedy(nic.remedy("coalescing", "-C", &format!("{adaptive} rx-usecs 0{tx}")))
}

/// Energy-Efficient Ethernet: links that sleep between frames.
pub(super) fn energy_efficient(machine: &Machine<'_>) -> Result<Vec<Finding>, Unknown> {
    let nics = wired(machine)?;
    let findings = nics.iter();
    let findings = findings.map(|nic| judge_energy(nic, nic.settings(machine).energy_efficient));
    Ok(or_else(findings, no_wired))
}

fn judge_energy(nic: &Nic, setting: Option<EnergyEfficient>) -> Finding {
    let name = &nic.name;
    let Some(EnergyEfficient { enabled, active }) = setting else {
        let why = format!("the driver of {name} does not answer ETHTOOL_GEEE");
        return nic.unknown("energy saving", &why);
    };
    let evidence = format!("ethtool --show-eee {name}: enabled {enabled}, active {active}");
    if !enabled && !active {
        return fine(
            format!("{name} does not save energy between frames"),
            evidence,
        );
    }
    found(
        Severity::costs_if(active),
        format!("{name} saves energy between frames"),
    )
    .cost(
        "the link sleeps between frames and takes about 17 us at 1 Gbit/s and 30 us at 100 Mbit/s \
             to wake (IEEE 802.3az, as switch makers state it), at every hop that saves energy too",
    )
    .evidence(evidence)
    .remedy(nic.remedy("eee", "--set-eee", " eee off"))
}

/// Offloads that delay frames to deliver them together.
pub(super) fn offloads(machine: &Machine<'_>) -> Result<Vec<Finding>, Unknown> {
    let nics = wired(machine)?;
    let merging = nics
        .iter()
        .map(|nic| judge_merging(nic, nic.settings(machine)));
    let deferring = nics.iter().filter_map(|nic| deferring(machine, nic));
    Ok(or_else(merging.chain(deferring), no_wired))
}

fn judge_merging(nic: &Nic, settings: Settings) -> Finding {
    let name = &nic.name;
    let (generic, large) = (
        settings.generic_receive_offload,
        settings.large_receive_offload,
    );
    if generic.or(large).is_none() {
        let why = format!("the driver of {name} answers neither ETHTOOL_GGRO nor ETHTOOL_GFLAGS");
        return nic.unknown("receive offloads", &why);
    }
    let word = |on| if on == Some(true) { "on" } else { "off" };
    let (generic, large) = (word(generic), word(large));
    let evidence = format!("ethtool -k {name}: gro {generic}, lro {large}");
    if [generic, large] == ["off", "off"] {
        return fine(format!("{name} hands every frame over by itself"), evidence);
    }
    note(format!("{name} merges frames that arrive together"))
        .cost(
            "frames of one TCP stream wait for the end of a batch; a lone UDP frame does not, and \
             raw EtherCAT is not merged (kernel documentation segmentation-offloads)",
        )
        .evidence(evidence)
        .remedy(nic.remedy("offloads", "-K", " gro off lro off"))
}

/// Interrupts deferred by software, `Documentation/networking/napi.rst`.
fn deferring(machine: &Machine<'_>, nic: &Nic) -> Option<Finding> {
    let path = format!("{FOLDER}/{}/gro_flush_timeout", nic.name);
    let ns = machine.root.read_number(&path).ok().filter(|ns| *ns > 0)?;
    let finding = costs(format!("{} defers its interrupts", nic.name))
        .cost(format!(
            "a received frame may wait up to {} us for the next poll (kernel documentation napi, \
             gro_flush_timeout)",
            ns / 1000
        ))
        .evidence(format!("{path}: {ns}"))
        .remedy(finding::sysfs(&finding::shell_word(&path), "0"));
    Some(finding)
}

pub(super) fn wifi(machine: &Machine<'_>) -> Result<Vec<Finding>, Unknown> {
    let nics = up(machine)?;
    let wireless = nics.iter().filter(|nic| nic.wireless);
    let findings = wireless.map(|nic| judge_wifi(nic, nic.settings(machine).power_save));
    Ok(or_else(findings, || {
        fine(
            "no Wi-Fi is up",
            format!("{FOLDER}/*/wireless: none that is up"),
        )
    }))
}

fn judge_wifi(nic: &Nic, power_save: Option<bool>) -> Finding {
    let name = &nic.name;
    let seen = match power_save {
        Some(true) => "power save on",
        Some(false) => "power save off",
        None => "power save not known, see: iw dev <name> get power_save",
    };
    let cost = if power_save == Some(false) {
        "a frame waits until the channel is free and may be sent again and again: the delay has no \
         upper limit, whatever the operating system does"
    } else {
        "a frame for a sleeping station waits for the beacon that it wakes for, and beacons come \
         every 102.4 ms by default (IEEE 802.11: 100 time units of 1024 us); besides, the channel \
         must be free, so the delay has no upper limit"
    };
    let word = finding::shell_word(name);
    found(
        Severity::costs_if(power_save == Some(true)),
        format!("{name} is Wi-Fi"),
    )
    .cost(cost)
    .evidence(format!("{FOLDER}/{name}/wireless exists; {seen}"))
    .remedy(finding::now_and_for_good(
        &format!("sudo iw dev {word} set power_save off; better: use a cable"),
        "nmcli connection modify <connection> 802-11-wireless.powersave 2",
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn nic() -> Nic {
        let name = "eth0".to_owned();
        Nic {
            name,
            ..Nic::default()
        }
    }

    #[test]
    fn a_waiting_card_costs_what_it_waits() {
        let mut coalesce = Coalesce {
            rx_us: 125,
            rx_frames: 0,
            tx_us: 0,
            adaptive_rx: false,
        };
        let finding = judge_coalescing(&nic(), Some(coalesce));
        assert_eq!(finding.severity, Severity::Costs);
        assert!(finding.cost.contains("125 us"), "{}", finding.cost);
        let remedy = finding.remedy.unwrap();
        assert!(
            remedy.starts_with("now: sudo ethtool -C eth0 rx-usecs 0\n"),
            "{remedy}"
        );
        coalesce.rx_us = 0;
        assert_eq!(
            judge_coalescing(&nic(), Some(coalesce)).severity,
            Severity::Fine
        );
        assert!(!judge_coalescing(&nic(), None).is_known());
    }

    #[test]
    fn an_active_link_costs_and_an_idle_setting_is_a_note() {
        let of = |enabled, active| {
            judge_energy(&nic(), Some(EnergyEfficient { enabled, active })).severity
        };
        assert_eq!(of(true, true), Severity::Costs);
        assert_eq!(of(true, false), Severity::Note);
        assert_eq!(of(false, false), Severity::Fine);
    }

    #[test]
    fn power_save_costs_and_wifi_is_never_fine() {
        assert_eq!(judge_wifi(&nic(), Some(true)).severity, Severity::Costs);
        assert_eq!(judge_wifi(&nic(), Some(false)).severity, Severity::Note);
        assert_eq!(judge_wifi(&nic(), None).severity, Severity::Note);
    }
}
