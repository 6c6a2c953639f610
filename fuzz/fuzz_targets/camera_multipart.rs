//! MJPEG over HTTP: the head, the chunks, and the pictures, which are the same however the stream is split.
#![no_main]

use kadenz_camera::wire::auth::Challenge;
use kadenz_camera::wire::chunked::Chunked;
use kadenz_camera::wire::head::Head;
use kadenz_camera::wire::multipart::Multipart;
use kadenz_rt::clock::MonotonicTime;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let [piece, bytes @ ..] = bytes else {
        return;
    };
    if let Ok(Some((head, length))) = Head::parse(bytes) {
        assert!(length <= bytes.len());
        let _ = Challenge::strongest(head.fields("WWW-Authenticate"));
    }
    let piece = usize::from(*piece) + 1;
    let whole = pictures(bytes, usize::MAX);
    assert_eq!(pictures(bytes, piece), whole);
    assert!(whole.iter().map(Vec::len).sum::<usize>() <= bytes.len());
    assert_eq!(body(bytes, piece), body(bytes, usize::MAX));
});

fn pictures(bytes: &[u8], piece: usize) -> Vec<Vec<u8>> {
    let (mut multipart, mut found) = (Multipart::default(), Vec::new());
    for mut rest in bytes.chunks(piece) {
        while !rest.is_empty() {
            let (used, part) = multipart.push(rest, MonotonicTime::from_ns(0));
            assert!(used > 0 || part.is_some());
            rest = &rest[used..];
            found.extend(part.map(|part| part.bytes));
        }
    }
    found
}

/// The body as far as it is chunked.
fn body(bytes: &[u8], piece: usize) -> Vec<u8> {
    let (mut chunked, mut out) = (Chunked::default(), Vec::new());
    for mut rest in bytes.chunks(piece) {
        while !rest.is_empty() && !chunked.has_ended() {
            let Ok((body, used)) = chunked.body(rest) else {
                return out;
            };
            out.extend_from_slice(body);
            rest = &rest[used..];
        }
    }
    out
}
