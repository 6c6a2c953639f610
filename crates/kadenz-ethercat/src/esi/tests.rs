use super::*;
use crate::wire::coe::Address;
use crate::wire::sii::{Direction, Image, Protocols};
use proptest::prelude::*;

mod dictionaries;

const DRIVE: &str = include_str!("../../../../conformance/ethercat/esi/axis.xml");

#[test]
fn a_device_is_read_with_all_that_a_maindevice_needs() {
    let esi = Esi::read(DRIVE).unwrap();
    assert_eq!(esi.find(17, Some(1)).unwrap().name, "Old drive");
    let axis = esi.find(17, None).unwrap();
    assert_eq!(axis.name, "Axis of a robot");
    assert_eq!((axis.default_bytes(2), axis.default_bytes(3)), (6, 3));
    assert!(axis.fixed.protocols.has(Protocols::COE.and(Protocols::FOE)));
    let dictionary = axis.dictionary();
    let number = |index, sub| dictionary.number(Address::new(index, sub));
    assert_eq!(number(0x1000, 0), Some(0x0002_0192));
    assert_eq!((number(0x607D, 0), number(0x607D, 1)), (Some(2), Some(-10)));
    assert_eq!(number(0x1C12, 1), Some(0x1600));
    let sii = axis.sii().unwrap();
    let image = Image::of(&sii).unwrap();
    assert_eq!((sii.len(), image.fixed().pdi[0]), (4096, 0x0C08));
    assert_eq!(image.fixed().mailboxes.send.start, 0x1080);
    assert_eq!(image.clock_modes().next().unwrap().shift0_ns, -500);
    assert_eq!(image.pdos(Direction::Outputs).next().unwrap().bits(), 48);
}

#[test]
fn what_is_no_esi_is_said_with_its_line() {
    let error = |text: &str| Esi::read(text).unwrap_err().to_string();
    assert!(error("<a").starts_with("it is not valid XML"));
    assert!(error("<svg/>").starts_with("its first element is svg"));
    assert_eq!(
        fault(&DRIVE.replace("#x1a00", "1a00")).to_string(),
        "line 17: \"1a00\" is not a number that fits; write decimal, or #x and hexadecimal"
    );
    assert_eq!(
        error("<EtherCATInfo/>"),
        "line 1: EtherCATInfo has no Vendor/Id"
    );
}

/// The error of the only device of a file that cannot be read.
fn fault(text: &str) -> EsiError {
    let esi = Esi::read(text).unwrap();
    assert_eq!(esi.faulty().len(), 1, "{:?}", esi.faulty());
    esi.faulty()[0].error.clone()
}

/// A file of one device.
fn device(inside: &str) -> String {
    format!(
        "<EtherCATInfo><Vendor><Id>2</Id></Vendor><Descriptions><Devices><Device Physics=\"YY\">\n\
         <Type ProductCode=\"1\" RevisionNo=\"1\">Big</Type><Name>Big</Name>{inside}\
         </Device></Devices></Descriptions></EtherCATInfo>"
    )
}

fn with_dictionary(types: &str, objects: &str) -> String {
    device(&format!(
        "<Profile><Dictionary><DataTypes>{types}</DataTypes><Objects>{objects}</Objects></Dictionary>\
         </Profile><Mailbox><CoE/></Mailbox>"
    ))
}

/// The same text for each number.
fn each(numbers: std::ops::Range<usize>, text: impl Fn(usize) -> String) -> String {
    numbers.map(text).collect()
}

#[test]
fn what_no_device_has_so_many_of_is_refused_and_one_less_is_not() {
    let refused = |what: &'static str, most: usize, text: &dyn Fn(usize) -> String| {
        assert_eq!(Esi::read(&text(most)).unwrap().faulty(), [], "{what}");
        let error = EsiError::TooMuch {
            line: 2,
            what,
            most,
        };
        assert_eq!(fault(&text(most + 1)), error);
    };
    refused("SyncManagers", 32, &|count| {
        device(&each(0..count, |_| "<Sm>Outputs</Sm>".to_owned()))
    });
    refused("FMMUs", 32, &|count| {
        device(&each(0..count, |_| "<Fmmu>Outputs</Fmmu>".to_owned()))
    });
    refused("PDOs", 1024, &|count| {
        device(&each(0..count, |it| {
            format!("<RxPdo><Index>{}</Index></RxPdo>", 0x1600 + it)
        }))
    });
    refused("entries of a PDO", 255, &|count| {
        let entries = each(0..count, |_| {
            "<Entry><Index>0</Index><BitLen>1</BitLen></Entry>".to_owned()
        });
        device(&format!("<TxPdo><Index>#x1A00</Index>{entries}</TxPdo>"))
    });
    refused("pairs of PDOs that exclude each other", 4096, &|count| {
        let excludes = each(0..count, |it| format!("<Exclude>{}</Exclude>", it % 99));
        device(&format!("<TxPdo><Index>#x1A00</Index>{excludes}</TxPdo>"))
    });
    refused("operation modes", 255, &|count| {
        let modes = each(0..count, |it| format!("<OpMode><Name>{it}</Name></OpMode>"));
        device(&format!("<Dc>{modes}</Dc>"))
    });
}

