//! Access to the testbed for a program on one of its hosts: `kadenz testbed run` names the folder of the testbed's run
//! and the host in two environment variables.

use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use kadenz_record::run::testbed::{Modelled, Testbed, TestbedLink, TestbedSwitch};

use super::address;
use super::topology::{FileError, Topology, limits};
use super::wire::Chain;
use crate::testbed::Picoseconds;
use crate::testbed::model::{self, Asking, Receivers, RoundTrip};
use crate::testbed::topology::{Role, Traffic};
use crate::testbed::wire::{Payload, Tag};

/// The variable that names the folder of the testbed's run.
pub const FOLDER: &str = "KADENZ_TESTBED";
/// The variable that names the host that the program runs on.
pub const HOST: &str = "KADENZ_TESTBED_HOST";
/// The topology as it was given, in that folder.
pub const TOPOLOGY_FILE: &str = "topology.toml";

/// Why a program cannot read its testbed.
#[derive(Debug, thiserror::Error)]
pub enum InsideError {
    /// The topology cannot be read.
    #[error("cannot read the testbed's {}: {source}; unset {FOLDER} outside of a testbed", path.display())]
    Read {
        /// The path of the topology file.
        path: PathBuf,
        /// The error that the system returned.
        source: std::io::Error,
    },
    /// It is not a valid topology.
    #[error("the testbed's {} is not a valid topology: {source}", path.display())]
    Topology {
        /// The path of the topology file.
        path: PathBuf,
        /// What is wrong with the topology.
        source: FileError,
    },
    /// It has no such host.
    #[error("the testbed {topology} has no host `{host}`, which {HOST} names")]
    Host {
        /// The name of the topology.
        topology: String,
        /// The name that the topology lacks.
        host: String,
    },
}

/// The testbed around a program.
#[derive(Clone, Debug, PartialEq)]
pub struct Inside {
    /// The topology of the testbed.
    pub topology: Topology,
    /// The host that the program runs on, by its place.
    pub host: usize,
    /// The folder of the testbed's own run.
    pub folder: PathBuf,
}

impl Inside {
    /// Reads the testbed that the two variables name.
    ///
    /// # Errors
    /// [`InsideError`].
    ///
    /// # Real-time safety
    /// Not real-time safe.
    pub fn read(folder: &Path, host: &str) -> Result<Self, InsideError> {
        let path = folder.join(TOPOLOGY_FILE);
        let text = match bounded(&path) {
            Ok(text) => text,
            Err(source) => return Err(InsideError::Read { path, source }),
        };
        let topology = match Topology::parse(&text) {
            Ok(topology) => topology,
            Err(source) => return Err(InsideError::Topology { path, source }),
        };
        let Some(place) = topology.host(host) else {
            return Err(InsideError::Host {
                topology: topology.name,
                host: host.to_owned(),
            });
        };
        Ok(Self {
            topology,
            host: place,
            folder: folder.to_owned(),
        })
    }

    /// The host of an address.
    #[must_use]
    pub(crate) fn host_of(&self, ip: IpAddr) -> Option<usize> {
        (0..self.topology.hosts.len()).find(|&host| address(&self.topology, host) == ip)
    }

    /// The links to these addresses. Absent where one of them is outside, or where they do not all have the same path:
    /// their round trips then have no common time on the wire.
    #[must_use]
    pub fn chain_to(&self, devices: impl IntoIterator<Item = IpAddr>) -> Option<Chain> {
        let mut ways = devices
            .into_iter()
            .map(|device| Some(self.topology.route(self.host, self.host_of(device)?)));
        let first = ways.next()??;
        let alike = ways.all(|way| way.as_ref() == Some(&first));
        alike.then(|| Chain::new(first).ok()).flatten()
    }
}

/// Reads a file no larger than the limit of a topology.
fn bounded(path: &Path) -> std::io::Result<String> {
    use std::io::Read as _;
    let mut text = String::new();
    let most = limits::FILE as u64 + 1;
    std::fs::File::open(path)?
        .take(most)
        .read_to_string(&mut text)?;
    Ok(text)
}

/// Beats that are modelled at most.
const BEATS: u32 = 1000;
/// Frames of packets, answers and other traffic that are modelled at most: this takes well below a second.
const FRAMES: usize = 100_000;

/// The packets of a run: to which devices, how long and how often.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PacketSchedule {
    /// The devices that answer.
    pub devices: Vec<IpAddr>,
    /// UDP payload of packet and answer in bytes.
    pub payload_bytes: u64,
    /// From beat to beat.
    pub interval: Duration,
    /// Whether the devices are asked in turn, or all at once.
    pub receivers: Receivers,
}

