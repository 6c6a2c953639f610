//! The C header for firmware answers as the crate does.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use kadenz_udp::device::{Answer, Echo, Policy};
use kadenz_udp::wire::{Discover, Kind, Name, Probe, RunId, Sequence, Stamp, Token};

const NAME: &str = "left knee";

/// Compiles the device; every warning is an error, because firmware's compilers are not alike.
fn compile() -> PathBuf {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/c_device.c");
    let program = Path::new(env!("CARGO_TARGET_TMPDIR")).join("c_device");
    let mut compiler = Command::new("cc");
    compiler.args([
        "-std=c99",
        "-Wall",
        "-Wextra",
        "-Wconversion",
        "-pedantic",
        "-Werror",
        "-O1",
        "-o",
    ]);
    let status = compiler.arg(&program).arg(source).status();
    assert!(
        status.is_ok_and(|it| it.success()),
        "a C compiler is needed: apt-get install gcc libc6-dev"
    );
    program
}

/// The answer of the device in C; empty if it is silent.
fn answer_in_c(program: &Path, datagram: &[u8]) -> Vec<u8> {
    let mut command = Command::new(program);
    command
        .arg(NAME)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped());
    let mut device = command.spawn().unwrap();
    device.stdin.take().unwrap().write_all(datagram).unwrap();
    let output = device.wait_with_output().unwrap();
    assert!(output.status.success());
    output.stdout
}

fn answer_in_rust(datagram: &[u8]) -> Vec<u8> {
    let name = Name::new(NAME).unwrap();
    let mut echo = Echo::new(Policy {
        name,
        ..Policy::default()
    });
    let mut bytes = datagram.to_vec();
    match echo.on_datagram(5000, &mut bytes) {
        Answer::Reply(length) => {
            echo.stamp_departure(6000, &mut bytes[..length]);
            bytes.truncate(length);
            bytes
        }
        Answer::Silent(_) => Vec::new(),
    }
}

/// Questions of all kinds, and datagrams that are not questions.
fn datagrams() -> Vec<Vec<u8>> {
    let token = Token::new(b"arm of robot 3").unwrap();
    let (run, sequence, stamp) = (RunId(7), Sequence(8), Stamp(9));
    let mut all = vec![
        Vec::new(),
        vec![0xA1; 17],
        vec![0xA1; 18],
        b"GET / HTTP/1.1\r\n\r\n".to_vec(),
    ];
    for length in [18, 33, 34, 35, 50, 60, 200, 1472] {
        for stamps in [false, true] {
            for token in [None, Some(&token)] {
                let mut bytes = vec![0; length];
                if (Probe {
                    run,
                    sequence,
                    stamp,
                    stamps,
                    token,
                })
                .write(&mut bytes)
                .is_ok()
                {
                    all.push(bytes);
                }
            }
        }
        let mut bytes = vec![0; length];
        Discover {
            run,
            sequence,
            stamp,
            token: None,
        }
        .write(&mut bytes)
        .unwrap();
        all.push(bytes.clone());
        for kind in Kind::ALL {
            for flags in [0, 2, 4] {
                bytes[..2].copy_from_slice(&[kind.first_byte(), flags]);
                all.push(bytes.clone());
            }
        }
    }
    all
}

#[test]
fn the_device_in_c_answers_as_the_one_in_rust() {
    let program = compile();
    let mut answered = 0;
    for datagram in datagrams() {
        let expected = answer_in_rust(&datagram);
        assert_eq!(
            answer_in_c(&program, &datagram),
            expected,
            "to {datagram:02x?}"
        );
        answered += usize::from(!expected.is_empty());
    }
    assert!(answered > 20, "{answered} answers say little");
}
