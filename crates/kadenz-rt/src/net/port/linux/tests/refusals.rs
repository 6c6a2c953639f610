//! Options that the kernel refuses an ordinary user, and the text of the refusal.

use crate::net::port::{PortOptions, Stamping, UdpPort};
use crate::testing::{give_up_capabilities, skip};
use crate::tuning::Measure;

/// Runs a test on a thread without capabilities.
fn as_ordinary_user(test: impl FnOnce() + Send) {
    std::thread::scope(|scope| {
        let thread = scope.spawn(|| {
            give_up_capabilities();
            test();
        });
        if let Err(panic) = thread.join() {
            std::panic::resume_unwind(panic);
        }
    });
}

fn limit(name: &str) -> usize {
    let text = std::fs::read_to_string(format!("/proc/sys/net/core/{name}")).unwrap();
    text.trim().parse().unwrap()
}

fn only(port: &UdpPort) -> Measure {
    let [measure] = &port.granted().measures[..] else {
        panic!("{:?}", port.granted());
    };
    measure.clone()
}

#[test]
fn a_buffer_beyond_the_limit_names_the_limit_and_what_raises_it() {
    as_ordinary_user(|| {
        let (most, wanted) = (limit("rmem_max"), limit("rmem_max") + 100_000);
        let port = UdpPort::open(&PortOptions {
            receive_buffer: Some(wanted),
            ..PortOptions::default()
        })
        .unwrap();
        assert_eq!(port.granted().receive_buffer, Some(most));
        let measure = only(&port);
        assert!(!measure.ok);
        assert_eq!(measure.granted, format!("{most} bytes"));
        let remedy = measure.remedy.unwrap();
        let command = format!("sysctl -w net.core.rmem_max={wanted}");
        assert!(remedy.contains(&command), "{remedy}");
    });
}

#[test]
fn a_right_goes_beyond_the_limit() {
    let wanted = limit("wmem_max") + 100_000;
    let port = UdpPort::open(&PortOptions {
        send_buffer: Some(wanted),
        ..PortOptions::default()
    })
    .unwrap();
    let measure = only(&port);
    if let Some(remedy) = measure.remedy {
        skip(
            "a_right_goes_beyond_the_limit",
            &format!("CAP_NET_ADMIN; {remedy}"),
        );
        return;
    }
    assert!(measure.ok && port.granted().send_buffer >= Some(wanted));
}

#[test]
fn busy_polling_needs_a_right_and_says_so() {
    as_ordinary_user(|| {
        let port = UdpPort::open(&PortOptions {
            busy_poll: Some(std::time::Duration::from_micros(50)),
            ..PortOptions::default()
        })
        .unwrap();
        let measure = only(&port);
        if measure.ok {
            // Later kernels allow it to every user.
            assert_eq!(port.granted().busy_poll.as_micros(), 50);
            return;
        }
        let reason = measure.reason.unwrap();
        if reason.contains("CONFIG_NET_RX_BUSY_POLL") {
            skip("busy_polling_needs_a_right_and_says_so", &reason);
            return;
        }
        assert!(reason.contains("CAP_NET_ADMIN"), "{reason}");
        assert!(measure.remedy.unwrap().contains("net.core.busy_read=50"));
    });
}

#[test]
fn a_high_priority_needs_a_right_and_says_so() {
    as_ordinary_user(|| {
        let port = UdpPort::open(&PortOptions {
            priority: Some(7),
            ..PortOptions::default()
        })
        .unwrap();
        let measure = only(&port);
        assert!(!measure.ok);
        assert!(measure.remedy.unwrap().contains("cap_net_admin"));
    });
}

#[test]
fn stamps_of_the_kernel_need_no_right() {
    as_ordinary_user(|| {
        let port = UdpPort::open(&PortOptions {
            receive_stamps: Stamping::Software,
            transmit_stamps: Stamping::Software,
            ..PortOptions::default()
        })
        .unwrap();
        assert!(port.granted().all_granted(), "{:?}", port.granted());
        assert_eq!(port.granted().measures.len(), 2);
    });
}

#[test]
fn a_card_without_an_interface_asks_for_its_name() {
    let port = UdpPort::open(&PortOptions {
        transmit_stamps: Stamping::Hardware,
        ..PortOptions::default()
    })
    .unwrap();
    let remedy = only(&port).remedy.unwrap();
    assert!(remedy.contains("name the interface"), "{remedy}");
}
