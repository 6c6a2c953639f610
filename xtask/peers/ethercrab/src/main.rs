//! ethercrab by itself: all devices to SAFEOP, then their process data on every beat, by one of its drivers:
//! `std` (async-io) or `io-uring`, each on a thread of its own, as its examples run them.

#[path = "../../common/exchange.rs"]
mod exchange;

use std::process::ExitCode;
use std::time::Duration;

use ethercrab::std::{tx_rx_task, tx_rx_task_io_uring};
use ethercrab::{MainDevice, MainDeviceConfig, PduLoop, PduStorage, Timeouts};

const DEVICES: usize = 128;
const IMAGE: usize = 4096;
const FRAME: usize = PduStorage::element_size(1472);

static STORAGE: PduStorage<16, FRAME> = PduStorage::new();

async fn session(pdu_loop: PduLoop<'static>, count: i64, interval_ns: i64) {
    let timeouts = Timeouts {
        pdu: Duration::from_millis(100),
        state_transition: Duration::from_secs(10),
        mailbox_response: Duration::from_secs(5),
        ..Timeouts::default()
    };
    let config = MainDeviceConfig { dc_static_sync_iterations: 0, ..MainDeviceConfig::default() };
    let main_device = MainDevice::new(pdu_loop, timeouts, config);
    let group = main_device.init_single_group::<DEVICES, IMAGE>(|| 0).await.expect("devices");
    let group = group.into_safe_op(&main_device).await.expect("SAFEOP");
    let expected: u16 = group
        .iter(&main_device)
        .map(|it| u16::from(!it.inputs_raw().is_empty()) + 2 * u16::from(!it.outputs_raw().is_empty()))
        .sum();
    let main_device = &main_device;
    exchange::exchange_all(group.len(), count, interval_ns, || {
        let response = futures_lite::future::block_on(group.tx_rx(main_device));
        // ethercrab cuts the image where a frame is full, so a device may count in two frames.
        response.is_ok_and(|it| it.working_counter >= expected)
    });
}

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let number = |at: usize| words.get(at).and_then(|it| it.parse::<i64>().ok());
    let (Some(interface), Some(count), Some(interval_ns), Some(driver)) =
        (words.first(), number(1), number(2), words.get(3))
    else {
        eprintln!("usage: peer INTERFACE COUNT INTERVAL_NS std|io-uring");
        return ExitCode::from(2);
    };
    let (tx, rx, pdu_loop) = STORAGE.try_split().expect("once");
    // Threads inherit the scheduling policy.
    if driver == "std" {
        let task = tx_rx_task(interface, tx, rx).expect("an interface");
        std::thread::spawn(move || async_io::block_on(task).map(drop));
    } else {
        let interface = interface.clone();
        std::thread::spawn(move || tx_rx_task_io_uring(&interface, tx, rx).map(drop));
    }
    async_io::block_on(session(pdu_loop, count, interval_ns));
    ExitCode::SUCCESS
}
