//! Kadenz as a library: keep a robot's beat, and know how well it was kept.
//!
//! This crate is the face of the library: what it names, users and bindings may rely on. The rooms
//! behind it ([`rt`], [`record`], [`udp`], [`msg`], [`ethercat`], [`lab`], [`report`]) are open too, but may change more often.
//!
//! What a device answers with, and what firmware without a standard library runs, is [`udp`].
//!
//! # A control loop that knows its own lateness
//!
//! ```
//! use std::time::Duration;
//!
//! use kadenz::record::run::model::{EndedBy, Run, Series};
//! use kadenz::{Beat, Rate, RunWriter, Sample, SeriesSpec, SleeperKind, Summary, Tuning, now};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let parent = tempfile::tempdir()?;
//! # let folder = parent.path().join("run");
//! // The notebook: a run folder with one series, written by a thread of its own.
//! let origin = now();
//! let mut run = RunWriter::create(&folder, Run {
//!     experiment: "my-controller".into(),
//!     start_monotonic_ns: origin.as_ns(),
//!     ..Run::default()
//! })?;
//! let mut lateness = run.series(SeriesSpec {
//!     series: Series {
//!         name: "lateness".into(),
//!         deadline_ns: Some(400_000),
//!         ..Series::default()
//!     },
//!     raw: false,
//! })?;
//! let running = run.start(Duration::from_secs(1))?;
//!
//! // The loop: tuned as far as the machine allows, on the beat, recording without allocation,
//! // lock or system call.
//! let applied = kadenz::rt::tuning::apply(&Tuning::default());
//! assert!(applied.all_granted());
//! let rate: Rate = "1kHz".parse()?;
//! let mut sleeper = kadenz::rt::sleep::open(SleeperKind::recommended(), Default::default())?;
//! let mut beat = Beat::at(now(), rate.interval());
//! for sequence in 0..100 {
//!     let intended = beat.next();
//!     sleeper.sleep_until(intended);
//!     let actual = now();
//!     lateness.record(Sample {
//!         sequence,
//!         intended_ns: intended.since(origin),
//!         actual_ns: actual.since(origin),
//!         value_ns: actual.since(intended),
//!     });
//!     // ... read sensors, compute, command the motors ...
//! }
//!
//! // What it came to.
//! running.finish(EndedBy::Finished)?;
//! let summary = Summary::of_run(&folder)?;
//! assert_eq!(summary.series[0].count, 100);
//! # Ok(())
//! # }
//! ```
//!
//! # How much of a round trip is wire
//!
//! ```
//! use kadenz::lab::testbed::Picos;
//! use kadenz::{Chain, Payload, Tag};
//!
//! // Two links of 100 Mbit/s with a switch between them, and 200 bytes there and back.
//! let speed = "100Mbit/s".parse()?;
//! let wire = Chain::new(vec![speed, speed])?.round_trip(Payload::new(200)?, Tag::None);
//! assert_eq!(wire, "81.28us".parse::<Picos>()?);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # A device that answers
//!
//! Sans-IO, as firmware runs it: a datagram in, the answer out.
//!
//! ```
//! use kadenz::udp::device::{Answer, Echo, Policy};
//! use kadenz::udp::wire::{Probe, RunId, Sequence, Stamp};
//!
//! let probe = Probe { run: RunId(7), sequence: Sequence(0), stamp: Stamp(0), stamps: false, token: None };
//! let mut bytes = [0_u8; 200];
//! let sent = probe.write(&mut bytes)?;
//! let mut device = Echo::new(Policy::default());
//! assert_eq!(device.on_datagram(0, &mut bytes[..sent]), Answer::Reply(sent));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Programs that talk
//!
//! The bus is LCM's on the wire where the URL says `udpm://`; `memq://` stays within the process.
//!
//! ```
//! use std::time::Duration;
//! use kadenz::Bus;
//!
//! let bus = Bus::open("memq://")?;
//! let mut feedback = bus.aggregator("FEEDBACK_.*")?;
//! bus.publish_bytes("FEEDBACK_ARM", b"an encoded message")?;
//! let message = feedback.next_message(Duration::from_secs(1))?.expect("one was published");
//! assert_eq!(message.channel.as_str(), "FEEDBACK_ARM");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # A motion controller
//!
//! On the field bus: here for the drives of a virtual humanoid in virtual time; over a cable only the port
//! and what keeps the time differ.
//!
//! ```
//! use std::{sync::atomic::AtomicBool, time::Duration};
//! use kadenz::ethercat::control::cyclic::{Loop, Settings, VirtualTime, operate};
//! use kadenz::ethercat::main_device::bring_up::{find, prepare};
//! use kadenz::ethercat::main_device::exchange::{Patience, Registers, Waiting};
//! use kadenz::ethercat::main_device::{link::Link, postbox::Postbox};
//! use kadenz::ethercat::motion::{Conductor, Policy, Switch, demo};
//! use kadenz::ethercat::{port::WirePort, sim::humanoid::humanoid};
//!
//! let (policy, every) = (Policy::default(), Duration::from_millis(1));
//! let settings = Settings { farewell: policy.farewell(every), ..Settings::every(every)? };
//! let mut link = Link::new(WirePort::new(humanoid(8).build()?), 1);
//! let mut way = Waiting { link: &mut link, patience: Patience::default() };
//! let mut registers = Registers::by(&mut way);
//! let mut devices = find(&mut registers)?;
//! let plan = demo(&mut registers, &mut devices)?.once();
//! let players = plan.commission(&mut registers, &mut devices)?;
//! let mut cycle = prepare(&mut registers, &mut devices, None)?;
//!
//! let (postbox, stop, switch) = (Postbox::default(), AtomicBool::new(false), Switch::default());
//! let mut conductor = Conductor::new(players, policy, &switch).ending_when_played();
//! let mut bus = Loop { link: &mut link, cycle: &mut cycle, postbox: &postbox, stop: &stop };
//! operate(&mut bus, 8, &settings, &mut VirtualTime)?;
//! bus.run(&settings, &mut VirtualTime, &mut conductor, &mut ());
//! for player in conductor.players() {
//!     assert!(player.tracking().greatest < 0.005, "rad");
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub use kadenz_ethercat as ethercat;
pub use kadenz_lab as lab;
pub use kadenz_msg as msg;
pub use kadenz_record as record;
pub use kadenz_report as report;
pub use kadenz_rt as rt;
pub use kadenz_udp as udp;

pub use kadenz_lab::testbed::wire::{Chain, Payload, Tag};
pub use kadenz_msg::bus::{Bus, Publisher, Subscription, SubscriptionOptions};
pub use kadenz_msg::message::{Fingerprint, Message};
pub use kadenz_record::histogram::{Histogram, SignedHistogram};
pub use kadenz_record::run::folder::{
    RunReader, RunWriter, RunningRun, SeriesRecorder, SeriesSpec,
};
pub use kadenz_record::samples::Sample;
pub use kadenz_report::summary::{SeriesSummary, Summary};
pub use kadenz_rt::beat::{Beat, Interval, Rate};
pub use kadenz_rt::clock::{MonotonicTime, now};
pub use kadenz_rt::net::port::{PortOptions, UdpPort};
pub use kadenz_rt::pi_mutex::PiMutex;
pub use kadenz_rt::shield::Shield;
pub use kadenz_rt::sleep::{Sleeper, SleeperKind};
pub use kadenz_rt::tuning::{Policy, Tuning};
