//! Memory that a caller gives.

/// A fixed number of slots: an array, a boxed slice, a vector, or a mutable slice.
///
/// A structure over it uses as many slots as it has at construction and never requests more.
///
/// ```
/// use kadenz_udp::controller::{Tracker, TrackWord};
/// use kadenz_udp::wire::Sequence;
///
/// let mut small = Tracker::over([TrackWord::default(); 4], 10_000_000);
/// let mut large = Tracker::over(vec![TrackWord::default(); 1024], 10_000_000);
/// assert_eq!((small.window(), large.window()), (256, 65_536));
/// small.expect(Sequence(0));
/// large.expect(Sequence(0));
/// ```
pub trait Memory<T>: AsRef<[T]> + AsMut<[T]> {}

impl<T, M: AsRef<[T]> + AsMut<[T]> + ?Sized> Memory<T> for M {}
