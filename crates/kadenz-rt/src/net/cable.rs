//! A `veth` pair: a virtual cable between two interfaces of this host. Frames sent into one end come out of the
//! other.
//!
//! An interface that outlives its process would block the next process that wants its name. So one end carries an
//! alias that names the process which made it (`ip link` shows it). The next process to make a cable, and `kadenz
//! doctor --restore`, remove the cables whose process has ended. The kernel keeps the alias with the interface, so
//! that nothing else has to be restored, and removes it with its network namespace.

use std::io;
use std::os::unix::fs::MetadataExt as _;

use crate::os::linux::tap::InterfaceEditor;
use crate::os::linux::{link, signals};
use crate::shield::start_of;

/// Begins the alias of a cable.
const MARK: &str = "kadenz";

/// A cable in use. Dropping it removes both ends, also ends that were renamed meanwhile; after `kill -9` they stay
/// until the next cable is made, [`restore`] is called, or their network namespace ends. If another program removes
/// the cable and makes an interface of the same name, dropping leaves that interface alone.
#[derive(Debug)]
pub struct Cable {
    near: String,
    /// The kernel's number of that end.
    number: u32,
    maker: OwnerProcess,
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
    /// Makes a cable with ends of these names in the calling thread's network namespace and brings both up. IPv6 is
    /// switched off on them, so that only its users send frames.
    ///
    /// ```no_run
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let cable = kadenz_rt::net::cable::Cable::create("veth0", "veth1")?;
    /// // ... a segment on `veth1`, a MainDevice on `veth0`
    /// # drop(cable); Ok(())
    /// # }
    /// ```
    ///
    /// It first removes cables in this network namespace whose process has ended.
    ///
    /// # Errors
    /// Without `CAP_NET_ADMIN`, or where a name is taken.
    ///
    /// # Real-time safety
    /// Not real-time safe.
    pub fn create(near: &str, far: &str) -> Result<Self, CableError> {
        // Where that is refused, the calls below are refused too and name the remedy.
        let _ = restore();
        let failed = |what| {
            let near = near.to_owned();
            move |source| CableError { what, near, source }
        };
        let maker = OwnerProcess::this().map_err(failed("make"))?;
        link::create_veth(near, far).map_err(failed("make"))?;
        let gone = || io::Error::from(io::ErrorKind::NotFound);
        let number = link::number_of(near).ok_or_else(gone);
        let number = number.map_err(failed("set up"))?;
        if let Err(error) = link::set_alias(number, &maker.mark()) {
            // Without its mark the cable would have no owner.
            let _ = link::delete(number);
            return Err(failed("set up")(error));
        }
        let cable = Self {
            near: near.to_owned(),
            number,
            maker,
        };
        let changer = InterfaceEditor::open().map_err(failed("set up"))?;
        for end in [near, far] {
            // The file is absent where the kernel is built without IPv6, which is as good.
            let _ = std::fs::write(format!("/proc/sys/net/ipv6/conf/{end}/disable_ipv6"), "1");
            changer.bring_up(end).map_err(failed("set up"))?;
        }
        Ok(cable)
    }

    /// Pulls the cable or plugs it in again: takes one end down, or up.
    ///
    /// # Errors
    /// Without `CAP_NET_ADMIN`, or where another program removed the cable.
    pub fn set_up(&self, up: bool) -> Result<(), CableError> {
        let failed = |source| CableError {
            what: "switch",
            near: self.near.clone(),
            source,
        };
        let gone = || failed(io::ErrorKind::NotFound.into());
        let name = self.name().ok_or_else(gone)?;
        let changer = InterfaceEditor::open().map_err(failed)?;
        let change = if up {
            changer.bring_up(&name)
        } else {
            changer.take_down(&name)
        };
        change.map_err(failed)
    }

    /// The present name of its near end; `None` where the end is gone.
    fn name(&self) -> Option<String> {
        let ends = all().unwrap_or_default().into_iter();
        let mut own = ends.filter(|it| (it.number, it.maker) == (self.number, self.maker));
        own.next().map(|it| it.name)
    }
}

impl Drop for Cable {
    fn drop(&mut self) {
        if self.name().is_some() {
            let _ = link::delete(self.number);
        }
    }
}

/// The process that made a cable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct OwnerProcess {
    pid: u32,
    /// When it started, in clock ticks since boot: the kernel uses process numbers again.
    start: u64,
    /// The kernel's number of the PID namespace in which it has that number.
    namespace: u64,
}

impl OwnerProcess {
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
        self.lives_by(stat.ok().as_deref(), || signals::is_there(self.pid))
    }

    /// Where `/proc` hides the processes of other users (`hidepid`), an existing process may be the maker.
    fn lives_by(&self, stat: Option<&str>, is_there: impl FnOnce() -> bool) -> bool {
        match stat {
            Some(stat) => start_of(stat) == Some(self.start),
            None => is_there(),
        }
    }
}

/// A cable whose process has ended without removing it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AbandonedCable {
    /// One of its ends.
    pub interface: String,
    /// The number that the ended process had.
    pub pid: u32,
}

/// The end of a cable that carries its maker's mark.
struct End {
    number: u32,
    name: String,
    maker: OwnerProcess,
}

