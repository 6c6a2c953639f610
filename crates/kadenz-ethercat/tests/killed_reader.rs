//! A process that is killed in the middle of reading the loop's process image leaves the loop as it is.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "in a test a panic is the answer")]
#![allow(
    clippy::print_stdout,
    reason = "the reader tells its parent where it is"
)]

mod prepared;

use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use kadenz_ethercat::control::cyclic::{
    CycleImage, EndedBy, Loop, LoopSettings, SeqlockPublisher, VirtualTime,
};
use kadenz_ethercat::control::process_image::{LoadWords, Reader};
use kadenz_ethercat::main_device::acyclic::AcyclicQueue;
use kadenz_ethercat::main_device::link::Link;
use kadenz_ethercat::sim::WirePort;
use kadenz_rt::shared::{Owner, Viewer};

use prepared::prepared;

/// The environment variable that names the process image for this program when it runs as a reader.
const IMAGE: &str = "KADENZ_TEST_IMAGE";
/// The number of word loads after which the reader stops, in the middle of a copy.
const MIDDLE: u64 = 60;

/// A process image whose reader stops in the middle of a read.
struct Standing {
    viewer: Viewer,
    loads: AtomicU64,
}

impl LoadWords for Standing {
    fn count(&self) -> usize {
        self.viewer.count()
    }

    fn load(&self, place: usize, order: Ordering) -> u64 {
        if self.loads.fetch_add(1, Ordering::Relaxed) == MIDDLE {
            println!("in the middle");
            loop {
                std::thread::park();
            }
        }
        self.viewer.load(place, order)
    }
}

/// Not a test: the process that the test below starts.
#[test]
fn reader() {
    let Ok(name) = std::env::var(IMAGE) else {
        return;
    };
    let standing = Standing {
        viewer: Viewer::open(&name).unwrap(),
        loads: AtomicU64::new(0),
    };
    let reader = Reader::of(Box::new(standing)).unwrap();
    let mut image = vec![0; reader.bytes()];
    let read = reader.read(&mut image);
    panic!("it came through: {read:?}");
}

/// Starts a process; returns once it is in the middle of a read.
fn start_reader(name: &str) -> Child {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "reader", "--nocapture"])
        .env(IMAGE, name)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let is_reading = lines
        .map_while(Result::ok)
        .any(|it| it.ends_with("in the middle"));
    assert!(is_reading, "it ended before");
    child
}

/// Waits until the loop has published `more` more cycles.
fn await_images(reader: &Reader<Box<Viewer>>, more: u64) {
    let (start, end) = (reader.images(), Instant::now() + Duration::from_secs(30));
    while reader.images() < start + more {
        assert!(Instant::now() < end, "the loop stands");
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// Runs the loop, which publishes on the process image, until it is stopped.
fn run_loop(
    owner: &Owner,
    link: &mut Link<WirePort>,
    cycle: &mut kadenz_ethercat::main_device::cycle::Cycle,
    stop: &AtomicBool,
) {
    let mut publisher = SeqlockPublisher::begin(owner.words(), cycle.layout()).unwrap();
    let queue = AcyclicQueue::default();
    let mut bus = Loop::new(link, cycle, &queue, stop);
    let settings = LoopSettings::every(Duration::from_millis(1)).unwrap();
    let ended = bus.run(&settings, &mut VirtualTime, &mut (), &mut publisher);
    assert_eq!(ended.by, EndedBy::Flag);
}

#[test]
fn a_reader_killed_in_the_middle_of_a_read_leaves_the_loop_as_it_is() {
    let (mut link, mut cycle, ()) = prepared(59, |_, _| ());
    let name = format!("kadenz-killed-{}", std::process::id());
    let owner = Owner::create(&name, SeqlockPublisher::words(cycle.layout())).unwrap();
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| run_loop(&owner, &mut link, &mut cycle, &stop));
        let watch = || {
            let viewer = Box::new(Viewer::open(&name).unwrap());
            let end = Instant::now() + Duration::from_secs(30);
            let reader = loop {
                // There is no process image before the loop's thread has begun.
                match Reader::of(Box::new(Viewer::open(&name).unwrap())) {
                    Ok(reader) => break reader,
                    Err(error) => assert!(Instant::now() < end, "{error}"),
                }
            };
            assert!(viewer.owner_lives());
            for _ in 0..5 {
                await_images(&reader, 1);
                let mut child = start_reader(&name);
                await_images(&reader, 100);
                // SIGKILL.
                child.kill().unwrap();
                child.wait().unwrap();
                await_images(&reader, 100);
            }
            let mut image = vec![0; reader.bytes()];
            while reader.read(&mut image).is_err() {
                assert!(
                    Instant::now() < end + Duration::from_secs(60),
                    "never whole"
                );
            }
            assert!(CycleImage::of(&image).unwrap().header.number > 1_000);
        };
        let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(watch));
        stop.store(true, Ordering::Relaxed);
        if let Err(panic) = outcome {
            std::panic::resume_unwind(panic);
        }
    });
}
