//! Any text as a topology: an error text, or a topology within its limits that can be run: one frame from each host
//! comes to rest.
#![no_main]

use kadenz_lab::testbed::Picoseconds;
use kadenz_lab::testbed::fabric::{Fabric, Frame, Mac};
use kadenz_lab::testbed::topology::{Topology, limits};
use kadenz_lab::testbed::wire::{EthernetFrame, Tag};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let topology = match Topology::parse(text) {
        Ok(topology) => topology,
        Err(error) => {
            assert!(!error.to_string().is_empty());
            return;
        }
    };
    assert!((2..=limits::HOSTS).contains(&topology.hosts.len()));
    assert!(topology.switches.len() <= limits::SWITCHES);
    assert!(topology.links.len() <= limits::LINKS);
    let mut fabric = Fabric::new(&topology);
    for host in 0..topology.hosts.len() {
        let frame = Frame {
            source: Mac::of_host(host),
            destination: Mac::BROADCAST,
            length: EthernetFrame::of_packet(100, Tag::None),
            content: (),
        };
        fabric.send(host, Picoseconds::ZERO, frame);
    }
    while fabric.advance(Picoseconds::NEVER).is_some() {}
    for lane in fabric.counts() {
        assert_eq!(lane.total().went_in, lane.total().came_out);
    }
});
