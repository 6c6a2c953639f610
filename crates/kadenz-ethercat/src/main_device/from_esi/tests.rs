use super::*;
use crate::esi::{Esi, EsiError, Transition};
use crate::wire::sii::{Direction, Identity};
use proptest::prelude::*;

const GRIPPER: &str = include_str!("../../../../../conformance/ethercat/esi/gripper.xml");

fn read(text: &str) -> Described {
    let mut descriptions = Descriptions::default();
    descriptions.add(&Esi::read(text).unwrap());
    let identity = Identity {
        vendor: 0x6A,
        product: 18,
        revision: 3,
        serial: 5,
    };
    (*descriptions.find(&identity).unwrap()).clone()
}

fn carried(described: &Described) -> Vec<u16> {
    described.pdos().map(|it| it.index).collect()
}

#[test]
fn what_is_carried_is_what_the_file_carries_unless_it_is_told_otherwise() {
    let gripper = read(GRIPPER);
    assert_eq!(carried(&gripper), [0x1600, 0x1601, 0x1A00]);
    let data = gripper.process_data();
    let piece = |it: &super::super::device::Piece| (it.number, it.manager.start, it.manager.length);
    assert_eq!(piece(&data.outputs[0]), (2, 0x1100, 6));
    assert_eq!(piece(&data.inputs[0]), (3, 0x1180, 6));

    let by_force = gripper.clone().with_pdos(&[0x1A00, 0x1600, 0x1602, 0x1A01]);
    let by_force = by_force.unwrap();
    assert_eq!(carried(&by_force), [0x1600, 0x1602, 0x1A00, 0x1A01]);
    let wrong = |pdos: &[u16]| gripper.clone().with_pdos(pdos).unwrap_err();
    assert_eq!(wrong(&[0x1600]), SelectionError::Mandatory(0x1A00));
    assert_eq!(wrong(&[0x1600, 0x1607]), SelectionError::NoPdo(0x1607));
    assert_eq!(
        wrong(&[0x1600, 0x1601, 0x1602, 0x1A00]).to_string(),
        "PDOs 0x1601 and 0x1602 exclude each other; take one of them"
    );

    // What cannot be left out is carried, though no SyncManager is named; what it excludes is not.
    let text = GRIPPER.replace(
        r##"<RxPdo Fixed="1"><Index>#x1602"##,
        r##"<RxPdo Mandatory="true"><Index>#x1602"##,
    );
    assert_eq!(carried(&read(&text)), [0x1600, 0x1602, 0x1A00]);
}

#[test]
fn start_up_values_are_read_with_when_they_are_written() {
    let gripper = read(GRIPPER);
    let to_safe_op: Vec<_> = gripper.commands(Transition::PreOpToSafeOp).collect();
    assert_eq!(
        (&*to_safe_op[0].value, &*to_safe_op[0].comment),
        (&[0xD3, 0x07][..], "Kind of grip")
    );
    assert!(to_safe_op[1].complete);
    assert_eq!(to_safe_op[1].value, [2, 0, 0x11, 0, 0x22, 0]);
    assert_eq!(gripper.commands(Transition::InitToPreOp).count(), 1);
    assert_eq!(gripper.commands(Transition::SafeOpToOp).count(), 1);
    for (from, to) in [("d307", "d30"), ("d307", "word")] {
        let error = Esi::read(&GRIPPER.replace(from, to)).map(|_| ());
        assert!(
            matches!(error, Err(EsiError::Bytes { line: 30 })),
            "{error:?}"
        );
    }
}

#[test]
fn pulses_are_those_of_the_operation_mode() {
    let gripper = read(GRIPPER);
    assert_eq!(
        gripper.modes().collect::<Vec<_>>(),
        ["SM", "DC", "DC fixed"]
    );
    assert_eq!(
        gripper.pulse(1_000_000),
        Some(Sync::sync0(2_000_000, 25_000))
    );
    assert_eq!(gripper.pulse_of("SM", 1_000_000), None);
    let fixed = gripper.pulse_of("DC fixed", 1_000_000).unwrap();
    assert_eq!((fixed.cycle0_ns, fixed.sync1_ns), (62_500, Some(10_000)));
    assert_eq!(gripper.pulse_of("none", 1_000_000), None);
}

