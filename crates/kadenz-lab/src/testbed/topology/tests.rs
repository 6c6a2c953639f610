//! Valid files, and files with every kind of error.

use proptest::prelude::*;

use super::tree::path_cost;
use super::*;

const PAIR: &str = "name = 'pair'\n[[host]]\nname = 'a'\n[[host]]\nname = 'b'\n\
                    [[switch]]\nname = 's'\n\
                    [[link]]\nbetween = ['a', 's']\nrate = '100Mbit/s'\n";
const SECOND: &str = "[[link]]\nbetween = ['b', 's']\nrate = '1Gbit/s'\n";

fn refused(text: &str) -> String {
    Topology::parse(text).unwrap_err().to_string()
}

#[test]
fn what_is_built_in_can_be_read_and_is_called_what_it_says() {
    for (name, text) in READY {
        let topology = Topology::parse(text).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(topology.name, *name);
        assert!(!topology.summary.is_empty());
        assert_eq!(topology.with_role(Role::Controller).count(), 1, "{name}");
        assert!(topology.with_role(Role::Device).count() > 0, "{name}");
    }
}

#[test]
fn a_counted_host_is_many_and_its_link_too() {
    let forty = Topology::parse(ready("forty-devices").unwrap()).unwrap();
    assert_eq!((forty.hosts.len(), forty.links.len()), (41, 41));
    assert_eq!(forty.host("device-40"), Some(40));
    assert_eq!(forty.links[40].name, "device-40-s1");
    assert_eq!(forty.switches[0].buffer, ByteSize(1_600_000));
}

#[test]
fn what_is_wrong_is_named_with_its_line_and_remedy() {
    let whole = format!("{PAIR}{SECOND}");
    assert!(Topology::parse(&whole).is_ok());
    for (text, words) in [
        (PAIR.to_owned(), &["`b` has no link", "[[link]]"][..]),
        (format!("{whole}{SECOND}"), &["two links", "name ="]),
        (
            whole.replace("'s'\n[[link]]", "'s'\ncolour = 1\n[[link]]"),
            &["line 8", "colour"],
        ),
        (
            whole.replacen("'100Mbit/s'", "'100'", 1),
            &["line 10", "100Mbit/s"],
        ),
        (whole.replacen("'100Mbit/s'", "100", 1), &["line 10"]),
        (
            whole.replacen("['a', 's']", "['a', 'x']", 1),
            &["line 9", "`x`", "a, b, s"],
        ),
        (
            whole.replacen("['a', 's']", "['a']", 1),
            &["line 9", "two ends"],
        ),
        (
            whole.replacen("['a', 's']", "['s', 's']", 1),
            &["line 9", "itself"],
        ),
        (whole.replacen("'b'", "'a'", 1), &["line 5", "twice"]),
        (whole.replacen("'b'", "'Big Host'", 1), &["line 5", "a-z"]),
        (format!("{whole}loss = 1.5\n"), &["line 14", "0 to 1"]),
        (format!("{whole}loss = nan\n"), &["line 14", "0 to 1"]),
        (
            format!("{whole}jitter = '2s'\n"),
            &["line 14", "1s at most"],
        ),
        (
            format!("{whole}[[cut]]\nlink = 'c'\nat = '1s'\n"),
            &["line 15", "a-s, b-s"],
        ),
        (
            format!("{whole}[[traffic]]\nfrom = 'a'\nto = 'b'\nrate = '60Hz'\npayload = '2kB'\n"),
            &["line 18", "1472B"],
        ),
        (
            format!("{whole}[[traffic]]\nfrom = 'a'\nto = 'b'\nrate = '60'\npayload = '2B'\n"),
            &["line 17", "60Hz"],
        ),
        (
            format!("{whole}[[traffic]]\nfrom = 'a'\nto = 'b'\nrate = '2MHz'\npayload = '2B'\n"),
            &["line 17", "1488095"],
        ),
        (
            "name = 'x'\n[[host]]\nname = 'h'\ncount = 65\n".to_owned(),
            &["line 4", "64"],
        ),
        ("name = 'x'\n".to_owned(), &["[[host]]"]),
        ("name = \n".to_owned(), &["line 1"]),
    ] {
        let said = refused(&text);
        for word in words {
            assert!(said.contains(word), "{word}: {said}\n{text}");
        }
    }
}

#[test]
fn cuts_of_one_link_that_overlap_are_refused() {
    let cut =
        |at: &str, lasts: &str| format!("[[cut]]\nlink = 'a-s'\nat = '{at}'\nfor = '{lasts}'\n");
    let with = |cuts: String| format!("{PAIR}{SECOND}{cuts}");
    let said = refused(&with(cut("1s", "3s") + &cut("2s", "1s")));
    for word in ["line 19", "overlap", "make them one"] {
        assert!(said.contains(word), "{word}: {said}");
    }
    assert!(Topology::parse(&with(cut("1s", "1s") + &cut("3s", "1s"))).is_ok());
}

