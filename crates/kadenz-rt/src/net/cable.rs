//! A cable between two interfaces of this host, `veth`: what is sent into one end comes out of the other.
//!
//! An interface that outlives its process would be found by the next one that wants its name. So one end
//! says in its alias which process made it (`ip link` shows that): whoever makes the next cable, and
//! `kadenz doctor --restore`, take away those whose process has ended. It is kept by the kernel with the
//! interface itself, so that nothing else has to be put right, and goes with its network namespace.

use std::io;
use std::os::unix::fs::MetadataExt as _;

use crate::os::linux::{link, tap::Changer};
use crate::shield::start_of;

/// Begins the alias of a cable.
const MARK: &str = "kadenz";

/// A cable in use. Both ends go when this is dropped; after `kill -9` they stay until the next cable is
/// made, [`restore`] is called, or their network namespace ends.
#[derive(Debug)]
pub struct Cable {
    near: String,
}

/// Why there is no cable.
#[derive(Debug, thiserror::Error)]
#[error("cannot {what} the cable `{near}`: {source}{}", remedy(.source))]
pub struct CableError {
    what: &'static str,
    near: String,
    source: io::Error,
}

fn remedy(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::PermissionDenied => "; run as root (sudo), or with CAP_NET_ADMIN",
        io::ErrorKind::AlreadyExists => {
            "; an interface of that name exists: take another, or `sudo ip link delete NAME`"
        }
        io::ErrorKind::InvalidInput => "; a name has 1 to 15 bytes and no slash",
        io::ErrorKind::Unsupported => "; load the driver: sudo modprobe veth",
        _ => "",
    }
}

impl Cable {
    /// Makes a cable with ends of these names in the calling thread's network and brings both up.
    /// Version 6 of the Internet protocol is switched off on them, so that nothing but its users speaks.
    ///
    /// ```no_run
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let cable = kadenz_rt::net::cable::Cable::create("veth0", "veth1")?;
    /// // ... a segment on `veth1`, a MainDevice on `veth0`
    /// # drop(cable); Ok(())
    /// # }
    /// ```
    ///
    /// Cables in this network whose process has ended are taken away first. Not real-time safe.
    ///
    /// # Errors
    /// Without `CAP_NET_ADMIN`, or where a name is taken.
    pub fn create(near: &str, far: &str) -> Result<Self, CableError> {
        // Where that is refused, so is what follows, with the remedy.
        let _ = restore();
        let failed = |what| {
            let near = near.to_owned();
            move |source| CableError { what, near, source }
        };
        link::create_veth(near, far).map_err(failed("make"))?;
        let cable = Self {
            near: near.to_owned(),
        };
        let maker = Maker::this().map_err(failed("set up"))?;
        link::set_alias(near, &maker.mark()).map_err(failed("set up"))?;
        let changer = Changer::open().map_err(failed("set up"))?;
        for end in [near, far] {
            // Absent where the kernel is built without it, which is as good.
            let _ = std::fs::write(format!("/proc/sys/net/ipv6/conf/{end}/disable_ipv6"), "1");
            changer.bring_up(end).map_err(failed("set up"))?;
        }
        Ok(cable)
    }

    /// Pulls the cable or plugs it in again: takes one end down, or up.
    ///
    /// # Errors
    /// Without `CAP_NET_ADMIN`.
    pub fn set_up(&self, up: bool) -> Result<(), CableError> {
        let failed = |source| CableError {
            what: "switch",
            near: self.near.clone(),
            source,
        };
        let changer = Changer::open().map_err(failed)?;
        let change = if up {
            changer.bring_up(&self.near)
        } else {
            changer.take_down(&self.near)
        };
        change.map_err(failed)
    }
}

impl Drop for Cable {
    fn drop(&mut self) {
        let _ = link::delete(&self.near);
    }
}

/// Which process made a cable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Maker {
    pid: u32,
    /// When it started, in clock ticks since boot: numbers are used again.
    start: u64,
    /// The kernel's number of the PID namespace in which it has that number.
    namespace: u64,
}

impl Maker {
    fn this() -> io::Result<Self> {
        let stat = std::fs::read_to_string("/proc/self/stat")?;
        let strange = || io::Error::other("/proc/self/stat is strange");
        Ok(Self {
            pid: std::process::id(),
            start: start_of(&stat).ok_or_else(strange)?,
            namespace: std::fs::metadata("/proc/self/ns/pid")?.ino(),
        })
    }

    fn mark(&self) -> String {
        let Self {
            pid,
            start,
            namespace,
        } = self;
        format!("{MARK} {pid} {start} {namespace}")
    }

    fn parse(alias: &str) -> Option<Self> {
        let mut words = alias.strip_prefix(MARK)?.split_ascii_whitespace();
        let maker = Self {
            pid: words.next()?.parse().ok()?,
            start: words.next()?.parse().ok()?,
            namespace: words.next()?.parse().ok()?,
        };
        words.next().is_none().then_some(maker)
    }

