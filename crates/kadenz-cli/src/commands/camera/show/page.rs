//! The page: an HTTP server on the loopback address for this machine's browser.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Mutex;
use std::time::Duration;

use kadenz::camera::client::Camera;
use kadenz::camera::layout::Channels;
use kadenz::camera::ring::Shape;
use kadenz::lab::stop::Stop;
use kadenz::rt::clock::{self, MonotonicTime};
use kadenz::rt::net::listener::Connections;
use serde_json::json;

const PAGE: &str = include_str!("page.html");
/// The server closes further connections.
const MAX_CLIENTS: usize = 8;
/// The longest request.
const MAX_REQUEST: usize = 8 * 1024;
/// The longest time for receiving a request, and for sending an answer.
const MAX_ASKING: Duration = Duration::from_secs(2);
const MAX_ANSWERING: Duration = Duration::from_secs(10);
const POLL_INTERVAL: Duration = Duration::from_millis(20);

/// Serves the page until the stop is requested.
pub(super) fn serve(listener: &TcpListener, camera: Camera, stop: &Stop) -> io::Result<()> {
    listener.set_nonblocking(true)?;
    let camera = &Mutex::new(camera);
    let mut connections = Connections::new(MAX_CLIENTS);
    std::thread::scope(|scope| {
        while !stop.requested() {
            let Ok((client, _)) = listener.accept() else {
                std::thread::sleep(POLL_INTERVAL);
                continue;
            };
            let Some(connected) = connections.admit(&client) else {
                continue;
            };
            scope.spawn(move || {
                // A client that closes its connection or sends no valid request gets no answer; the server goes on.
                let _ = Client::new(client).and_then(|mut client| {
                    let request = read_request(&mut client)?;
                    connected.has_asked();
                    client.until = clock::now() + MAX_ANSWERING;
                    answer(client, &request, camera)
                });
            });
        }
        connections.close();
    });
    Ok(())
}

/// A connection with a deadline for all its reads and writes, however slowly the other end sends and receives.
struct Client {
    stream: TcpStream,
    until: MonotonicTime,
}

impl Client {
    fn new(stream: TcpStream) -> io::Result<Self> {
        stream.set_nonblocking(false)?;
        let until = clock::now() + MAX_ASKING;
        Ok(Self { stream, until })
    }

    fn left(&self) -> io::Result<Option<Duration>> {
        let left = self.until.remaining(clock::now());
        match left.is_zero() {
            true => Err(ErrorKind::TimedOut.into()),
            false => Ok(Some(left)),
        }
    }
}

impl Read for Client {
    fn read(&mut self, room: &mut [u8]) -> io::Result<usize> {
        self.stream.set_read_timeout(self.left()?)?;
        self.stream.read(room)
    }
}

impl Write for Client {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.stream.set_write_timeout(self.left()?)?;
        self.stream.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.stream.flush()
    }
}

fn answer(mut client: impl Write, request: &str, camera: &Mutex<Camera>) -> io::Result<()> {
    // A page of another site that this browser shows must not see the picture (DNS rebinding).
    let is_local = request.lines().any(|line| {
        let host = line
            .split_once(':')
            .filter(|(name, _)| name.eq_ignore_ascii_case("host"));
        host.is_some_and(|(_, host)| {
            ["127.0.0.1", "localhost"].contains(&host.trim().split(':').next().unwrap_or(""))
        })
    });
    let path = request.split(' ').nth(1).unwrap_or("");
    let (status, kind, body) = match path.split('?').next().unwrap_or("") {
        _ if !is_local || !request.starts_with("GET ") => refused(),
        "/" => (
            "200 OK",
            "text/html; charset=utf-8",
            PAGE.as_bytes().to_vec(),
        ),
        "/frame" => frame(camera),
        "/status" => ("200 OK", "application/json", status(camera)),
        _ => (
            "404 Not Found",
            "text/plain",
            b"nothing is here; see /\n".to_vec(),
        ),
    };
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {}\r\nCache-Control: no-store\r\n\
         X-Content-Type-Options: nosniff\r\nConnection: close\r\n\r\n",
        body.len()
    );
    client.write_all(head.as_bytes())?;
    client.write_all(&body)
}

type Body = (&'static str, &'static str, Vec<u8>);

