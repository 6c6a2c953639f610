//! The topology of a segment, as far as links show it.
//!
//! A frame goes through a SubDevice by its ports 0, 3, 1, 2 and back to 0 (ETG.1000.4, 0x0110; Beckhoff's
//! ESC data sheet, section I, "frame processing order"), and on its way passes the SubDevices at those
//! ports. Positions are the order in which frames are processed, so positions and open ports define a
//! tree.

use crate::wire::{DlStatus, PortStatus};

/// The port behind each in the order of a frame.
const NEXT: [u8; 4] = [3, 2, 0, 1];

/// The reason why positions and links form no tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum TopologyError {
    /// No open port leads to a SubDevice.
    #[error(
        "SubDevice {position} answers, but no open port before it leads there; was something plugged in \
         just now? Look for SubDevices again"
    )]
    Unreachable {
        /// The position of the SubDevice on the wire, from 0.
        position: u16,
    },
    /// A port is open, and no SubDevice answers behind it.
    #[error(
        "port {port} of SubDevice {position} is open and no SubDevice answers behind it; is one without \
         power there?"
    )]
    Loose {
        /// The position of the SubDevice on the wire, from 0.
        position: u16,
        /// The open port, 0 to 3.
        port: u8,
    },
    /// A SubDevice reports no open port at all, which cannot be: it answered.
    #[error(
        "SubDevice {position} answers, and says that no port of it is open; read its links again"
    )]
    Closed {
        /// The position of the SubDevice on the wire, from 0.
        position: u16,
    },
    /// Frames come in by another port than 0, and port 0 leads on.
    #[error(
        "SubDevice {position} is plugged in the wrong way round: frames come in by port {port}, and are \
         processed on their way back; put the cable that comes from the MainDevice into port 0"
    )]
    Backwards {
        /// The position of the SubDevice on the wire, from 0.
        position: u16,
        /// The port by which frames come in.
        port: u8,
    },
}

/// A way on from a SubDevice.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Branch {
    /// The port that leads there.
    pub(super) port: u8,
    /// The port by which a frame has come in just before it leaves by `port`.
    pub(super) before: u8,
    /// The SubDevice there.
    pub(super) child: usize,
}

/// A SubDevice in the tree of a segment.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct TopologyNode {
    /// The port by which frames come in first.
    pub(super) entry: u8,
    /// The SubDevice before it, and that one's port.
    pub(super) parent: Option<(usize, u8)>,
    /// The ways on, in the order of frames.
    pub(super) branches: Vec<Branch>,
}

/// The tree of a segment; children come behind their parents.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Topology {
    pub(super) places: Vec<TopologyNode>,
    /// The open port without a SubDevice behind it: where a ring goes back to the MainDevice.
    pub(super) back: Option<(usize, u8)>,
}

/// The port by which frames come in, without looking at times: 0 where it is open, else the only open
/// one. `None` where several may be.
pub(super) fn entry_by_links(links: DlStatus) -> Option<u8> {
    if links.port(0) == PortStatus::Open {
        return Some(0);
    }
    let mut open = open_ports(links);
    open.next().filter(|_| open.next().is_none())
}

/// Ports that frames pass.
pub(super) fn open_ports(links: DlStatus) -> impl Iterator<Item = u8> {
    (0..4).filter(move |port| links.port(*port) == PortStatus::Open)
}

/// A port that leads on, and the one by which a frame has come in before.
type PortPair = (u8, u8);

/// Ways on, in the order of frames.
fn ways(links: DlStatus, entry: u8) -> Vec<PortPair> {
    let mut ways = Vec::new();
    let (mut port, mut before) = (NEXT[usize::from(entry)], entry);
    while port != entry {
        if links.port(port) == PortStatus::Open {
            ways.push((port, before));
            before = port;
        }
        port = NEXT[usize::from(port)];
    }
    ways
}

/// Whether a frame leaves for another SubDevice before this one processes it.
fn is_backwards(links: DlStatus, entry: u8) -> bool {
    let mut port = entry;
    while port != 0 {
        port = NEXT[usize::from(port)];
        if links.port(port) == PortStatus::Open && port != entry {
            return true;
        }
    }
    false
}

