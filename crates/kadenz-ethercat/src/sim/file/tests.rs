use super::*;
use crate::port::Side;
use crate::sim::fault::{Fault, FrameFault, When, WireFault};
use crate::sim::{CableId, DeviceId, End, Time};

mod round_trip;

fn parse(text: &str) -> Result<SegmentPlan, FileError> {
    SegmentPlan::parse("robot.toml", text, &mut |_| Err("not here".to_owned()))
}

const RACK: &str = r#"
[[device]]
name = "coupler"
model = "EK1100"
drift_ppm = -12.5

[[device]]
name = "valves"
model = "el2889"

[[device]]
name = "hub"
model = "drive"
parent = "coupler"
port = 2
ports = 4
alias = 77
drive = { motor = "knee", load = 2.0 }

[[device]]
name = "foot"
model = "force"
delay_ns = 900
"#;

#[test]
fn a_file_gives_a_tree_with_defaults() {
    let plan = parse(RACK).unwrap();
    let parents: Vec<_> = plan
        .devices
        .iter()
        .map(|it| it.parent.map(|it| (it.device, it.port)))
        .collect();
    assert_eq!(parents, [None, Some((0, 1)), Some((0, 2)), Some((2, 1))]);
    assert_eq!(plan.devices[0].drift_ppm, -12.5);
    assert_eq!((plan.devices[3].delay_ns, plan.devices[3].serial), (900, 4));
    let hub = plan.devices[2].model().unwrap();
    let image = crate::wire::sii::Image::of(&hub.sii).unwrap();
    assert!(image.checksum_holds());
    assert_eq!(image.fixed().alias, 77);
    assert_eq!(hub.hardware.ports, [crate::description::PortKind::Cable; 4]);
}

#[test]
fn errors_name_file_line_and_remedy() {
    let wrong = |from: &str, to: &str| parse(&RACK.replace(from, to)).unwrap_err().to_string();
    assert_eq!(
        wrong("\"el2889\"", "\"el9999\""),
        "robot.toml:9: there is no model \"el9999\"; there are ek1100, ek1914, el2828, el2889, el3004, drive, imu, force, stamp"
    );
    assert!(
        wrong("port = 2", "port = 1")
            .starts_with("robot.toml:15: \"coupler\" has no such port free")
    );
    assert!(
        wrong("\"coupler\"\nport", "\"copler\"\nport")
            .starts_with("robot.toml:14: no device above is named \"copler\"")
    );
    assert!(wrong("load = 2.0", "inertia = 0.0").contains("no motor has such numbers"));
    assert!(wrong("\"valves\"", "\"coupler\"").starts_with("robot.toml:8: "));
    for name in [
        "COUPLER",
        "7",
        "all",
        "All",
        "Ring",
        "alias:7",
        "ALIAS:3",
        "bell\\u0007",
    ] {
        let said = wrong("\"valves\"", &format!("\"{name}\""));
        assert!(said.starts_with("robot.toml:8: "), "{name}: {said}");
    }
    assert!(wrong("\"valves\"", "\"valves\"\nports = 3").contains("leave `ports` out"));
    assert!(wrong("alias", "alais").starts_with("robot.toml:17: unknown field"));
    assert!(
        parse("")
            .unwrap_err()
            .to_string()
            .starts_with("robot.toml: it has 0 devices")
    );
    assert!(
        SegmentPlan::read(Path::new("/nowhere/robot.toml"))
            .unwrap_err()
            .to_string()
            .contains("cannot be read")
    );
}

#[test]
fn a_vendors_file_lies_beside_the_segments() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("vendor.xml"), "<svg/>").unwrap();
    let path = folder.path().join("robot.toml");
    let said = |esi: &str| {
        let text = format!("[[device]]\nname = \"a\"\nesi = \"{esi}\"\nproduct = 1\n");
        std::fs::write(&path, text).unwrap();
        SegmentPlan::read(&path).unwrap_err().to_string()
    };
    assert!(said("./vendor.xml").contains("not EtherCATInfo"));
    for elsewhere in ["/dev/zero", "../vendor.xml", "a/../../vendor.xml"] {
        let said = said(elsewhere);
        assert!(said.contains("does not lie beside"), "{said}");
    }
}

