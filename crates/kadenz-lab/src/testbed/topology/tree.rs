//! The spanning tree: which links between switches carry frames, so that none travels in a loop; and the path from one
//! host to another on it.

use super::{FileError, Link, Node, Topology};
use crate::testbed::quantity::LinkSpeed;

/// The cost of a link: 20 Tbit/s divided by its speed, as IEEE 802.1D-2004, clause 17.14, table 17-3 recommends.
#[must_use]
pub(crate) const fn path_cost(speed: LinkSpeed) -> u64 {
    20_000_000_000_000 / speed.bits_per_second()
}

/// Whether each link carries frames: the spanning tree over the links that are up.
///
/// The first switch is the root; every other switch reaches it at the lowest cost. With equal costs the link that
/// stands first in the file is taken. Links of hosts always carry.
#[must_use]
pub(crate) fn spanning_tree(topology: &Topology, up: &[bool]) -> Vec<bool> {
    let between: Vec<(usize, [usize; 2])> = topology
        .links
        .iter()
        .enumerate()
        .filter_map(|(at, link)| match link.ends {
            [Node::Switch(a), Node::Switch(b)] if up[at] => Some((at, [a, b])),
            _ => None,
        })
        .collect();
    let of_host = |link: &Link| link.ends.iter().any(|end| matches!(end, Node::Host(_)));
    let mut carries: Vec<bool> = topology.links.iter().map(of_host).collect();
    for link in ways_to_root(topology, &between) {
        carries[link] = true;
    }
    carries
}

/// The link by which each switch reaches its root. Switches that the first cannot reach have a root
/// of their own: their first.
fn ways_to_root(topology: &Topology, between: &[(usize, [usize; 2])]) -> Vec<usize> {
    let count = topology.switches.len();
    let mut cost: Vec<Option<u64>> = vec![None; count];
    let mut ways = Vec::new();
    for root in 0..count {
        if cost[root].is_some() {
            continue;
        }
        cost[root] = Some(0);
        while let Some((to, link, total)) = cheapest(topology, between, &cost) {
            cost[to] = Some(total);
            ways.push(link);
        }
    }
    ways
}

/// The next switch to be reached, by which link, and at what cost (Dijkstra's step).
fn cheapest(
    topology: &Topology,
    between: &[(usize, [usize; 2])],
    cost: &[Option<u64>],
) -> Option<(usize, usize, u64)> {
    let steps = between
        .iter()
        .flat_map(|(link, [a, b])| [(*a, *b), (*b, *a)].map(|(from, to)| (from, to, *link)));
    let open = steps.filter_map(|(from, to, link)| {
        let reached = cost[from].filter(|_| cost[to].is_none())?;
        let total = reached + path_cost(topology.links[link].speed);
        Some((to, link, total))
    });
    open.min_by_key(|(_, link, total)| (*total, *link))
}

// Checks that the topology is one connected network of switches.

/// Checks that every host has one link, and that all nodes are connected.
pub(super) fn check(topology: &Topology) -> Result<(), FileError> {
    if topology.hosts.len() < 2 {
        return Err(FileError::at(
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
                return Err(FileError::whole(cause, remedy));
            }
            n => {
                let cause = format!("the host `{}` has {n} links", host.name);
                return Err(FileError::whole(cause, "join it with one switch only"));
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
        return Err(FileError::whole(
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

/// Which nodes the first host can reach when nothing is cut.
fn reached(topology: &Topology) -> Vec<bool> {
    let place = |node: Node| match node {
        Node::Host(at) => at,
        Node::Switch(at) => topology.hosts.len() + at,
    };
    let mut reached = vec![false; topology.hosts.len() + topology.switches.len()];
    reached[0] = true;
    // After as many rounds as there are nodes every reachable node is found.
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

impl Topology {
    /// The speeds of the links that a frame from one host to another goes over, in its order, while
    /// nothing is cut; empty from a host to itself. Hosts are named by their places.
    ///
    /// ```
    /// use kadenz_lab::testbed::topology::{Topology, ready};
    ///
    /// let topology = Topology::parse(ready("extra-rb750").expect("it is built in"))?;
    /// let speeds = topology.route(0, 1).iter().map(ToString::to_string).collect::<Vec<_>>();
    /// assert_eq!(speeds, ["100Mbit/s", "1Gbit/s", "100Mbit/s"]);
    /// # Ok::<(), kadenz_lab::testbed::topology::FileError>(())
    /// ```
    #[must_use]
    pub fn route(&self, from: usize, to: usize) -> Vec<LinkSpeed> {
        let all_up = vec![true; self.links.len()];
        let carries = spanning_tree(self, &all_up);
        let mut speeds = Vec::new();
        self.walk(
            Node::Host(from),
            Node::Host(to),
            None,
            &carries,
            &mut speeds,
        );
        speeds
    }

    /// Follows every link except for the one it came by: a tree has one path to each node, and no loops.
    fn walk(
        &self,
        at: Node,
        to: Node,
        by: Option<usize>,
        carries: &[bool],
        speeds: &mut Vec<LinkSpeed>,
    ) -> bool {
        if at == to {
            return true;
        }
        for (number, link) in self.links.iter().enumerate() {
            let [a, b] = link.ends;
            let next = match () {
                () if Some(number) == by || !carries[number] => continue,
                () if a == at => b,
                () if b == at => a,
                () => continue,
            };
            speeds.push(link.speed);
            if self.walk(next, to, Some(number), carries, speeds) {
                return true;
            }
            speeds.pop();
        }
        false
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "in a test a panic is the answer")]
mod tests {
    use super::*;
    use crate::testbed::topology::ready;

    fn topology(name: &str) -> Topology {
        Topology::parse(ready(name).unwrap()).unwrap()
    }

    fn route(of: &Topology, from: &str, to: &str) -> Vec<String> {
        let (from, to) = (of.host(from).unwrap(), of.host(to).unwrap());
        of.route(from, to).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_way_is_the_links_in_their_order() {
        let text = "name = 'two'\n[[switch]]\nname = 's'\n[[switch]]\nname = 't'\n\
                    [[host]]\nname = 'a'\n[[host]]\nname = 'b'\n[[host]]\nname = 'c'\n\
                    [[link]]\nbetween = ['a', 's']\nrate = '100M'\n\
                    [[link]]\nbetween = ['t', 'c']\nrate = '10G'\n\
                    [[link]]\nbetween = ['t', 's']\nrate = '1G'\n\
                    [[link]]\nname = 'faster'\nbetween = ['t', 's']\nrate = '2.5G'\n\
                    [[link]]\nbetween = ['s', 'b']\nrate = '10M'\n";
        let two = Topology::parse(text).unwrap();
        let fast = ["100Mbit/s", "2500Mbit/s", "10Gbit/s"];
        assert_eq!(route(&two, "a", "c"), fast, "by the cheaper of two ways");
        assert_eq!(route(&two, "b", "a"), ["10Mbit/s", "100Mbit/s"]);
        assert!(route(&two, "a", "a").is_empty());
    }

    #[test]
    fn every_host_of_every_built_in_topology_is_reached() {
        for (name, _) in crate::testbed::topology::READY {
            let topology = topology(name);
            for to in 1..topology.hosts.len() {
                let (there, mut back) = (topology.route(0, to), topology.route(to, 0));
                back.reverse();
                assert!(there.len() >= 2, "{name}: {there:?}");
                assert_eq!(there, back, "{name}");
            }
        }
    }
}
