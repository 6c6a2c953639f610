use super::super::ObjectError;
use super::super::batch::MAX;
use super::*;
use crate::main_device::bring_up::{find, prepare};
use crate::main_device::clocks::{self, Epoch};
use crate::main_device::device::SubDevice;
use crate::main_device::exchange::{BlockingExchange, RetryPolicy};
use crate::main_device::link::Link;
use crate::main_device::sdo::{self, SdoError};
use crate::main_device::states;
use crate::port::Side;
use crate::sim::DeviceId;
use crate::sim::WirePort;
use crate::sim::fault::{Fault, WireFault};
use crate::sim::humanoid::humanoid;
use crate::wire::Command;
use crate::wire::coe::Address;
use crate::wire::register::{SYNC_MANAGER, SYNC_MANAGER_SIZE};
use crate::wire::sii::Mailboxes;
use crate::wire::sync_manager;

const MS: Duration = Duration::from_millis(1);
const EMERGENCY: u16 = 0x4310;

/// That many devices of the humanoid in PREOP.
fn found(devices: usize) -> (Link<WirePort>, Vec<SubDevice>) {
    let mut link = Link::new(WirePort::new(humanoid(devices).build().unwrap()), 1);
    let found = find(&mut Registers::by(&mut waiting(&mut link))).unwrap();
    (link, found)
}

fn waiting(link: &mut Link<WirePort>) -> BlockingExchange<'_, WirePort> {
    BlockingExchange::over(link)
}

fn drives(devices: &[SubDevice]) -> Vec<usize> {
    let is_drive = |it: &usize| devices[*it].name == "KZ-Drive";
    (0..devices.len()).filter(is_drive).collect()
}

/// Asks a drive for its name, and then for the rest of its messages.
fn ask_for_its_name(
    device: &mut SubDevice,
    registers: &mut Registers<'_>,
) -> Result<(), ConfigureError> {
    let mut mail = device.mail().map_err(SdoError::from)?;
    let name = sdo::read(registers, &mut mail, Address::new(0x1008, 0), false)?;
    assert_eq!(name, b"KZ-Drive");
    mail.drain(registers).map_err(SdoError::from)?;
    Ok(())
}

/// Sets up all devices side by side.
fn set_up(
    pool: &mut SetupPool,
    exchange: &mut dyn Exchange,
    devices: &[usize],
    frame_bytes: usize,
) {
    let mut left = devices.to_vec();
    let end = exchange.now() + MS * 10_000;
    while !left.is_empty() {
        left.retain(|device| match pool.progress(*device) {
            SetupProgress::Done => false,
            SetupProgress::UnderWay => true,
            SetupProgress::Failed(error) => panic!("device {device}: {error}"),
        });
        pool.serve(exchange, (MS * 10, MS * 40), frame_bytes)
            .unwrap();
        assert!(exchange.now() < end, "{left:?} take forever");
    }
}

/// A way that loses the first answer of one device's mailbox, behind which an emergency lies by then.
struct Unlucky<'l> {
    inner: BlockingExchange<'l, WirePort>,
    device: DeviceId,
    station: u16,
    mailboxes: Mailboxes,
    failed: bool,
    lost: u32,
    repeats: u32,
}

