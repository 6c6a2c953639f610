//! A short text does not need much memory: the tests count the bytes that an ESI file may take.
#![allow(clippy::unwrap_used, reason = "in a test a panic is the answer")]

use allocation_counter::measure;
use kadenz_ethercat::esi::{Esi, EsiError};
use kadenz_ethercat::sim::file::SegmentPlan;
use kadenz_ethercat::wire::coe::Address;

const MIB: u64 = 1 << 20;

/// A device in some 2 KiB of text, with `objects` objects of one type.
fn device(product: usize, items: &str, objects: usize) -> String {
    let objects: String = (0x2000..0x2000 + objects)
        .map(|index| format!("<Object><Index>{index}</Index><Type>It</Type></Object>"))
        .collect();
    format!(
        "<Device Physics=\"YY\"><Type ProductCode=\"{product}\">It</Type><Profile><Dictionary><DataTypes>\
         <DataType><Name>It</Name>{items}</DataType></DataTypes><Objects>{objects}</Objects></Dictionary>\
         </Profile><Mailbox><CoE/></Mailbox></Device>"
    )
}

fn file(devices: &str) -> String {
    format!(
        "<EtherCATInfo><Vendor><Id>2</Id></Vendor><Descriptions><Devices>{devices}</Devices></Descriptions>\
         </EtherCATInfo>"
    )
}

#[test]
fn objects_of_a_file_take_no_more_than_they_are_given() {
    // Each device has a megabyte of values.
    let items: String = (1..14)
        .map(|sub| format!("<SubItem><SubIdx>{sub}</SubIdx><Type>STRING</Type><BitSize>65535</BitSize></SubItem>"))
        .collect();
    let devices: String = (0..256).map(|it| device(it, &items, 19)).collect();
    let text = file(&devices);
    let mut read = None;
    let counted = measure(|| read = Some(Esi::read(&text).unwrap()));
    let esi = read.unwrap();
    assert!(esi.devices.len() > 50, "{}", esi.devices.len());
    let last = &esi.faulty().last().unwrap().error;
    assert!(matches!(last, EsiError::Objects { .. }), "{last}");
    // Growing buffers are up to twice as long as their contents.
    assert!(
        counted.bytes_max < 2 * 64 * MIB + 32 * text.len() as u64,
        "{counted:?}"
    );

    // A reader that takes objects from the devices needs no memory for those of the file.
    let mut read = None;
    let counted = measure(|| read = Some(Esi::without_objects(&text).unwrap()));
    assert_eq!(read.unwrap().devices.len(), 256);
    assert!(counted.bytes_max < 32 * text.len() as u64, "{counted:?}");
}

#[test]
fn room_is_not_reserved_for_what_only_looks_like_elements_without_end() {
    for sign in ["<", "="] {
        let text = file(&format!("<!-- {} -->", sign.repeat((8 << 20) + 1)));
        let counted = measure(|| assert!(matches!(Esi::read(&text), Err(EsiError::Long))));
        assert!(counted.bytes_max < MIB, "{counted:?}");
    }
}

/// A reader that reads the default again for each element would need hundreds of times the text.
#[test]
fn one_default_of_all_elements_of_an_array_is_read_once() {
    let types = "<DataType><Name>AllARR</Name><BaseType>USINT</BaseType><ArrayInfo><LBound>1</LBound>\
         <Elements>255</Elements></ArrayInfo></DataType>\
         <DataType><Name>All</Name><SubItem><SubIdx>0</SubIdx><Type>USINT</Type></SubItem>\
         <SubItem><Name>Elements</Name><Type>AllARR</Type></SubItem></DataType>";
    let data: String = (1..=4096).map(|it| format!("{:02x}", it % 256)).collect();
    let objects: String = (0x2000..0x2010)
        .map(|index| {
            format!(
                "<Object><Index>{index}</Index><Type>All</Type><Info><SubItem/><SubItem><Name>Elements</Name>\
                 <Info><DefaultData>{data}</DefaultData></Info></SubItem></Info></Object>"
            )
        })
        .collect();
    let text = file(&format!(
        "<Device Physics=\"YY\"><Type ProductCode=\"1\">It</Type><Profile><Dictionary><DataTypes>{types}\
         </DataTypes><Objects>{objects}</Objects></Dictionary></Profile><Mailbox><CoE/></Mailbox></Device>"
    ));
    let mut read = None;
    let counted = measure(|| read = Some(Esi::read(&text).unwrap()));
    assert!(counted.bytes_total < 64 * text.len() as u64, "{counted:?}");
    let dictionary = read.unwrap().devices[0].dictionary();
    for index in [0x2000, 0x200F] {
        for sub in 1..=255 {
            let number = dictionary.number(Address::new(index, sub));
            assert_eq!(number, Some(sub.into()), "{index:04X}");
        }
    }
}

#[test]
fn devices_of_one_kind_share_what_they_are() {
    let items: String = (1..101)
        .map(|sub| {
            format!(
                "<SubItem><SubIdx>{sub}</SubIdx><Type>USINT</Type><Name>A name</Name></SubItem>"
            )
        })
        .collect();
    let text = file(&device(1, &items, 200));
    let peak = |devices: usize| {
        let plan: String = (0..devices)
            .map(|it| format!("[[device]]\nname = \"device {it}\"\nesi = \"a.xml\"\nproduct = 1\n"))
            .collect();
        let mut read = None;
        let counted = measure(|| {
            read = Some(SegmentPlan::parse("a.toml", &plan, &mut |_| Ok(text.clone())).unwrap());
        });
        assert_eq!(read.unwrap().devices.len(), devices);
        counted.bytes_max
    };
    let (one, many) = (peak(1), peak(100));
    assert!(one > 2 * MIB, "{one}: 20,000 values have names and more");
    assert!(many < 2 * one, "{one} {many}");
}
