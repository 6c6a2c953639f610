//! The fabric against cases computed by hand, and against invariants.

use proptest::prelude::*;

use super::*;
use crate::testbed::wire::Tag;

const FRAME: EthernetFrame = EthernetFrame::of_packet(20 + 8 + 200, Tag::None);
/// Preamble to check sequence of [`FRAME`], and with the gap, at 100 Mbit/s, in picoseconds.
const HOP: u64 = 20_320_000;
const TAKEN: u64 = 21_280_000;

fn topology(text: &str) -> Topology {
    Topology::parse(text).unwrap()
}

/// Two hosts with links of 100 Mbit/s at a switch that forwards at once.
fn pair(link: &str) -> Topology {
    topology(&format!(
        "name = 'pair'\n[[host]]\nname = 'a'\n[[host]]\nname = 'b'\n\
         [[switch]]\nname = 's'\nforwarding = '0us'\n\
         [[link]]\nbetween = ['a', 's']\nrate = '100M'\n\
         [[link]]\nbetween = ['b', 's']\nrate = '100M'\n{link}\n"
    ))
}

fn frame(from: usize, to: usize, number: u32) -> Frame<u32> {
    Frame {
        source: Mac::of_host(from),
        destination: Mac::of_host(to),
        length: FRAME,
        content: number,
    }
}

/// Everything that arrives, as host, time and number.
fn all(fabric: &mut Fabric<u32>) -> Vec<(usize, u64, u32)> {
    std::iter::from_fn(|| fabric.advance(Picoseconds::NEVER))
        .map(|it| (it.host, it.at.as_ps(), it.frame.content))
        .collect()
}

/// The sum of the counts of all lanes.
fn total(fabric: &Fabric<u32>) -> LaneCounts {
    fabric.counts().fold(LaneCounts::default(), LaneCounts::and)
}

#[test]
fn frames_of_one_host_leave_one_occupancy_apart() {
    let mut fabric = Fabric::new(&pair(""));
    for number in 0..3 {
        fabric.send(0, Picoseconds::ZERO, frame(0, 1, number));
    }
    let expected: Vec<_> = (0..3)
        .map(|n| (1, 2 * HOP + u64::from(n) * TAKEN, n))
        .collect();
    assert_eq!(all(&mut fabric), expected);
}

#[test]
fn a_known_address_is_not_flooded_and_a_broadcast_is() {
    let text = "name = 'three'\n[[host]]\nname = 'h'\ncount = 3\n[[switch]]\nname = 's'\n\
                [[link]]\nbetween = ['h-*', 's']\nrate = '1G'\n";
    let mut fabric = Fabric::new(&topology(text));
    let hosts = |came: Vec<(usize, u64, u32)>| came.iter().map(|it| it.0).collect::<Vec<_>>();
    fabric.send(0, Picoseconds::ZERO, frame(0, 1, 0));
    assert_eq!(hosts(all(&mut fabric)), [1, 2], "no host is known yet");
    fabric.send(1, Picoseconds::ZERO, frame(1, 0, 1));
    assert_eq!(hosts(all(&mut fabric)), [0]);
    fabric.send(2, Picoseconds::ZERO, frame(2, 1, 2));
    assert_eq!(hosts(all(&mut fabric)), [1]);
    let everybody = Frame {
        destination: Mac::BROADCAST,
        ..frame(2, 0, 3)
    };
    fabric.send(2, Picoseconds::ZERO, everybody);
    assert_eq!(hosts(all(&mut fabric)), [0, 1]);
}

/// From a link of 1 Gbit/s to one of 100 Mbit/s: frames arrive at the port faster than it sends them.
#[test]
fn a_full_buffer_drops_what_comes_last() {
    let text = "name = 'narrow'\n[[host]]\nname = 'a'\n[[host]]\nname = 'b'\n\
                [[switch]]\nname = 's'\nforwarding = '0us'\nbuffer = '1600B'\n\
                [[link]]\nbetween = ['a', 's']\nrate = '1G'\n\
                [[link]]\nbetween = ['b', 's']\nrate = '100M'\n";
    let mut fabric = Fabric::new(&topology(text));
    for number in 0..20 {
        fabric.send(0, Picoseconds::ZERO, frame(0, 1, number));
    }
    // 1600 bytes hold six frames of 246. One leaves every 21.28 us (the first after 20.32 us) and
    // one comes every 2.128 us from 2.032 us on: 0 to 5 find room, 6 to 9 none; the first has left
    // at 22.352 us, after the tenth (21.184 us) and before the eleventh (23.312 us), which finds
    // room; so does the one after the second has left, at 43.632 us: number 20, which is not sent.
    let numbers: Vec<u32> = all(&mut fabric).iter().map(|it| it.2).collect();
    assert_eq!(numbers, [0, 1, 2, 3, 4, 5, 10]);
    let towards_b = fabric.counts().nth(3).unwrap();
    assert_eq!((towards_b.begun, towards_b.overflowed), (20, 13));
}

#[test]
fn what_is_on_a_link_when_it_is_cut_is_gone() {
    let cut = "[[cut]]\nlink = 'b-s'\nat = '30us'\nfor = '100us'\n";
    let mut fabric = Fabric::new(&pair(cut));
    // In the middle of its second hop; begun while the link is cut; after it is restored.
    for (at, number) in [(0, 0), (60_000, 1), (120_000, 2)] {
        fabric.send(0, Picoseconds::from_ns(at), frame(0, 1, number));
    }
    assert_eq!(all(&mut fabric), [(1, 120_000_000 + 2 * HOP, 2)]);
    assert_eq!(total(&fabric).cut, 2);
}

