#![allow(clippy::unwrap_used, reason = "in a test a panic is the answer")]

use proptest::prelude::*;

use super::*;
use crate::ring::{CaptureClock, RingWriter, Shape};
use crate::server::{CameraServer, OpenSource, ServerOptions, ring_name};
use crate::source::test_pattern::TestPattern;

const MS: Duration = Duration::from_millis(1);
/// A wait that no test reaches.
const TIMEOUT: Duration = Duration::from_secs(60);

fn frames(begins_ms: &[u64]) -> Vec<Candidate> {
    let frame = |(count, ms): (usize, &u64)| {
        let info = FrameInfo {
            capture: Some(MonotonicTime::from_ns(ms * 1_000_000)),
            ..FrameInfo::default()
        };
        (count as u64 + 1, info)
    };
    begins_ms.iter().enumerate().map(frame).collect()
}

fn found(cameras: &[&[u64]], tolerance_ms: u64) -> Result<(u64, u64), Duration> {
    let cameras: Vec<_> = cameras.iter().map(|it| frames(it)).collect();
    let cameras = cameras.iter().map(Vec::as_slice);
    let found = newest_set(&cameras, MS * tolerance_ms as u32)?;
    let skew_ms = found.skew.as_millis() as u64;
    Ok((found.oldest.as_ns() / 1_000_000, skew_ms))
}

#[test]
fn the_newest_set_within_the_tolerance_is_found() {
    // 30 Hz; the second camera is 3 ms late, and its newest has come before the first camera's.
    let (left, right): (&[u64], &[u64]) = (&[0, 33, 67], &[3, 36, 70, 103]);
    assert_eq!(found(&[left, right], 5), Ok((67, 3)));
    assert_eq!(found(&[left, right], 2), Err(3 * MS));
    // A frame of either may be the older one.
    assert_eq!(found(&[&[100], &[98]], 5), Ok((98, 2)));
    assert_eq!(found(&[&[100], &[98], &[101]], 2), Err(3 * MS));
    assert_eq!(found(&[&[100], &[98], &[101]], 3), Ok((98, 3)));
    assert_eq!(found(&[&[100], &[]], 5), Err(Duration::MAX));
    assert_eq!(found(&[&[100, 133]], 0), Ok((133, 0)));
}

proptest! {
    /// The search agrees with a comparison of all sets, also where a camera's clock went back.
    #[test]
    fn no_set_is_overlooked(
        cameras in proptest::collection::vec(proptest::collection::vec(0_u64..60, 0..5), 1..4),
        tolerance in 0_u64..20,
    ) {
        let mut sets = vec![(u64::MAX, 0)];
        for frames in &cameras {
            sets = sets
                .iter()
                .flat_map(|(oldest, newest)| {
                    frames.iter().map(|it| (*oldest.min(it), *newest.max(it)))
                })
                .collect();
        }
        let sets = sets.into_iter().map(|(oldest, newest)| (oldest, newest - oldest));
        let smallest = sets.clone().map(|(_, skew)| MS * skew as u32).min();
        let within = sets.filter(|(_, skew)| *skew <= tolerance);
        let best = within.max_by_key(|(oldest, skew)| (*oldest, std::cmp::Reverse(*skew)));
        let cameras: Vec<_> = cameras.iter().map(Vec::as_slice).collect();
        prop_assert_eq!(found(&cameras, tolerance), best.ok_or(smallest.unwrap_or(Duration::MAX)));
    }
}

/// A camera whose frames the test publishes itself, since its server publishes none.
struct Fed {
    _server: CameraServer,
    ring: RingWriter,
    camera: Option<Camera>,
}

impl Fed {
    fn new(of: &str, first: MonotonicTime) -> Self {
        let name = format!("test-group-{of}-{}", std::process::id());
        let open: OpenSource = Box::new(|| Ok(Box::new(TestPattern::open("test://64x132@0.001")?)));
        let server = CameraServer::start(open, &ServerOptions::new(&name, "test://nothing"));
        let options = OpenOptions {
            layout: "gray".parse().unwrap(),
            timeout: TIMEOUT,
            ..OpenOptions::default()
        };
        let shape = Shape::of(&options.layout, "8x4".parse().unwrap());
        let memory = ring_name(&name, &options.layout);
        let ring = RingWriter::create(&memory, shape, 3, Duration::ZERO).unwrap();
        let mut fed = Self {
            _server: server.unwrap(),
            ring,
            camera: None,
        };
        fed.publish(first, 0);
        fed.camera = Some(Camera::open_with(&name, &options).unwrap());
        fed
    }

    fn publish(&mut self, capture: MonotonicTime, value: u8) {
        self.ring.publish(|bytes| {
            bytes.fill(value);
            Some(FrameInfo {
                capture: Some(capture),
                capture_clock: CaptureClock::Local,
                published: clock::now(),
                ..FrameInfo::default()
            })
        });
    }
}

/// Two cameras whose first frames are old and a second apart.
fn pair(of: &str, tolerance: Duration) -> (Fed, Fed, CameraGroup) {
    let first = [1, 1_000_000_000].map(MonotonicTime::from_ns);
    let mut left = Fed::new(&format!("{of}-left"), first[0]);
    let mut right = Fed::new(&format!("{of}-right"), first[1]);
    let cameras = [&mut left, &mut right].map(|it| it.camera.take().unwrap());
    let group = CameraGroup::new(cameras.into(), tolerance);
    (left, right, group)
}

