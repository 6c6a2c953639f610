//! Network interfaces with hardware behind them, and what their drivers say of themselves.

use super::{Machine, ethtool, remedy};

const FOLDER: &str = "/sys/class/net";

/// One interface.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Nic {
    pub(super) name: String,
    pub(super) wireless: bool,
    pub(super) driver: Option<String>,
}

/// Interfaces that are up and have a device; `None` when they cannot be listed.
pub(super) fn up(machine: &Machine<'_>) -> Option<Vec<Nic>> {
    let names = machine.root.list(FOLDER).ok()?;
    let nics = names.into_iter().filter_map(|name| {
        let has = |file: &str| machine.root.has(&format!("{FOLDER}/{name}/{file}"));
        let state = machine.root.read(&format!("{FOLDER}/{name}/operstate"));
        // Some drivers do not tell; then the interface counts as up.
        let up = state.is_ok_and(|state| state == "up" || state == "unknown");
        let wireless = has("wireless") || has("phy80211");
        let driver = machine
            .root
            .link_name(&format!("{FOLDER}/{name}/device/driver"));
        (up && has("device")).then_some(Nic {
            name,
            wireless,
            driver,
        })
    });
    Some(nics.collect())
}

/// What the driver answers; `None` outside of a living Linux, or when it does not support it.
pub(super) fn settings(machine: &Machine<'_>, nic: &Nic) -> ethtool::Settings {
    if machine.root.is_live() {
        ethtool::read(&nic.name)
    } else {
        ethtool::Settings::default()
    }
}

/// A number from the interface's folder.
pub(super) fn number(machine: &Machine<'_>, nic: &Nic, file: &str) -> Option<(i64, String)> {
    let path = format!("{FOLDER}/{}/{file}", nic.name);
    Some((machine.root.read_number(&path).ok()?, path))
}

/// What mends a setting of the program `ethtool`, now and for good.
pub(super) fn remedy(nic: &Nic, what: &str, arguments: &str) -> String {
    let now = format!("sudo ethtool {arguments}");
    let at_boot = remedy::at_boot(
        &format!("{what}-{}", nic.name),
        &format!("ethtool {arguments}"),
    );
    remedy::now_and_for_good(&now, &at_boot)
}
