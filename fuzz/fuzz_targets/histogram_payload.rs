//! Any bytes as one histogram, or, after an odd byte, as the content of a valid zlib stream: a histogram that can be
//! decoded can be encoded and decoded again unchanged.
#![no_main]

use std::io::Write;

use flate2::{Compression, write::ZlibEncoder};
use kadenz_record::histogram::Histogram;
use kadenz_record::hlog::codec::{Decoder, Encoder};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let Some((&kind, content)) = bytes.split_first() else {
        return;
    };
    let bytes = if kind % 2 == 1 {
        compressed(content)
    } else {
        content.to_vec()
    };
    let mut decoder = Decoder::new();
    let mut sum = Histogram::new();
    let added = decoder.add_to(&bytes, &mut sum);
    let Ok(max) = decoder.max(&bytes) else {
        assert!(
            added.is_err() && sum.is_empty(),
            "a failed sum leaves nothing behind"
        );
        return;
    };
    let decoded = decoder.decode(&bytes).expect("its maximum is known");
    assert_eq!((decoded.max(), decoded.count()), (max, sum.count()));
    let mut encoder = Encoder::new();
    let mut again = Histogram::new();
    decoder
        .decode_into(encoder.plain(&decoded), &mut again)
        .expect("our own form");
    assert_eq!(again, decoded);
    decoder
        .decode_into(encoder.compressed(&decoded), &mut again)
        .expect("our own form");
    assert_eq!(again, decoded);
});

fn compressed(content: &[u8]) -> Vec<u8> {
    let mut stream = ZlibEncoder::new(Vec::new(), Compression::fast());
    stream.write_all(content).expect("a vector takes all");
    let stream = stream.finish().expect("a vector takes all");
    let length = u32::try_from(stream.len()).expect("small");
    let mut bytes = 0x1c84_9314_u32.to_be_bytes().to_vec();
    bytes.extend(length.to_be_bytes());
    bytes.extend(stream);
    bytes
}
