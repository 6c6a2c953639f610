//! RTSP's messages as a camera's client receives them: a stream gives the same wherever it is split.
#![no_main]

use std::time::Duration;

use kadenz_camera::wire::rtsp::{Client, Message, MessageReader};
use kadenz_camera::wire::url::CameraUrl;
use kadenz_rt::clock::MonotonicTime;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let [piece, bytes @ ..] = bytes else {
        return;
    };
    let whole = heard(bytes, usize::MAX);
    assert_eq!(heard(bytes, usize::from(*piece) + 1), whole);
});

/// The state and the output of a client for a stream that comes in pieces.
fn heard(bytes: &[u8], piece: usize) -> String {
    let now = MonotonicTime::from_ns(0);
    let url = CameraUrl::parse("rtsp://user:password@camera/stream").expect("is valid");
    let timeout = Duration::from_secs(10);
    let mut client = Client::new(url, None, "nonce".to_owned(), timeout, now);
    let (mut reader, mut said) = (MessageReader::default(), String::new());
    for now_come in bytes.chunks(piece) {
        let mut rest = now_come;
        while !rest.is_empty() {
            let room = reader.room();
            let count = room.len().min(rest.len());
            room[..count].copy_from_slice(&rest[..count]);
            reader.filled(count);
            rest = &rest[count..];
            loop {
                let event = match reader.message() {
                    Ok(None) => break,
                    Ok(Some(Message::Frame { channel, bytes })) => {
                        said += &format!("{channel} {bytes:?}\n");
                        continue;
                    }
                    Ok(Some(Message::Response { status, head, body })) => {
                        client.response(status, &head, body, now)
                    }
                    Ok(Some(Message::Request(head))) => Ok(client.request(&head)),
                    // The pieces determine how much was read before the client refuses a long head.
                    Err(error) => return format!("{error}"),
                };
                said += &format!("{event:?} {}\n", String::from_utf8_lossy(&client.output()));
                if event.is_err() {
                    return said;
                }
            }
        }
    }
    said
}
