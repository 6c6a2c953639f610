//! Any bytes of a client to LCM's TCP server, cut anywhere: memory is bounded by the bytes that came, and frames do not
//! depend on the cuts.
#![no_main]

use kadenz_msg::wire::tcpq::{Decoder, Frame, MAGIC_CLIENT, Peer, greeting};
use libfuzzer_sys::fuzz_target;

const MAX: usize = 10_000;

fuzz_target!(|bytes: &[u8]| {
    // The last byte chooses the cuts, so that a client's whole stream is a seed.
    let Some(cut) = bytes.last() else {
        return;
    };
    let cut = usize::from(*cut) + 1;
    let greeted = [&greeting(MAGIC_CLIENT)[..], bytes].concat();
    assert_eq!(frames(&greeted, usize::MAX), frames(&greeted, cut));
    assert_eq!(frames(bytes, usize::MAX), frames(bytes, cut));
});

/// The parsed frames, and whether the stream ended in bytes that are not LCM's protocol.
fn frames(mut bytes: &[u8], most: usize) -> (Vec<String>, bool) {
    let mut decoder = Decoder::new(Peer::Client, MAX);
    let mut all = Vec::new();
    while !bytes.is_empty() {
        let space = decoder.space();
        let count = bytes.len().min(most).min(space.len());
        space[..count].copy_from_slice(&bytes[..count]);
        decoder.filled(count);
        bytes = &bytes[count..];
        loop {
            match decoder.next() {
                Ok(None) => break,
                Err(_) => return (all, true),
                Ok(Some(Frame::Publish { channel, payload })) => {
                    assert!(channel.len() <= 63 && payload.len() <= MAX);
                    all.push(format!("{channel} {payload:?}"));
                }
                Ok(Some(Frame::Subscribe { pattern })) => all.push(format!("+{pattern}")),
                Ok(Some(Frame::Unsubscribe { pattern })) => all.push(format!("-{pattern}")),
            }
        }
        assert!(decoder.held() <= 4 * 65_536, "bounded by what came");
    }
    (all, false)
}