/// Every cable of the calling thread's network namespace.
fn all() -> io::Result<Vec<End>> {
    let end = |it: link::AliasedInterface| {
        Some(End {
            number: it.number,
            name: it.name,
            maker: OwnerProcess::parse(&it.alias)?,
        })
    };
    Ok(link::aliases()?.into_iter().filter_map(end).collect())
}

/// The cables whose process has ended.
fn left() -> io::Result<Vec<End>> {
    let here = OwnerProcess::this()?.namespace;
    let is_left = |it: &End| it.maker.namespace == here && !it.maker.lives();
    Ok(all()?.into_iter().filter(is_left).collect())
}

/// Cables in the calling thread's network namespace whose process has ended. Cables of another PID namespace are
/// left out: whether their processes live cannot be known here. Needs no rights.
///
/// # Errors
/// When the kernel does not list them.
pub(crate) fn abandoned() -> io::Result<Vec<AbandonedCable>> {
    let to_abandoned = |it: End| AbandonedCable {
        interface: it.name,
        pid: it.maker.pid,
    };
    Ok(left()?.into_iter().map(to_abandoned).collect())
}

/// Removes the cables of processes that have ended, and returns which they were.
///
/// # Errors
/// [`CableError`]: such cables exist, and the right to remove them is missing.
pub fn restore() -> Result<Vec<String>, CableError> {
    let failed = |what, near: &str| {
        let near = near.to_owned();
        move |source| CableError { what, near, source }
    };
    let mut done = Vec::new();
    for End {
        number,
        name,
        maker: OwnerProcess { pid, .. },
    } in left().map_err(failed("look for", "any"))?
    {
        link::delete(number).map_err(failed("take away", &name))?;
        done.push(format!(
            "the cable at `{name}`, whose process {pid} has ended"
        ));
    }
    Ok(done)
}

/// Removes every cable that this process made in the calling thread's network namespace, for a program that is
/// about to end without dropping them. It ignores cables that are already gone.
pub fn remove_own() {
    let Ok(this) = OwnerProcess::this() else {
        return;
    };
    for end in all().unwrap_or_default() {
        if end.maker == this {
            let _ = link::delete(end.number);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::net::namespace::Namespace;

    /// Runs in a network namespace of its own, or reports why it cannot.
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
        let this = OwnerProcess::this().unwrap();
        assert_eq!(OwnerProcess::parse(&this.mark()), Some(this));
        assert!(this.lives());
        for alias in [
            "",
            "kadenz",
            "kadenz 1 2",
            "kadenz 1 2 3 4",
            "uplink to 1 2 3",
        ] {
            assert_eq!(OwnerProcess::parse(alias), None, "{alias}");
        }
    }

    #[test]
    fn a_process_that_cannot_be_looked_at_lives_as_long_as_one_has_its_number() {
        let this = OwnerProcess::this().unwrap();
        let stat = std::fs::read_to_string("/proc/self/stat").unwrap();
        assert!(this.lives_by(Some(&stat), || panic!("it was seen")));
        assert!(this.lives_by(None, || true));
        assert!(!this.lives_by(None, || false));
        let later = OwnerProcess { start: 1, ..this };
        assert!(
            !later.lives_by(Some(&stat), || true),
            "its number is another's"
        );
        // No system assigns such a number.
        let never = OwnerProcess {
            pid: 4_000_000_000,
            ..this
        };
        assert!(!never.lives());
    }

    #[test]
    fn an_interface_that_has_the_name_of_a_cable_by_now_stays() {
        alone("an interface of the same name", || {
            let cable = Cable::create("near", "far").unwrap();
            link::delete(cable.number).unwrap();
            assert!(cable.set_up(false).is_err(), "it is gone");
            link::create_veth("near", "others").unwrap();
            let others = link::number_of("near").unwrap();
            // Whatever its alias says: this process made it, so another `Cable` owns it.
            link::set_alias(others, &cable.maker.mark()).unwrap();
            drop(cable);
            assert_eq!(link::number_of("near"), Some(others));
        });
    }

    #[test]
    fn a_cable_whose_alias_is_anothers_stays() {
        alone("a cable with another alias", || {
            let cable = Cable::create("near", "far").unwrap();
            link::set_alias(cable.number, "mine now").unwrap();
            drop(cable);
            assert!(link::number_of("near").is_some());
        });
    }

    #[test]
    fn cables_of_dead_processes_are_taken_away_and_others_are_not() {
        alone("cables of dead processes", || {
            let this = OwnerProcess::this().unwrap();
            let dead = OwnerProcess { start: 1, ..this };
            let elsewhere = OwnerProcess {
                namespace: 1,
                ..dead
            };
            for (name, mark) in [
                ("dead", dead.mark()),
                ("far-away", elsewhere.mark()),
                ("users", "my own".to_owned()),
            ] {
                link::create_veth(name, &format!("{name}-2")).unwrap();
                link::set_alias(link::number_of(name).unwrap(), &mark).unwrap();
            }
            let found = abandoned().unwrap();
            assert_eq!(found.len(), 1, "{found:?}");
            assert_eq!(found[0].interface, "dead");
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
