//! A short text makes no big heap: how much a vendor's file may take, counted.
#![allow(clippy::unwrap_used, reason = "in a test a panic is the answer")]

use allocation_counter::measure;
use kadenz_ethercat::esi::{Esi, EsiError};
use kadenz_ethercat::sim::file::Plan;

const MIB: u64 = 1 << 20;

/// A device in some 2 KiB, with so many objects of a type.
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
    // Buffers that grow are up to twice as long.
    assert!(
        counted.bytes_max < 2 * 64 * MIB + 32 * text.len() as u64,
        "{counted:?}"
    );

    // Who asks the devices for their objects takes none of that.
    let mut read = None;
    let counted = measure(|| read = Some(Esi::without_objects(&text).unwrap()));
    assert_eq!(read.unwrap().devices.len(), 256);
    assert!(counted.bytes_max < 32 * text.len() as u64, "{counted:?}");
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
            read = Some(Plan::parse("a.toml", &plan, &mut |_| Ok(text.clone())).unwrap());
        });
        assert_eq!(read.unwrap().devices.len(), devices);
        counted.bytes_max
    };
    let (one, many) = (peak(1), peak(100));
    assert!(one > 2 * MIB, "{one}: 20,000 values have names and more");
    assert!(many < 2 * one, "{one} {many}");
}
