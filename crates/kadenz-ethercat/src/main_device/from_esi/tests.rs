use super::*;
use crate::esi::{Esi, EsiError, Transition};
use crate::wire::sii::{Direction, Identity};
use proptest::prelude::*;

const GRIPPER: &str = include_str!("../../../../../conformance/ethercat/esi/gripper.xml");

/// The identity of the file's device.
const WHO: Identity = Identity {
    vendor: 0x6A,
    product: 18,
    revision: 3,
    serial: 5,
};

fn read(text: &str) -> Described {
    let mut descriptions = Descriptions::default();
    descriptions.add(&Esi::read(text).unwrap());
    (*descriptions.find(&WHO).unwrap()).clone()
}

fn carried(described: &Described) -> Vec<u16> {
    described.pdos().map(|it| it.index).collect()
}

#[test]
fn what_is_carried_is_what_the_file_carries_unless_pdos_are_selected() {
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

    // A mandatory PDO is carried, though no SyncManager is named; a PDO that it excludes is not.
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
        let esi = Esi::read(&GRIPPER.replace(from, to)).unwrap();
        assert_eq!(esi.faulty()[0].error, EsiError::Bytes { line: 30 });
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
}

#[test]
fn a_chosen_mode_is_the_one_by_which_it_pulses() {
    let gripper = read(GRIPPER);
    let pulse = |mode: &str| {
        gripper
            .clone()
            .with_mode(mode)
            .map(|it| it.pulse(1_000_000))
    };
    assert_eq!(pulse("SM"), Some(None), "one without pulses");
    assert_eq!(pulse("DC"), Some(gripper.pulse(1_000_000)));
    let fixed = pulse("DC fixed").unwrap().unwrap();
    assert_eq!((fixed.cycle0_ns, fixed.sync1_ns), (62_500, Some(10_000)));
    assert_eq!(pulse("none"), None);
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
fn files_are_read_in_the_letters_that_they_say() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("gripper.xml");
    let named = |encoding: &str, letters: &[u8]| {
        let head = format!("<?xml version=\"1.0\" encoding=\"{encoding}\"?>");
        let text = GRIPPER.replace("<?xml version=\"1.0\"?>", &head);
        let (before, behind) = text.split_once("Gripper of a robot").unwrap();
        let bytes = [before.as_bytes(), letters, behind.as_bytes()].concat();
        std::fs::write(&path, bytes).unwrap();
        let read = Descriptions::read(&path);
        read.map(|it| it.find(&WHO).unwrap().name().to_owned())
    };
    assert_eq!(named("ISO-8859-1", b"F\xE4nger").unwrap(), "Fänger");
    assert_eq!(named("UTF-8", "Fänger".as_bytes()).unwrap(), "Fänger");
    let said = |it: Result<String, DescriptionsError>| it.unwrap_err().to_string();
    let unknown = said(named("koi8-r", b""));
    assert!(unknown.contains("\"koi8-r\""), "{unknown}");
    let wrong = said(named("UTF-8", b"F\xE4nger"));
    assert!(wrong.contains("gripper.xml: line 7"), "{wrong}");

    let wide = GRIPPER.replace("Gripper of a robot", "Fänger");
    let wide = format!("\u{FEFF}{wide}");
    let bytes: Vec<u8> = wide.encode_utf16().flat_map(u16::to_le_bytes).collect();
    std::fs::write(&path, bytes).unwrap();
    let read = Descriptions::read(&path).unwrap();
    assert_eq!(read.find(&WHO).unwrap().name(), "Fänger");
}

#[test]
fn a_folder_has_no_more_bytes_than_are_given_to_it() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["a.xml", "b.xml"] {
        std::fs::write(folder.path().join(name), GRIPPER).unwrap();
    }
    let bytes = 2 * GRIPPER.len() as u64;
    let read = |longest| Descriptions::read_within(folder.path(), longest).map(|it| it.len());
    assert_eq!(read(bytes).unwrap(), 2);
    let error = read(bytes - 1).unwrap_err();
    assert!(matches!(error, DescriptionsError::TooMany(_)), "{error}");
}

#[test]
fn a_device_that_cannot_be_read_is_said_and_harms_no_other() {
    // Another device before the gripper, and one of the gripper's later revisions.
    let another = |product: u32, revision: u32| {
        let (_, device) = GRIPPER.split_once("<Devices>").unwrap();
        let (device, _) = device.split_once("</Devices>").unwrap();
        let kind = format!("ProductCode=\"{product}\" RevisionNo=\"#x{revision}\"");
        let device = device.replace("ProductCode=\"18\" RevisionNo=\"#x3\"", &kind);
        device.replacen("<SubIndex>1<", "<SubIndex>300<", 1)
    };
    let with = |device: String| GRIPPER.replace("<Devices>", &format!("<Devices>{device}"));
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("grippers.xml");
    let read = |text: String| {
        std::fs::write(&path, text).unwrap();
        Descriptions::read(&path).unwrap()
    };
    let other = read(with(another(19, 3)));
    assert_eq!(other.find(&WHO).unwrap().name(), "Gripper of a robot");
    let said = other.passed_over()[0].to_string();
    assert!(
        said.contains("grippers.xml: Gripper: line 14: \"300\""),
        "{said}"
    );
    assert_eq!((other.len(), other.passed_over().len()), (1, 1));

    // The description of this one cannot be read, and the one before it does not take its place.
    let later = read(with(another(18, 4)));
    let is_later = Identity { revision: 4, ..WHO };
    assert!(later.find(&WHO).is_some() && later.find(&is_later).is_none());
    // Of two of the same identity the later one counts, whole or not.
    assert!(read(with(another(18, 3))).find(&WHO).is_some());
}

#[test]
fn of_many_pdos_that_exclude_each_other_the_first_are_carried() {
    let pdo = |index: usize| {
        let before = format!("<Exclude>{}</Exclude>", index - 1);
        format!("<RxPdo Sm=\"2\"><Index>{index}</Index>{before}</RxPdo>")
    };
    let pdos: String = (0x1603..0x1603 + 1000).map(pdo).collect();
    let text = GRIPPER.replace(
        "<TxPdo Sm=\"3\" Mandatory",
        &format!("{pdos}<TxPdo Sm=\"3\" Mandatory"),
    );
    let all = carried(&read(&text));
    // 0x1600, 0x1601, then every second one, and the inputs; a SyncManager carries 255.
    assert_eq!(all[..5], [0x1600, 0x1601, 0x1603, 0x1605, 0x1607]);
    assert_eq!((all.len(), all[254], all[255]), (256, 0x17FB, 0x1A00));
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
