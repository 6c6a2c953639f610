//! Any bytes as a samples file: both ways of reading agree, no sample is read that does not fit into the file, and
//! samples that were read are written and read again unchanged.
#![no_main]

use std::io::Cursor;

use kadenz_record::samples::Sample;
use kadenz_record::samples::reader::SamplesFile;
use kadenz_record::samples::writer::SamplesWriter;
use libfuzzer_sys::fuzz_target;

fn read(file: &mut SamplesFile<Cursor<&[u8]>>) -> (Vec<Sample>, bool) {
    let mut samples = Vec::new();
    let whole = file.for_each_chunk(|chunk| samples.extend_from_slice(chunk)).is_ok();
    (samples, whole)
}

fuzz_target!(|bytes: &[u8]| {
    let Ok(mut file) = SamplesFile::from_reader(Cursor::new(bytes)) else { return };
    let mut values = Vec::new();
    let whole = file.for_each_value(|chunk| values.extend_from_slice(chunk)).is_ok();
    assert!(values.len() * size_of::<i64>() <= bytes.len());

    file.rewind();
    let (samples, samples_whole) = read(&mut file);
    assert_eq!(whole, samples_whole);
    assert!(samples.iter().map(|sample| sample.value_ns).eq(values));

    let mut writer = SamplesWriter::new(Vec::new(), file.header()).expect("writes a header");
    writer.write(&samples).expect("writes samples");
    let written = writer.finish().expect("writes the end");
    let mut again = SamplesFile::from_reader(Cursor::new(&written[..])).expect("reads its own");
    assert_eq!(again.header(), file.header());
    assert_eq!(read(&mut again), (samples, true));
    assert!(!again.extent().truncated);
});
