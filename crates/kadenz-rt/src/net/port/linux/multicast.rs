//! Membership in a group, also when its interface disappears and returns.

use std::net::{IpAddr, SocketAddr};

use crate::net::port::{MembershipState, Multicast, OpenPortError, PortOptions};
use crate::os::linux::link;
use crate::os::linux::udp::multicast::{self as os, Name};
use crate::os::linux::udp::socket::{Family, Socket};

/// The state of a port's part in multicast.
#[derive(Debug, Clone)]
pub(super) struct Membership {
    wish: Multicast,
    is_v6: bool,
    /// The group whose route is looked up.
    group: IpAddr,
    via: Option<MulticastInterface>,
    is_lost: bool,
}

/// The interface by which the port takes part.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct MulticastInterface {
    name: Name,
    number: i32,
    /// The source address that the routes choose; `None` where the user requested the interface.
    source: Option<IpAddr>,
}

impl Membership {
    pub(super) fn set_up(
        socket: &Socket,
        options: &PortOptions,
    ) -> Result<Option<Self>, OpenPortError> {
        let Some(wish) = options.multicast.clone() else {
            return Ok(None);
        };
        let is_v6 = options.local.is_ipv6();
        let group = wish.join.unwrap_or_else(|| any_group(is_v6));
        let failed = |errno| OpenPortError::Group {
            group,
            interface: wish.interface.clone(),
            errno,
        };
        sending(socket, &wish, is_v6).map_err(failed)?;
        let mut membership = Self {
            wish: wish.clone(),
            is_v6,
            group,
            via: None,
            is_lost: false,
        };
        let joined = membership.join(socket);
        joined.map_err(|errno| match &wish.interface {
            Some(interface) if errno == libc::ENODEV => OpenPortError::Interface {
                interface: interface.clone(),
                errno,
            },
            _ => failed(errno),
        })?;
        Ok(Some(membership))
    }

    /// Checks whether the interface is still there, and joins again where it is another one.
    pub(super) fn renew(&mut self, socket: &Socket) -> MembershipState {
        let there = self
            .via
            .filter(|via| via.holds(socket, &self.wish, self.group));
        if there.is_some() {
            return MembershipState::Kept;
        }
        let was_known = self.via.is_some() || self.is_lost;
        if let (Some(via), Some(group)) = (self.via.take(), self.wish.join) {
            // Otherwise the join would fail when the same interface returns: the socket would still be a member.
            let _ = os::membership(socket, group, via.number, false);
        }
        self.is_lost = self.join(socket).is_err();
        match self.is_lost {
            true => MembershipState::Lost,
            // A route that cannot be told from the old one counts as the same.
            false if !was_known => MembershipState::Kept,
            false => MembershipState::Regained,
        }
    }

    fn join(&mut self, socket: &Socket) -> Result<(), i32> {
        let Some(interface) = &self.wish.interface else {
            if let Some(group) = self.wish.join {
                match os::membership(socket, group, 0, true) {
                    Ok(()) | Err(libc::EADDRINUSE) => {}
                    Err(errno) => return Err(errno),
                }
            }
            self.via = by_route(socket, self.group);
            return Ok(());
        };
        let name = os::name(interface).ok_or(libc::ENODEV)?;
        let number = os::number_of(socket, name)?;
        if !os::is_up(socket, name) {
            return Err(libc::ENETDOWN);
        }
        os::send_by(socket, self.is_v6, number)?;
        if let Some(group) = self.wish.join {
            match os::membership(socket, group, number, true) {
                Ok(()) | Err(libc::EADDRINUSE) => {}
                Err(errno) => return Err(errno),
            }
        }
        self.via = Some(MulticastInterface {
            name,
            number,
            source: None,
        });
        Ok(())
    }
}

impl MulticastInterface {
    fn holds(&self, socket: &Socket, wish: &Multicast, group: IpAddr) -> bool {
        os::number_of(socket, self.name) == Ok(self.number)
            && os::is_up(socket, self.name)
            && (wish.interface.is_some() || source_towards(group) == self.source)
    }
}

/// A port that sends to no particular group looks up the route to all hosts.
fn any_group(is_v6: bool) -> IpAddr {
    if is_v6 {
        std::net::Ipv6Addr::new(0xff02, 0, 0, 0, 0, 0, 0, 1).into()
    } else {
        std::net::Ipv4Addr::new(239, 255, 76, 67).into()
    }
}

fn sending(socket: &Socket, wish: &Multicast, is_v6: bool) -> Result<(), i32> {
    let (hops, looped) = (i32::from(wish.hops), i32::from(wish.loopback));
    if is_v6 {
        socket.set(libc::SOL_IPV6, libc::IPV6_MULTICAST_HOPS, hops)?;
        return socket.set(libc::SOL_IPV6, libc::IPV6_MULTICAST_LOOP, looped);
    }
    socket.set(libc::SOL_IP, libc::IP_MULTICAST_TTL, hops)?;
    socket.set(libc::SOL_IP, libc::IP_MULTICAST_LOOP, looped)?;
    if wish.interface.is_some() {
        /// `IP_MULTICAST_ALL` of in.h: without it a socket receives datagrams to groups that other sockets joined.
        const MULTICAST_ALL: i32 = 49;
        socket.set(libc::SOL_IP, MULTICAST_ALL, 0)?;
    }
    Ok(())
}

/// Connecting a socket chooses a route and sends nothing.
fn source_towards(group: IpAddr) -> Option<IpAddr> {
    let to = SocketAddr::new(group, 9);
    let socket = Socket::open(Family::of(to)).ok()?;
    socket.connect(to).ok()?;
    Some(socket.local_address().ok()?.ip())
}

fn by_route(socket: &Socket, group: IpAddr) -> Option<MulticastInterface> {
    let source = source_towards(group)?;
    let mut all = link::list().into_iter();
    let name = os::name(&all.find(|it| it.address == source)?.interface)?;
    let number = os::number_of(socket, name).ok()?;
    Some(MulticastInterface {
        name,
        number,
        source: Some(source),
    })
}
