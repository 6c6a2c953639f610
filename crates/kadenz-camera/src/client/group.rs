//! Several cameras, of which a program wants frames of the same time: [`CameraGroup`].

use std::time::Duration;

use kadenz_rt::clock::{self, MonotonicTime};

use super::{Camera, FrameError, OpenCameraError, OpenOptions, POLL_INTERVAL};
use crate::ring::{Frame, FrameInfo, MAX_SLOTS, Overwritten};

/// How often the search for a set is repeated because a writer overwrote one of its frames.
const MAX_ATTEMPTS: usize = 4;
/// The longest wait for a frame before the group looks at all cameras again.
const MAX_WAIT: Duration = Duration::from_millis(100);

/// Why there is no set of frames.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FrameSetError {
    /// A camera has no frame for it.
    #[error("camera `{camera}`: {error}")]
    Camera {
        /// The camera's name or URL.
        camera: String,
        /// Why it has none.
        error: FrameError,
    },
    /// The cameras have frames, and no set of them lies within the tolerance.
    #[error(
        "no frames of all cameras lie within {tolerance:?} of one another, the smallest skew is {smallest_skew:?}; trigger \
         the cameras by one signal, or allow a larger tolerance"
    )]
    Skewed {
        /// The tolerance that the caller gave.
        tolerance: Duration,
        /// The smallest skew of a set of frames that may be given.
        smallest_skew: Duration,
    },
    /// The writers overwrote the set before it could be returned.
    #[error(transparent)]
    Overwritten(#[from] Overwritten),
}

/// Several cameras, of which a program wants frames that were taken at the same time: a stereo pair, or more.
///
/// The times that are compared are those at which the frames were taken, or else at which their first bytes came. A
/// tolerance of at most half the interval between frames pairs each frame with one only. As message_filters'
/// `ApproximateTime` of ROS, but it gives the newest set in place of all of them.
///
/// ```no_run
/// use std::time::Duration;
/// use kadenz_camera::CameraGroup;
///
/// let mut stereo = CameraGroup::open(&["left", "right"], Duration::from_millis(5))?;
/// let set = stereo.latest(Duration::from_millis(50))?;
/// let mut pictures: Vec<_> = set.frames().map(|frame| vec![0; frame.shape().bytes()]).collect();
/// set.copy_to(&mut pictures)?;
/// println!("{:?} apart, {:?} old", set.skew(), set.age());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Real-time safety
/// [`CameraGroup::latest`] is for a loop while frames come, as stated there. [`CameraGroup::next`] waits. Making a
/// group allocates. The other methods neither allocate, lock nor call the system.
#[derive(Debug)]
pub struct CameraGroup {
    members: Vec<Member>,
    tolerance: Duration,
    /// Number of frames that the group has returned.
    given: u64,
}

/// A camera among others.
#[derive(Debug)]
struct Member {
    camera: Camera,
    /// Frames that may go into a set.
    candidates: Vec<Candidate>,
    /// The one among them that was chosen last.
    chosen: Candidate,
    /// The number of frames in its ring at the last look.
    seen: u64,
    /// The last frame of its ring that the group has returned.
    given: u64,
    /// Frames published before the group counts: in its first ring those before this one, in later rings none.
    begin: u64,
    replaced: u64,
}

/// A frame's count in its ring, and its information.
type Candidate = (u64, FrameInfo);

impl From<Camera> for CameraGroup {
    /// A group of one camera, whose frames lie within any tolerance.
    fn from(camera: Camera) -> Self {
        Self::new(vec![camera], Duration::ZERO)
    }
}

impl CameraGroup {
    /// Opens cameras by their names or URLs, as [`Camera::open`] does.
    ///
    /// # Errors
    /// [`OpenCameraError`] of the first that cannot be opened.
    ///
    /// # Panics
    /// Without a camera.
    pub fn open(names_or_urls: &[&str], tolerance: Duration) -> Result<Self, OpenCameraError> {
        Self::open_with(names_or_urls, tolerance, &OpenOptions::default())
    }

    /// Opens cameras in a layout of your choice.
    ///
    /// # Errors
    /// [`OpenCameraError`] of the first that cannot be opened.
    ///
    /// # Panics
    /// Without a camera.
    pub fn open_with(
        names_or_urls: &[&str],
        tolerance: Duration,
        options: &OpenOptions,
    ) -> Result<Self, OpenCameraError> {
        let opened = names_or_urls
            .iter()
            .map(|camera| Camera::open_with(camera, options));
        Ok(Self::new(opened.collect::<Result<_, _>>()?, tolerance))
    }

    /// Groups cameras that are already open, each in a layout of its own.
    ///
    /// # Panics
    /// Without a camera.
    #[must_use]
    pub fn new(cameras: Vec<Camera>, tolerance: Duration) -> Self {
        assert!(!cameras.is_empty(), "a group has a camera at least");
        let member = |camera: Camera| {
            let before = camera.ring.newest().saturating_sub(1);
            Member {
                camera,
                candidates: Vec::with_capacity(MAX_SLOTS),
                chosen: Candidate::default(),
                seen: 0,
                given: before,
                begin: before,
                replaced: 0,
            }
        };
        Self {
            members: cameras.into_iter().map(member).collect(),
            tolerance,
            given: 0,
        }
    }

