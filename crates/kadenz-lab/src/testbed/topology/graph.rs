//! Whether everything is joined as a network of switches is.

use super::{Node, Topology, TopologyError};

/// Every host has one link, and everything is joined with everything.
pub(super) fn check(topology: &Topology) -> Result<(), TopologyError> {
    if topology.hosts.len() < 2 {
        return Err(TopologyError::at(
            "",
            0,
            format!("there are {} hosts", topology.hosts.len()),
            "add [[host]] with a name until there are two",
        ));
    }
    for (at, host) in topology.hosts.iter().enumerate() {
        let node = Node::Host(at);
        let links = topology
            .links
            .iter()
            .filter(|link| link.ends.contains(&node));
        match links.count() {
            1 => {}
            0 => {
                let cause = format!("the host `{}` has no link", host.name);
                let remedy = format!(
                    "add [[link]] with between = [\"{}\", \"a switch\"] and a rate",
                    host.name
                );
                return Err(TopologyError::whole(cause, remedy));
            }
            n => {
                let cause = format!("the host `{}` has {n} links", host.name);
                return Err(TopologyError::whole(cause, "join it with one switch only"));
            }
        }
    }
    let reached = reached(topology);
    let missing = nodes(topology).zip(reached).find(|(_, reached)| !reached);
    if let Some((node, _)) = missing {
        let first = topology.name_of(Node::Host(0));
        let cause = format!(
            "no way leads from `{first}` to `{}`",
            topology.name_of(node)
        );
        return Err(TopologyError::whole(
            cause,
            "add a [[link]] between their switches",
        ));
    }
    Ok(())
}

/// Hosts first, then switches.
fn nodes(topology: &Topology) -> impl Iterator<Item = Node> + '_ {
    let hosts = (0..topology.hosts.len()).map(Node::Host);
    hosts.chain((0..topology.switches.len()).map(Node::Switch))
}

/// Of each node whether the first host can reach it when nothing is cut.
fn reached(topology: &Topology) -> Vec<bool> {
    let place = |node: Node| match node {
        Node::Host(at) => at,
        Node::Switch(at) => topology.hosts.len() + at,
    };
    let mut reached = vec![false; topology.hosts.len() + topology.switches.len()];
    reached[0] = true;
    // As many rounds as there are nodes reach everything that can be.
    for _ in 0..reached.len() {
        for link in &topology.links {
            let [a, b] = link.ends.map(place);
            let either = reached[a] || reached[b];
            reached[a] = either;
            reached[b] = either;
        }
    }
    reached
}