#[test]
fn parts_that_nothing_joins_are_named() {
    let text = "name = 'x'\n[[host]]\nname = 'h'\ncount = 4\n[[switch]]\nname = 's'\n\
                [[switch]]\nname = 't'\n\
                [[link]]\nbetween = ['h-1', 's']\nrate = '1G'\n\
                [[link]]\nbetween = ['h-2', 's']\nrate = '1G'\n\
                [[link]]\nbetween = ['h-3', 't']\nrate = '1G'\n\
                [[link]]\nbetween = ['h-4', 't']\nrate = '1G'\n";
    let said = refused(text);
    assert!(said.contains("`h-1` to `h-3`"), "{said}");
}

#[test]
fn a_file_that_is_too_long_is_not_read() {
    let said = refused(&"#".repeat(limits::FILE + 1));
    assert!(said.contains("262145"), "{said}");
}

#[test]
fn the_cheapest_way_carries() {
    let redundant = Topology::parse(ready("redundant-path").unwrap()).unwrap();
    let place = |name: &str| {
        redundant
            .links
            .iter()
            .position(|it| it.name == name)
            .unwrap()
    };
    let tree = |up: &[bool]| spanning_tree(&redundant, up);
    let mut up = vec![true; redundant.links.len()];
    let whole = tree(&up);
    // Both s2 and s3 reach the root s1 at the cost of one link.
    assert!(whole[place("s1-s2")] && whole[place("s1-s3")] && !whole[place("s3-s2")]);
    up[place("s1-s2")] = false;
    let cut = tree(&up);
    assert!(!cut[place("s1-s2")] && cut[place("s1-s3")] && cut[place("s3-s2")]);
    assert!(cut[place("device-s2")]);
}

#[test]
fn two_fast_links_are_cheaper_than_one_slow() {
    let text = "name = 'x'\n[[host]]\nname = 'a'\n[[host]]\nname = 'b'\n\
                [[switch]]\nname = 's1'\n[[switch]]\nname = 's2'\n[[switch]]\nname = 's3'\n\
                [[link]]\nbetween = ['a', 's1']\nrate = '1G'\n\
                [[link]]\nbetween = ['b', 's2']\nrate = '1G'\n\
                [[link]]\nbetween = ['s1', 's2']\nrate = '100M'\n\
                [[link]]\nbetween = ['s1', 's3']\nrate = '1G'\n\
                [[link]]\nbetween = ['s3', 's2']\nrate = '1G'\n";
    let topology = Topology::parse(text).unwrap();
    let tree = spanning_tree(&topology, &[true; 5]);
    assert_eq!(tree, [true, true, false, true, true]);
    // Table 17-3 of 802.1D-2004.
    let cost = |text: &str| path_cost(text.parse().unwrap());
    assert_eq!(
        (cost("100M"), cost("1G"), cost("10G")),
        (200_000, 20_000, 2_000)
    );
}

/// The page must not show an example that is refused.
#[test]
fn the_documented_example_is_one() {
    let page = include_str!("../../../../../docs/testbed.md");
    let example = page
        .split("```toml\n")
        .nth(1)
        .unwrap()
        .split("```")
        .next()
        .unwrap();
    let topology = Topology::parse(example).unwrap();
    assert_eq!(topology.hosts[1].answer, Picoseconds::from_ns(30_000));
    assert_eq!(
        topology.cuts[0].lasts,
        Some(Picoseconds::from_ns(2_000_000_000))
    );
    assert_eq!(topology.links[1].faults.seed, 1);
}

proptest! {
    /// Built-in topologies with any part replaced: accepted within the limits, or refused with a line and a cause.
    #[test]
    fn a_damaged_file_is_refused_or_understood(
        which in 0..READY.len(),
        from in any::<prop::sample::Index>(),
        length in 0_usize..30,
        instead in "[ -~\\n\u{e4}]{0,12}|[0-9]{1,25}|\\[\\[link\\]\\]|'-1us'|nan|device-\\*",
    ) {
        let text = READY[which].1;
        let from = from.index(text.len());
        let to = (from + length).min(text.len());
        let damaged = format!("{}{instead}{}", &text[..from], &text[to..]);
        match Topology::parse(&damaged) {
            Ok(topology) => {
                prop_assert!((2..=limits::HOSTS).contains(&topology.hosts.len()));
                prop_assert!(topology.links.len() <= limits::LINKS);
            }
            Err(error) => prop_assert!(error.to_string().len() > 10),
        }
    }
}
