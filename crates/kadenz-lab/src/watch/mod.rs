//! How long the threads of a running program wait for a CPU, watched from outside.
//!
//! The kernel counts for every thread how long it ran, how long it was ready to run and waited, and
//! how many time slices it had (`/proc/<pid>/task/<tid>/schedstat`; sched-stats of the kernel's
//! documentation). Read again and again, the differences tell how long a thread waited in a window
//! of, say, 10 ms, and how many slices it had in it:
//!
//! * `scheduling-delay`: waiting a slice, the mean over one window of one thread. A window with one
//!   slice gives the delay of that one; with more, one long wait hides among short ones.
//! * `waiting`: all the waiting of that window: no wait in it was longer.
//!
//! A wait is counted when it ends, so one that is longer than a window stands, in full, in the window
//! in which the thread ran at last. What cannot be seen: how late a timer was that woke the thread
//! (that is `kadenz hiccup`), threads that began and ended within one window, the last window of a
//! thread, and the program's child processes.

mod meter;
mod observer;

pub use meter::{Schedstat, WatchMeter, Window};
pub use observer::{Prepared, ThreadReader, WatchError, WatchPlan, Watching, prepare};