#[test]
fn a_device_is_described_by_its_revision_or_the_last_one_before() {
    let mut descriptions = Descriptions::default();
    for (revision, name) in [("#x3", "third"), ("#x7", "seventh"), ("#x5", "fifth")] {
        let text = GRIPPER.replace("#x3\"", &format!("{revision}\""));
        let text = text.replace("Gripper of a robot", name);
        descriptions.add(&Esi::read(&text).unwrap());
    }
    let name = |vendor, product, revision| {
        let identity = Identity {
            vendor,
            product,
            revision,
            serial: 0,
        };
        let found = descriptions.find(&identity);
        found.map(|it| it.name().to_owned())
    };
    let of = |revision| name(0x6A, 18, revision);
    assert_eq!(of(5).as_deref(), Some("fifth"));
    assert_eq!(of(6).as_deref(), Some("fifth"));
    assert_eq!(of(4).as_deref(), Some("third"));
    assert_eq!(of(9).as_deref(), Some("seventh"));
    assert_eq!(of(2), None);
    assert_eq!((name(0x6A, 19, 3), name(0x6B, 18, 3)), (None, None));
}

#[test]
fn a_folder_is_read_and_what_in_it_is_no_esi_is_said() {
    let folder = tempfile::tempdir().unwrap();
    let put = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
    put("gripper.XML", GRIPPER);
    put("readme.txt", "no XML");
    put("module.xml", "<EtherCATModule/>");
    let read = Descriptions::read(folder.path()).unwrap();
    assert_eq!((read.len(), read.passed_over().len()), (1, 1));
    let said = read.passed_over()[0].to_string();
    assert!(said.contains("module.xml: its first element"), "{said}");
    let one = Descriptions::read(&folder.path().join("gripper.XML")).unwrap();
    assert_eq!(one.len(), 1);
    for name in ["module.xml", "none.xml"] {
        let error = Descriptions::read(&folder.path().join(name)).map(|_| ());
        assert!(error.unwrap_err().to_string().contains(name));
    }
}

#[test]
fn entries_get_the_names_of_the_file() {
    let gripper = read(GRIPPER);
    let mut managers = Vec::new();
    gripper.name_entries(&mut managers);
    assert_eq!(managers.len(), 2);
    assert_eq!(managers[1].direction, Direction::Inputs);
    let width = managers[1].pdos[0].entries[1].clone();
    assert_eq!((width.name.as_str(), width.bits), ("Width", 32));
    for pdo in &mut managers[1].pdos {
        pdo.name.clear();
        for entry in &mut pdo.entries {
            (entry.name, entry.data_type) = ("SubIndex 002".to_owned(), None);
        }
    }
    gripper.name_entries(&mut managers);
    assert_eq!(managers[1].pdos[0].name, "Status");
    assert_eq!(managers[1].pdos[0].entries[1], width);
}

proptest! {
    #[test]
    fn damaged_files_are_an_error_or_devices(cuts in prop::collection::vec((any::<u16>(), "[ -~]{0,6}"), 1..6)) {
        let mut text = GRIPPER.to_owned();
        for (at, put) in cuts {
            let at = usize::from(at) % (text.len() - 8);
            text.replace_range(at..at + 4, &put);
        }
        if let Ok(esi) = Esi::read(&text) {
            let mut descriptions = Descriptions::default();
            descriptions.add(&esi);
            for device in &esi.devices {
                let described = descriptions.find(&device.fixed.identity).unwrap();
                let _ = (described.process_data(), described.pulse(1_000_000));
                described.name_entries(&mut Vec::new());
                let all: Vec<u16> = device.pdos.iter().map(|it| it.index).collect();
                let _ = (*described).clone().with_pdos(&all);
            }
        }
    }
}
