//! Converts the file as written to the checked model.

use std::collections::HashMap;
use std::str::FromStr;

use kadenz_rt::beat::Rate;
use toml::Spanned;

use super::{
    Cut, Faults, FileError, Host, Link, Node, Share, Switch, Topology, Traffic, file, limits, tree,
};
use crate::testbed::quantity::{ByteSize, LinkSpeed, ParseQuantityError, Picoseconds};
use crate::testbed::wire::Payload;

/// Forwarding time of small unmanaged switches: GS105's data sheet says below 20 us for the longest frame.
const FORWARDING: Picoseconds = Picoseconds::from_ns(4_000);
/// Buffer of such a switch, in bytes.
const BUFFER: ByteSize = ByteSize(128 << 10);
/// About what rapid spanning tree needs where it detects itself that the link is down (IEEE 802.1D-2004).
const DETECTION: Picoseconds = Picoseconds::from_ns(50_000_000);
/// Longer than in any network of this kind.
const MAX_SPAN: Picoseconds = Picoseconds::from_ns(1_000_000_000);
/// Maximum number of the shortest frames that 1 Gbit/s carries in a second.
const MAX_PACKETS: u128 = 1_488_095;
const MIN_BUFFER: u64 = 1518;
const MAX_BUFFER: u64 = 64 << 20;

/// Makes a checked topology of a file as written. It holds the text, to name lines, and the names so far.
struct TopologyChecker<'a> {
    text: &'a str,
    nodes: HashMap<String, Node>,
    /// Entries that stand for several hosts, by the name before the number.
    groups: HashMap<String, Vec<String>>,
}

type Checked<T> = Result<T, FileError>;

pub(super) fn topology(file: &file::TopologyFile, text: &str) -> Checked<Topology> {
    let mut checker = TopologyChecker {
        text,
        nodes: HashMap::new(),
        groups: HashMap::new(),
    };
    let detection = checker.span(file.detection.as_ref(), DETECTION)?;
    let hosts = checker.hosts(&file.hosts)?;
    let switches = checker.switches(&file.switches)?;
    let links = checker.links(&file.links)?;
    let mut topology = Topology {
        name: file.name.clone(),
        summary: file.summary.clone(),
        detection,
        hosts,
        switches,
        links,
        cuts: Vec::new(),
        traffic: Vec::new(),
    };
    tree::check(&topology)?;
    topology.cuts = checker.cuts(&topology, &file.cuts)?;
    topology.traffic = checker.traffic(&topology, &file.traffic)?;
    Ok(topology)
}

