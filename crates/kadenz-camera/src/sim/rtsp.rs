//! An RTSP server (RFC 2326) of one stream, over TCP (section 10.12) and UDP.

use std::io::{self, Write};
use std::net::{Shutdown, SocketAddr, TcpStream, UdpSocket};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use kadenz_rt::clock::{MonotonicTime, WallTime, now};
use kadenz_rt::net::listener::Connected;
use kadenz_rt::random::Random;

use super::SimContext;
use super::pace::{FrameSink, pace};
use super::packets::{PAYLOAD_TYPE, Packets, RtpSender, rtp_time, with_faults};
use super::request::{Request, Requests, challenge};
use super::stream::EncodedFrame;
use crate::wire::rtsp::FRAME_HEADER;

/// How packets reach a client, and the channel or sockets for it.
enum ClientTransport {
    /// Interleaved with the answers (RFC 2326, section 10.12): the channel of the pictures; the next one is for
    /// reports.
    Tcp(u8),
    /// From a pair of sockets that are connected to the client's.
    Udp { rtp: UdpSocket, rtcp: UdpSocket },
}

/// What a client has set up.
struct Session {
    transport: ClientTransport,
    sender: RtpSender,
    /// The first RTP timestamp.
    offset: u32,
}

/// Serves one client until it leaves: requests on this thread, pictures on another.
pub(super) fn serve(
    shared: &SimContext,
    stream: &TcpStream,
    client: u64,
    connected: &Connected,
) -> io::Result<()> {
    // Answers and packets share the connection.
    let writer = Mutex::new(stream.try_clone()?);
    let has_left = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let serve = || {
            let mut requests = Requests::new(shared, stream)?;
            let mut session = None;
            while let Some(request) = requests.next()? {
                // One stream a connection: each is a thread.
                let answer = match request.method.as_str() {
                    "SETUP" if requests.plays => {
                        refused(&request, "455 Method Not Valid in This State", "")
                    }
                    _ => answer(shared, client, stream, &request, &mut session),
                };
                write(&writer, answer.as_bytes())?;
                match request.method.as_str() {
                    "TEARDOWN" => break,
                    "PLAY" => {
                        let to = session
                            .take()
                            .map(|it| Rtp::new(shared, client, &writer, it));
                        let has_left = || has_left.load(Ordering::Relaxed);
                        if let Some(mut to) = to {
                            requests.plays = true;
                            connected.has_asked();
                            scope.spawn(move || {
                                if pace(shared, client, &mut to, &has_left).is_err() {
                                    let _ = stream.shutdown(Shutdown::Both);
                                }
                            });
                        }
                    }
                    _ => {}
                }
            }
            Ok(())
        };
        let served = serve();
        has_left.store(true, Ordering::Relaxed);
        // Ends a write that waits for a client which does not read.
        let _ = stream.shutdown(Shutdown::Both);
        served
    })
}

fn write(writer: &Mutex<TcpStream>, bytes: &[u8]) -> io::Result<()> {
    crate::lock(writer).write_all(bytes)
}

fn refused(request: &Request, status: &str, fields: &str) -> String {
    let sequence = request.field("cseq").unwrap_or("0");
    format!("RTSP/1.0 {status}\r\nCSeq: {sequence}\r\n{fields}\r\n")
}