#[test]
fn a_vendors_file_is_read_in_its_letters_and_only_its_faulty_devices_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("robot.toml");
    let said = |vendors: &[u8], revision: u32| {
        std::fs::write(folder.path().join("vendor.xml"), vendors).unwrap();
        let text = format!(
            "[[device]]\nname = \"a\"\nesi = \"vendor.xml\"\nproduct = 17\nrevision = {revision}\n"
        );
        std::fs::write(&path, text).unwrap();
        let plan = SegmentPlan::read(&path).map_err(|error| error.to_string())?;
        match &plan.devices[0].kind {
            Kind::Described(it) => Ok(it.description.name.clone()),
            _ => Err("it is another".to_owned()),
        }
    };
    let german = AXIS
        .replace(
            "<?xml version=\"1.0\"?>",
            "<?xml version=\"1.0\" encoding=\"ISO-8859-1\"?>",
        )
        .replace("Axis of a robot", "*");
    let (before, behind) = german.split_once('*').unwrap();
    let german = [before.as_bytes(), b"Kn\xF6chel", behind.as_bytes()].concat();
    assert_eq!(said(&german, 2).unwrap(), "Knöchel");
    let unknown = AXIS.replace("\"1.0\"", "\"1.0\" encoding=\"big5\"");
    let error = said(unknown.as_bytes(), 2).unwrap_err();
    assert!(
        error.contains("vendor.xml") && error.contains("\"big5\""),
        "{error}"
    );

    let faulty = AXIS.replace("<SubIdx>2<", "<SubIdx>two<");
    assert_eq!(said(faulty.as_bytes(), 1).unwrap(), "Old drive");
    let error = said(faulty.as_bytes(), 2).unwrap_err();
    assert!(error.contains("cannot be read; line 31"), "{error}");
}

#[test]
fn a_name_is_the_same_in_capitals_and_not_wherever_it_is_said() {
    let text = RACK.replace("\"hub\"", "\"hébergement\"");
    let twice = format!("{text}[[device]]\nname = \"HÉBERGEMENT\"\nmodel = \"imu\"\n");
    assert!(
        parse(&twice)
            .unwrap_err()
            .to_string()
            .contains("another device's")
    );
    let child = "[[device]]\nname = \"a\"\nmodel = \"imu\"\nparent = \"HÉbergement\"\n";
    let fault = "[[fault]]\nwhat = \"cut\"\nat_ms = 1\ndevice = ";
    let plan = parse(&format!(
        "[ring]\ndevice = \"FOOT\"\n{text}{child}{fault}\"hÉbergement\"\n{fault}\"RING\"\n"
    ));
    let plan = plan.unwrap();
    assert_eq!(plan.devices[4].parent.map(|it| it.device), Some(2));
    assert_eq!(plan.ring.map(|it| it.device), Some(3));
    let cables = [CableId(2), CableId(5)].map(|it| Fault::Wire(WireFault::Cut(it)));
    assert_eq!(
        plan.faults.iter().map(|it| it.fault).collect::<Vec<_>>(),
        cables
    );
}

fn with_fault(fault: &str) -> Result<Planned, FileError> {
    parse(&format!("{RACK}\n[[fault]]\n{fault}")).map(|it| it.faults[0])
}