    /// Returns the newest frames of all cameras that lie within the tolerance of one another and are not older than
    /// `max_age`.
    ///
    /// # Errors
    /// [`FrameSetError`]: a camera whose newest frame is too old, or the smallest skew of frames that are not. The
    /// handle stays valid.
    ///
    /// # Real-time safety
    /// While frames come: neither allocates, locks nor calls the system. Where a camera's newest frame is too old, the
    /// group looks whether that camera has another ring now, which allocates and calls the system.
    pub fn latest(&mut self, max_age: Duration) -> Result<FrameSet<'_>, FrameSetError> {
        let not_before = clock::now() - max_age;
        for _ in 0..MAX_ATTEMPTS {
            for member in &mut self.members {
                let is_fresh = |(_, info): &Candidate| info.begin() >= not_before;
                member.find_candidates(is_fresh);
                let has_none = member.candidates.is_empty() || member.camera.is_quiet();
                if has_none && member.follow() {
                    member.find_candidates(is_fresh);
                }
                if member.candidates.is_empty() {
                    return Err(member.failed(member.camera.stale(max_age)));
                }
            }
            match self.choose() {
                Ok(skew) if self.is_valid() => return Ok(self.frame_set(skew)),
                Ok(_) => {}
                Err(smallest) => return Err(self.skewed(smallest)),
            }
        }
        Err(Overwritten.into())
    }

    /// Returns the newest frames of all cameras that lie within the tolerance of one another and that it has not
    /// returned before, and waits for them until the span is over.
    ///
    /// # Errors
    /// [`FrameSetError`]: a camera without a new frame, or the smallest skew of those that came. The handle stays
    /// valid.
    pub fn next(&mut self, timeout: Duration) -> Result<FrameSet<'_>, FrameSetError> {
        let end = clock::now() + timeout;
        let mut smallest = Duration::MAX;
        loop {
            for member in &mut self.members {
                let given = member.given;
                member.find_candidates(|(count, _)| *count > given);
            }
            match self.choose() {
                Ok(skew) if self.is_valid() => return Ok(self.frame_set(skew)),
                Ok(_) => {}
                Err(skew) => smallest = smallest.min(skew),
            }
            let left = end.remaining(clock::now());
            let slowest = self.slowest();
            if left.is_zero() {
                let member = &self.members[slowest];
                return Err(match smallest {
                    Duration::MAX => member.failed(FrameError::Timeout {
                        waited: timeout,
                        why: member.camera.why(),
                    }),
                    smallest => self.skewed(smallest),
                });
            }
            self.members[slowest].wait(left.min(MAX_WAIT));
        }
    }

    /// The cameras, in their order.
    pub fn cameras(&self) -> impl ExactSizeIterator<Item = &Camera> {
        self.members.iter().map(|member| &member.camera)
    }

    /// How far the frames of a set may lie apart.
    #[must_use]
    pub fn tolerance(&self) -> Duration {
        self.tolerance
    }

    /// Frames of all cameras since the group was made that were in no returned set; some of them may still come in one.
    #[must_use]
    pub fn unmatched(&self) -> u64 {
        let came = self.members.iter().map(Member::came).sum::<u64>();
        came.saturating_sub(self.given)
    }

    /// Chooses a frame of each camera; returns their skew, or else the smallest skew that there is.
    fn choose(&mut self) -> Result<Duration, Duration> {
        let candidates = self.members.iter().map(|member| &member.candidates[..]);
        let found = newest_set(&candidates, self.tolerance)?;
        for member in &mut self.members {
            if let Some(chosen) = first_from(&member.candidates, found.oldest) {
                member.chosen = *chosen;
            }
        }
        Ok(found.skew)
    }

    fn is_valid(&self) -> bool {
        self.members.iter().all(|member| member.frame().is_valid())
    }

    fn frame_set(&mut self, skew: Duration) -> FrameSet<'_> {
        for member in &mut self.members {
            self.given += u64::from(member.chosen.0 > member.given);
            member.given = member.given.max(member.chosen.0);
        }
        FrameSet {
            members: &self.members,
            skew,
        }
    }

    /// The camera for which the others wait: a new frame of another camera lies even further from this camera's newest.
    fn slowest(&self) -> usize {
        let newest = |member: &Member| {
            let times = member.candidates.iter().map(|(_, info)| info.begin());
            times.max().unwrap_or_default()
        };
        let places = 0..self.members.len();
        places
            .min_by_key(|place| newest(&self.members[*place]))
            .unwrap_or(0)
    }

    fn skewed(&self, smallest_skew: Duration) -> FrameSetError {
        FrameSetError::Skewed {
            tolerance: self.tolerance,
            smallest_skew,
        }
    }
}

