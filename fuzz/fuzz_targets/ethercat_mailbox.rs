//! Any mailbox messages, one behind the other by their lengths, at a drive's object dictionary: answers fit into the
//! mailbox and can be parsed, and a parsed message is written again as it was.
#![no_main]

use kadenz_ethercat::sim::coe::CoeServer;
use kadenz_ethercat::sim::model::drive::{Parameters, description};
use kadenz_ethercat::wire::State;
use kadenz_ethercat::wire::coe::Message;
use kadenz_ethercat::wire::mailbox::{HEADER, Header};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let mut dictionary = description("fuzz", 1, &Parameters::default()).dictionary();
    let mut server = CoeServer::new(true);
    let mut rest = bytes;
    while let Ok((header, data)) = Header::read(rest) {
        let (message, behind) = rest.split_at(HEADER + usize::from(header.length));
        rest = behind;
        same_again(data);
        let mut answer = [0; 64];
        let served = server.serve(
            &mut dictionary,
            State::PreOp,
            message,
            &mut answer,
            &mut |_, _, _| Ok(()),
        );
        assert!(served.length <= answer.len());
        if served.length > 0 {
            let (_, data) = Header::read(&answer[..served.length]).expect("a whole message");
            if header.protocol == 3 && answer[5] & 0x0F == 3 {
                Message::read(data).expect("it makes sense");
            }
        }
        while server.more(&mut answer).is_some() {}
    }
});

fn same_again(data: &[u8]) {
    let Ok(message) = Message::read(data) else { return };
    let mut written = vec![0; data.len() + 64];
    let length = match &message {
        Message::Emergency(it) => it.write(&mut written),
        Message::Request(it) => it.write(&mut written),
        Message::Response(it) => it.write(&mut written),
        Message::Info(it) => it.write(&mut written),
        Message::Pdo(..) => return,
    };
    let length = length.expect("there is room");
    // An abort that came as an answer is written as a request.
    match (Message::read(&written[..length]), message) {
        (Ok(Message::Request(_)), Message::Response(_)) => {}
        (again, before) => assert_eq!(again, Ok(before)),
    }
}
