use super::super::*;
use super::{line, model, tree};
use crate::sim::Arrival;
use crate::wire::{Command, DatagramAddress, FrameWriter};
use proptest::prelude::*;

proptest! {
    /// A segment behaves like its devices one after the other, however it finds them.
    #[test]
    fn shortcuts_change_nothing(
        frames in prop::collection::vec(
            prop::collection::vec(
                (0_u8..16, prop_oneof![0_u16..4, Just(0xFFFF), Just(0xFFFE), Just(0x1001)],
                 prop_oneof![Just(0x10_u16), Just(0x100), Just(0x120), Just(0x130), Just(0x600),
                             Just(0x800), Just(0x910), Just(0x1000), Just(0xF00), any::<u16>()],
                 prop::collection::vec(any::<u8>(), 0..40)),
                1..5),
            1..12),
    ) {
        let mut segment = line(3);
        let mut alone: Vec<_> = (0..3)
            .map(|_| SubDeviceController::new(model(), DeviceSettings::default(), Time::ZERO))
            .collect();
        for (number, datagrams) in (1_u64..).zip(&frames) {
            let mut frame = [0; 600];
            let mut writer = FrameWriter::new(&mut frame, [0x10; 6]).unwrap();
            for (command, device, register, data) in datagrams {
                let command = Command::from_number(*command % 15).unwrap();
                // The segment itself handles ports with their event, and resets.
                let of_ports = (0x40..0x120).contains(register) || (0x1D0..0x210).contains(register);
                let register = if of_ports { 0x10 } else { *register };
                let data = &data[..data.len().min(if register < 0x40 { 8 } else { 40 })];
                let address = DatagramAddress::from_raw(u32::from(*device) | u32::from(register) << 16);
                let slot = writer.push(command, 0, address, data.len()).unwrap();
                writer.data(slot).copy_from_slice(data);
            }
            let length = writer.finish();
            let mut other = frame;
            let now = Time(number * 1_000_000);
            segment.pass(&mut frame[..length], now);
            for (place, device) in (1_u64..).zip(&mut alone) {
                let at = now.after(600 * place);
                device.advance(at);
                for datagram in DatagramsMut::of(&mut other[..length]).unwrap() {
                    device.pass(&mut datagram.unwrap(), &Arrival::at(at));
                }
            }
            for (place, device) in (1_u64..).zip(&mut alone) {
                let end = now.after(600 * place + (length + AROUND) as u64 * BYTE_NS);
                device.finish_frame(end);
            }
            mark_as_returned(&mut other);
            prop_assert_eq!(&frame[..length], &other[..length]);
        }
    }
}

proptest! {
    /// Arbitrary bytes, with registers that have effects, and long times in between: nothing panics, and every frame
    /// is back or lost.
    #[test]
    fn hostile_frames_are_survived(
        frames in prop::collection::vec(
            (prop::collection::vec(
                (0_u8..16, prop_oneof![0_u16..5, Just(0xFFFF), any::<u16>()],
                 prop_oneof![Just(0x40_u16), Just(0x100), Just(0x120), Just(0x500), Just(0x502),
                             Just(0x600), Just(0x800), Just(0x900), Just(0x910), Just(0x980),
                             Just(0x9A0), Just(0xEFF), any::<u16>()],
                 prop::collection::vec(any::<u8>(), 0..150)),
                1..6),
             prop_oneof![0_u64..10_000_000, any::<u64>()], any::<u16>()),
            1..16),
    ) {
        let mut segment = tree();
        let mut now = Time::ZERO;
        for (datagrams, later, flip) in &frames {
            let mut frame = [0; 1514];
            let mut writer = FrameWriter::new(&mut frame, [0x10; 6]).unwrap();
            for (command, device, register, data) in datagrams {
                let command = Command::from_number(*command % 15).unwrap();
                let address = DatagramAddress::from_raw(u32::from(*device) | u32::from(*register) << 16);
                let slot = writer.push(command, 0, address, data.len()).unwrap();
                writer.data(slot).copy_from_slice(data);
            }
            let length = writer.finish();
            frame[usize::from(*flip) % length] ^= 1 << (flip % 8);
            now = now.after(*later);
            let passed = segment.pass(&mut frame[..length], now);
            if let Passed::Returned { length: came, .. } = passed {
                prop_assert_eq!(came, length);
            }
        }
        let counts = segment.counts();
        prop_assert_eq!(counts.frames, counts.returned + counts.lost);
    }
}
