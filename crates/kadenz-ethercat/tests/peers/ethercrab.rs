//! A session of ethercrab with a humanoid: from INIT to OP with clocks, process data and objects, and its results.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use ethercrab::error::{Error, MailboxError};
use ethercrab::subdevice_group::{DcConfiguration, HasDc, Op, PreOpPdi, SubDeviceGroup};
use ethercrab::{
    DcSync, DefaultLock, MainDevice, MainDeviceConfig, PduLoop, PduRx, PduStorage, PduTx,
    RegisterAddress, RetryBehaviour, SubDeviceState, Timeouts,
};
use kadenz_ethercat::sim::{Passed, Segment, Time};
use kadenz_ethercat::wire::MAX_FRAME;
use kadenz_ethercat::wire::cia402::{Controlword, DriveState, Goal, Statusword};

/// Capacity of ethercrab: devices, and bytes of the process image.
const DEVICES: usize = 128;
const IMAGE: usize = 4096;
/// ethercrab's driver receives no more than an interface's MTU, which does not include the Ethernet header.
const FRAME: usize = PduStorage::element_size(1472);
const CYCLE: Duration = Duration::from_millis(2);

/// Clocks that differ by less are synchronised.
pub(crate) const TOGETHER_NS: u32 = 1_000;
/// The drives' name in their SII.
const DRIVE: &str = "KZ-Drive";
/// Following error time out: an object that may be written and moves nothing.
const WINDOW_TIME: u16 = 0x6066;
/// The travel of a drive: steps, and increments per step.
const STEPS: i32 = 200;
const COUNTS: i32 = 20;

type Storage = PduStorage<16, FRAME>;
type Group = SubDeviceGroup<DEVICES, IMAGE, DefaultLock, Op, HasDc>;

/// Memory of a MainDevice, leaked since it must live until the end of the test.
pub(crate) fn storage() -> &'static Storage {
    Box::leak(Box::new(Storage::new()))
}

/// A wire within this process: a frame of ethercrab passes the segment and returns at once.
pub(crate) struct InProcess {
    tx: PduTx<'static>,
    rx: PduRx<'static>,
    segment: Segment,
    now: Time,
    last: Instant,
}

impl InProcess {
    pub(crate) fn new(tx: PduTx<'static>, rx: PduRx<'static>, segment: Segment) -> Self {
        Self {
            tx,
            rx,
            now: segment.now(),
            segment,
            last: Instant::now(),
        }
    }

    /// The segment's time follows the computer's, except for stalls of the computer, which would trip the devices'
    /// watchdogs.
    fn advance(&mut self) {
        let since = self.last.elapsed();
        self.last += since;
        let ns = since.min(CYCLE / 2).as_nanos() as u64;
        self.now = self.now.after(ns);
        self.segment.advance(self.now);
    }
}

impl Future for InProcess {
    type Output = Seen;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Seen> {
        self.tx.replace_waker(context.waker());
        self.advance();
        while let Some(frame) = self.tx.next_sendable_frame() {
            let mut bytes = [0; MAX_FRAME];
            let length = frame
                .send_blocking(|sent| {
                    bytes[..sent.len()].copy_from_slice(sent);
                    Ok(sent.len())
                })
                .unwrap();
            let now = self.now;
            if let Passed::Returned { length, .. } = self.segment.pass(&mut bytes[..length], now) {
                self.rx.receive_frame(&bytes[..length]).unwrap();
            }
        }
        Poll::Pending
    }
}

/// Runs a session beside the driver of its frames, which never ends by itself.
pub(crate) fn together(
    session: impl Future<Output = Seen>,
    driver: impl Future<Output = Seen>,
) -> Seen {
    async_io::block_on(futures_lite::future::or(session, driver))
}

/// The results of a session.
#[derive(Debug, Default)]
pub(crate) struct Seen {
    pub(crate) devices: usize,
    pub(crate) in_op: usize,
    /// Of a cycle: the working counter, the expected one, and the greatest number of frames.
    pub(crate) working_counter: u16,
    pub(crate) expected: u16,
    pub(crate) frames: u16,
    /// Of a drive, object 0x1018:01.
    pub(crate) vendor: u32,
    /// The value read after a write.
    pub(crate) written_back: u16,
    /// The answer to a read of an object that does not exist.
    pub(crate) refused: String,
    /// The requested travel of a drive, and its actual travel, in increments.
    pub(crate) asked: i32,
    pub(crate) moved: i32,
    /// The greatest difference of a clock to the reference at the end of their alignment.
    pub(crate) greatest_difference_ns: u32,
    /// Register 0x0928 of all devices with clocks.
    pub(crate) delays_ns: Vec<u32>,
}

