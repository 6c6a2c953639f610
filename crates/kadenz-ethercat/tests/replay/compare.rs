//! Compares two answers to one frame, datagram by datagram.

use kadenz_ethercat::wire::{Command, DatagramAddress, Datagrams};

/// A device's answer in a datagram.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Answer {
    pub(crate) data: Vec<u8>,
    pub(crate) counter: u16,
    pub(crate) events: u16,
}

/// A datagram whose answers differ.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Difference {
    /// Number of its frame, from 0.
    pub(crate) frame: usize,
    pub(crate) command: Command,
    /// The address in the real device's answer.
    pub(crate) address: DatagramAddress,
    pub(crate) real: Answer,
    pub(crate) ours: Answer,
}

impl Difference {
    /// The register, or the lower half of a logical address.
    pub(crate) fn register(&self) -> u16 {
        (self.address.raw() >> 16) as u16
    }

    /// The station or position, or the upper half.
    pub(crate) fn station(&self) -> u16 {
        self.address.raw() as u16
    }
}

/// Collects the differences between two answers to a frame; returns the number of datagrams.
pub(crate) fn frames(
    frame: usize,
    real: &[u8],
    ours: &[u8],
    differences: &mut Vec<Difference>,
) -> usize {
    let all = |bytes| -> Vec<_> { Datagrams::of(bytes).unwrap().map(Result::unwrap).collect() };
    let (real, ours) = (all(real), all(ours));
    assert_eq!(real.len(), ours.len());
    for (real, ours) in real.iter().zip(&ours) {
        assert_eq!((real.command, real.index), (ours.command, ours.index));
        assert_eq!(real.address, ours.address);
        assert_eq!(
            (real.circulated, real.data.len()),
            (ours.circulated, ours.data.len())
        );
        let answer = |it: &kadenz_ethercat::wire::Datagram<'_>| Answer {
            data: it.data.to_vec(),
            counter: it.working_counter,
            events: it.events,
        };
        let (command, address) = (real.command, real.address);
        let (real, ours) = (answer(real), answer(ours));
        if real != ours {
            differences.push(Difference {
                frame,
                command,
                address,
                real,
                ours,
            });
        }
    }
    real.len()
}
