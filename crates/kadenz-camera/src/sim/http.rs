//! JPEG pictures as parts of an endless answer (`multipart/x-mixed-replace`), as HTTP cameras send them.

use std::io::{self, Write};
use std::net::TcpStream;

use kadenz_rt::net::listener::Connected;

use super::SimContext;
use super::pace::{FrameSink, pace};
use super::request::{Requests, challenge};
use super::stream::EncodedFrame;

/// Serves one client until it leaves.
pub(super) fn serve(
    shared: &SimContext,
    stream: &TcpStream,
    client: u64,
    connected: &Connected,
) -> io::Result<()> {
    let mut requests = Requests::new(shared, stream)?;
    while let Some(request) = requests.next()? {
        let refused = match &shared.options.credentials {
            Some(credentials) if !request.is_authorized(credentials) => {
                Some(("401 Unauthorized", challenge()))
            }
            _ if request.method != "GET" => {
                Some(("405 Method Not Allowed", "Allow: GET\r\n".to_owned()))
            }
            _ => None,
        };
        if let Some((status, fields)) = refused {
            let answer = format!("HTTP/1.1 {status}\r\n{fields}Content-Length: 0\r\n\r\n");
            (&mut &*stream).write_all(answer.as_bytes())?;
            continue;
        }
        connected.has_asked();
        let head = "HTTP/1.1 200 OK\r\nContent-Type: multipart/x-mixed-replace; boundary=picture\r\n\
                    Cache-Control: no-store\r\nConnection: close\r\n\r\n";
        (&mut &*stream).write_all(head.as_bytes())?;
        let part = Vec::new();
        return pace(shared, client, &mut Parts { stream, part }, &|| false);
    }
    Ok(())
}

struct Parts<'a> {
    stream: &'a TcpStream,
    part: Vec<u8>,
}

impl FrameSink for Parts<'_> {
    fn prepare(&mut self, _index: u64, frame: &EncodedFrame) {
        self.part.clear();
        for jpeg in &frame.units {
            let length = jpeg.len();
            let head = format!(
                "--picture\r\nContent-Type: image/jpeg\r\nContent-Length: {length}\r\n\r\n"
            );
            self.part.extend(head.as_bytes());
            self.part.extend(jpeg);
            self.part.extend(b"\r\n");
        }
    }

    fn send(&mut self, _index: u64) -> io::Result<()> {
        (&mut &*self.stream).write_all(&self.part)
    }
}
