//! A loop, its supervisor and a segment, all in one thread and in virtual time.
#![allow(unreachable_pub, reason = "a part of several tests, each a crate")]
#![allow(dead_code, reason = "each test uses its part")]

use std::sync::Arc;
use std::time::Duration;

use kadenz_ethercat::control::inline_loop::InlineLoop;
use kadenz_ethercat::control::notice::Subscription;
use kadenz_ethercat::control::supervisor::{DeviceTable, SegmentSupervisor, Setup};
use kadenz_ethercat::main_device::cycle::Cycle;
use kadenz_ethercat::main_device::device::SubDevice;
use kadenz_ethercat::main_device::exchange::Exchange as _;
use kadenz_ethercat::main_device::link::Link;
use kadenz_ethercat::port::Side;
use kadenz_ethercat::sim::WirePort;
use kadenz_ethercat::sim::fault::{Fault, WireFault};
use kadenz_ethercat::sim::{DeviceId, Segment};

/// Longer than any wait of a test, in the segment's time.
const LONG: Duration = Duration::from_secs(10);

/// A loop of 1 ms, its supervisor, and the supervisor's notices.
pub struct Rig {
    pub inline_loop: InlineLoop<WirePort>,
    pub supervisor: SegmentSupervisor,
    pub device_table: Arc<DeviceTable>,
    pub notices: Subscription,
}

impl Rig {
    /// A rig of devices in SAFEOP; `set_up` runs for each device that comes back.
    pub fn of(
        link: Link<WirePort>,
        cycle: Cycle,
        devices: Vec<SubDevice>,
        set_up: Option<Setup>,
    ) -> Self {
        let layout = cycle.layout().clone();
        let inline_loop = InlineLoop::new(link, cycle, Duration::from_millis(1));
        let mut supervisor = SegmentSupervisor::new(devices, &layout, inline_loop.health());
        if let Some(set_up) = set_up {
            supervisor = supervisor.with_setup(set_up);
        }
        Self {
            device_table: supervisor.device_table(),
            notices: supervisor.notices().subscribe(10_000),
            inline_loop,
            supervisor,
        }
    }

    pub fn is_well(&self) -> bool {
        self.device_table.is_well() && self.inline_loop.health().snapshot().is_whole
    }
}

impl Tended for Rig {
    fn hands(&mut self) -> (&mut InlineLoop<WirePort>, &mut SegmentSupervisor) {
        (&mut self.inline_loop, &mut self.supervisor)
    }
}

/// An owner of a loop and its supervisor, which a test runs by turns.
pub trait Tended {
    fn hands(&mut self) -> (&mut InlineLoop<WirePort>, &mut SegmentSupervisor);

    /// Runs one step of the supervisor and its pause.
    fn step(&mut self) {
        let (inline_loop, supervisor) = self.hands();
        let pause = supervisor.step(inline_loop).unwrap();
        inline_loop.pause(pause);
    }

    fn run(&mut self, span: Duration) {
        let end = self.hands().0.now() + span;
        while self.hands().0.now() < end {
            self.step();
        }
    }

    /// Runs until a condition holds; returns how long this took.
    fn until(&mut self, what: &str, is_so: impl Fn(&Self) -> bool) -> Duration
    where
        Self: Sized,
    {
        let start = self.hands().0.now();
        loop {
            self.step();
            let took = Duration::from_nanos(self.hands().0.now().since(start) as u64);
            if is_so(self) {
                return took;
            }
            if took >= LONG {
                let mut all = self.hands().1.device_table().all();
                all.retain(|it| !it.is_well());
                panic!("{what}: not well are {all:#?}");
            }
        }
    }

    fn segment(&mut self) -> &mut Segment {
        self.hands().0.link_mut().port_mut().segment_mut()
    }

    fn device(&mut self, position: usize) -> DeviceId {
        self.segment().positions(Side::Primary)[position]
    }

    fn inject(&mut self, fault: WireFault) {
        let now = self.hands().0.link_mut().port_mut().time();
        self.segment().inject(Fault::Wire(fault), now);
    }
}