impl Exchange for Unlucky<'_> {
    fn exchange(&mut self, frame: &mut FrameBuffer) -> ExchangeResult {
        RetryPolicy::default().exchange(self, frame)
    }

    fn exchange_once(&mut self, frame: &mut FrameBuffer) -> ExchangeResult<bool> {
        let repeat = SYNC_MANAGER + SYNC_MANAGER_SIZE + sync_manager::ACTIVATE;
        let mut answer = frame.clone();
        let mut came = self.inner.exchange_once(&mut answer)?;
        for it in Datagrams::of(answer.bytes())?.map(Result::unwrap) {
            if it.address.device() != self.station {
                continue;
            }
            let register = it.address.register();
            match it.command {
                Command::Fpwr if register == repeat => self.repeats += 1,
                Command::Fpwr if register == self.mailboxes.receive.start && !self.failed => {
                    self.failed = true;
                    let port = self.inner.link.port_mut();
                    let fail = Fault::Wire(WireFault::Fail(self.device, EMERGENCY));
                    let now = port.time();
                    port.segment_mut().inject(fail, now);
                }
                Command::Fprd
                    if register == self.mailboxes.send.start
                        && it.working_counter == 1
                        && self.lost == 0 =>
                {
                    self.lost += 1;
                    came = false;
                }
                _ => {}
            }
        }
        if came {
            frame.replace(answer.bytes());
        }
        Ok(came)
    }

    fn pause(&mut self, span: Duration) {
        self.inner.pause(span);
    }

    fn now(&self) -> MonotonicTime {
        self.inner.now()
    }
}

#[test]
fn an_answer_that_got_lost_is_asked_for_again_though_an_emergency_lies_behind_it() {
    let (mut link, devices) = found(12);
    let all = drives(&devices);
    let one = all[1];
    let (station, mailboxes) = (devices[one].station.0, devices[one].mailboxes);
    let device = link.port_mut().segment_mut().positions(Side::Primary)[one];
    let device_table = Arc::new(DeviceTable::new(devices));
    let mut pool = SetupPool::new(Arc::clone(&device_table), Some(Box::new(ask_for_its_name)));
    let mut exchange = Unlucky {
        inner: waiting(&mut link),
        device,
        station,
        mailboxes,
        failed: false,
        lost: 0,
        repeats: 0,
    };
    set_up(&mut pool, &mut exchange, &all, MAX);
    assert_eq!((exchange.lost, exchange.repeats), (1, 1));
    let emergencies = device_table.with(one, |it| std::mem::take(&mut it.emergencies));
    let codes: Vec<_> = emergencies.unwrap().iter().map(|it| it.code).collect();
    assert_eq!(codes, [EMERGENCY]);
}

/// The datagrams of a frame: command, register, and number of bytes of each.
type Sent = Vec<(Command, u16, usize)>;

fn length(frame: &Sent) -> usize {
    frame.iter().map(|it| it.2).sum()
}

/// A way that remembers the frames sent.
struct Watching<'l> {
    inner: BlockingExchange<'l, WirePort>,
    frames: Vec<Sent>,
}

impl<'l> Watching<'l> {
    fn over(link: &'l mut Link<WirePort>) -> Self {
        Self {
            inner: waiting(link),
            frames: Vec::new(),
        }
    }
}

impl Exchange for Watching<'_> {
    fn exchange(&mut self, frame: &mut FrameBuffer) -> ExchangeResult {
        RetryPolicy::default().exchange(self, frame)
    }

    fn exchange_once(&mut self, frame: &mut FrameBuffer) -> ExchangeResult<bool> {
        let all = Datagrams::of(frame.bytes())?.map(Result::unwrap);
        let all = all.map(|it| {
            let bytes = it.data.len() + DATAGRAM_OVERHEAD;
            (it.command, it.address.register(), bytes)
        });
        self.frames.push(all.collect());
        self.inner.exchange_once(frame)
    }

    fn pause(&mut self, span: Duration) {
        self.inner.pause(span);
    }

    fn now(&self) -> MonotonicTime {
        self.inner.now()
    }
}

