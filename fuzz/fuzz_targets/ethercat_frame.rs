//! Hostile frames into a segment of several devices: the segment answers or gives an error, in bounded time, and a
//! datagram keeps the shape in which it was sent.
#![no_main]

use kadenz_ethercat::description::Hardware;
use kadenz_ethercat::sim::{
    Application, StateChange, Decision, Model, Passed, Passive, Pdi, Segment, Time,
};
use kadenz_ethercat::wire::{Datagrams, MAX_FRAME};
use libfuzzer_sys::fuzz_target;

/// Answers every message with the same message, and returns its outputs as inputs.
struct Mirror;

impl Application for Mirror {
    fn change(&mut self, _change: StateChange, _pdi: &mut dyn Pdi) -> Decision {
        Decision::Accept
    }

    fn mailbox(&mut self, message: &[u8], pdi: &mut dyn Pdi) {
        let _ = pdi.send(message, 1_000);
    }

    fn outputs_written(&mut self, sync_manager: u8, pdi: &mut dyn Pdi) {
        let mut outputs = [0; 64];
        if let Ok(length) = pdi.outputs(sync_manager, &mut outputs) {
            for inputs in 0..16 {
                let _ = pdi.set_inputs(inputs, &outputs[..length]);
            }
        }
    }
}

fn model(application: impl Application) -> Model {
    Model {
        hardware: Hardware::et1100(),
        sii: (0..=255).collect(),
        application: Box::new(application),
    }
}

/// Frames follow one another, each with its length in two bytes; those that do not begin with EtherCAT's header get it
/// in front.
fn next<'a>(bytes: &mut &'a [u8]) -> Option<&'a [u8]> {
    let (length, rest) = bytes.split_first_chunk::<2>()?;
    let length = usize::from(u16::from_le_bytes(*length)) % MAX_FRAME;
    let (frame, rest) = rest.split_at(length.min(rest.len()));
    *bytes = rest;
    Some(frame)
}

fn frame_of(part: &[u8]) -> Vec<u8> {
    if part.get(12..14) == Some(&[0x88, 0xA4]) {
        return part.to_vec();
    }
    let mut frame = vec![0xFF; 12];
    frame.extend_from_slice(&[0x88, 0xA4]);
    let part = &part[..part.len().min(MAX_FRAME - 16)];
    frame.extend_from_slice(&(part.len() as u16 | 0x1000).to_le_bytes());
    frame.extend_from_slice(part);
    frame
}

/// The parts of each datagram that no device may change.
fn shape(frame: &[u8]) -> Vec<(u8, u8, usize)> {
    let datagrams = Datagrams::of(frame).into_iter().flatten().flatten();
    datagrams
        .map(|it| (it.command.number(), it.index, it.data.len()))
        .collect()
}

fuzz_target!(|bytes: &[u8]| {
    let models = [model(Passive), model(Mirror), model(Mirror)];
    let mut segment = Segment::line(models, 1).expect("they have two ports");
    let mut rest = bytes;
    let mut now = Time::ZERO;
    for _ in 0..64 {
        let Some(part) = next(&mut rest) else { break };
        let mut frame = frame_of(part);
        let before = shape(&frame);
        let length = frame.len();
        now = now.after(u64::from(part.first().copied().unwrap_or(0)) * 1_000_000);
        let passed = segment.pass(&mut frame, now);
        assert_eq!(frame.len(), length);
        assert_eq!(shape(&frame), before);
        if let Passed::Returned { at, .. } = passed {
            assert!(at > now);
        }
    }
    let counts = segment.counts();
    assert_eq!(counts.frames, counts.returned + counts.lost);
});