impl Inside {
    /// The entry of this testbed in a run, with the model's round trips of the same packets: the first thousand beats,
    /// or as many as take well below a second to compute.
    ///
    /// # Real-time safety
    /// Not real-time safe.
    #[must_use]
    pub fn facts(&self, schedule: &PacketSchedule) -> Testbed {
        let topology = &self.topology;
        let switches = topology.switches.iter().map(|switch| TestbedSwitch {
            name: switch.name.clone(),
            forwarding_ns: switch.forwarding.as_ns(),
        });
        let links = topology.links.iter().map(|link| TestbedLink {
            between: link.ends.map(|end| topology.name_of(end).to_owned()),
            bit_s: link.speed.bits_per_second(),
        });
        let name = self.folder.file_name().unwrap_or_default();
        Testbed {
            topology: topology.name.clone(),
            run: name.to_string_lossy().into_owned(),
            host: topology.hosts[self.host].name.clone(),
            hosts: topology.hosts.iter().map(|it| it.name.clone()).collect(),
            switches: switches.collect(),
            links: links.collect(),
            model: self.modelled(schedule),
        }
    }

    fn modelled(&self, schedule: &PacketSchedule) -> Option<Modelled> {
        let topology = self.asked(&schedule.devices)?;
        let payload = Payload::new(schedule.payload_bytes).ok()?;
        let interval_ns = u64::try_from(schedule.interval.as_nanos()).ok()?;
        let interval = Picoseconds::from_ns(interval_ns);
        let asked = payload.frames(Tag::None).count() * schedule.devices.len();
        let asking = Asking {
            payload,
            interval,
            count: beats(asked, interval, &topology.traffic)?,
            receivers: schedule.receivers,
        };
        summed(&model::run(&topology, &asking).ok()?.round_trips)
    }

    /// The topology with the roles of this run: the program's host sends, and the devices answer.
    fn asked(&self, devices: &[IpAddr]) -> Option<Topology> {
        let devices = devices.iter().map(|&device| self.host_of(device));
        let devices = devices.collect::<Option<Vec<usize>>>()?;
        let mut topology = self.topology.clone();
        for (place, host) in topology.hosts.iter_mut().enumerate() {
            host.role = match place {
                _ if place == self.host => Role::Controller,
                _ if devices.contains(&place) => Role::Device,
                _ => Role::Bystander,
            };
        }
        Some(topology)
    }
}

/// How many beats can be modelled, of this many frames each and the traffic meanwhile; absent where not even one can.
fn beats(asked: usize, interval: Picoseconds, traffic: &[Traffic]) -> Option<u32> {
    let others = traffic.iter().map(|it| {
        let frames = f64::from(it.packets) * it.payload.frames(Tag::None).count() as f64;
        // The order of the bursts: each kind has its first at the start, and the next a picosecond later at the
        // earliest.
        let apart = it.interval.as_ps().max(1) as f64;
        (frames, frames * interval.as_ps() as f64 / apart)
    });
    let (first, each) = others.fold((0.0, asked as f64), |sum, it| (sum.0 + it.0, sum.1 + it.1));
    let beats = (FRAMES as f64 - first) / each.max(1.0);
    (beats >= 1.0).then(|| beats.min(f64::from(BEATS)) as u32)
}

fn summed(round_trips: &[RoundTrip]) -> Option<Modelled> {
    let times = round_trips.iter().filter_map(RoundTrip::time);
    let mut times: Vec<u64> = times.map(Picoseconds::as_ns).collect();
    times.sort_unstable();
    // The nearest rank: the smallest value that at least that many percent do not exceed.
    let at = |percent: usize| {
        let rank = (times.len() * percent).div_ceil(100).max(1);
        times.get(rank - 1).copied()
    };
    Some(Modelled {
        round_trips: round_trips.len() as u64,
        lost: (round_trips.len() - times.len()) as u64,
        p50_ns: at(50)?,
        p99_ns: at(99)?,
        max_ns: at(100)?,
    })
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "in a test a panic is the answer")]
mod tests {
    use super::*;
    use crate::testbed::address;
    use crate::testbed::topology::ready;

    fn inside(topology: &str) -> Inside {
        Inside {
            topology: Topology::parse(topology).unwrap(),
            host: 0,
            folder: PathBuf::from("bed"),
        }
    }

    fn addresses(of: &Inside, hosts: &[usize]) -> Vec<IpAddr> {
        let all = hosts.iter().map(|&host| address(&of.topology, host).into());
        all.collect()
    }

    #[test]
    fn devices_behind_the_same_links_have_one_path() {
        let forty = inside(ready("forty-devices").unwrap());
        let all: Vec<usize> = (1..=40).collect();
        let chain = forty.chain_to(addresses(&forty, &all)).unwrap();
        let links: Vec<String> = chain.links().iter().map(ToString::to_string).collect();
        assert_eq!(links, ["1Gbit/s", "100Mbit/s"]);
    }

    #[test]
    fn devices_behind_other_links_have_none_together() {
        let chain = inside(ready("daisy-chain").unwrap());
        assert!(chain.chain_to(addresses(&chain, &[1])).is_some());
        assert_eq!(chain.chain_to(addresses(&chain, &[1, 2])), None);
        let outside = [IpAddr::from([192, 0, 2, 1])];
        assert_eq!(chain.chain_to(outside), None);
        assert_eq!(chain.chain_to([]), None);
        assert_eq!(chain.chain_to(addresses(&chain, &[0])), None, "itself");
    }