#[test]
fn frames_that_wait_at_a_port_are_gone_with_a_short_cut_too() {
    let cut = "[[cut]]\nlink = 'b-s'\nat = '80us'\nfor = '20us'\n";
    let mut topology = pair(cut);
    topology.links[0].speed = "1G".parse().unwrap();
    let mut fabric = Fabric::new(&topology);
    // All have come to the slower link when it is cut, during the fourth.
    for number in 0..10 {
        fabric.send(0, Picoseconds::ZERO, frame(0, 1, number));
    }
    let arrived = all(&mut fabric);
    let numbers: Vec<u32> = arrived.iter().map(|it| it.2).collect();
    assert_eq!(numbers, [0, 1, 2], "{arrived:?}");
}

#[test]
fn a_redundant_way_is_taken_once_the_cut_is_seen() {
    let text = "name = 'ring'\ndetection = '1ms'\n\
                [[host]]\nname = 'a'\n[[host]]\nname = 'b'\n\
                [[switch]]\nname = 's1'\nforwarding = '0us'\n\
                [[switch]]\nname = 's2'\nforwarding = '0us'\n\
                [[switch]]\nname = 's3'\nforwarding = '0us'\n\
                [[link]]\nbetween = ['a', 's1']\nrate = '100M'\n\
                [[link]]\nbetween = ['b', 's2']\nrate = '100M'\n\
                [[link]]\nbetween = ['s1', 's2']\nrate = '100M'\n\
                [[link]]\nbetween = ['s1', 's3']\nrate = '100M'\n\
                [[link]]\nbetween = ['s3', 's2']\nrate = '100M'\n\
                [[cut]]\nlink = 's1-s2'\nat = '10ms'\n";
    let mut fabric = Fabric::new(&topology(text));
    let times_ms = [1, 10, 12];
    for (number, ms) in (0..).zip(times_ms) {
        fabric.send(0, Picoseconds::from_ns(ms * 1_000_000), frame(0, 1, number));
    }
    let ms = |ms: u64| ms * 1_000_000_000;
    assert_eq!(
        all(&mut fabric),
        [(1, ms(1) + 3 * HOP, 0), (1, ms(12) + 4 * HOP, 2)],
        "one hop more, and nothing twice"
    );
}

#[test]
fn certain_faults_are_counted_exactly() {
    let certain = |fault: &str| {
        let mut network = pair("");
        let faults = &mut network.links[1].faults;
        let all = crate::testbed::topology::Share::new(1.0).unwrap();
        match fault {
            "loss" => faults.loss = all,
            "duplicate" => faults.duplicate = all,
            _ => faults.reorder = all,
        }
        let mut fabric = Fabric::new(&network);
        for number in 0..5 {
            fabric.send(0, Picoseconds::ZERO, frame(0, 1, number));
        }
        let came: Vec<u32> = super::tests::all(&mut fabric)
            .iter()
            .map(|it| it.2)
            .collect();
        (came, total(&fabric))
    };
    let (came, total) = certain("loss");
    assert_eq!((came.len(), total.lost), (0, 5));
    let (came, total) = certain("duplicate");
    assert_eq!(
        (came, total.duplicated),
        (vec![0, 0, 1, 1, 2, 2, 3, 3, 4, 4], 5)
    );
    // Each second one passes the one before; the last has none to be passed by.
    let (came, total) = certain("reorder");
    assert_eq!(came, [1, 0, 3, 2, 4]);
    assert_eq!((total.reordered, total.held), (2, 1));
}

proptest! {
    /// Whatever happens to frames, each is counted, and the same network does the same again.
    #[test]
    fn every_frame_is_accounted_for(
        loss in 0.0..0.5_f64,
        duplicate in 0.0..0.5_f64,
        reorder in 0.0..0.5_f64,
        jitter_us in 0_u64..100,
        cut_us in 0_u64..2_000,
        sent in prop::collection::vec((0_usize..2, 0_u64..2_000_000), 1..200),
    ) {
        let text = format!(
            "[[link]]\nname = 'second'\nbetween = ['s', 't']\nrate = '10M'\n\
             loss = {loss:?}\nduplicate = {duplicate:?}\nreorder = {reorder:?}\n\
             jitter = '{jitter_us}us'\nseed = 7\n\
             [[cut]]\nlink = 'second'\nat = '{cut_us}us'\nfor = '300us'\n\
             [[host]]\nname = 'c'\n\
             [[switch]]\nname = 't'\nbuffer = '2000B'\njitter = '3us'\n\
             [[link]]\nbetween = ['c', 't']\nrate = '100M'\n"
        );
        let network = pair(&text);
        let mut sent = sent;
        sent.sort_by_key(|(_, at)| *at);
        let run = || {
            let mut fabric = Fabric::new(&network);
            for (number, (host, at)) in (0..).zip(&sent) {
                fabric.send(*host, Picoseconds::from_ns(*at), frame(*host, 2, number));
            }
            let came = all(&mut fabric);
            prop_assert!(came.is_sorted_by_key(|it| it.1));
            for lane in fabric.counts() {
                let total = lane.total();
                prop_assert_eq!(total.went_in, total.came_out, "{:?}", lane);
            }
            Ok((came, total(&fabric)))
        };
        prop_assert_eq!(run()?, run()?);
    }
}
