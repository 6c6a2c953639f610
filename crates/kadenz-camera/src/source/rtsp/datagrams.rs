//! RTP and RTCP over UDP: two ports, with the kernel's receive time stamps.

use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use kadenz_rt::clock::{self, MonotonicTime, WallBridge};
use kadenz_rt::net::port::{Inbox, OpenPortError, PortOptions, Stamping, Stamps, UdpPort, Wait};

use super::super::SourceError;
use super::super::network::transient;
use super::flow::Flow;
use crate::wire::rtp::rtcp;
use crate::wire::rtsp::GrantedTransport;
use crate::wire::url::CameraUrl;

/// Datagrams that one call takes.
const SLOTS: usize = 32;
/// The longest datagram: that of a network with jumbo frames.
const SLOT_BYTES: usize = 9216;
/// A key picture of 4K at 30 Mbit/s a few times over; the kernel grants less where it must.
const RECEIVE_BUFFER: usize = 4 << 20;
/// Pairs of ports that are tried: RTP's is even, RTCP's the next one (RFC 3550, section 11).
const TRIES: usize = 32;
/// How often the connection and the port of RTCP are polled while the source waits for packets.
const POLL_INTERVAL: Duration = Duration::from_millis(50);

/// The ports of RTP and RTCP.
#[derive(Debug)]
pub(super) struct Datagrams {
    rtp: UdpPort,
    rtcp: UdpPort,
    inbox: Inbox,
    control: Inbox,
    bridge: WallBridge,
    /// The addresses that packets are accepted from: the camera's, and the source address that the camera states.
    camera: IpAddr,
    source: Option<IpAddr>,
    ports: Option<(u16, u16)>,
    /// Which datagram of the inbox is next.
    next: usize,
    /// All packets that came until this time were taken out of the kernel and out of the inbox.
    emptied: MonotonicTime,
    horizon: MonotonicTime,
}

impl Datagrams {
    pub(super) fn open(
        url: &CameraUrl,
        addresses: Option<(IpAddr, IpAddr)>,
    ) -> Result<Self, SourceError> {
        const REMEDY: &str = "use kadenz-transport=tcp";
        let Some((local, camera)) = addresses else {
            return Err(transient(
                url,
                &"the camera closed the connection",
                "open it again",
            ));
        };
        let pair = pair(local).map_err(|error| transient(url, &error, REMEDY))?;
        let Some((rtp, rtcp)) = pair else {
            return Err(transient(
                url,
                &"no two UDP ports side by side are free",
                REMEDY,
            ));
        };
        let now = clock::now();
        Ok(Self {
            rtp,
            rtcp,
            inbox: Inbox::new(SLOTS, SLOT_BYTES),
            control: Inbox::new(4, SLOT_BYTES),
            bridge: WallBridge::new(),
            camera,
            source: None,
            ports: None,
            next: 0,
            emptied: now,
            horizon: now,
        })
    }

    pub(super) fn ports(&self) -> (u16, u16) {
        (
            self.rtp.local_address().port(),
            self.rtcp.local_address().port(),
        )
    }

    /// All packets that came until this time were given to the flow: those missing before it may be given up.
    ///
    /// A thread that did not run for a while finds packets in the kernel that came in time.
    pub(super) fn horizon(&self) -> MonotonicTime {
        self.horizon
    }

    /// Called when the camera is ready to send. A packet to each of its ports opens the way back through a router or a
    /// firewall.
    pub(super) fn open_nat_ports(&mut self, granted: &GrantedTransport, our_ssrc: u32) {
        (self.source, self.ports) = (granted.source, granted.server_ports);
        if let Some((port, _)) = self.ports {
            // An empty RTP packet of a type that is never used (RFC 6263, section 4.6 ff.).
            let mut bytes = vec![0x80, 20, 0, 0, 0, 0, 0, 0];
            bytes.extend_from_slice(&our_ssrc.to_be_bytes());
            // Where sending fails, the camera's packets may come nevertheless.
            let _ = self
                .rtp
                .send_to(&bytes, SocketAddr::from((self.camera, port)));
        }
        self.report(&rtcp::empty_report(our_ssrc));
    }

    /// Sends RTCP. What a lost report said is in the next one.
    pub(super) fn report(&mut self, bytes: &[u8]) {
        if let Some((_, port)) = self.ports {
            let _ = self
                .rtcp
                .send_to(bytes, SocketAddr::from((self.camera, port)));
        }
    }

    /// Waits for packets until a time at the latest, and gives the first one to the flow; returns whether there was
    /// one.
    pub(super) fn receive(&mut self, flow: &mut Flow, until: MonotonicTime) -> bool {
        let before = clock::now();
        let until = until.min(before + POLL_INTERVAL);
        self.next = 0;
        // Errors about our packets to a closed port say nothing of the camera's packets.
        let taken = self.rtp.receive_batch(&mut self.inbox, Wait::Until(until));
        // A batch that is not full took all that had come before the call.
        if taken.is_ok() && self.inbox.len() < SLOTS {
            self.emptied = before;
        }
        self.bridge.observe();
        let now = clock::now();
        if self
            .rtcp
            .receive_batch(&mut self.control, Wait::Poll)
            .is_ok()
        {
            let (camera, source) = (self.camera, self.source);
            for datagram in self.control.datagrams() {
                if is_from(datagram.from, camera, source) {
                    flow.control(datagram.bytes, now);
                }
            }
        }
        self.next(flow)
    }

    /// Gives the next packet that has already come to the flow; returns whether there was one.
    pub(super) fn next(&mut self, flow: &mut Flow) -> bool {
        let now = clock::now();
        while let Some(datagram) = self.inbox.datagram(self.next) {
            self.next += 1;
            let arrival = arrival(&mut self.bridge, datagram.stamps, now);
            let is_welcome =
                is_from(datagram.from, self.camera, self.source) && !datagram.truncated();
            if is_welcome && flow.packet(datagram.bytes, true, arrival) {
                return true;
            }
        }
        self.horizon = self.emptied;
        false
    }
}

fn is_from(from: SocketAddr, camera: IpAddr, source: Option<IpAddr>) -> bool {
    from.ip() == camera || Some(from.ip()) == source
}

/// The kernel's time stamp on the monotonic clock; the present time where the stamp cannot be translated.
fn arrival(bridge: &mut WallBridge, stamps: Stamps, now: MonotonicTime) -> MonotonicTime {
    let stamp = stamps.software.and_then(|stamp| bridge.translate(stamp));
    stamp.map_or(now, |stamp| stamp.at.min(now))
}

fn pair(local: IpAddr) -> Result<Option<(UdpPort, UdpPort)>, OpenPortError> {
    let open = |port| {
        UdpPort::open(&PortOptions {
            local: SocketAddr::from((local, port)),
            receive_buffer: Some(RECEIVE_BUFFER),
            receive_stamps: Stamping::Software,
            ..PortOptions::default()
        })
    };
    // Ports of odd numbers stay open until the end, so that the kernel gives others.
    let mut odd = Vec::new();
    for _ in 0..TRIES {
        let rtp = open(0)?;
        let port = rtp.local_address().port();
        if port % 2 == 1 {
            odd.push(rtp);
            continue;
        }
        if let Ok(rtcp) = open(port + 1) {
            return Ok(Some((rtp, rtcp)));
        }
    }
    Ok(None)
}