impl Topology {
    /// The tree of SubDevices in the order of their positions: their links, and the ports by which frames
    /// come in.
    pub(super) fn of(all: &[(DlStatus, u8)]) -> Result<Self, TopologyError> {
        let mut places: Vec<TopologyNode> = Vec::with_capacity(all.len());
        // Ways on without a SubDevice yet; the next one to be passed is last.
        let mut open: Vec<(usize, PortPair)> = Vec::new();
        for (at, (links, entry)) in all.iter().enumerate() {
            let position = at as u16;
            if links.port(*entry) != PortStatus::Open {
                return Err(TopologyError::Closed { position });
            }
            if is_backwards(*links, *entry) {
                return Err(TopologyError::Backwards {
                    position,
                    port: *entry,
                });
            }
            let parent = open.pop();
            if parent.is_none() && at > 0 {
                return Err(TopologyError::Unreachable { position });
            }
            if let Some((parent, (port, before))) = parent {
                places[parent].branches.push(Branch {
                    port,
                    before,
                    child: at,
                });
            }
            places.push(TopologyNode {
                entry: *entry,
                parent: parent.map(|(parent, (port, _))| (parent, port)),
                branches: Vec::new(),
            });
            let ways = ways(*links, *entry).into_iter().rev();
            open.extend(ways.map(|branch| (at, branch)));
        }
        match open[..] {
            [] => Ok(Self { places, back: None }),
            [(at, (port, _))] => Ok(Self {
                places,
                back: Some((at, port)),
            }),
            [.., (at, (port, _))] => Err(TopologyError::Loose {
                position: at as u16,
                port,
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn links(ports: &[u8]) -> DlStatus {
        (0..4).fold(DlStatus::default(), |all, port| {
            let open = ports.contains(&port);
            let status = if open {
                PortStatus::Open
            } else {
                PortStatus::Unplugged
            };
            all.with_port(port, status)
        })
    }

    fn parents(all: &[&[u8]]) -> Vec<Option<(usize, u8)>> {
        let all: Vec<_> = all.iter().map(|it| (links(it), 0)).collect();
        let topology = Topology::of(&all).unwrap();
        assert_eq!(topology.back, None);
        topology.places.iter().map(|it| it.parent).collect()
    }

    #[test]
    fn a_line_is_one_behind_the_other() {
        let parents = parents(&[&[0, 1], &[0, 1], &[0]]);
        assert_eq!(parents, [None, Some((0, 1)), Some((1, 1))]);
    }

    #[test]
    fn a_coupler_has_its_terminals_first_and_then_the_cable_out() {
        let parents = parents(&[&[0, 1, 2], &[0, 1], &[0], &[0]]);
        assert_eq!(
            parents,
            [None, Some((0, 1)), Some((1, 1)), Some((0, 2))],
            "port 1 before port 2"
        );
    }

    #[test]
    fn port_3_comes_before_port_1() {
        let parents = parents(&[&[0, 1, 2, 3], &[0], &[0], &[0]]);
        assert_eq!(
            parents,
            [None, Some((0, 3)), Some((0, 1)), Some((0, 2))],
            "a star"
        );
    }

    #[test]
    fn a_ring_has_one_port_without_a_sub_device_behind() {
        let all = [(links(&[0, 1]), 0), (links(&[0, 1]), 0)];
        assert_eq!(Topology::of(&all).unwrap().back, Some((1, 1)));
        let all = [(links(&[0, 1, 3]), 0), (links(&[0, 1]), 0)];
        let error = Topology::of(&all).unwrap_err();
        assert!(matches!(error, TopologyError::Loose { .. }), "{error}");
    }

    #[test]
    fn what_cannot_be_is_an_error() {
        let all = [(links(&[0]), 0), (links(&[0]), 0)];
        let error = Topology::of(&all).unwrap_err();
        assert_eq!(error, TopologyError::Unreachable { position: 1 });
        let all = [(links(&[0, 1]), 0), (links(&[0, 1]), 1)];
        let error = Topology::of(&all).unwrap_err();
        assert_eq!(
            error,
            TopologyError::Backwards {
                position: 1,
                port: 1
            }
        );
        let error = Topology::of(&[(links(&[]), 0)]).unwrap_err();
        assert_eq!(error, TopologyError::Closed { position: 0 });
    }

    #[test]
    fn a_frame_from_port_1_to_port_3_is_processed_at_once() {
        assert_eq!(entry_by_links(links(&[1])), Some(1));
        assert_eq!(entry_by_links(links(&[1, 3])), None);
        let all = [(links(&[0, 1]), 0), (links(&[1, 3]), 1), (links(&[0]), 0)];
        let topology = Topology::of(&all).unwrap();
        assert_eq!(topology.places[2].parent, Some((1, 3)));
    }
}