impl Member {
    /// Finds the frames in its ring that may go into a set.
    fn find_candidates(&mut self, may_be_given: impl Fn(&Candidate) -> bool) {
        let ring = &self.camera.ring;
        self.seen = ring.newest();
        self.candidates.clear();
        let oldest = self.seen.saturating_sub(ring.slots() as u64) + 1;
        let frames = (oldest..=self.seen).filter_map(|count| ring.frame(count));
        let frames = frames.map(|frame| (frame.count(), *frame.info()));
        self.candidates.extend(frames.filter(may_be_given));
    }

    fn follow(&mut self) -> bool {
        let came = self.came();
        let follows = self.camera.follow();
        if follows {
            (self.replaced, self.begin, self.given) = (came, 0, 0);
        }
        follows
    }

    fn wait(&mut self, span: Duration) {
        let ring = &self.camera.ring;
        if !ring.wait_beyond(self.seen, span) && !self.follow() {
            std::thread::sleep(POLL_INTERVAL);
        }
    }

    /// Number of frames that the camera has published.
    fn came(&self) -> u64 {
        self.replaced + self.camera.ring.newest().saturating_sub(self.begin)
    }

    fn frame(&self) -> Frame<'_> {
        let (count, info) = self.chosen;
        self.camera.ring.view(count, info)
    }

    fn failed(&self, error: FrameError) -> FrameSetError {
        FrameSetError::Camera {
            camera: self.camera.label(),
            error,
        }
    }
}

/// Frames of all cameras of a [`CameraGroup`] that lie within its tolerance, all of which were valid at one time.
///
/// # Real-time safety
/// Real-time safe: it borrows the frames; [`FrameSet::age`] reads the clock.
#[derive(Debug, Clone, Copy)]
pub struct FrameSet<'a> {
    members: &'a [Member],
    skew: Duration,
}

impl<'a> FrameSet<'a> {
    /// The frames, in the order of the cameras.
    pub fn frames(&self) -> impl ExactSizeIterator<Item = Frame<'a>> + use<'a> {
        self.members.iter().map(Member::frame)
    }

    /// The time from the earliest of them to the latest.
    #[must_use]
    pub fn skew(&self) -> Duration {
        self.skew
    }

    /// How old the oldest of them is.
    #[must_use]
    pub fn age(&self) -> Duration {
        let ages = self.frames().map(|frame| frame.age());
        ages.max().unwrap_or_default()
    }

    /// Whether no writer has begun to overwrite one of the frames. What the caller read of their
    /// [pixels](Frame::pixels) is valid where this then returns true.
    ///
    /// # Real-time safety
    /// Neither allocates, locks nor calls the system.
    #[must_use]
    pub fn is_valid(&self) -> bool {
        self.frames().all(|frame| frame.is_valid())
    }

    /// Copies all frames, in the order of the cameras.
    ///
    /// # Errors
    /// [`Overwritten`], where a writer overwrote one before the last was copied; the arrays then hold no valid frames.
    ///
    /// # Panics
    /// Where there are not as many arrays as cameras, or one has another length than its frame's
    /// [`Shape::bytes`](crate::ring::Shape::bytes).
    ///
    /// # Real-time safety
    /// Neither allocates, locks nor calls the system. Memory that was not touched before costs page faults.
    pub fn copy_to(&self, into: &mut [impl AsMut<[u8]>]) -> Result<(), Overwritten> {
        assert_eq!(into.len(), self.members.len(), "each camera has an array");
        for (frame, array) in self.frames().zip(into) {
            frame.copy_to(array.as_mut())?;
        }
        self.is_valid().then_some(()).ok_or(Overwritten)
    }
}

/// A set of frames, by the time of its oldest frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct SetTime {
    oldest: MonotonicTime,
    skew: Duration,
}

/// Returns the newest set within the tolerance, which is the one whose oldest frame is newest; or else the smallest
/// skew of a set, [`Duration::MAX`] where there is no set.
///
/// The best set with a given oldest frame takes of each camera the first frame from that time on.
fn newest_set<'a>(
    candidates: &(impl Iterator<Item = &'a [Candidate]> + Clone),
    tolerance: Duration,
) -> Result<SetTime, Duration> {
    let mut smallest = Duration::MAX;
    let mut newest: Option<SetTime> = None;
    for (_, info) in candidates.clone().flatten() {
        let oldest = info.begin();
        let latest = candidates.clone().try_fold(oldest, |latest, frames| {
            Some(latest.max(first_from(frames, oldest)?.1.begin()))
        });
        let Some(latest) = latest else {
            continue;
        };
        let skew = Duration::from_nanos(latest.as_ns() - oldest.as_ns());
        smallest = smallest.min(skew);
        if skew <= tolerance && newest.is_none_or(|found| found.oldest < oldest) {
            newest = Some(SetTime { oldest, skew });
        }
    }
    newest.ok_or(smallest)
}

/// The first frame that began not before a time.
fn first_from(candidates: &[Candidate], time: MonotonicTime) -> Option<&Candidate> {
    let from = candidates.iter().filter(|(_, info)| info.begin() >= time);
    from.min_by_key(|(_, info)| info.begin())
}

#[cfg(test)]
mod tests;
