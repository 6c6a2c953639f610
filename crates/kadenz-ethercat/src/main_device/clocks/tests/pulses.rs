//! Devices that pulse together.

use std::time::Duration;

use super::{Bench, line, segment, sii};
use crate::description::Hardware;
use crate::main_device::clocks::{Sync, SyncError, start_sync};
use crate::port::Side;
use crate::sim::{Cable, DeviceId, End, Model, Segment, Time};
use crate::wire::Position;
use crate::wire::register::{DC_CYCLIC_CONTROL, features};

/// Notes the times of its pulses: SYNC0, and the count of SYNC1.
#[derive(Default)]
struct Pulses(Vec<(Time, u64)>, usize);

impl crate::sim::Application for Pulses {
    fn change(
        &mut self,
        _: crate::sim::StateChange,
        _: &mut dyn crate::sim::Pdi,
    ) -> crate::sim::Decision {
        crate::sim::Decision::Accept
    }

    fn sync(&mut self, signal: crate::sim::Signal, pdi: &mut dyn crate::sim::Pdi) {
        match signal {
            crate::sim::Signal::Sync0 => self.0.push((pdi.now(), pdi.system_time())),
            crate::sim::Signal::Sync1 => self.1 += 1,
        }
    }
}

fn pulsing() -> Model {
    Model {
        hardware: Hardware::et1100(),
        sii: sii(Hardware::et1100()),
        application: Box::new(Pulses::default()),
    }
}

/// The pulses that a device noted.
fn noted(bench: &mut Bench, id: u16) -> &Pulses {
    let device = bench.segment().device_mut(DeviceId(id)).unwrap();
    let any: &mut dyn std::any::Any = device.application_mut();
    any.downcast_mut::<Pulses>().unwrap()
}

#[test]
fn all_pulse_at_once_a_whole_cycle_ahead_and_by_their_shift() {
    let mut pulsing_segment = Segment::new(3);
    let mut end = End::Main(Side::Primary);
    for (at, drift_ppm) in [(0, 60.0), (1, -40.0), (2, 5.0_f64)] {
        let settings = crate::sim::DeviceSettings {
            drift_ppm,
            clock_start: at,
            ..crate::sim::DeviceSettings::default()
        };
        let id = pulsing_segment.add(pulsing(), settings).unwrap();
        let cable = Cable::default();
        let here = End::Device(id, 0);
        pulsing_segment.connect(end, here, cable).unwrap();
        end = End::Device(id, 1);
    }
    let mut bench = Bench::new(pulsing_segment);
    let (clocks, _) = bench.aligned();
    let (cycle, shift) = (500_000, 100_000);
    let wanted = [
        (Position(0), Sync::sync0(cycle, 0)),
        (Position(1), Sync::sync0(cycle, 0)),
        (Position(2), Sync::sync0(cycle, shift)),
    ];
    let lead = Duration::from_millis(10);
    let start = bench.request(|it, _| start_sync(it, &clocks, &wanted, lead).unwrap());
    let start = start.unwrap();
    assert_eq!(start % u64::from(cycle), 0);
    bench.cycle(&clocks);
    let all: Vec<Vec<(Time, u64)>> = (0..3).map(|id| noted(&mut bench, id).0.clone()).collect();
    assert!(all.iter().all(|it| it.len() > 1_900), "{}", all[0].len());
    assert!(all[0][0].1.abs_diff(start) < 10, "{start}: {:?}", all[0][0]);
    for ((one, two), three) in all[0].iter().zip(&all[1]).zip(&all[2]) {
        assert!(one.0.0.abs_diff(two.0.0) < 1_000, "{one:?} {two:?}");
        let later = three.0.0.abs_diff(one.0.0 + shift as u64);
        assert!(later < 1_000, "{one:?} {three:?}");
    }
}

#[test]
fn a_start_that_would_be_past_is_put_further_ahead() {
    let mut bench = Bench::new(segment(&line(&[500; 20])));
    let (clocks, _) = bench.aligned();
    let wanted: Vec<_> = (0..21)
        .map(|it| (Position(it), Sync::sync0(1_000, 0)))
        .collect();
    // Writing the settings of 21 devices takes longer.
    let lead = Duration::from_micros(2_000);
    let start = bench.request(|it, _| start_sync(it, &clocks, &wanted, lead).unwrap());
    let now = bench.link.port_mut().time();
    let first = bench.segment().device(DeviceId(0)).unwrap();
    assert!(first.system_time(now) < start.unwrap());
    let lead = Duration::from_nanos(1);
    let error = bench.request(|it, _| start_sync(it, &clocks, &wanted, lead).unwrap_err());
    assert!(error.to_string().contains("give them longer"), "{error}");
}

