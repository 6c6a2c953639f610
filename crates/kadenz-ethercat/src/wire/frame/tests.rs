use super::*;
use proptest::prelude::*;

fn command() -> impl Strategy<Value = Command> {
    (0_u8..15).prop_map(|number| Command::ALL[usize::from(number)])
}

proptest! {
    #[test]
    fn what_was_written_is_read(
        wanted in prop::collection::vec((command(), any::<u8>(), any::<u32>(), prop::collection::vec(any::<u8>(), 0..100)), 1..12)
    ) {
        let mut buffer = [0xEE_u8; MAX_FRAME];
        let mut writer = FrameWriter::new(&mut buffer, [2; 6]).unwrap();
        for (command, index, address, data) in &wanted {
            let slot = writer.push(*command, *index, DatagramAddress::from_raw(*address), data.len()).unwrap();
            writer.data(slot).copy_from_slice(data);
        }
        let length = writer.finish();
        let read: Vec<_> = Datagrams::of(&buffer[..length]).unwrap().map(Result::unwrap).collect();
        prop_assert_eq!(read.len(), wanted.len());
        for (read, (command, index, address, data)) in read.iter().zip(&wanted) {
            prop_assert_eq!((read.command, read.index, read.address.raw()), (*command, *index, *address));
            prop_assert_eq!(read.data, &data[..]);
            prop_assert_eq!((read.working_counter, read.events, read.circulated), (0, 0, false));
        }
    }

    #[test]
    fn hostile_bytes_are_an_error_or_datagrams_within_the_frame(mut bytes in prop::collection::vec(any::<u8>(), 0..200), ours in any::<bool>()) {
        if ours && bytes.len() >= 16 {
            bytes[12..14].copy_from_slice(&ETHERTYPE.to_be_bytes());
            bytes[15] = 0x10;
        }
        if let Ok(datagrams) = Datagrams::of(&bytes) {
            let total: usize = datagrams.flatten().map(|it| it.data.len() + DATAGRAM_OVERHEAD).sum();
            prop_assert!(total <= bytes.len());
        }
        let mut again = bytes.clone();
        if let Ok(datagrams) = DatagramsMut::of(&mut again) {
            for mut datagram in datagrams.flatten() {
                datagram.count(1);
                datagram.set_address(datagram.address().passed());
            }
        }
    }
}

#[test]
fn a_change_in_passing_is_seen_behind_it() {
    let mut buffer = [0_u8; 100];
    let mut writer = FrameWriter::new(&mut buffer, [0x10, 0, 0, 0, 0, 1]).unwrap();
    let first = writer
        .push(Command::Aprd, 1, DatagramAddress::from_raw(0), 2)
        .unwrap();
    let second = writer
        .push(Command::Brd, 2, DatagramAddress::broadcast(0x130), 1)
        .unwrap();
    let length = writer.finish();
    for datagram in DatagramsMut::of(&mut buffer[..length]).unwrap() {
        let mut datagram = datagram.unwrap();
        datagram.data.fill(datagram.index());
        datagram.count(3);
        datagram.add_events(0x0400);
        datagram.set_address(datagram.address().passed());
    }
    mark_as_returned(&mut buffer);
    assert_eq!(buffer[6], 0x12);
    assert_eq!(&buffer[first.range()], &[1, 1]);
    assert_eq!(&buffer[second.range()], &[2]);
    assert_eq!(second.working_counter(&buffer), Some(3));
    let read: Vec<_> = Datagrams::of(&buffer[..length])
        .unwrap()
        .map(Result::unwrap)
        .collect();
    assert_eq!((read[0].address.device(), read[0].events), (1, 0x0400));
}

#[test]
fn what_does_not_fit_leaves_the_frame_as_it_was() {
    let mut buffer = [0_u8; 60];
    let mut writer = FrameWriter::new(&mut buffer, [0; 6]).unwrap();
    writer
        .push(Command::Brd, 0, DatagramAddress::broadcast(0), 10)
        .unwrap();
    let room = writer.room();
    assert_eq!(
        writer.push(Command::Brd, 1, DatagramAddress::broadcast(0), room + 1),
        Err(OverflowError {
            need: room + 1 + DATAGRAM_OVERHEAD,
            left: room + DATAGRAM_OVERHEAD
        })
    );
    writer
        .push(Command::Brd, 1, DatagramAddress::broadcast(0), room)
        .unwrap();
    let length = writer.finish();
    assert_eq!((length, Datagrams::of(&buffer).unwrap().count()), (60, 2));
}

#[test]
fn errors_say_what_is_wrong() {
    assert_eq!(
        Datagrams::of(&[0; 3]).unwrap_err(),
        FrameError::CutShort { have: 3, need: 16 }
    );
    let mut frame = [0_u8; 60];
    frame[12..14].copy_from_slice(&0x0800_u16.to_be_bytes());
    assert_eq!(
        Datagrams::of(&frame).unwrap_err(),
        FrameError::Foreign(0x0800)
    );
    frame[12..14].copy_from_slice(&ETHERTYPE.to_be_bytes());
    frame[15] = 0x40;
    assert_eq!(Datagrams::of(&frame).unwrap_err(), FrameError::Type(4));
    frame[14..16].copy_from_slice(&(0x1000_u16 | 12).to_le_bytes());
    frame[16] = 99;
    assert_eq!(
        Datagrams::of(&frame).unwrap().next(),
        Some(Err(FrameError::Command(99)))
    );
    frame[16] = 7;
    frame[22] = 5;
    assert_eq!(
        Datagrams::of(&frame).unwrap().next(),
        Some(Err(FrameError::Overrun))
    );
}
