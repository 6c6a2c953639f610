use super::*;

fn parse(text: &str) -> Result<Plan, FileError> {
    Plan::parse("robot.toml", text, &mut |_| Err("not here".to_owned()))
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
    assert_eq!(hub.hardware.ports, [crate::sim::PortKind::Cable; 4]);
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
    for name in ["COUPLER", "7", "all", "alias:7", "bell\\u0007"] {
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
        Plan::read(Path::new("/nowhere/robot.toml"))
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
        Plan::read(&path).unwrap_err().to_string()
    };
    assert!(said("./vendor.xml").contains("not EtherCATInfo"));
    for elsewhere in ["/dev/zero", "../vendor.xml", "a/../../vendor.xml"] {
        let said = said(elsewhere);
        assert!(said.contains("does not lie beside"), "{said}");
    }
}

#[test]
fn faults_are_checked_against_the_devices() {
    let with = |fault: &str| parse(&format!("{RACK}\n[[fault]]\n{fault}")).map(|it| it.faults[0]);
    let planned = with("what = \"flap\"\nevery_ms = 10000\ndevice = \"hub\"\nvalue = 300").unwrap();
    assert_eq!(
        (planned.when, planned.what),
        (When::EveryMs(10_000), What::Flap(2, 300))
    );
    assert_eq!(
        with("what = \"lose\"\nchance = 0.01").unwrap().what,
        What::Lose
    );
    for wrong in [
        "what = \"lose\"",
        "what = \"lose\"\nchance = 1.5",
        "what = \"cut\"\nat_ms = 1\ndevice = \"nobody\"",
        "what = \"cut\"\nframe = 1\ndevice = \"hub\"",
        "what = \"delay\"\nframe = 1",
        "what = \"truncate\"\nframe = 1\nvalue = -1",
        "what = \"vanish\"\nat_ms = 1",
    ] {
        assert!(with(wrong).unwrap_err().line.is_some(), "{wrong}");
    }
}
