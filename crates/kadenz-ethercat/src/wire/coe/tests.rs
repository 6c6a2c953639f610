use super::*;
use proptest::prelude::*;

fn address() -> impl Strategy<Value = Address> {
    (any::<u16>(), any::<u8>()).prop_map(|(index, sub)| Address::new(index, sub))
}

fn written(write: impl FnOnce(&mut [u8]) -> Result<usize, MailboxError>) -> Vec<u8> {
    let mut buffer = vec![0xAA; 2048];
    let length = write(&mut buffer).unwrap();
    buffer.truncate(length);
    buffer
}

proptest! {
    #[test]
    fn requests_are_read_as_written(at in address(), flag in any::<bool>(), last in any::<bool>(), code in any::<u32>(),
                                    data in prop::collection::vec(any::<u8>(), 0..300), more in 0_u32..100) {
        let more = if data.is_empty() { more + 5 } else { more };
        let all = [
            Request::Upload { address: at, complete: flag },
            Request::UploadSegment { toggle: flag },
            Request::Download { address: at, complete: flag, size: data.len() as u32 + more, data: &data },
            Request::DownloadSegment { toggle: flag, last, data: &data },
            Request::Abort { address: at, code: Abort(code) },
        ];
        for request in all {
            let bytes = written(|it| request.write(it));
            prop_assert!(bytes.len() >= 10);
            prop_assert_eq!(Message::read(&bytes), Ok(Message::Request(request)));
        }
    }

    #[test]
    fn responses_are_read_as_written(at in address(), flag in any::<bool>(), last in any::<bool>(),
                                     data in prop::collection::vec(any::<u8>(), 0..300), more in 0_u32..100) {
        let more = if data.is_empty() { more + 5 } else { more };
        let all = [
            Response::Upload { address: at, complete: flag, size: data.len() as u32 + more, data: &data[..] },
            Response::UploadSegment { toggle: flag, last, data: &data[..] },
            Response::Download { address: at, complete: flag },
            Response::DownloadSegment { toggle: flag },
        ];
        for response in all {
            let bytes = written(|it| response.write(it));
            prop_assert_eq!(Message::read(&bytes), Ok(Message::Response(response)));
        }
    }

    #[test]
    fn information_is_read_as_written(index in any::<u16>(), sub in any::<u8>(), values in any::<u8>(), number in any::<u16>(),
                                      code in any::<u32>(), data in prop::collection::vec(any::<u8>(), 0..100)) {
        let all = [
            Info::ListRequest(ListType(number)),
            Info::List { left: number, data: &data[..] },
            Info::ObjectRequest(index),
            Info::Object(ObjectDescription { index, data_type: DataType(number), highest_sub: sub,
                                             code: ObjectCode::from_number(values), name: &data[..] }),
            Info::EntryRequest { index, sub, values },
            Info::Entry(EntryDescription { index, sub, values, data_type: DataType(number), bits: number,
                                           access: Access(number), data: &data[..] }),
            Info::Error(InfoError(Abort(code))),
        ];
        for info in all {
            let bytes = written(|it| info.write(it));
            prop_assert_eq!(Message::read(&bytes), Ok(Message::Info(info)));
        }
    }

    #[test]
    fn hostile_bytes_are_an_error_or_a_message_within_them(data in prop::collection::vec(any::<u8>(), 0..64), service in 0_u8..16) {
        let mut data = data;
        if let Some(byte) = data.get_mut(1) {
            *byte = service << 4;
        }
        let _ = Message::read(&data);
        let mut room = [0; 8];
        let mut upload = client::Upload::new(Address::new(0x1000, 0), false, &mut room);
        for _ in 0..3 {
            let _ = upload.answer(&data);
        }
        let mut download = client::Download::new(Address::new(0x1000, 0), false, &data, 16);
        for _ in 0..3 {
            let _ = download.answer(&data);
        }
    }
}

