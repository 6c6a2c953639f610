//! No code that runs in a loop allocates once it has been made.
#![allow(unsafe_code)]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::thread;
use std::time::Duration;

use kadenz_rt::beat::{Beat, Rate};
use kadenz_rt::clock::{self, ClockKind, WallBridge, now};
use kadenz_rt::net::port::{Inbox, Outbox, PortOptions, Stamping, UdpPort, Wait};
use kadenz_rt::sleep::{self, SleeperKind, SleeperOptions};

/// The system's allocator, which counts the calls of each thread.
struct Counting;

thread_local! {
    static CALLS: Cell<u64> = const { Cell::new(0) };
}

fn count() {
    // Ending threads may allocate after their counter has gone.
    let _ = CALLS.try_with(|calls| calls.set(calls.get() + 1));
}

// SAFETY: every call is forwarded unchanged to the system's allocator; counting touches a thread-local cell that
// needs no allocation.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count();
        // SAFETY: the caller keeps the contract of `alloc`.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        count();
        // SAFETY: the caller keeps the contract of `dealloc`.
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, new_size: usize) -> *mut u8 {
        count();
        // SAFETY: the caller keeps the contract of `realloc`.
        unsafe { System.realloc(pointer, layout, new_size) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Calls to the allocator, frees included, that `work` makes on this thread.
fn allocator_calls(work: impl FnOnce()) -> u64 {
    let before = CALLS.get();
    work();
    CALLS.get() - before
}

#[test]
fn the_counter_counts() {
    assert_eq!(
        allocator_calls(|| drop(std::hint::black_box(Box::new(1)))),
        2
    );
}

#[test]
fn clocks_do_not_allocate() {
    for kind in ClockKind::ALL {
        let Ok(clock) = clock::open(kind) else {
            continue;
        };
        let calls = allocator_calls(|| {
            for _ in 0..1_000 {
                let deadline = clock.now() + Duration::from_millis(1);
                std::hint::black_box(clock.to_sleep_clock(deadline));
            }
            std::hint::black_box(clock::measure(clock.as_ref()));
        });
        assert_eq!(calls, 0, "{kind}");
    }
}

#[test]
fn sleepers_on_a_beat_do_not_allocate() {
    let rate: Rate = "3kHz".parse().unwrap();
    for kind in SleeperKind::available() {
        let mut sleeper = sleep::open(kind, SleeperOptions::default()).unwrap();
        // Made here, used on another thread from its first cycle on.
        let calls = thread::spawn(move || {
            allocator_calls(|| {
                let mut beat = Beat::at(now(), rate.interval());
                for _ in 0..100 {
                    sleeper.sleep_until(beat.next());
                    std::hint::black_box(now().since(beat.current()));
                }
                sleeper.sleep_for(Duration::from_micros(10));
                sleeper.sleep_until(beat.start());
                beat.skip_to(now());
            })
        });
        assert_eq!(calls.join().unwrap(), 0, "{kind}");
    }
}

#[test]
fn a_udp_port_and_its_bridge_do_not_allocate() {
    let wish = PortOptions {
        receive_stamps: Stamping::Software,
        transmit_stamps: Stamping::Software,
        transmit_stamps_kept: 64,
        ..PortOptions::default()
    };
    let mut device = UdpPort::open(&wish).unwrap();
    let mut port = UdpPort::open(&PortOptions {
        peer: Some(device.local_address()),
        ..wish
    })
    .unwrap();
    let mut inbox = Inbox::new(8, 256);
    let mut outbox = Outbox::new(4, 256);
    for _ in 0..4 {
        outbox
            .push(b"a beat's probes", device.local_address())
            .unwrap();
    }
    let waker = device.waker();
    let mut bridge = WallBridge::new();
    let calls = allocator_calls(|| {
        for beat in 0..200_u8 {
            outbox.bytes_mut(0).unwrap()[0] = beat;
            port.send_batch(&mut outbox);
            std::hint::black_box(port.send(&[beat; 18]).is_ok());
            let wait = Wait::Until(now() + Duration::from_secs(30));
            std::hint::black_box(device.receive_batch(&mut inbox, wait).is_ok());
            for datagram in inbox.datagrams() {
                let stamp = datagram.stamps.software;
                std::hint::black_box(stamp.and_then(|stamp| bridge.translate(stamp)));
                std::hint::black_box(device.send_to(datagram.bytes, datagram.from).is_ok());
            }
            std::hint::black_box(port.receive_batch(&mut inbox, Wait::Poll).is_ok());
            std::hint::black_box(port.transmit_stamps().count());
            std::hint::black_box(port.network_errors().count());
            std::hint::black_box(device.dropped());
            // Refused, woken, timed out: the rarely taken return paths.
            std::hint::black_box(port.send(&TOO_LONG).is_err());
            waker.wake();
            std::hint::black_box(device.receive_batch(&mut inbox, Wait::Forever).is_ok());
            let soon = Wait::Until(now() + Duration::from_micros(50));
            std::hint::black_box(device.receive_batch(&mut inbox, soon).is_ok());
            bridge.observe();
        }
    });
    assert_eq!(calls, 0);
}

/// A byte more than UDP carries over IPv4.
static TOO_LONG: [u8; 65_508] = [0; 65_508];

#[cfg(target_os = "linux")]
#[test]
fn the_pi_mutex_does_not_allocate() {
    let mutex = kadenz_rt::pi_mutex::PiMutex::new(0_u64).unwrap();
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                let calls = allocator_calls(|| {
                    for _ in 0..10_000 {
                        *mutex.lock() += 1;
                    }
                });
                assert_eq!(calls, 0);
            });
        }
    });
}