#[test]
fn a_set_is_given_whole_and_its_frames_are_given_once() {
    let (mut left, mut right, mut group) = pair("whole", 5 * MS);
    let now = clock::now();
    left.publish(now, 1);
    left.publish(now + 33 * MS, 2);
    right.publish(now + 2 * MS, 3);
    let set = group.next(TIMEOUT).unwrap();
    let mut arrays = [vec![0; 32], vec![0; 32]];
    set.copy_to(&mut arrays).unwrap();
    assert_eq!((arrays[0][0], arrays[1][0], set.skew()), (1, 3, 2 * MS));
    // The first frames of both, and the one of the left camera that waits.
    assert_eq!(group.unmatched(), 3);
    let error = group.next(MS).unwrap_err();
    let FrameSetError::Camera { camera, .. } = &error else {
        panic!("{error}");
    };
    assert!(camera.ends_with(&format!("right-{}", std::process::id())));
    right.publish(now + 40 * MS, 4);
    let error = group.next(MS).unwrap_err();
    assert!(
        error.to_string().contains("smallest skew is 7ms"),
        "{error}"
    );
    right.publish(now + 31 * MS, 5);
    let set = group.next(TIMEOUT).unwrap();
    assert_eq!(set.skew(), 2 * MS);
    assert!(set.frames().all(|frame| frame.count() > 1));
    assert_eq!(group.unmatched(), 3);
}

#[test]
fn one_overwritten_frame_makes_the_whole_set_invalid() {
    let (mut left, mut right, mut group) = pair("overwritten", 5 * MS);
    let now = clock::now();
    left.publish(now, 1);
    right.publish(now, 1);
    let set = group.next(TIMEOUT).unwrap();
    assert!(set.is_valid());
    for value in 2..5 {
        right.publish(now, value);
    }
    assert!(!set.is_valid());
    let mut arrays = [vec![0; 32], vec![0; 32]];
    assert_eq!(set.copy_to(&mut arrays), Err(Overwritten));
}

#[test]
fn a_stale_or_mismatched_set_is_an_error_that_says_why() {
    let (mut left, mut right, mut group) = pair("stale", 5 * MS);
    let now = clock::now();
    for camera in [&mut left, &mut right] {
        // Nothing else is left in the ring.
        for value in 0..3 {
            camera.publish(now, value);
        }
    }
    assert_eq!(group.latest(TIMEOUT).unwrap().skew(), Duration::ZERO);
    let error = group.latest(Duration::ZERO).unwrap_err();
    let words = error.to_string();
    assert!(words.contains("0ns is allowed"), "{words}");
    for value in 0..3 {
        right.publish(now + 12 * MS, value);
    }
    let error = group.latest(TIMEOUT).unwrap_err();
    let (tolerance, smallest_skew) = (5 * MS, 12 * MS);
    let expected = FrameSetError::Skewed {
        tolerance,
        smallest_skew,
    };
    assert_eq!(error, expected);
    left.publish(now + 11 * MS, 9);
    assert_eq!(group.latest(TIMEOUT).unwrap().skew(), MS);
}

#[test]
fn a_waiting_reader_is_woken_by_the_frame_that_completes_the_set() {
    let (mut left, mut right, mut group) = pair("woken", 5 * MS);
    let now = clock::now();
    right.publish(now, 1);
    let waiting = std::thread::spawn(move || group.next(TIMEOUT).map(|set| set.skew()));
    left.publish(now + 4 * MS, 1);
    assert_eq!(waiting.join().unwrap(), Ok(4 * MS));
}

#[test]
fn the_newest_set_allocates_nothing() {
    let (mut left, mut right, mut group) = pair("allocates", 5 * MS);
    let mut arrays = [vec![0; 32], vec![0; 32]];
    left.publish(clock::now(), 1);
    right.publish(clock::now(), 1);
    let counted = allocation_counter::measure(|| {
        let set = group.latest(TIMEOUT).unwrap();
        set.copy_to(&mut arrays).unwrap();
    });
    assert_eq!(counted.count_total, 0);
}

#[test]
fn a_camera_that_comes_back_with_another_size_is_followed() {
    let (mut left, right, mut group) = pair("size", 5 * MS);
    let name = group.cameras().nth(1).unwrap().name().to_owned();
    right.ring.replace();
    let layout = "gray".parse().unwrap();
    let memory = ring_name(&name, &layout);
    let shape = Shape::of(&layout, "2x2".parse().unwrap());
    let mut ring = RingWriter::create(&memory, shape, 3, Duration::ZERO).unwrap();
    let now = clock::now();
    left.publish(now, 1);
    ring.publish(|_| {
        let (capture, capture_clock) = (Some(now), CaptureClock::Local);
        Some(FrameInfo {
            capture,
            capture_clock,
            ..FrameInfo::default()
        })
    });
    let set = group.next(TIMEOUT).unwrap();
    let bytes: Vec<_> = set.frames().map(|it| it.shape().bytes()).collect();
    assert_eq!(bytes, [32, 4]);
}
