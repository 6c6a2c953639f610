#![allow(clippy::unwrap_used, reason = "in a test a panic is the answer")]

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{TcpListener, TcpStream};
use std::thread::JoinHandle;
use std::time::Duration;

use super::*;

const PICTURE: &[u8] = &[0xff, 0xd8, 0xff, 0xda, 0, 2, 1, 2, 0xff, 0, 3, 0xff, 0xd9];

/// A server that answers one connection after another, each by a function of the request.
fn serve(answers: Vec<fn(&str) -> Vec<u8>>) -> (String, JoinHandle<Vec<TcpStream>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let place = listener.local_addr().unwrap().to_string();
    let thread = std::thread::spawn(move || {
        let answered = answers.into_iter().map(|answer| {
            let (mut stream, _) = listener.accept().unwrap();
            stream
                .set_read_timeout(Some(Duration::from_secs(60)))
                .unwrap();
            let mut lines = BufReader::new(stream.try_clone().unwrap());
            let mut request = String::new();
            while !request.ends_with("\r\n\r\n") && lines.read_line(&mut request).unwrap() > 0 {}
            stream.write_all(&answer(&request)).unwrap();
            stream
        });
        answered.collect()
    });
    (place, thread)
}

fn options() -> NetworkOptions {
    NetworkOptions {
        timeout: Duration::from_secs(60),
        silence: Duration::from_secs(60),
        ..NetworkOptions::default()
    }
}

fn later() -> MonotonicTime {
    clock::now() + Duration::from_secs(60)
}

fn stream(_: &str) -> Vec<u8> {
    let head = b"HTTP/1.1 200 OK\r\nContent-Type: multipart/x-mixed-replace;boundary=x\r\n\r\n";
    [
        &head[..],
        b"--x\r\n\r\n",
        PICTURE,
        b"\r\n--x\r\n\r\n",
        PICTURE,
    ]
    .concat()
}

fn picture(source: &mut MjpegSource) -> Vec<u8> {
    match source.next(later()).unwrap() {
        Next::Unit(Unit {
            content: Content::Encoded(Coding::Jpeg, bytes),
            is_key: true,
            ..
        }) => bytes.to_vec(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn pictures_come_after_a_password_and_a_redirection() {
    let (place, server) = serve(vec![
        |request| {
            assert!(
                request.starts_with("GET /cam?a=b HTTP/1.1\r\nHost: 127.0.0.1:"),
                "{request}"
            );
            b"HTTP/1.1 302 Found\r\nLocation: /other\r\n\r\n".to_vec()
        },
        |_| {
            b"HTTP/1.1 401 No\r\nWWW-Authenticate: Digest realm=\"r\", nonce=\"n\", qop=\"auth\"\r\n\r\n".to_vec()
        },
        |request| {
            assert!(
                request.contains("Authorization: Digest username=\"u\"")
                    && !request.contains("secret"),
                "{request}"
            );
            stream(request)
        },
    ]);
    let mut source =
        MjpegSource::open(&format!("http://u:secret@{place}/cam?a=b"), &options()).unwrap();
    assert_eq!(
        (picture(&mut source), picture(&mut source)),
        (PICTURE.to_vec(), PICTURE.to_vec())
    );
    assert!(matches!(source.next(clock::now()), Ok(Next::Nothing)));
    drop(server.join().unwrap());
    let error = source.next(later()).unwrap_err();
    assert!(error.is_transient, "{error}");
}

#[test]
fn pictures_come_out_of_chunks() {
    let (place, server) = serve(vec![|request| {
        let body = [stream(request).split_off(74), PICTURE.to_vec()].concat();
        let chunks = body
            .chunks(5)
            .flat_map(|it| [format!("{:x}\r\n", it.len()).as_bytes(), it, b"\r\n"].concat());
        let head = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
        [&head[..], &chunks.collect::<Vec<u8>>(), b"0\r\n\r\n"].concat()
    }]);
    let mut source = MjpegSource::open(&format!("http://{place}"), &options()).unwrap();
    for _ in 0..3 {
        assert_eq!(picture(&mut source), PICTURE);
    }
    let error = source.next(later()).unwrap_err();
    assert!(
        error.is_transient && error.cause.contains("ended the stream"),
        "{error}"
    );
    server.join().unwrap();
}

#[test]
fn a_camera_that_falls_silent_is_given_up() {
    let (place, server) = serve(vec![stream]);
    let silence = Duration::from_millis(300);
    let mut source = MjpegSource::open(
        &format!("http://{place}"),
        &NetworkOptions {
            silence,
            ..options()
        },
    )
    .unwrap();
    let _open = server.join().unwrap();
    picture(&mut source);
    picture(&mut source);
    let error = source.next(later()).unwrap_err();
    assert!(
        error.is_transient && error.cause.contains("nothing came"),
        "{error}"
    );
}

#[test]
fn bytes_that_never_end_a_picture_keep_no_caller_waiting() {
    let (place, server) = serve(vec![|_| b"HTTP/1.1 200 OK\r\n\r\n".to_vec()]);
    let mut source = MjpegSource::open(&format!("http://{place}"), &options()).unwrap();
    let mut stream = server.join().unwrap().remove(0);
    let sending =
        std::thread::spawn(move || while stream.write_all(&[0xff, 0xd8, 0, 7]).is_ok() {});
    for _ in 0..3 {
        let next = source.next(clock::now() + Duration::from_millis(50));
        assert!(matches!(next, Ok(Next::Nothing)), "{next:?}");
    }
    drop(source);
    sending.join().unwrap();
}

#[test]
fn what_cannot_be_opened_says_what_to_do() {
    let open = |url: &str| MjpegSource::open(url, &options()).unwrap_err();
    assert!(
        open("https://u:secret@127.0.0.1/")
            .remedy
            .contains("without TLS")
    );
    type Case = (fn(&str) -> Vec<u8>, &'static str, bool);
    let cases: [Case; 7] = [
        (
            |_| b"HTTP/1.1 200 OK\r\nX: y\r\n".repeat(1000),
            "a head of more than",
            true,
        ),
        (
            |_| b"HTTP/1.1 302 Found\r\nLocation: /\x1b[2J\r\n\r\n".to_vec(),
            "a control character",
            false,
        ),
        (
            |_| b"HTTP/1.1 401 No\r\nWWW-Authenticate: Basic realm=\"r\"\r\n\r\n".to_vec(),
            "wants a user",
            false,
        ),
        (
            |_| b"HTTP/1.1 200 OK\r\nContent-Type: image/jpeg\r\n\r\n".to_vec(),
            "one picture",
            false,
        ),
        (
            |_| b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n".to_vec(),
            "a page",
            false,
        ),
        (|_| b"HTTP/1.1 503 Busy\r\n\r\n".to_vec(), "503", true),
        (
            |_| b"SSH-2.0-x\r\n\r\n".to_vec(),
            "does not speak HTTP",
            false,
        ),
    ];
    for (answer, cause, is_transient) in cases {
        let (place, server) = serve(vec![answer]);
        let error = open(&format!("http://{place}/"));
        assert!(
            error.cause.contains(cause) && error.is_transient == is_transient,
            "{error}"
        );
        server.join().unwrap();
    }
}
