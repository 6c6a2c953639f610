//! A cable between two interfaces of this host, `veth`: what is sent into one end comes out of the other.

use std::io;

use crate::os::linux::{link, tap::Changer};

/// A cable in use. Both ends go when this is dropped; after `kill -9` they stay until
/// `ip link delete NAME` or the end of their network namespace.
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
    /// Not real-time safe.
    ///
    /// # Errors
    /// Without `CAP_NET_ADMIN`, or where a name is taken.
    pub fn create(near: &str, far: &str) -> Result<Self, CableError> {
        let failed = |what| {
            let near = near.to_owned();
            move |source| CableError { what, near, source }
        };
        link::create_veth(near, far).map_err(failed("make"))?;
        let cable = Self {
            near: near.to_owned(),
        };
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
