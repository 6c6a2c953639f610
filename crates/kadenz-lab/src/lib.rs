//! The experiments of Kadenz.
//!
//! Each experiment is a *meter* and a *loop*. The meter is sans-IO: it is given times and says what
//! to record, and is tested in virtual time. The loop sleeps, reads the clock, asks the meter and
//! hands the values to a recorder; after its start it allocates nothing, takes no lock and makes no
//! system call but the sleep itself.
//!
//! | module | what it answers |
//! |---|---|
//! | [`hiccup`] | how long does this machine hold a sleeping thread back? (jHiccup's measurement) |
//! | [`timer`] | does a timer keep a timeout, and a rate? (the two timer suites of \[Sticha2014\]) |
//! | [`floor`] | what does the machine take from a thread that never sleeps? |
//! | [`inversion`] | which tasks does a real-time task wait for, at a lock that it shares with lower ones? |
//! | [`load`] | what keeps the machine busy while something is measured? |
//! | [`watch`] | how long do the threads of a running program wait for a CPU? |
//! | [`udp`] | is plain Ethernet and UDP good enough for this robot? |
//! | [`pubsub`] | how long does a message take from one program to another? |
//! | [`probes`] | the same by the clients of other middlewares, which come as sources |
//! | [`check`] | can this machine keep the robot's beat? |
//! | [`matrix`] | what is the effect of each real-time measure? (the matrix of \[Yoon2009\]) |
//! | [`campaign`] | what do many runs say, with one option varied after the other? |
//! | [`testbed`] | what does the network itself take, and what do hosts add to it? |

#[cfg(all(feature = "camera", target_os = "linux"))]
pub mod camera;
pub mod campaign;
pub mod check;
mod file_error;
pub mod floor;
pub mod hiccup;
pub mod inversion;
pub mod load;
mod lock;
pub mod matrix;
pub mod measuring;
pub mod measuring_threads;
pub mod probes;
pub mod pubsub;
pub mod session;
pub mod stamped;
pub mod stop;
pub mod testbed;
pub mod timer;
pub mod udp;
pub mod watch;