    fn lives(&self) -> bool {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", self.pid));
        stat.is_ok_and(|stat| start_of(&stat) == Some(self.start))
    }
}

/// A cable whose process has ended without taking it away.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Abandoned {
    /// One of its ends.
    pub interface: String,
    /// That process.
    pub pid: u32,
}

/// Every cable of the calling thread's network, by one of its ends, with who made it.
fn all() -> io::Result<Vec<(String, Maker)>> {
    let aliases = link::aliases()?.into_iter();
    Ok(aliases
        .filter_map(|(name, alias)| Some((name, Maker::parse(&alias)?)))
        .collect())
}

/// Cables in the calling thread's network whose process has ended. Those of another PID namespace are
/// left out: whether their processes live cannot be known here. Needs no rights.
///
/// # Errors
/// When the kernel does not tell.
pub fn abandoned() -> io::Result<Vec<Abandoned>> {
    let here = Maker::this()?.namespace;
    let all = all()?.into_iter();
    Ok(all
        .filter(|(_, maker)| maker.namespace == here && !maker.lives())
        .map(|(interface, maker)| Abandoned {
            interface,
            pid: maker.pid,
        })
        .collect())
}

/// Takes away the cables of processes that have ended, and says which those were.
///
/// # Errors
/// [`CableError`]: there are some, and the right to take them away is missing.
pub fn restore() -> Result<Vec<String>, CableError> {
    let failed = |what, near: &str| {
        let near = near.to_owned();
        move |source| CableError { what, near, source }
    };
    let mut done = Vec::new();
    for Abandoned { interface, pid } in abandoned().map_err(failed("look for", "any"))? {
        link::delete(&interface).map_err(failed("take away", &interface))?;
        done.push(format!(
            "the cable at `{interface}`, whose process {pid} has ended"
        ));
    }
    Ok(done)
}

/// Takes away every cable that this process made in the calling thread's network, for a program that is
/// about to end without dropping them. What it does not find is gone.
pub fn remove_own() {
    let Ok(this) = Maker::this() else { return };
    for (interface, maker) in all().unwrap_or_default() {
        if maker == this {
            let _ = link::delete(&interface);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::net::namespace::Namespace;

    /// Runs in a network of its own, or says why not.
    fn alone(test: &str, work: impl FnOnce() + Send) {
        match Namespace::create() {
            Ok(network) => network.run(work).unwrap(),
            Err(error) => {
                assert!(error.is_refusal(), "{error}");
                let strict = std::env::var_os("KADENZ_SKIP_NOTHING");
                assert!(strict.is_none_or(|it| it != "1"), "{test}: {error}");
                eprintln!("skipped: {test}: {error}");
            }
        }
    }

    #[test]
    fn a_mark_is_read_as_it_was_written_and_nothing_else_is_one() {
        let this = Maker::this().unwrap();
        assert_eq!(Maker::parse(&this.mark()), Some(this));
        assert!(this.lives());
        for alias in [
            "",
            "kadenz",
            "kadenz 1 2",
            "kadenz 1 2 3 4",
            "uplink to 1 2 3",
        ] {
            assert_eq!(Maker::parse(alias), None, "{alias}");
        }
    }

    #[test]
    fn cables_of_dead_processes_are_taken_away_and_others_are_not() {
        alone("cables of dead processes", || {
            let this = Maker::this().unwrap();
            let dead = Maker { start: 1, ..this };
            let elsewhere = Maker {
                namespace: 1,
                ..dead
            };
            for (name, mark) in [
                ("dead", dead.mark()),
                ("far-away", elsewhere.mark()),
                ("users", "my own".to_owned()),
            ] {
                link::create_veth(name, &format!("{name}-2")).unwrap();
                link::set_alias(name, &mark).unwrap();
            }
            let told = abandoned().unwrap();
            assert_eq!(told.len(), 1, "{told:?}");
            assert_eq!(told[0].interface, "dead");
            let cable = Cable::create("near", "far").unwrap();
            assert!(abandoned().unwrap().is_empty(), "the next one clears away");
            let names = std::fs::read_to_string("/proc/thread-self/net/dev").unwrap();
            let is_there = |name: &str| names.contains(&format!("{name}:"));
            assert!(!is_there("dead-2") && !is_there("dead"), "{names}");
            assert!(is_there("far-away") && is_there("users") && is_there("near"));
            assert_eq!(restore().unwrap(), Vec::<String>::new());
            remove_own();
            let names = std::fs::read_to_string("/proc/thread-self/net/dev").unwrap();
            assert!(
                !names.contains("near:") && names.contains("users:"),
                "{names}"
            );
            drop(cable);
        });
    }
}
