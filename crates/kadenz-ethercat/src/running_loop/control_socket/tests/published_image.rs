//! What a loop publishes and which outputs clients may set, as clients see it.

use super::*;

fn entry(direction: Direction, index: u16, bits: u8, bit: usize) -> Item {
    Item {
        device: 2,
        device_name: "hand".to_owned(),
        direction,
        manager: 3,
        pdo: 0x1A00,
        index,
        sub: 1,
        name: format!("entry {index:04X}"),
        data_type: 0,
        bits,
        bit,
        logical_bit: 0,
        axis: index == 0x607A,
    }
}

/// Two bytes of inputs behind a heading of eight, and four of outputs.
fn catalogue() -> Catalogue {
    Catalogue {
        bytes: 14,
        inputs_at: 8,
        inputs: 2,
        outputs_at: 10,
        outputs: 4,
        entries: vec![
            entry(Direction::Inputs, 0x6000, 16, 64),
            entry(Direction::Outputs, 0x7000, 3, 85),
            entry(Direction::Outputs, 0x607A, 16, 96),
            entry(Direction::Outputs, 0x60FE, 5, 89),
            // No segment has so few bytes, but the test never reads or writes it.
            entry(Direction::Outputs, 0x7001, 128, 80),
        ],
    }
}

/// The process image of a loop that publishes to these words every 2 ms.
fn in_memory<'a>(words: &'a [AtomicU64], catalogue: &'a Catalogue) -> PublishedImage<'a> {
    PublishedImage {
        image: ProcessImage::Shared {
            name: "memory-of-test",
            words,
        },
        catalogue,
        interval: Duration::from_millis(2),
    }
}

#[test]
fn what_a_loop_publishes_is_shown_with_what_lies_where() {
    let catalogue = catalogue();
    let words: Vec<_> = (0..words_for(14)).map(|_| AtomicU64::new(0)).collect();
    let mut writer = ProcessImageWriter::begin(&words, 14).unwrap();
    let shown = in_memory(&words, &catalogue);
    at_a_control_socket_with(Some(shown), None, None, |path, _| {
        let mut client = ControlClient::at(path).unwrap();
        let early = client
            .request(&Question::ProcessImage {})
            .unwrap_err()
            .to_string();
        assert!(early.contains("nothing was published yet"), "{early}");
        writer.publish(&[7; 14]).unwrap();
        for ended in [false, true] {
            let image = client.request(&Question::ProcessImage {}).unwrap();
            let last = Answer::ProcessImage {
                number: 1,
                bytes: vec![7; 14],
                ended,
            };
            assert_eq!(image, last);
            writer.end();
        }
        let Answer::Layout(layout) = client.request(&Question::Layout {}).unwrap() else {
            panic!("no layout")
        };
        assert_eq!(layout.memory.as_deref(), Some("memory-of-test"));
        assert_eq!(layout.interval_ns, 2_000_000);
        assert_eq!(layout.catalogue, catalogue);
    });
    at_a_control_socket(|path, _| {
        let mut client = ControlClient::at(path).unwrap();
        for question in [Question::ProcessImage {}, Question::Layout {}] {
            let refused = client.request(&question).unwrap_err().to_string();
            assert!(refused.contains("publishes no process data"), "{refused}");
        }
    });
}

#[test]
fn outputs_are_set_by_the_loop_and_what_is_no_output_is_refused() {
    let (catalogue, output_requests) = (catalogue(), OutputRequests::default());
    let words: Vec<_> = (0..words_for(14)).map(|_| AtomicU64::new(0)).collect();
    let shown = in_memory(&words, &catalogue);
    let set = |index, value: &[u8]| Question::Output {
        device: 2,
        index,
        sub: 1,
        value: value.to_vec(),
    };
    at_a_control_socket_with(Some(shown), Some(&output_requests), None, |path, _| {
        let mut client = ControlClient::at(path).unwrap();
        let ended = AtomicBool::new(false);
        let mut outputs = [0_u8; 4];
        // The loop sets the brake.
        outputs[1] = 0b10;
        let answers = std::thread::scope(|scope| {
            scope.spawn(|| {
                // The loop, here without a wire.
                let mut cycle = 40;
                while !ended.load(Ordering::Relaxed) {
                    cycle += u64::from(output_requests.obey(&mut outputs, cycle + 1));
                    std::thread::yield_now();
                }
            });
            let asked = [set(0x7000, &[0b101]), set(0x60FE, &[0b10110])];
            let answers = asked.map(|it| client.request(&it));
            ended.store(true, Ordering::Relaxed);
            answers.map(Result::unwrap)
        });
        let cycles = [41, 42].map(|cycle| Answer::Set { cycle });
        assert_eq!(answers, cycles);
        assert_eq!(outputs, [0b1010_0000, 0b10_1110, 0, 0], "the brake stays");
        for (question, word) in [
            (set(0x607A, &[1, 0]), "belongs to an axis"),
            (set(0x6000, &[1, 0]), "is not an output"),
            (set(0x7000, &[8]), "does not fit"),
            (set(0x60FE, &[0b00001]), "is the brake of a drive"),
            (set(0x7001, &[0; 16]), "more than 64 cannot be set"),
            (set(0x7000, &[1, 0]), "write 1"),
            (set(0x7000, &[]), "write 1"),
            (set(0x7000, &[0; 99]), "write 1"),
        ] {
            let refused = client.request(&question).unwrap_err().to_string();
            assert!(refused.contains(word), "{refused}");
        }
    });
}

#[test]
fn a_loop_without_axes_or_whose_axes_have_not_moved_yet_says_so() {
    let mut asked = vec![
        Question::Axes {},
        Question::Reset {},
        Question::Stop { by: None },
    ];
    at_a_control_socket(|path, _| {
        let mut client = ControlClient::at(path).unwrap();
        for question in &asked {
            let refused = client.request(question).unwrap_err().to_string();
            assert!(refused.contains("moves no axes"), "{refused}");
        }
    });
    // The stop stands nevertheless.
    asked.pop();
    let handle = MotionHandle::default();
    at_a_control_socket_with(None, None, Some(&handle), |path, _| {
        let mut client = ControlClient::at(path).unwrap();
        for question in &asked {
            let refused = client.request(question).unwrap_err().to_string();
            assert!(refused.contains("no status yet"), "{refused}");
        }
    });
}