#[test]
fn a_real_terminal_s_messages_are_understood() {
    // EL3004 describes 0x100A:00.
    let data = [0x00, 0x30, 0x4B, 0x0A, 0x10, 0x00, 0x30, 0x38, 0x00, 0x00];
    assert_eq!(
        Message::read(&data),
        Ok(Message::Response(Response::Upload {
            address: Address::new(0x100A, 0),
            complete: false,
            size: 2,
            data: b"08",
        }))
    );
    // One byte for 0x1C12:00.
    let data = [0x00, 0x20, 0x2F, 0x12, 0x1C, 0x00, 0x00, 0x00, 0x00, 0x00];
    let Ok(Message::Request(request)) = Message::read(&data) else {
        unreachable!("a request");
    };
    assert_eq!(written(|it| request.write(it)), data);
}

#[test]
fn a_sub_index_is_shown_in_decimal() {
    assert_eq!(Address::new(0x6000, 1).to_string(), "0x6000:01");
    assert_eq!(Address::new(0x1C32, 11).to_string(), "0x1C32:11");
    assert_eq!(Address::new(0x1018, 255).to_string(), "0x1018:255");
}

#[test]
fn a_value_longer_than_the_buffer_is_refused_and_not_cut() {
    let mut room = [0; 8];
    let mut upload = client::Upload::new(Address::new(0x1008, 0), false, &mut room);
    let answer = written(|it| {
        Response::Upload {
            address: Address::new(0x1008, 0),
            complete: false,
            size: 9,
            data: b"123456789",
        }
        .write(it)
    });
    assert_eq!(
        upload.answer(&answer).unwrap_err().to_string(),
        "0x1008:00: the value has 9 bytes, the buffer 8"
    );
}

#[test]
fn the_type_of_a_value_without_stated_length_gives_its_length() {
    // Expedited, without a size: one byte of mode of operation, and arbitrary bytes behind it.
    let answer = [0x00, 0x30, 0x42, 0x61, 0x60, 0x00, 0x08, 0xAA, 0xBB, 0xCC];
    for (length, expected) in [(1, 1), (2, 2), (4, 4), (8, 4)] {
        let mut room = [0; 8];
        let mut upload = client::Upload::new(Address::new(0x6061, 0), false, &mut room[..length]);
        assert_eq!(
            upload.answer(&answer),
            Ok(client::Progress::Done(expected)),
            "{length}"
        );
        assert_eq!(room[..expected], answer[6..6 + expected]);
    }
    // With a size, a longer value is not valid.
    let sized = [0x00, 0x30, 0x43, 0x61, 0x60, 0x00, 0x08, 0xAA, 0xBB, 0xCC];
    let mut room = [0; 1];
    let mut upload = client::Upload::new(Address::new(0x6061, 0), false, &mut room);
    assert!(matches!(
        upload.answer(&sized),
        Err(client::TransferError::TooLong { size: 4, .. })
    ));
}

#[test]
fn an_abort_ends_a_transfer_with_its_reason() {
    let mut room = [0; 8];
    let mut upload = client::Upload::new(Address::new(0x2000, 0), false, &mut room);
    let answer = written(|it| {
        Response::<&[u8]>::Abort {
            address: Address::new(0x2000, 0),
            code: Abort::NO_OBJECT,
        }
        .write(it)
    });
    assert_eq!(
        upload.answer(&answer).unwrap_err().to_string(),
        "0x2000:00: SDO abort 0x06020000: the object does not exist in the object dictionary"
    );
}

#[test]
fn an_emergency_between_is_not_the_answer() {
    let emergency = Emergency {
        code: 0x8611,
        register: 0x20,
        data: [1, 2, 3, 4, 5],
    };
    let bytes = written(|it| emergency.write(it));
    assert_eq!(Message::read(&bytes), Ok(Message::Emergency(emergency)));
    let mut room = [0; 8];
    let mut upload = client::Upload::new(Address::new(0x2000, 0), false, &mut room);
    assert_eq!(upload.answer(&bytes), Ok(client::Progress::NotMine));
}