/// The answer to a request.
fn answer(
    shared: &SimContext,
    client: u64,
    stream: &TcpStream,
    request: &Request,
    session: &mut Option<Session>,
) -> String {
    let sequence = request.field("cseq").unwrap_or("0");
    let refused = |status, fields| refused(request, status, fields);
    let is_known = shared
        .options
        .credentials
        .as_ref()
        .is_none_or(|it| request.is_authorized(it));
    if !is_known && request.method != "OPTIONS" {
        return refused("401 Unauthorized", challenge().as_str());
    }
    let of_session = format!("Session: {client:08};timeout=60\r\n");
    let (fields, body) = match request.method.as_str() {
        "OPTIONS" => {
            let methods = "OPTIONS, DESCRIBE, SETUP, PLAY, GET_PARAMETER, TEARDOWN";
            (format!("Public: {methods}\r\n"), String::new())
        }
        "DESCRIBE" => {
            let base = request.uri.trim_end_matches('/');
            let fields = format!("Content-Base: {base}/\r\nContent-Type: application/sdp\r\n");
            (fields, description(shared))
        }
        "SETUP" => match set_up(shared, client, stream, request) {
            Ok((made, transport)) => {
                *session = Some(made);
                (
                    format!("Transport: {transport}\r\n{of_session}"),
                    String::new(),
                )
            }
            Err(_) => return refused("461 Unsupported Transport", ""),
        },
        "PLAY" => match session {
            Some(session) => {
                let sequence = session.sender.sequence;
                let uri = request.uri.trim_end_matches('/');
                let info = format!("RTP-Info: url={uri}/trackID=0;seq={sequence}\r\n");
                (
                    format!("Range: npt=now-\r\n{info}{of_session}"),
                    String::new(),
                )
            }
            None => return refused("455 Method Not Valid in This State", ""),
        },
        "GET_PARAMETER" | "TEARDOWN" => (of_session, String::new()),
        _ => return refused("501 Not Implemented", ""),
    };
    let length = body.len();
    format!("RTSP/1.0 200 OK\r\nCSeq: {sequence}\r\n{fields}Content-Length: {length}\r\n\r\n{body}")
}

/// The stream in SDP (RFC 4566, RFC 6184 section 8.2).
fn description(shared: &SimContext) -> String {
    let sets = shared.stream.parameter_sets();
    let profile = sets.iter().find_map(|set| set.get(1..4));
    let profile = profile.map_or(String::new(), |it| {
        let [profile, constraints, level] = [it[0], it[1], it[2]];
        format!(";profile-level-id={profile:02X}{constraints:02X}{level:02X}")
    });
    let encoded: Vec<String> = sets.iter().map(|set| STANDARD.encode(set)).collect();
    let sets = match encoded.len() {
        0 => String::new(),
        _ => format!(";sprop-parameter-sets={}", encoded.join(",")),
    };
    let rate = shared.options.rate.as_hz_f64();
    format!(
        "v=0\r\no=- 0 0 IN IP4 127.0.0.1\r\ns=kadenz camera sim\r\nt=0 0\r\na=control:*\r\n\
         m=video 0 RTP/AVP {PAYLOAD_TYPE}\r\nc=IN IP4 0.0.0.0\r\na=rtpmap:{PAYLOAD_TYPE} H264/90000\r\n\
         a=fmtp:{PAYLOAD_TYPE} packetization-mode=1{profile}{sets}\r\na=framerate:{rate:.3}\r\na=control:trackID=0\r\n"
    )
}

/// The session that a client requests, and the transport in the answer.
fn set_up(
    shared: &SimContext,
    client: u64,
    stream: &TcpStream,
    request: &Request,
) -> io::Result<(Session, String)> {
    let mut random = Random::new(shared.options.seed ^ client << 32);
    let ssrc = random.next_u64() as u32;
    let asked = request.field("transport").unwrap_or_default();
    // Of several transports, the first that this server supports.
    let made = asked.split(',').find_map(|asked| {
        let option = |name| {
            let mut options = asked.split(';').filter_map(|it| it.trim().split_once('='));
            let (_, value) = options.find(|(key, _)| *key == name)?;
            value.split('-').next()?.parse::<u16>().ok()
        };
        if asked.contains("RTP/AVP/TCP") {
            let channel = u8::try_from(option("interleaved").unwrap_or(0)).ok()?;
            let next = channel.checked_add(1)?;
            let answer =
                format!("RTP/AVP/TCP;unicast;interleaved={channel}-{next};ssrc={ssrc:08X}");
            return Some((ClientTransport::Tcp(channel), answer));
        }
        let port = option("client_port").filter(|_| !asked.contains("multicast"))?;
        let next = port.checked_add(1)?;
        // To the client's own address and no other, so that the server cannot be made to send packets to third parties.
        let peer = stream.peer_addr().ok()?;
        let local = stream.local_addr().ok()?;
        let (rtp, rtcp, own) = socket_pair(local, SocketAddr::new(peer.ip(), port), next)?;
        let own_next = own + 1;
        let answer = format!(
            "RTP/AVP;unicast;client_port={port}-{next};server_port={own}-{own_next};ssrc={ssrc:08X}"
        );
        Some((ClientTransport::Udp { rtp, rtcp }, answer))
    });
    let (transport, answer) = made.ok_or(io::ErrorKind::Unsupported)?;
    let channel = match &transport {
        ClientTransport::Tcp(channel) => *channel,
        ClientTransport::Udp { .. } => 0,
    };
    let session = Session {
        transport,
        sender: RtpSender::new(ssrc, random.next_u64() as u16, channel),
        offset: random.next_u64() as u32,
    };
    Ok((session, answer))
}