#[test]
fn faults_are_checked_against_the_devices() {
    let flap = "what = \"flap\"\nevery_ms = 10000\ndevice = \"hub\"\nvalue = 300";
    let every = When::Every {
        first: Time(10_000_000_000),
        period: 10_000_000_000,
    };
    let of_hub = Fault::Wire(WireFault::Flap(CableId(2), 300_000_000));
    assert_eq!(with_fault(flap).unwrap(), Planned::new(every, of_hub));
    let lose = with_fault("what = \"lose\"\nchance = 0.01").unwrap();
    assert_eq!(lose.fault, Fault::Frame(FrameFault::Lose { after: None }));
    for wrong in [
        "what = \"lose\"",
        "what = \"lose\"\nchance = 1.5",
        "what = \"lose\"\nframe = 0",
        "what = \"lose\"\nat_ms = 1\nframes = 0",
        "what = \"lose\"\nat_ms = 1\nframe = 1",
        "what = \"lose\"\nat_ms = -1",
        "what = \"lose\"\nat_ms = nan",
        "what = \"lose\"\nevery_ms = 0",
        "what = \"lose\"\nevery_ms = 1\nchance = 0.5",
        "what = \"lose\"\nfor_ms = 1\nframes = 2",
        "what = \"lose\"\nat_ms = 1\nvalue = 1",
        "what = \"lose\"\nat_ms = 1\ndevice = \"hub\"",
        "what = \"cut\"\nat_ms = 1\ndevice = \"nobody\"",
        "what = \"cut\"\nat_ms = 1\ndevice = \"ring\"",
        "what = \"cut\"\nat_ms = 1\ndevice = \"hub\"\nvalue = 5",
        "what = \"cut\"\nat_ms = 1\nframes = 2\ndevice = \"hub\"",
        "what = \"cut\"\nchance = 0.1\ndevice = \"hub\"",
        "what = \"delay\"\nframe = 1",
        "what = \"truncate\"\nframe = 1\nvalue = -1",
        "what = \"garble\"\nframe = 1\nvalue = 256",
        "what = \"leave\"\nat_ms = 1\ndevice = \"hub\"",
        "what = \"leave\"\nat_ms = 1\ndevice = \"hub\"\nstate = \"OP\"",
        "what = \"drift\"\nat_ms = 1\ndevice = \"hub\"\nvalue = nan",
        "what = \"spoil\"\nat_ms = 1\ndevice = \"hub\"\nvalue = 1",
        "what = \"vanish\"\nat_ms = 1",
    ] {
        assert!(with_fault(wrong).unwrap_err().line.is_some(), "{wrong}");
    }
    let error = with_fault("what = \"lose\"\nat_ms = \"5s\"").unwrap_err();
    assert!(
        error.to_string().contains("it is not a number; docs/"),
        "{error}"
    );
}

#[test]
fn a_key_that_would_count_for_nothing_is_refused_at_its_line() {
    let wrong = |from: &str, to: &str| parse(&RACK.replace(from, to)).unwrap_err().to_string();
    for (to, said) in [
        (
            "\"el2889\"\ndrive = {}",
            "robot.toml:10: only model = \"drive\"",
        ),
        (
            "\"el2889\"\nproduct = 1",
            "robot.toml:10: a model has no `product`",
        ),
        (
            "\"el2889\"\nrevision = 1",
            "robot.toml:10: a model has no `revision`",
        ),
        (
            "\"el2889\"\neeprom = { read = 5 }",
            "robot.toml:10: a read gives 4 or 8",
        ),
        (
            "\"el2889\"\neeprom = { spoiled = [[999999, 1]] }",
            "robot.toml:10: its EEPROM has no byte",
        ),
    ] {
        let error = wrong("\"el2889\"", to);
        assert!(error.starts_with(said), "{error}");
    }
    let error = wrong("drift_ppm", "port = 1\ndrift_ppm");
    assert!(
        error.starts_with("robot.toml:5: the first device"),
        "{error}"
    );
    let error = with_fault("what = \"heal\"\ndevice = \"hub\"\nat_ms = 1\nvalue = 2").unwrap_err();
    assert_eq!(error.line, Some(29));
}

