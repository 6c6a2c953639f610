//! Clocks of SubDevices that answer one register wrongly.

use std::time::Duration;

use kadenz_rt::clock::MonotonicTime;
use proptest::prelude::*;

use super::{Bench, Bounds, ClockSettings, Epoch, Node, Sync, measure, segment};
use crate::main_device::clocks::{ClockError, TopologyError};
use crate::main_device::exchange::{
    BlockingExchange, Exchange, ExchangeResult, FrameBuffer, Registers, RetryPolicy,
};
use crate::sim::WirePort;
use crate::wire::register::{
    DC_DIFFERENCE, DC_OFFSET, DC_RECEIVE_TIME, DC_RECEIVE_TIME_UNIT, DC_SPEED_START, DC_SYSTEM_TIME,
};
use crate::wire::{Configured, DatagramsMut, Position};

/// The registers of clocks.
const REGISTERS: [u16; 6] = [
    DC_RECEIVE_TIME,
    DC_RECEIVE_TIME_UNIT,
    DC_SYSTEM_TIME,
    DC_OFFSET,
    DC_DIFFERENCE,
    DC_SPEED_START,
];

/// A way on which one SubDevice's answers of one register are replaced.
struct Liar<'l> {
    inner: BlockingExchange<'l, WirePort>,
    station: Configured,
    register: u16,
    /// The answers, repeated without end.
    lies: &'l [u8],
    /// How many bytes were replaced.
    replaced: usize,
}

impl Exchange for Liar<'_> {
    fn exchange(&mut self, frame: &mut FrameBuffer) -> ExchangeResult {
        self.inner.exchange(frame)?;
        for datagram in DatagramsMut::of(frame.bytes_mut())? {
            let datagram = datagram?;
            let address = datagram.address();
            let reads = datagram.command().is_some_and(|it| it.reads());
            if reads && address.device() == self.station.0 && address.register() == self.register {
                for byte in datagram.data {
                    *byte = self.lies[self.replaced % self.lies.len()];
                    self.replaced += 1;
                }
            }
        }
        Ok(())
    }

    fn pause(&mut self, span: Duration) {
        self.inner.pause(span);
    }

    fn now(&self) -> MonotonicTime {
        self.inner.now()
    }
}

/// Four in a line, and one in a branch.
fn nodes() -> [Node; 5] {
    [
        Node::first(),
        Node::behind(0, 1, 400),
        Node::behind(1, 1, 600),
        Node::behind(2, 1, 900),
        Node::behind(0, 2, 250),
    ]
}

/// Runs all work with clocks, as far as it gets; returns how far that was.
fn all_of_it(registers: &mut Registers<'_>, bench: &[super::SubDevice]) -> Result<u32, ClockError> {
    let few = ClockSettings {
        rounds: 3,
        ..ClockSettings::default()
    };
    let mut clocks = measure(registers, bench, &few)?;
    let parents: Vec<_> = clocks.devices().iter().map(|it| it.parent).collect();
    let expected = [None, Some((0, 1)), Some((1, 1)), Some((2, 1)), Some((0, 2))];
    let expected = expected.map(|it| it.map(|(parent, port)| (Position(parent), port)));
    assert_eq!(
        parents, expected,
        "no time changes what is plugged into what"
    );
    clocks.set(registers, Epoch::Kept)?;
    let bounds = Bounds {
        most_frames: 20,
        between: 10,
        ..Bounds::default()
    };
    let aligned = clocks.align(registers, &bounds, &mut |_| {})?;
    assert!(aligned.frames <= 20);
    let pulses = bench
        .iter()
        .map(|it| (it.position, Sync::sync0(1_000_000, -7)));
    clocks.pulse(registers, pulses.collect(), Duration::from_millis(5))?;
    for device in bench {
        clocks.set_again(registers, device.position)?;
    }
    Ok(aligned.frames)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, failure_persistence: None, ..ProptestConfig::default() })]

    /// Nothing panics; the links are right, and so is the tree, so that only times can be refused.
    #[test]
    fn one_that_lies_of_its_clock_is_an_error_or_is_believed(
        liar in 0_usize..5,
        register in prop::sample::select(REGISTERS.to_vec()),
        lies in prop_oneof![
            prop::collection::vec(any::<u8>(), 1..64),
            Just(vec![0xFF]),
            Just(vec![0]),
            // The sign alone.
            Just(vec![0, 0, 0, 0x80]),
        ],
    ) {
        let mut bench = Bench::new(segment(&nodes()));
        let mut exchange = Liar {
            inner: BlockingExchange { link: &mut bench.link, retry: RetryPolicy::default() },
            station: bench.devices[liar].station,
            register,
            lies: &lies,
            replaced: 0,
        };
        let went = all_of_it(&mut Registers::by(&mut exchange), &bench.devices);
        let replaced = exchange.replaced;
        match went {
            Ok(_) | Err(ClockError::Sync(_)) => {}
            // Times that run backwards; all others are of links.
            Err(ClockError::Topology(error)) => {
                let is_of_times = matches!(error, TopologyError::Backwards { .. });
                prop_assert!(is_of_times && register == DC_RECEIVE_TIME, "{error}");
            }
            Err(ClockError::Exchange(error)) => prop_assert!(false, "{error}"),
        }
        // Only the reference is asked for the system time, and the unit's time is asked first after that
        // was set.
        let is_asked = register != DC_SYSTEM_TIME && register != DC_RECEIVE_TIME_UNIT || liar == 0;
        let is_asked = is_asked && (register != DC_OFFSET || liar == 0);
        prop_assert!(replaced > 0 || !is_asked, "0x{register:04X} of {liar} was not asked");
    }
}
