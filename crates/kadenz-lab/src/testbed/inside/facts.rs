//! What a run is to say of the testbed around it.

use std::net::IpAddr;
use std::time::Duration;

use kadenz_record::run::testbed::{Modelled, Testbed, TestbedLink, TestbedSwitch};

use super::Inside;
use crate::testbed::Picos;
use crate::testbed::model::{self, Asking, Cast, RoundTrip};
use crate::testbed::topology::{Role, Topology, Traffic};
use crate::testbed::wire::{Payload, Tag};

/// Beats that are modelled at most.
const BEATS: u32 = 1000;
/// Frames of questions and of other traffic that are modelled at most: well below a second.
const FRAMES: usize = 100_000;

/// What is asked of which devices.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Questions {
    /// Those who answer.
    pub devices: Vec<IpAddr>,
    /// UDP payload of question and answer in bytes.
    pub payload_bytes: u64,
    /// From beat to beat.
    pub interval: Duration,
    /// Each in turn, or all at once.
    pub cast: Cast,
}

impl Inside {
    /// What a run says of this testbed, with what the model says of the same questions: the first
    /// thousand beats, or as many as it takes well below a second to compute.
    ///
    /// # Real-time safety
    /// Not real-time safe.
    #[must_use]
    pub fn facts(&self, questions: &Questions) -> Testbed {
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
            model: self.modelled(questions),
        }
    }

    fn modelled(&self, questions: &Questions) -> Option<Modelled> {
        let topology = self.asked(&questions.devices)?;
        let payload = Payload::new(questions.payload_bytes).ok()?;
        let interval_ns = u64::try_from(questions.interval.as_nanos()).ok()?;
        let interval = Picos::from_ns(interval_ns);
        let asked = payload.frames(Tag::None).count() * questions.devices.len();
        let asking = Asking {
            payload,
            interval,
            count: beats(asked, interval, &topology.traffic)?,
            cast: questions.cast,
        };
        summed(&model::run(&topology, &asking).ok()?.round_trips)
    }

    /// The topology with the roles as they are in this run: the program's host asks, those that it
    /// asks answer.
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

/// How many beats can be modelled, of so many frames each and the traffic meanwhile; absent where not
/// even one can.
fn beats(asked: usize, interval: Picos, traffic: &[Traffic]) -> Option<u32> {
    let others = traffic.iter().map(|it| {
        let frames = f64::from(it.packets) * it.payload.frames(Tag::None).count() as f64;
        // As the bursts come: each kind has its first at the start, and the next a picosecond later at
        // the earliest.
        let apart = it.interval.as_ps().max(1) as f64;
        (frames, frames * interval.as_ps() as f64 / apart)
    });
    let (first, each) = others.fold((0.0, asked as f64), |sum, it| (sum.0 + it.0, sum.1 + it.1));
    let beats = (FRAMES as f64 - first) / each.max(1.0);
    (beats >= 1.0).then(|| beats.min(f64::from(BEATS)) as u32)
}

fn summed(round_trips: &[RoundTrip]) -> Option<Modelled> {
    let times = round_trips.iter().filter_map(RoundTrip::time);
    let mut times: Vec<u64> = times.map(Picos::as_ns).collect();
    times.sort_unstable();
    // The nearest rank: the smallest value that so many percent do not exceed.
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

    fn facts(name: &str, devices: &[usize], cast: Cast) -> Testbed {
        let topology = Topology::parse(ready(name).unwrap()).unwrap();
        let devices = devices.iter().map(|&host| address(&topology, host).into());
        let questions = Questions {
            devices: devices.collect(),
            payload_bytes: 200,
            interval: Duration::from_millis(10),
            cast,
        };
        let inside = Inside {
            topology,
            host: 0,
            folder: "out/bed".into(),
        };
        inside.facts(&questions)
    }

    #[test]
    fn the_run_says_what_was_built_and_what_ideal_hosts_would_do() {
        let baseline = facts("baseline", &[1], Cast::Each);
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
    fn only_those_who_are_asked_are_modelled() {
        let one = facts("forty-devices", &[7], Cast::Each).model.unwrap();
        let all: Vec<usize> = (1..=40).collect();
        let all = facts("forty-devices", &all, Cast::Broadcast).model.unwrap();
        assert_eq!((one.round_trips, all.round_trips), (1000, 40_000));
        assert_eq!(one.p50_ns, one.max_ns);
        // 39 frames of 266 bytes before the last one, at 1 Gbit/s.
        assert_eq!(all.max_ns - one.max_ns, 39 * 2_128);
    }

    #[test]
    fn who_is_outside_is_not_modelled() {
        let mut topology = Topology::parse(ready("baseline").unwrap()).unwrap();
        topology.name = "another".to_owned();
        let inside = Inside {
            topology,
            host: 0,
            folder: "/".into(),
        };
        let questions = Questions {
            devices: vec![[192, 0, 2, 1].into()],
            payload_bytes: 200,
            interval: Duration::from_millis(10),
            cast: Cast::Each,
        };
        let facts = inside.facts(&questions);
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
            let questions = Questions {
                devices: vec![address(&topology, device).into()],
                payload_bytes: 200,
                interval: Duration::from_secs(3600),
                cast: Cast::Each,
            };
            let host = topology.with_role(Role::Controller).next().unwrap();
            let folder = "out/bed".into();
            let inside = Inside {
                topology,
                host,
                folder,
            };
            inside.facts(&questions).model
        };
        let hour = Picos::from_ns(3_600_000_000_000);
        assert_eq!(of(hour, 1).unwrap().round_trips, 1000);
        // A hundred an hour: 1000 beats would be more frames than are modelled.
        let some = of(Picos::from_ns(3_600_000_000), 1).unwrap().round_trips;
        assert!((1..1000).contains(&some), "{some}");
        assert_eq!(of(Picos::from_ns(1000), 1), None, "an hour is 3.6 billion");
        assert_eq!(of(hour, u32::MAX), None);
    }

    #[test]
    fn percentiles_are_of_the_nearest_rank() {
        let trip = |us: u64| RoundTrip {
            sequence: 0,
            device: 1,
            sent: Picos::ZERO,
            came: Some(Picos::from_ns(us)),
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