#[test]
fn a_ring_goes_from_the_last_device_or_from_the_one_that_is_named() {
    let ring = |text: &str| parse(&format!("{text}{RACK}")).map(|it| it.ring);
    assert_eq!(ring("").unwrap(), None);
    // Frames reach the hub at the coupler's port 2 last, and the devices behind it.
    assert_eq!(ring("[ring]\n").unwrap(), Some(Ring::new(3, 1)));
    let named = ring("[ring]\ndevice = \"hub\"\nport = 3\njitter_ns = 9\n").unwrap();
    let expected = Ring {
        jitter_ns: 9,
        ..Ring::new(2, 3)
    };
    assert_eq!(named, Some(expected));
    for wrong in [
        "device = \"nobody\"",
        "device = \"hub\"\nport = 1",
        "port = 2",
    ] {
        let error = ring(&format!("[ring]\n{wrong}\n")).unwrap_err();
        assert!(error.line.is_some(), "{error}");
    }
    assert!(parse(&RACK.replace("\"foot\"", "\"ring\"")).is_err());
    let segment = parse(&format!("[ring]\n{RACK}")).unwrap().build().unwrap();
    let ring = segment.cable_at(End::Main(Side::Redundant));
    assert_eq!(ring, segment.cable_at(End::Device(DeviceId(3), 1)));
    assert_eq!(ring, Some(CableId(4)));
}

#[test]
fn an_eeprom_may_be_odd_from_the_beginning() {
    let with = |eeprom: &str| {
        let text = RACK.replace("\"el2889\"", &format!("\"el2889\"\neeprom = {eeprom}"));
        let segment = parse(&text).unwrap().build().unwrap();
        let sii = segment.device(DeviceId(1)).unwrap().sii().to_vec();
        (
            sii,
            segment.device(DeviceId(1)).unwrap().hardware().sii_read,
        )
    };
    let (whole, read) = with("{}");
    assert_eq!(read, 8);
    let (spoiled, read) = with("{ spoiled = [[0x10, 0xEE]], read = 4 }");
    assert_eq!((spoiled[0x10], read), (0xEE, 4));
    assert_eq!(
        (&spoiled[..0x10], &spoiled[0x11..]),
        (&whole[..0x10], &whole[0x11..])
    );
    assert!(with("{ length = 0 }").0.is_empty());
    let numbered = RACK.replace("\"el2889\"", "\"el2889\"\nserial = 0x01020304");
    let model = parse(&numbered).unwrap().devices[1].model().unwrap();
    assert_eq!(model.sii[28..32], [4, 3, 2, 1]);
}

const AXIS: &str = include_str!("../../../../../conformance/ethercat/esi/axis.xml");

#[test]
fn an_esi_file_is_read_once_and_says_which_ports_there_are() {
    let axes: String = (0..50)
        .map(|it| format!("[[device]]\nname = \"axis {it}\"\nesi = \"a.xml\"\nproduct = 17\n"))
        .collect();
    let mut reads = 0;
    let plan = SegmentPlan::parse("robot.toml", &axes, &mut |_| {
        reads += 1;
        Ok(AXIS.to_owned())
    });
    assert_eq!(plan.unwrap().devices.len(), 50);
    assert_eq!(reads, 1);

    let with = |physics: &str, text: &str| {
        let xml = AXIS.replace("\"YY\"", &format!("\"{physics}\""));
        SegmentPlan::parse("robot.toml", text, &mut |_| Ok(xml.clone()))
    };
    let first = "[[device]]\nname = \"a\"\nesi = \"a.xml\"\nproduct = 17\n";
    assert_eq!(with("Y YY", first).unwrap().devices[0].free_ports(), [2, 3]);
    let said = with(" YY", first).unwrap_err().to_string();
    assert!(
        said.contains("no port 0") && said.starts_with("robot.toml:3"),
        "{said}"
    );
    let second = format!("{first}[[device]]\nname = \"b\"\nmodel = \"imu\"\n");
    assert!(
        with("Y", &second)
            .unwrap_err()
            .to_string()
            .contains("no such port free")
    );
    let behind = with("Y  Y", &second).unwrap();
    assert_eq!(
        behind.devices[1].parent,
        Some(Parent { device: 0, port: 3 })
    );
    assert_eq!(behind.build().unwrap().len(), 2);
}