fn uploaded(address: Address, data: &[u8]) -> Vec<u8> {
    let size = data.len() as u32;
    let answer = Response::Upload {
        address,
        complete: false,
        size,
        data,
    };
    written(|it| answer.write(it))
}

#[test]
fn a_late_answer_of_another_sub_index_is_not_the_answer_nor_is_its_abort() {
    let (mine, other) = (Address::new(0x1018, 2), Address::new(0x1018, 1));
    let abort = |address| {
        let code = Abort::NO_OBJECT;
        written(|it| Response::<&[u8]>::Abort { address, code }.write(it))
    };
    let downloaded = |address, complete| {
        written(|it| Response::<&[u8]>::Download { address, complete }.write(it))
    };
    let mut room = [0; 4];
    let mut upload = client::Upload::new(mine, false, &mut room);
    let late = [
        uploaded(other, &[1; 4]),
        abort(other),
        downloaded(mine, false),
    ];
    for late in &late {
        assert_eq!(upload.answer(late), Ok(client::Progress::NotMine));
    }
    let own = uploaded(mine, &[2; 4]);
    assert_eq!(upload.answer(&own), Ok(client::Progress::Done(4)));
    assert_eq!(room, [2; 4]);

    let mut download = client::Download::new(mine, false, &[3], 64);
    for late in [downloaded(other, false), abort(other), own] {
        assert_eq!(download.answer(&late), Ok(client::Progress::NotMine));
    }
    let own = downloaded(mine, false);
    assert_eq!(download.answer(&own), Ok(client::Progress::Done(1)));
    // With complete access a device may name the object alone.
    let mut download = client::Download::new(other, true, &[3], 64);
    let whole = downloaded(Address::new(0x1018, 0), true);
    assert_eq!(download.answer(&whole), Ok(client::Progress::Done(1)));
}

#[test]
fn a_value_in_segments_is_no_longer_than_stated_and_may_end_before() {
    let address = Address::new(0x1008, 0);
    let first = written(|it| {
        let (size, data) = (6, &b"abcd"[..]);
        Response::Upload {
            address,
            complete: false,
            size,
            data,
        }
        .write(it)
    });
    let segment = |last, data| {
        let toggle = false;
        written(|it| Response::UploadSegment { toggle, last, data }.write(it))
    };
    for (last, data, result) in [
        (true, &b"ef"[..], Ok(client::Progress::Done(6))),
        (false, b"e", Ok(client::Progress::Continue)),
        (true, b"e", Ok(client::Progress::Done(5))),
        (true, b"efg", Err(7)),
        (false, b"efg", Err(7)),
    ] {
        let mut room = [0; 16];
        let mut upload = client::Upload::new(address, false, &mut room);
        assert_eq!(upload.answer(&first), Ok(client::Progress::Continue));
        let result = result.map_err(|have| client::TransferError::Size {
            address,
            size: 6,
            have,
        });
        assert_eq!(upload.answer(&segment(last, data)), result);
    }
}

#[test]
fn an_abort_of_a_segment_ends_the_transfer_whatever_entry_it_names() {
    let address = Address::new(0x1008, 0);
    let code = Abort::NO_OBJECT;
    let abort = written(|it| {
        let address = Address::new(0, 0);
        Response::<&[u8]>::Abort { address, code }.write(it)
    });
    let aborted = Err(client::TransferError::Aborted { address, code });
    let mut room = [0; 16];
    let mut upload = client::Upload::new(address, false, &mut room);
    assert_eq!(upload.answer(&abort), Ok(client::Progress::NotMine));
    let first = written(|it| {
        let (size, data) = (6, &b"abcd"[..]);
        let complete = false;
        Response::Upload {
            address,
            complete,
            size,
            data,
        }
        .write(it)
    });
    assert_eq!(upload.answer(&first), Ok(client::Progress::Continue));
    assert_eq!(upload.answer(&abort), aborted);
}
