//! Kadenz's own MainDevice: all devices to SAFEOP, then their process data on every beat, by one thread that waits for
//! the answers in the kernel (`blocking`), polls for them (`spinning`), or fetches them on the next beat (`pipelined`).
//! `floor` exchanges nothing: it shows the lateness of the machine itself.

#[path = "../../common/exchange.rs"]
mod exchange;

use std::process::ExitCode;
use std::time::Duration;

use kadenz_ethercat::main_device::bring_up::{find, prepare};
use kadenz_ethercat::main_device::exchange::{RetryPolicy, Registers, BlockingExchange};
use kadenz_ethercat::main_device::link::Link;
use kadenz_ethercat::main_device::acyclic::AcyclicQueue;
use kadenz_ethercat::port::{self, InterfacePort};

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let number = |at: usize| words.get(at).and_then(|it| it.parse::<i64>().ok());
    let (Some(interface), Some(count), Some(interval_ns), Some(waiting)) =
        (words.first(), number(1), number(2), words.get(3))
    else {
        eprintln!("usage: peer INTERFACE COUNT INTERVAL_NS blocking|spinning|pipelined|floor");
        return ExitCode::from(2);
    };
    let mode = waiting.as_str();
    let waiting = match mode {
        "spinning" => port::WaitMode::Spinning,
        _ => port::WaitMode::Blocking,
    };
    let mut link = Link::new(InterfacePort::open(interface, waiting).expect("an interface"), 1);
    let mut exchange = BlockingExchange {
        link: &mut link,
        retry: RetryPolicy { answer: Duration::from_millis(500), tries: 20 },
    };
    let mut registers = Registers::by(&mut exchange);
    let mut devices = find(&mut registers).expect("devices");
    let mut cycle = prepare(&mut registers, &mut devices, None).expect("SAFEOP");
    let queue = AcyclicQueue::default();
    exchange::exchange_all(devices.len(), count, interval_ns, || match mode {
        "floor" => true,
        "pipelined" => {
            cycle.receive(&mut link, &queue);
            let before = cycle.finish(&mut link);
            cycle.send(&mut link);
            before.is_whole()
        }
        _ => {
            let latest = link.now() + Duration::from_millis(100);
            cycle.exchange(&mut link, &queue, latest).is_whole()
        }
    });
    ExitCode::SUCCESS
}