#[test]
fn a_type_has_no_values_and_a_short_text_names_no_objects_without_end() {
    // Objects of unknown types are left out.
    let object = |index: usize| {
        format!("<Object><Index>{index}</Index><Type>Many</Type><Name>{index}</Name></Object>")
    };
    let many = |items: usize| {
        let items = each(0..items, |_| "<SubItem/>".to_owned());
        let types = format!("<DataType><Name>Many</Name>{items}</DataType>");
        with_dictionary(&types, &each(0x2000..0x3000, object))
    };
    let none = Esi::read(&many(256)).unwrap();
    assert_eq!(
        none.devices[0].coe.as_ref().unwrap().objects.len(),
        0,
        "it has values of no known type"
    );
    assert!(matches!(
        fault(&many(50_000)),
        EsiError::TooMuch {
            line: 2,
            what: "values of a type",
            most: 255
        }
    ));

    let big = |objects: std::ops::Range<usize>| {
        let items = each(1..201, |sub| {
            format!("<SubItem><SubIdx>{sub}</SubIdx><Type>STRING(4000)</Type></SubItem>")
        });
        let types = format!("<DataType><Name>Many</Name>{items}</DataType>");
        with_dictionary(&types, &each(objects, object))
    };
    let whole = Esi::read(&big(0x2000..0x2001)).unwrap();
    assert_eq!(
        whole.devices[0]
            .dictionary()
            .object(0x2000)
            .unwrap()
            .highest_sub(),
        200
    );
    let error = fault(&big(0x2000..0x2002));
    let what = "bytes of its objects' values";
    assert!(
        matches!(error, EsiError::TooMuch { what: its, .. } if its == what),
        "{error}"
    );

    // Without objects the limit does not apply.
    let esi = Esi::without_objects(&big(0x2000..0x2100)).unwrap();
    assert_eq!((esi.devices.len(), esi.faulty().len()), (1, 0));
}

#[test]
fn the_parser_gets_nothing_that_it_takes_long_for() {
    let attributes = |count| {
        let all = each(0..count, |it| format!(" a{it} = '1'"));
        Esi::read(&device(&format!("<Name{all}/>"))).map(|_| ())
    };
    assert_eq!(attributes(256), Ok(()));
    assert_eq!(attributes(257), Err(EsiError::Long));
    let spaces = |count| {
        let all = each(0..count, |it| format!("<a xmlns:n{it}='u{it}'>"));
        Esi::read(&device(&format!("{all}{}", "</a>".repeat(count)))).map(|_| ())
    };
    assert_eq!(spaces(64), Ok(()));
    assert_eq!(spaces(65), Err(EsiError::Long));
}

#[test]
fn a_device_that_cannot_be_read_harms_no_other() {
    let worse = |from: &str, to: &str| DRIVE.replacen(from, to, 1);
    let esi = Esi::read(&worse("<SubIndex>0<", "<SubIndex>300<")).unwrap();
    assert_eq!(esi.find(17, Some(1)).unwrap().name, "Old drive");
    // The last one described is the faulty one, and not another in its place.
    assert!(esi.find(17, Some(2)).is_none() && esi.find(17, None).is_none());
    let faulty = &esi.faulty()[0];
    let identity = faulty.identity.unwrap();
    assert_eq!((identity.product, identity.revision), (17, 2));
    assert_eq!(faulty.order, "Axis");
    assert!(faulty.error.to_string().starts_with("line 18: \"300\""));
    // A faulty device whose identity cannot be read.
    let esi = Esi::read(&worse("RevisionNo=\"#x2\"", "RevisionNo=\"two\"")).unwrap();
    assert_eq!((esi.devices.len(), esi.faulty()[0].identity), (1, None));
    assert_eq!(esi.find(17, None).unwrap().name, "Old drive");
    let order: Vec<_> = esi.in_order().map(|it| it.is_ok()).collect();
    assert_eq!(order, [true, false]);
}