    #[test]
    fn what_the_variables_name_must_be_there() {
        let folder = tempfile::tempdir().unwrap();
        let read = |host| Inside::read(folder.path(), host);
        assert!(matches!(read("controller"), Err(InsideError::Read { .. })));
        let file = folder.path().join(TOPOLOGY_FILE);
        std::fs::write(&file, "[[host]]\nname = 'a'\n").unwrap();
        assert!(matches!(read("a"), Err(InsideError::Topology { .. })));
        std::fs::write(&file, ready("baseline").unwrap()).unwrap();
        assert_eq!(read("device").unwrap().host, 1);
        assert!(matches!(read("nobody"), Err(InsideError::Host { .. })));
    }

    fn facts(name: &str, devices: &[usize], receivers: Receivers) -> Testbed {
        let topology = Topology::parse(ready(name).unwrap()).unwrap();
        let devices = devices.iter().map(|&host| address(&topology, host).into());
        let schedule = PacketSchedule {
            devices: devices.collect(),
            payload_bytes: 200,
            interval: Duration::from_millis(10),
            receivers,
        };
        let inside = Inside {
            topology,
            host: 0,
            folder: "out/bed".into(),
        };
        inside.facts(&schedule)
    }

    #[test]
    fn the_run_says_what_was_built_and_what_ideal_hosts_would_do() {
        let baseline = facts("baseline", &[1], Receivers::Each);
        assert_eq!(
            (baseline.topology.as_str(), baseline.run.as_str()),
            ("baseline", "bed")
        );
        assert_eq!(baseline.hosts, ["controller", "device", "logger"]);
        assert_eq!(baseline.links.len(), 3);
        assert_eq!(baseline.links[0].bit_s, 100_000_000);
        let model = baseline.model.unwrap();
        assert_eq!((model.round_trips, model.lost), (1000, 0));
        // 81.28 us of wire, 4 us in the switch and 20 ns of cable each way.
        assert_eq!((model.p50_ns, model.max_ns), (89_320, 89_320));
    }

    #[test]
    fn only_the_asked_devices_are_modelled() {
        let one = facts("forty-devices", &[7], Receivers::Each).model.unwrap();
        let all: Vec<usize> = (1..=40).collect();
        let all = facts("forty-devices", &all, Receivers::Broadcast)
            .model
            .unwrap();
        assert_eq!((one.round_trips, all.round_trips), (1000, 40_000));
        assert_eq!(one.p50_ns, one.max_ns);
        // 39 frames of 266 bytes before the last one, at 1 Gbit/s.
        assert_eq!(all.max_ns - one.max_ns, 39 * 2_128);
    }

    #[test]
    fn a_device_outside_is_not_modelled() {
        let mut topology = Topology::parse(ready("baseline").unwrap()).unwrap();
        topology.name = "another".to_owned();
        let inside = Inside {
            topology,
            host: 0,
            folder: "/".into(),
        };
        let schedule = PacketSchedule {
            devices: vec![[192, 0, 2, 1].into()],
            payload_bytes: 200,
            interval: Duration::from_millis(10),
            receivers: Receivers::Each,
        };
        let facts = inside.facts(&schedule);
        assert_eq!((facts.model, facts.run.as_str()), (None, ""));
    }

    #[test]
    fn other_traffic_bounds_how_much_is_modelled() {
        let quiet = Topology::parse(ready("cross-traffic").unwrap()).unwrap();
        let of = |interval, packets| {
            let mut topology = quiet.clone();
            for traffic in &mut topology.traffic {
                (traffic.interval, traffic.packets) = (interval, packets);
            }
            let device = topology.with_role(Role::Device).next().unwrap();
            let schedule = PacketSchedule {
                devices: vec![address(&topology, device).into()],
                payload_bytes: 200,
                interval: Duration::from_secs(3600),
                receivers: Receivers::Each,
            };
            let host = topology.with_role(Role::Controller).next().unwrap();
            let folder = "out/bed".into();
            let inside = Inside {
                topology,
                host,
                folder,
            };
            inside.facts(&schedule).model
        };
        let hour = Picoseconds::from_ns(3_600_000_000_000);
        assert_eq!(of(hour, 1).unwrap().round_trips, 1000);
        // A hundred in an hour: 1000 beats would need more frames than are modelled.
        let some = of(Picoseconds::from_ns(3_600_000_000), 1)
            .unwrap()
            .round_trips;
        assert!((1..1000).contains(&some), "{some}");
        assert_eq!(
            of(Picoseconds::from_ns(1000), 1),
            None,
            "an hour is 3.6 billion"
        );
        assert_eq!(of(hour, u32::MAX), None);
    }

    #[test]
    fn percentiles_are_of_the_nearest_rank() {
        let trip = |us: u64| RoundTrip {
            sequence: 0,
            device: 1,
            sent: Picoseconds::ZERO,
            came: Some(Picoseconds::from_ns(us)),
        };
        let trips: Vec<RoundTrip> = (1..=200).map(trip).collect();
        let modelled = summed(&trips).unwrap();
        assert_eq!(
            (modelled.p50_ns, modelled.p99_ns, modelled.max_ns),
            (100, 198, 200)
        );
        assert_eq!(summed(&[]), None);
    }
}