/// A busy machine answers late, which is not a fault of the code under test.
fn main_device(pdu_loop: PduLoop<'static>) -> MainDevice<'static> {
    MainDevice::new(
        pdu_loop,
        Timeouts {
            state_transition: Duration::from_secs(10),
            pdu: Duration::from_secs(1),
            eeprom: Duration::from_secs(1),
            mailbox_echo: Duration::from_secs(1),
            mailbox_response: Duration::from_secs(5),
            ..Timeouts::default()
        },
        MainDeviceConfig {
            dc_static_sync_iterations: 500,
            retry_behaviour: RetryBehaviour::Count(5),
        },
    )
}

/// Runs the whole session.
pub(crate) async fn session(pdu_loop: PduLoop<'static>) -> Seen {
    let mut seen = Seen::default();
    let main_device = main_device(pdu_loop);
    // A clock of our own: ethercrab's subtracts seconds from nanoseconds.
    let now = || kadenz_rt::clock::now().as_ns();
    let mut group = main_device
        .init_single_group::<DEVICES, IMAGE>(now)
        .await
        .unwrap();
    seen.devices = group.len();
    for mut device in group.iter_mut(&main_device) {
        // A busy computer would trip the watchdogs.
        device.register_write(0x0420_u16, 0_u16).await.unwrap();
        if device.name() == DRIVE {
            device.set_dc_sync(DcSync::Sync0);
        }
    }
    objects(&group, &main_device, &mut seen).await;
    let group = group.into_pre_op_pdi(&main_device).await.unwrap();
    for device in group.iter(&main_device) {
        let (inputs, outputs) = (device.inputs_raw().len(), device.outputs_raw().len());
        seen.expected += u16::from(inputs > 0) + 2 * u16::from(outputs > 0);
        seen.frames += (inputs + outputs) as u16;
    }
    seen.frames = seen.frames / 1400 + 1;
    aligned(&group, &main_device, &mut seen).await;
    let clocks = DcConfiguration {
        start_delay: Duration::from_millis(100),
        sync0_period: CYCLE,
        sync0_shift: CYCLE / 2,
    };
    let group = group.configure_dc_sync(&main_device, clocks).await.unwrap();
    let group = group.into_safe_op(&main_device).await.unwrap();
    let group = group.request_into_op(&main_device).await.unwrap();
    in_op(&group, &main_device, &mut seen).await;
    seen
}

/// Compares and corrects the clocks until they are synchronised.
async fn aligned(
    group: &SubDeviceGroup<DEVICES, IMAGE, DefaultLock, PreOpPdi>,
    main_device: &MainDevice<'static>,
    seen: &mut Seen,
) {
    let until = Instant::now() + Duration::from_secs(20);
    while Instant::now() < until {
        for _ in 0..20 {
            group.tx_rx_sync_system_time(main_device).await.unwrap();
            async_io::Timer::after(Duration::from_millis(1)).await;
        }
        seen.greatest_difference_ns = 0;
        seen.delays_ns.clear();
        for device in group.iter(main_device) {
            let read = |register: RegisterAddress| device.register_read::<u32>(register);
            // Devices without clocks do not answer.
            let Ok(difference) = read(RegisterAddress::DcSystemTimeDifference).await else {
                continue;
            };
            // Sign and magnitude.
            let difference = difference & 0x7FFF_FFFF;
            seen.greatest_difference_ns = seen.greatest_difference_ns.max(difference);
            let delay = read(RegisterAddress::DcSystemTimeTransmissionDelay).await;
            seen.delays_ns.push(delay.unwrap());
        }
        if seen.greatest_difference_ns < TOGETHER_NS {
            return;
        }
    }
}

/// Reads and writes objects of the first drive, and reads one that does not exist.
async fn objects(
    group: &SubDeviceGroup<DEVICES, IMAGE>,
    main_device: &MainDevice<'static>,
    seen: &mut Seen,
) {
    let mut drives = group.iter(main_device).filter(|it| it.name() == DRIVE);
    let drive = drives.next().unwrap();
    seen.vendor = drive.sdo_read(0x1018, 1).await.unwrap();
    drive.sdo_write(WINDOW_TIME, 0, 0x1234_u16).await.unwrap();
    seen.written_back = drive.sdo_read(WINDOW_TIME, 0).await.unwrap();
    seen.refused = match drive.sdo_read::<u32>(0x5FFF, 0).await {
        Err(Error::Mailbox(MailboxError::Aborted { code, .. })) => format!("{code:?}"),
        other => panic!("{other:?}"),
    };
}

/// Enables a drive and moves it, a little further each cycle.
async fn in_op(group: &Group, main_device: &MainDevice<'static>, seen: &mut Seen) {
    let at = group.iter(main_device).position(|it| it.name() == DRIVE);
    let drive = group.subdevice(main_device, at.unwrap()).unwrap();
    let mut drive_word = Controlword(0);
    let (mut start, mut steps) = (0, 0);
    let until = Instant::now() + Duration::from_secs(20);
    while Instant::now() < until && (seen.in_op < seen.devices || steps < 2 * STEPS) {
        let response = group.tx_rx_dc(main_device).await.unwrap();
        seen.working_counter = response.working_counter;
        let states = response.subdevice_states.iter();
        seen.in_op = states.filter(|it| **it == SubDeviceState::Op).count();
        let (status, position) = motion(&drive.inputs_raw());
        let state = status.state();
        drive_word = Goal::Enabled.controlword(state, true, drive_word);
        if state == DriveState::OperationEnabled && seen.in_op == seen.devices {
            steps += 1;
        } else {
            start = position;
        }
        // The drive moves, and then has the same time to come to rest.
        seen.asked = COUNTS * steps.min(STEPS);
        seen.moved = position - start;
        let target = start + seen.asked;
        let mut outputs = drive.outputs_raw_mut();
        outputs[..2].copy_from_slice(&drive_word.0.to_le_bytes());
        outputs[2..6].copy_from_slice(&target.to_le_bytes());
        drop(outputs);
        async_io::Timer::after(response.extra.next_cycle_wait).await;
    }
}

/// Statusword and position of a drive's default process data.
fn motion(inputs: &[u8]) -> (Statusword, i32) {
    let status = u16::from_le_bytes(*inputs.first_chunk().unwrap());
    let position = i32::from_le_bytes(*inputs[2..].first_chunk().unwrap());
    (Statusword(status), position)
}