#[test]
fn long_entries_of_a_pdo_go_on_as_gaps() {
    let text = DRIVE.replace(
        "<Entry><Index>0</Index><BitLen>8<",
        "<Entry><Index>#x6100</Index><BitLen>600<",
    );
    let axis = Esi::read(&text).unwrap().devices.remove(1);
    let inputs = &axis.pdos[0];
    let entries: Vec<_> = inputs
        .entries
        .iter()
        .map(|it| (it.index, it.bits))
        .collect();
    assert_eq!(entries, [(0x6041, 16), (0x6100, 255), (0, 255), (0, 90)]);
    assert_eq!(axis.default_bytes(3), 77);
    // No mapping can hold that length, so none is written.
    let changeable = text.replace("<TxPdo Fixed=\"1\"", "<TxPdo");
    assert!(Esi::read(&changeable).unwrap().devices[1].pdos[0].is_fixed());
}

#[test]
fn sync_managers_lie_in_memory() {
    let at = |start: &str| DRIVE.replace("StartAddress=\"#x1000\"", start);
    let mailbox = |start: &str| {
        let esi = Esi::read(&at(start)).unwrap();
        esi.devices
            .get(1)
            .map(|it| it.fixed.mailboxes.receive.start)
    };
    assert_eq!(mailbox("StartAddress=\"#x1200\""), Some(0x1200));
    assert_eq!(mailbox(""), Some(0), "the file states none");
    assert_eq!(mailbox("StartAddress=\"#xFF80\""), Some(0xFF80));
    for wrong in ["#x0100", "#x0F00", "#xFF81"] {
        let error = fault(&at(&format!("StartAddress=\"{wrong}\"")));
        assert!(
            matches!(
                error,
                EsiError::Area {
                    line: 13,
                    size: 128,
                    ..
                }
            ),
            "{error}"
        );
    }
    let outputs = |start: &str| Esi::read(&DRIVE.replace("#x1100", start)).unwrap();
    assert_eq!(
        outputs("#x0F00").devices[1].sync_managers[2].area.start,
        0x0F00
    );
    assert_eq!(outputs("#x0EFF").faulty().len(), 1);
    // A SyncManager at 0x4180 gives the device a controller with enough memory.
    let far = DRIVE.replace("#x1180", "#x4180");
    assert_eq!(Esi::read(&far).unwrap().devices[1].hardware.ram_kib, 60);
}

#[test]
fn what_modes_of_the_clocks_ask_for_beyond_what_is_done_is_known() {
    let mode = |inside: &str| {
        let text = device(&format!(
            "<Dc><OpMode><Name>DC</Name>{inside}</OpMode></Dc>"
        ));
        let esi = Esi::read(&text).unwrap();
        let (device, start_up) = esi.with_start_up().next().unwrap();
        let words: Vec<_> = start_up
            .unsupported
            .iter()
            .flat_map(|it| it.words())
            .collect();
        (device.clocks[0].mode, words.join(", "))
    };
    let oversampling = "<AssignActivate>#x0730</AssignActivate><CycleTimeSync0 Factor=\"-4\">0</CycleTimeSync0>\
         <ShiftTimeSync0 Factor=\"1\" Input=\"true\">-10000</ShiftTimeSync0>\
         <CycleTimeSync1 Factor=\"-1\">0</CycleTimeSync1><Sm No=\"0\"><Pdo OSFac=\"4\">#x1a00</Pdo></Sm>";
    let (mode4, words) = mode(oversampling);
    assert_eq!(
        (mode4.factor0, mode4.factor1, mode4.shift0_ns),
        (-4, -1, -10_000)
    );
    assert_eq!(
        words,
        "PDOs of its own, a shift by a part of the cycle, SYNC0 timed for inputs"
    );
    let times = |sync1| {
        format!("<CycleTimeSync0>250000</CycleTimeSync0><CycleTimeSync1>{sync1}</CycleTimeSync1>")
    };
    let (half, words) = mode(&times(500_000));
    assert_eq!((half.factor1, &*words), (2, ""));
    let (_, words) = mode(&times(300_000));
    assert_eq!(words, "a cycle of SYNC1 that is not a multiple of SYNC0's");
}

proptest! {
    #[test]
    fn damaged_files_are_an_error_or_devices(cuts in prop::collection::vec((any::<u16>(), "[ -~]{0,6}"), 1..6)) {
        let mut text = DRIVE.to_owned();
        for (at, put) in cuts {
            let at = usize::from(at) % (text.len() - 8);
            text.replace_range(at..at + 4, &put);
        }
        if let Ok(esi) = Esi::read(&text) {
            prop_assert!(esi.faulty().iter().all(|it| it.error.to_string().starts_with("line ")));
            for device in &esi.devices {
                let _ = device.sii();
                let _ = device.dictionary();
            }
        }
    }
}