fn refused() -> Body {
    (
        "403 Forbidden",
        "text/plain",
        b"this page is for a browser on this machine\n".to_vec(),
    )
}

fn read_request(client: &mut impl Read) -> io::Result<String> {
    let mut request = Vec::new();
    let mut part = [0; 1024];
    while !request.windows(4).any(|it| it == b"\r\n\r\n") {
        let count = client.read(&mut part)?;
        if count == 0 || request.len() + count > MAX_REQUEST {
            return Err(io::ErrorKind::InvalidData.into());
        }
        request.extend_from_slice(&part[..count]);
    }
    Ok(String::from_utf8_lossy(&request).into_owned())
}

/// The newest frame, whatever its age: the page shows the age.
fn frame(camera: &Mutex<Camera>) -> Body {
    let mut camera = camera
        .lock()
        .unwrap_or_else(std::sync::PoisonError::into_inner);
    let taken = camera
        .latest(Duration::MAX)
        .ok()
        .and_then(|frame| Some((frame.to_vec().ok()?, frame.shape())));
    match taken {
        Some((bytes, shape)) => ("200 OK", "image/bmp", bitmap(&bytes, &shape)),
        None => (
            "503 Service Unavailable",
            "text/plain",
            b"there is no frame\n".to_vec(),
        ),
    }
}

/// Encodes a Windows bitmap, which needs no compression: 24 bits a pixel, the top row first by a negative height.
fn bitmap(bytes: &[u8], shape: &Shape) -> Vec<u8> {
    let width = shape.size.width as usize;
    let row_bytes = (width * 3).next_multiple_of(4);
    let length = 54 + row_bytes * shape.size.height as usize;
    let mut file = Vec::with_capacity(length);
    let word = |value: usize| u32::try_from(value).unwrap_or(u32::MAX).to_le_bytes();
    file.extend(b"BM");
    file.extend([word(length), word(0), word(54), word(40), word(width)].concat());
    file.extend((-i64::from(shape.size.height) as i32).to_le_bytes());
    file.extend([1, 0, 24, 0]);
    file.extend([0; 24]);
    for row in bytes.chunks_exact(width * shape.channels.count()) {
        match shape.channels {
            Channels::Bgr => file.extend_from_slice(row),
            Channels::Rgb => file.extend(row.chunks_exact(3).flat_map(|it| [it[2], it[1], it[0]])),
            Channels::Gray => file.extend(row.iter().flat_map(|it| [*it; 3])),
        }
        while (file.len() - 54) % row_bytes != 0 {
            file.push(0);
        }
    }
    file
}

/// State of the camera and of its newest frame, as JSON.
fn status(camera: &Mutex<Camera>) -> Vec<u8> {
    let mut camera = camera
        .lock()
        .unwrap_or_else(std::sync::PoisonError::into_inner);
    let status = camera.status();
    let newest = camera.latest(Duration::MAX).ok().map(|frame| {
        let info = frame.info();
        let ms = |ns: i64| ns as f64 / 1e6;
        json!({
            "number": info.number,
            "age_ms": frame.age().as_secs_f64() * 1e3,
            "published_after_ms": ms(info.published.since(info.begin())),
            "decode_ms": ms(info.decode_ns as i64),
            "convert_ms": ms(info.convert_ns as i64),
            "width": frame.shape().size.width,
            "height": frame.shape().size.height,
        })
    });
    json!({ "camera": status, "frame": newest })
        .to_string()
        .into_bytes()
}

#[cfg(test)]
mod tests {
    use kadenz::camera::layout::Order;
    use kadenz::camera::picture::Size;

    use super::*;

    #[test]
    fn a_bitmap_has_rows_of_whole_words_from_the_top() {
        let shape = |channels| Shape {
            size: Size::new(2, 2).unwrap(),
            channels,
            order: Order::Interleaved,
        };
        let file = bitmap(
            &[1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12],
            &shape(Channels::Rgb),
        );
        assert_eq!(
            &file[54..],
            [3, 2, 1, 6, 5, 4, 0, 0, 9, 8, 7, 12, 11, 10, 0, 0]
        );
        assert_eq!(file[22..26], (-2_i32).to_le_bytes());
        let gray = bitmap(&[1, 2, 3, 4], &shape(Channels::Gray));
        assert_eq!(&gray[54..62], [1, 1, 1, 2, 2, 2, 0, 0]);
    }
}
