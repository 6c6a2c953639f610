//! The way from one host to another.

use super::{Node, SpanningTree, Topology};
use crate::testbed::quantity::LinkSpeed;

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
    /// # Ok::<(), kadenz_lab::testbed::topology::TopologyError>(())
    /// ```
    #[must_use]
    pub fn route(&self, from: usize, to: usize) -> Vec<LinkSpeed> {
        let all_up = vec![true; self.links.len()];
        let carries = SpanningTree::over(self, &all_up).carries;
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

    /// Follows every link but the one it came by: in a tree one way leads there, and none in circles.
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