/// A pair of sockets at an even port and the next, connected to the client's.
fn socket_pair(
    local: SocketAddr,
    peer: SocketAddr,
    next: u16,
) -> Option<(UdpSocket, UdpSocket, u16)> {
    const TRIES: usize = 32;
    (0..TRIES).find_map(|_| {
        let rtp = UdpSocket::bind((local.ip(), 0)).ok()?;
        let own = rtp.local_addr().ok()?.port();
        if own % 2 == 1 {
            return None;
        }
        let rtcp = UdpSocket::bind((local.ip(), own + 1)).ok()?;
        rtp.connect(peer).ok()?;
        rtcp.connect((peer.ip(), next)).ok()?;
        Some((rtp, rtcp, own))
    })
}

/// Sends the pictures to a client that plays.
struct Rtp<'a> {
    shared: &'a SimContext,
    writer: &'a Mutex<TcpStream>,
    session: Session,
    random: Random,
    /// The packets of the next picture as they are sent.
    packets: Packets,
    report_at: MonotonicTime,
}

impl<'a> Rtp<'a> {
    fn new(
        shared: &'a SimContext,
        client: u64,
        writer: &'a Mutex<TcpStream>,
        session: Session,
    ) -> Self {
        Self {
            shared,
            writer,
            session,
            random: Random::new(shared.options.seed.rotate_left(17) ^ client),
            packets: Packets::default(),
            report_at: MonotonicTime::from_ns(0),
        }
    }

    fn timestamp(&self, index: u64) -> u32 {
        let stream = &self.shared.stream;
        let since = stream.due(index).since(stream.beat.start()).max(0) as u64;
        self.session.offset.wrapping_add(rtp_time(since))
    }

    /// A report with the time of day of the picture.
    fn report(&self, index: u64) -> Vec<u8> {
        let stream = &self.shared.stream;
        let off_ns = self
            .shared
            .options
            .script
            .clock_offset_ns(self.shared.elapsed());
        let since_ns = now().since(stream.due(index));
        let wall_ns = WallTime::now()
            .as_unix_ns()
            .saturating_sub(since_ns)
            .saturating_add(off_ns);
        self.session
            .sender
            .report(self.timestamp(index), WallTime::from_unix_ns(wall_ns))
    }
}

impl FrameSink for Rtp<'_> {
    fn prepare(&mut self, index: u64, frame: &EncodedFrame) {
        let timestamp = self.timestamp(index);
        let shares = self
            .shared
            .options
            .script
            .shares(self.shared.stream.elapsed(index));
        let packets = self.session.sender.packetize(&frame.units, timestamp);
        self.packets.clear();
        for packet in with_faults(packets.each(), shares, &mut self.random) {
            self.packets.push(packet);
        }
    }

    fn send(&mut self, index: u64) -> io::Result<()> {
        let report = (now() >= self.report_at).then(|| self.report(index));
        if report.is_some() {
            self.report_at = now() + self.shared.options.reports_every;
        }
        match &self.session.transport {
            ClientTransport::Tcp(_) => {
                write(self.writer, self.packets.bytes())?;
                report.map_or(Ok(()), |report| write(self.writer, &report))
            }
            ClientTransport::Udp { rtp, rtcp } => {
                for datagram in self.packets.datagrams() {
                    // An error of a port at which no program listens is ignored: the client leaves by its connection.
                    let _ = rtp.send(datagram);
                }
                if let Some(report) = report {
                    let _ = rtcp.send(&report[FRAME_HEADER..]);
                }
                Ok(())
            }
        }
    }
}
