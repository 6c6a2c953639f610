//! Names in braces, which a topology gives its programs: `{device}` is the address of the host of
//! that name.

use crate::testbed::topology::Topology;
use crate::testbed::{address, network};

/// A program's argument with its names in braces replaced: `{NAME}` by the address of a host,
/// `{broadcast}` by the address of all of them, `{host}` by the name of the host that the program
/// runs on. Other braces stay.
///
/// ```
/// use kadenz_lab::testbed::live::filled;
/// use kadenz_lab::testbed::topology::{Topology, ready};
///
/// let baseline = Topology::parse(ready("baseline").unwrap_or_default())?;
/// assert_eq!(filled(&baseline, 0, "--name={host}"), "--name=controller");
/// assert!(filled(&baseline, 0, "{broadcast}").ends_with(".255"));
/// assert_eq!(filled(&baseline, 0, "{\"json\": {}}"), "{\"json\": {}}");
/// # Ok::<(), kadenz_lab::testbed::topology::TopologyError>(())
/// ```
#[must_use]
pub fn filled(topology: &Topology, host: usize, argument: &str) -> String {
    let mut text = argument.to_owned();
    if let Some(host) = topology.hosts.get(host) {
        text = text.replace("{host}", &host.name);
    }
    let [a, b, c, _] = network(topology).octets();
    text = text.replace("{broadcast}", &format!("{a}.{b}.{c}.255"));
    for (at, host) in topology.hosts.iter().enumerate() {
        let name = format!("{{{}}}", host.name);
        if text.contains(&name) {
            text = text.replace(&name, &address(topology, at).to_string());
        }
    }
    text
}
