use super::*;
use crate::wire::coe::Address;
use crate::wire::sii::{Direction, Image, Protocols};
use proptest::prelude::*;

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
    assert!(error("<a").starts_with("it is no XML"));
    assert!(error("<svg/>").starts_with("its first element is svg"));
    assert_eq!(
        error(&DRIVE.replace("#x1a00", "1a00")),
        "line 17: \"1a00\" is no number that fits; write decimal, or #x and hexadecimal"
    );
    assert_eq!(
        error("<EtherCATInfo/>"),
        "line 1: EtherCATInfo has no Vendor/Id"
    );
}

#[test]
fn a_short_text_is_no_dictionary_without_end() {
    let items: String = (1..=200)
        .map(|sub| format!("<SubItem><SubIdx>{sub}</SubIdx><Type>STRING(4000)</Type><BitSize>32000</BitSize></SubItem>"))
        .collect();
    let objects: String = (0x2000..0x2100)
        .map(|index| format!("<Object><Index>#x{index:04x}</Index><Type>Big</Type></Object>"))
        .collect();
    let profile = format!(
        "<Profile><Dictionary><DataTypes><DataType><Name>Big</Name>{items}</DataType></DataTypes>\
         <Objects>{objects}</Objects></Dictionary></Profile>"
    );
    let text = format!(
        "<EtherCATInfo><Vendor><Id>2</Id></Vendor><Descriptions><Devices><Device Physics=\"YY\">\
         <Type ProductCode=\"1\" RevisionNo=\"1\">Big</Type><Name>Big</Name>{profile}<Mailbox><CoE/></Mailbox>\
         </Device></Devices></Descriptions></EtherCATInfo>"
    );
    let error = Esi::read(&text).map(|_| ()).unwrap_err();
    assert!(matches!(error, EsiError::TooMuch { line: 1 }), "{error}");
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
            for device in &esi.devices {
                let _ = device.sii();
                let _ = device.dictionary();
            }
        }
    }
}
