//! What a program on a host of a testbed can know of it: `kadenz testbed run` tells it, by two
//! variables of its environment, where the testbed's run is and on which host it runs.

mod facts;

pub use facts::Questions;

use std::net::IpAddr;
use std::path::{Path, PathBuf};

use super::address;
use super::topology::{Topology, TopologyError, limits};
use super::wire::Chain;

/// The variable that names the folder of the testbed's run.
pub const FOLDER: &str = "KADENZ_TESTBED";
/// The variable that names the host that the program runs on.
pub const HOST: &str = "KADENZ_TESTBED_HOST";
/// The topology as it was given, in that folder.
pub const TOPOLOGY_FILE: &str = "topology.toml";

/// Why a program does not know its testbed.
#[derive(Debug, thiserror::Error)]
pub enum InsideError {
    /// The topology cannot be read.
    #[error("cannot read the testbed's {}: {source}; unset {FOLDER} outside of a testbed", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The error that the system returned.
        source: std::io::Error,
    },
    /// It is none.
    #[error("the testbed's {} is not a valid topology: {source}", path.display())]
    Topology {
        /// The file.
        path: PathBuf,
        /// What is wrong with the topology.
        source: TopologyError,
    },
    /// It has no such host.
    #[error("the testbed {topology} has no host `{host}`, which {HOST} names")]
    Host {
        /// The topology.
        topology: String,
        /// The host.
        host: String,
    },
}

/// The testbed around a program.
#[derive(Clone, Debug, PartialEq)]
pub struct Inside {
    /// What stands around it.
    pub topology: Topology,
    /// The host that it runs on, by its place.
    pub host: usize,
    /// The folder of the testbed's own run.
    pub folder: PathBuf,
}

impl Inside {
    /// Reads what the two variables name.
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
    pub fn host_of(&self, ip: IpAddr) -> Option<usize> {
        (0..self.topology.hosts.len()).find(|&host| address(&self.topology, host) == ip)
    }

    /// The links to these addresses. Absent where one of them is outside, or where they do not all
    /// have the same way: their round trips then have no common time on the wire.
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

/// A file of at most what a topology may have.
fn bounded(path: &Path) -> std::io::Result<String> {
    use std::io::Read as _;
    let mut text = String::new();
    let most = limits::FILE as u64 + 1;
    std::fs::File::open(path)?
        .take(most)
        .read_to_string(&mut text)?;
    Ok(text)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "in a test a panic is the answer")]
mod tests {
    use super::*;
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
}