#[test]
fn modes_of_the_sii_become_pulses() {
    let mode = |factor0, factor1, activate| crate::wire::sii::ClockMode {
        factor0,
        factor1,
        activate,
        shift1_ns: 50,
        ..Default::default()
    };
    let of = |it| Sync::of_mode(&it, 1_000);
    assert_eq!(of(mode(0, 0, 0)), None);
    assert_eq!(of(mode(0, 0, 0x0300)), Some(Sync::sync0(1_000, 0)));
    assert_eq!(of(mode(-4, 0, 0x0300)).unwrap().cycle0_ns, 250);
    assert_eq!(of(mode(2, 0, 0x0300)).unwrap().cycle0_ns, 2_000);
    assert_eq!(of(mode(1, 1, 0x0700)).unwrap().sync1_ns, Some(50));
    assert_eq!(of(mode(1, 3, 0x0700)).unwrap().sync1_ns, Some(2_050));
    // The MainDevice's cycle is one of SYNC1, also where four of SYNC0 are in it.
    assert_eq!(of(mode(1, -1, 0x0700)).unwrap().sync1_ns, Some(50));
    assert_eq!(of(mode(-1, -1, 0x0700)).unwrap().sync1_ns, Some(50));
    assert_eq!(of(mode(-4, -1, 0x0700)).unwrap().sync1_ns, Some(800));
    assert_eq!(of(mode(-4, -2, 0x0700)).unwrap().sync1_ns, Some(1_800));
    assert_eq!(of(mode(-4, 2, 0x0700)).unwrap().sync1_ns, Some(300));
    assert_eq!(of(mode(1, 0, 0x0730)).unwrap().control, 0x30);
}

#[test]
fn a_device_that_samples_more_often_gets_sync1_once_a_cycle() {
    let mut segment = Segment::new(3);
    let id = segment
        .add(pulsing(), crate::sim::DeviceSettings::default())
        .unwrap();
    let main = End::Main(Side::Primary);
    segment
        .connect(main, End::Device(id, 0), Cable::default())
        .unwrap();
    let mut bench = Bench::new(segment);
    let (clocks, _) = bench.aligned();
    // Four samples a cycle, and latches that the application controls.
    let mode = crate::wire::sii::ClockMode {
        factor0: -4,
        factor1: -1,
        activate: 0x0730,
        ..Default::default()
    };
    let sync = Sync::of_mode(&mode, 1_000_000).unwrap();
    assert_eq!((sync.cycle0_ns, sync.sync1_ns), (250_000, Some(750_000)));
    let lead = Duration::from_millis(10);
    let wanted = [(Position(0), sync)];
    bench.request(|it, _| start_sync(it, &clocks, &wanted, lead).unwrap());
    bench.cycle(&clocks);
    let (often, seldom) = {
        let noted = noted(&mut bench, 0);
        (noted.0.len(), noted.1)
    };
    assert!(seldom > 100, "{often} {seldom}");
    assert!((4 * seldom).abs_diff(often) <= 4, "{often} {seldom}");
    let mut control = [0];
    let device = bench.segment().device(DeviceId(0)).unwrap();
    device.peek(DC_CYCLIC_CONTROL, &mut control);
    assert_eq!(control, [0x30]);
}

#[test]
fn a_reference_clock_of_32_bits_is_refused_by_name_where_devices_are_to_pulse() {
    let mut bench = Bench::new(segment(&line(&[500, 500])));
    bench.devices[0].features &= !features::DC_64;
    let clocks = bench.measured();
    let wanted = [(Position(2), Sync::sync0(1_000_000, 0))];
    let lead = Duration::from_millis(10);
    let refused = bench.request(|it, _| start_sync(it, &clocks, &wanted, lead));
    let error = refused.unwrap_err();
    assert!(
        matches!(error, SyncError::NarrowReference(Position(0))),
        "{error}"
    );
    let none = bench.request(|it, _| start_sync(it, &clocks, &[], lead));
    assert_eq!(none.unwrap(), None);
}