impl TopologyChecker<'_> {
    fn refuse<T>(
        &self,
        at: &Spanned<T>,
        cause: impl Into<String>,
        remedy: impl Into<String>,
    ) -> FileError {
        FileError::of(self.text, at, cause, remedy)
    }

    fn quantity<T: FromStr<Err = ParseQuantityError>>(&self, text: &Spanned<String>) -> Checked<T> {
        let parsed = text.get_ref().parse();
        parsed.map_err(|error| self.unreadable(text, &error))
    }

    fn unreadable(&self, text: &Spanned<String>, error: &ParseQuantityError) -> FileError {
        let words = error.to_string();
        let (cause, remedy) = words
            .split_once("; ")
            .unwrap_or((&words, "see docs/testbed.md"));
        self.refuse(text, cause, remedy)
    }

    /// A span of a second at most.
    fn span(&self, text: Option<&Spanned<String>>, default: Picoseconds) -> Checked<Picoseconds> {
        let Some(text) = text else {
            return Ok(default);
        };
        let span: Picoseconds = self.quantity(text)?;
        if span > MAX_SPAN {
            return Err(self.refuse(text, format!("{span} is too long"), "write 1s at most"));
        }
        Ok(span)
    }

    fn share(&self, share: Option<&Spanned<f64>>) -> Checked<Share> {
        let Some(given) = share else {
            return Ok(Share::default());
        };
        Share::new(*given.get_ref()).ok_or_else(|| {
            self.refuse(
                given,
                format!("{} is not a valid share", given.get_ref()),
                "write a number from 0 to 1, for example 0.01 for one in a hundred",
            )
        })
    }

    /// Takes a name that is not used elsewhere.
    fn name(&mut self, at: &Spanned<String>, name: String, node: Node) -> Checked<String> {
        let fits = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
        if name.is_empty() || name.len() > limits::NAME || !name.chars().all(fits) {
            return Err(self.refuse(
                at,
                format!(
                    "`{}` is not a valid name",
                    name.chars().take(40).collect::<String>()
                ),
                format!("write 1 to {} of a-z, 0-9 and -", limits::NAME),
            ));
        }
        if self.nodes.insert(name.clone(), node).is_some() {
            let cause = format!("`{name}` is there twice");
            return Err(self.refuse(at, cause, "give each host and switch its own name"));
        }
        Ok(name)
    }

    fn at_most<T>(&self, all: &[Spanned<T>], most: usize, what: &str) -> Checked<()> {
        match all.get(most) {
            Some(beyond) => {
                let cause = format!("there are {} {what}", all.len());
                Err(self.refuse(beyond, cause, format!("a testbed has at most {most}")))
            }
            None => Ok(()),
        }
    }

    fn hosts(&mut self, all: &[Spanned<file::HostEntry>]) -> Checked<Vec<Host>> {
        let mut hosts = Vec::new();
        for host in all {
            let written = host.get_ref();
            let base = written.name.get_ref();
            let names = match &written.count {
                None => vec![base.clone()],
                Some(count) => self.numbered(base, count)?,
            };
            if hosts.len() + names.len() > limits::HOSTS {
                let remedy = format!("a testbed has at most {}", limits::HOSTS);
                return Err(self.refuse(host, "there are too many hosts", remedy));
            }
            let answer = self.span(written.answer.as_ref(), Picoseconds::ZERO)?;
            for name in names {
                let name = self.name(&written.name, name, Node::Host(hosts.len()))?;
                hosts.push(Host {
                    name,
                    role: written.role,
                    program: written.program.clone(),
                    answer,
                });
            }
        }
        Ok(hosts)
    }

    /// The names of an entry that stands for several hosts.
    fn numbered(&mut self, base: &str, count: &Spanned<u64>) -> Checked<Vec<String>> {
        let wanted = usize::try_from(*count.get_ref()).unwrap_or(usize::MAX);
        if wanted == 0 || wanted > limits::HOSTS {
            let cause = format!("{wanted} hosts cannot be made");
            return Err(self.refuse(count, cause, format!("write 1 to {}", limits::HOSTS)));
        }
        let names: Vec<String> = (1..=wanted).map(|n| format!("{base}-{n}")).collect();
        self.groups.insert(format!("{base}-*"), names.clone());
        Ok(names)
    }

    fn switches(&mut self, all: &[Spanned<file::SwitchEntry>]) -> Checked<Vec<Switch>> {
        self.at_most(all, limits::SWITCHES, "switches")?;
        let mut switches = Vec::new();
        for (at, switch) in all.iter().enumerate() {
            let written = switch.get_ref();
            let name = written.name.get_ref().clone();
            switches.push(Switch {
                name: self.name(&written.name, name, Node::Switch(at))?,
                forwarding: self.span(written.forwarding.as_ref(), FORWARDING)?,
                jitter: self.span(written.jitter.as_ref(), Picoseconds::ZERO)?,
                buffer: self.buffer(written.buffer.as_ref())?,
            });
        }
        Ok(switches)
    }

    fn buffer(&self, text: Option<&Spanned<String>>) -> Checked<ByteSize> {
        let Some(text) = text else {
            return Ok(BUFFER);
        };
        let size: ByteSize = self.quantity(text)?;
        if !(MIN_BUFFER..=MAX_BUFFER).contains(&size.0) {
            return Err(self.refuse(
                text,
                format!("a buffer of {size} is out of range"),
                "write 1518B (one frame) to 64MiB, for example 1.6MB",
            ));
        }
        Ok(size)
    }

    fn links(&self, all: &[Spanned<file::LinkEntry>]) -> Checked<Vec<Link>> {
        self.at_most(all, limits::LINKS, "links")?;
        let mut links: Vec<Link> = Vec::new();
        for link in all {
            let written = link.get_ref();
            for ends in self.ends(&written.between)? {
                if links.len() == limits::LINKS {
                    let remedy = format!("a testbed has at most {}", limits::LINKS);
                    return Err(self.refuse(link, "there are too many links", remedy));
                }
                let name = match &written.name {
                    Some(name) => name.get_ref().clone(),
                    None => format!("{}-{}", ends[0].0, ends[1].0),
                };
                if links.iter().any(|other| other.name == name) {
                    return Err(self.refuse(
                        link,
                        format!("there are two links `{name}`"),
                        "give each a name of its own: name = \"...\"",
                    ));
                }
                links.push(self.link(written, name, [ends[0].1, ends[1].1])?);
            }
        }
        Ok(links)
    }

    fn link(&self, written: &file::LinkEntry, name: String, ends: [Node; 2]) -> Checked<Link> {
        let speed: LinkSpeed = self.quantity(&written.rate)?;
        let propagation = match &written.cable {
            None => Picoseconds::ZERO,
            Some(text) => Picoseconds::of_cable(text.get_ref())
                .map_err(|error| self.unreadable(text, &error))
                .and_then(|it| self.not_beyond(text, it))?,
        };
        Ok(Link {
            name,
            ends,
            speed,
            propagation,
            faults: Faults {
                loss: self.share(written.loss.as_ref())?,
                duplicate: self.share(written.duplicate.as_ref())?,
                reorder: self.share(written.reorder.as_ref())?,
                jitter: self.span(written.jitter.as_ref(), Picoseconds::ZERO)?,
                seed: written.seed,
            },
        })
    }

    fn not_beyond(&self, text: &Spanned<String>, span: Picoseconds) -> Checked<Picoseconds> {
        if span > MAX_SPAN {
            return Err(self.refuse(text, "the cable is too long", "write 1s at most"));
        }
        Ok(span)
    }

    /// The ends of a link; several pairs where an end stands for several hosts.
    fn ends(&self, between: &Spanned<Vec<String>>) -> Checked<Vec<[(String, Node); 2]>> {
        let [a, b] = between.get_ref().as_slice() else {
            let cause = format!("a link has two ends, not {}", between.get_ref().len());
            return Err(self.refuse(between, cause, "write between = [\"one\", \"other\"]"));
        };
        let (all_a, all_b) = (self.end(between, a)?, self.end(between, b)?);
        if all_a.len() > 1 && all_b.len() > 1 {
            let remedy = "let one end be a single switch";
            return Err(self.refuse(between, "both ends stand for several hosts", remedy));
        }
        let mut pairs = Vec::new();
        for a in &all_a {
            for b in &all_b {
                if a.1 == b.1 {
                    let cause = format!("`{}` is joined with itself", a.0);
                    return Err(self.refuse(between, cause, "name two different ends"));
                }
                pairs.push([a.clone(), b.clone()]);
            }
        }
        Ok(pairs)
    }

    fn end(&self, between: &Spanned<Vec<String>>, name: &str) -> Checked<Vec<(String, Node)>> {
        let single = [name.to_owned()];
        let names = self.groups.get(name).map_or(&single[..], Vec::as_slice);
        let found = names.iter().map(|name| {
            let node = self.nodes.get(name).copied();
            node.map(|node| (name.clone(), node)).ok_or_else(|| {
                let mut known: Vec<&str> = self.nodes.keys().map(String::as_str).collect();
                known.sort_unstable();
                known.truncate(8);
                let remedy = format!("name a host or switch of the file: {}", known.join(", "));
                self.refuse(between, format!("nothing is called `{name}`"), remedy)
            })
        });
        found.collect()
    }

    fn cuts(&self, topology: &Topology, all: &[Spanned<file::CutEntry>]) -> Checked<Vec<Cut>> {
        self.at_most(all, limits::CUTS, "cuts")?;
        let cut = |cut: &Spanned<file::CutEntry>| {
            let written = cut.get_ref();
            let name = written.link.get_ref();
            let link = topology.links.iter().position(|link| link.name == *name);
            let link = link.ok_or_else(|| {
                let known: Vec<&str> = topology.links.iter().map(|it| it.name.as_str()).collect();
                let remedy = format!("the links are {}", known.join(", "));
                self.refuse(&written.link, format!("no link is called `{name}`"), remedy)
            })?;
            Ok(Cut {
                link,
                at: self.quantity(&written.at)?,
                lasts: written
                    .lasts
                    .as_ref()
                    .map(|it| self.quantity(it))
                    .transpose()?,
            })
        };
        let cuts = all.iter().map(cut).collect::<Checked<Vec<Cut>>>()?;
        for (at, (written, cut)) in all.iter().zip(&cuts).enumerate() {
            if cuts[..at].iter().any(|earlier| earlier.overlaps(cut)) {
                let cause = "two cuts of this link overlap";
                return Err(self.refuse(&written.get_ref().link, cause, "make them one"));
            }
        }
        Ok(cuts)
    }

    fn traffic(
        &self,
        topology: &Topology,
        all: &[Spanned<file::TrafficEntry>],
    ) -> Checked<Vec<Traffic>> {
        self.at_most(all, limits::TRAFFIC, "kinds of traffic")?;
        let traffic = |traffic: &Spanned<file::TrafficEntry>| {
            let written = traffic.get_ref();
            let host = |name: &Spanned<String>| {
                topology.host(name.get_ref()).ok_or_else(|| {
                    let cause = format!("no host is called `{}`", name.get_ref());
                    self.refuse(name, cause, "traffic goes from a host to another")
                })
            };
            let packets = written.packets.as_ref().map_or(1, |it| *it.get_ref());
            if !(1..=1000).contains(&packets) {
                let cause = format!("{packets} packets at once are out of range");
                return Err(self.refuse(traffic, cause, "write packets = 1 to 1000"));
            }
            let (from, to) = (host(&written.from)?, host(&written.to)?);
            if from == to {
                return Err(self.refuse(traffic, "it goes nowhere", "name two different hosts"));
            }
            let interval = self.interval(&written.rate)?;
            let in_a_second =
                u128::from(packets) * 1_000_000_000_000 / u128::from(interval.as_ps().max(1));
            if in_a_second > MAX_PACKETS {
                let cause = format!("{in_a_second} packets a second are more than a link carries");
                let remedy = format!("write a rate and packets that make {MAX_PACKETS} at most");
                return Err(self.refuse(&written.rate, cause, remedy));
            }
            Ok(Traffic {
                from,
                to,
                interval,
                packets: u32::try_from(packets).unwrap_or(1000),
                payload: self.payload(&written.payload)?,
            })
        };
        all.iter().map(traffic).collect()
    }

    fn interval(&self, rate: &Spanned<String>) -> Checked<Picoseconds> {
        let parsed = rate.get_ref().parse::<Rate>();
        let interval = parsed
            .map_err(|error| self.refuse(rate, error.to_string(), "write it like 60Hz"))?
            .interval();
        let (numerator_ns, denominator) = interval.as_fraction();
        let ps = u128::from(numerator_ns) * 1000 / u128::from(denominator);
        Ok(Picoseconds::from_ps(u64::try_from(ps).unwrap_or(u64::MAX)))
    }

    fn payload(&self, text: &Spanned<String>) -> Checked<Payload> {
        let size: ByteSize = self.quantity(text)?;
        // One frame: fragments of other traffic need no reassembly here.
        let fits = Payload::new(size.0).ok().filter(|it| it.bytes() <= 1472);
        fits.ok_or_else(|| {
            let cause = format!("a payload of {size} does not fit into one frame");
            self.refuse(text, cause, "write 1472B at most, and more packets")
        })
    }
}