#[test]
fn receive_times_are_taken_by_a_frame_that_carries_nothing_else() {
    let (mut link, mut devices) = found(12);
    let mut exchange = waiting(&mut link);
    let mut registers = Registers::by(&mut exchange);
    prepare(&mut registers, &mut devices, None).unwrap();
    let settings = clocks::ClockSettings::default();
    let clocks = clocks::measure(&mut registers, &devices, &settings).unwrap();
    clocks.set(&mut registers, Epoch::Own).unwrap();
    let all = drives(&devices);
    assert!(all.len() >= 4);
    let set_again: Setup = Box::new(move |device, registers| {
        // No two devices are at the same question.
        for _ in 0..device.position.0 {
            states::read(registers, device.target())?;
        }
        let set = clocks.set_again(registers, device.position);
        set.map_err(|error| ConfigureError::Setup(error.into()))
    });
    let mut pool = SetupPool::new(Arc::new(DeviceTable::new(devices)), Some(set_again));
    let mut exchange = Watching::over(&mut link);
    set_up(&mut pool, &mut exchange, &all, MAX);
    let takes_times = |frame: &&Sent| {
        let mut all = frame.iter();
        all.any(|it| (it.0, it.1) == (Command::Bwr, DC_RECEIVE_TIME))
    };
    let taking: Vec<_> = exchange.frames.iter().filter(takes_times).collect();
    assert_eq!(taking.len(), all.len());
    assert!(taking.iter().all(|it| it.len() == 1), "{taking:?}");
    assert!(
        exchange.frames.iter().any(|it| it.len() > 1),
        "side by side"
    );
}

#[test]
fn a_frame_is_as_long_as_it_may_be_but_for_a_question_that_is_longer_alone() {
    for most in [100, 350, 1_000] {
        let (mut link, devices) = found(59);
        let all = drives(&devices);
        let device_table = Arc::new(DeviceTable::new(devices));
        let mut pool = SetupPool::new(device_table, Some(Box::new(ask_for_its_name)));
        let mut exchange = Watching::over(&mut link);
        set_up(&mut pool, &mut exchange, &all, most);
        let is_so = |it: &Sent| it.len() == 1 || length(it) <= most;
        assert!(exchange.frames.iter().all(is_so));
        let longest = exchange.frames.iter().map(length).max().unwrap();
        assert!(longest > most * 2 / 3, "{longest} bytes of {most}");
    }
}

/// A way on which no SubDevice is asked.
struct Nobody;

impl Exchange for Nobody {
    fn exchange(&mut self, _: &mut FrameBuffer) -> ExchangeResult {
        Err(ExchangeError::Ended)
    }

    fn pause(&mut self, _: Duration) {}

    fn now(&self) -> MonotonicTime {
        MonotonicTime::from_ns(0)
    }
}

fn is_refused(device_table: &DeviceTable) -> bool {
    let asked = device_table.read_object(&mut Nobody, 0, Address::new(0x1000, 0));
    matches!(asked, Err(ObjectError::SetUp(0)))
}

#[test]
fn a_set_up_begins_when_the_device_is_free_and_then_reserves_it() {
    let (mut link, devices) = found(1);
    let device_table = Arc::new(DeviceTable::new(devices));
    let mut pool = SetupPool::new(Arc::clone(&device_table), Some(Box::new(|_, _| Ok(()))));
    assert!(!is_refused(&device_table));
    device_table
        .with(0, |_| {
            for _ in 0..10 {
                assert!(matches!(pool.progress(0), SetupProgress::UnderWay));
                assert!(pool.is_idle(), "a thread began for nothing");
            }
            assert!(is_refused(&device_table));
        })
        .unwrap();
    set_up(&mut pool, &mut waiting(&mut link), &[0], 100);
    assert!(!is_refused(&device_table));
    device_table
        .with(0, |_| {
            pool.progress(0);
            pool.cancel(0);
        })
        .unwrap();
    assert!(!is_refused(&device_table), "it is to be elsewhere");
}

#[test]
fn a_waiting_caller_is_refused_when_the_set_up_begins() {
    let (_, devices) = found(1);
    let device_table = Arc::new(DeviceTable::new(devices));
    let (sender, receiver) = sync_channel(1);
    let asking = Arc::clone(&device_table);
    device_table
        .with(0, |_| {
            std::thread::spawn(move || sender.send(is_refused(&asking)));
            // Time for the other to begin to wait; one that comes later is refused as well.
            std::thread::sleep(MS * 50);
            device_table.set_up(0, true);
            let refused = receiver.recv_timeout(Duration::from_secs(10));
            assert_eq!(refused, Ok(true));
        })
        .unwrap();
}
