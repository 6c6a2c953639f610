//! Dictionaries of every kind of type.

use super::with_dictionary;
use crate::esi::Esi;
use crate::sim::coe::Dictionary;
use crate::wire::coe::{Access, Address, ObjectCode};

const TYPES: &str = "<DataType><Name>BIT3</Name><BitSize>3</BitSize></DataType>\
    <DataType><Name>Mode</Name><BaseType>USINT</BaseType><BitSize>8</BitSize><EnumInfo/></DataType>\
    <DataType><Name>FourARR</Name><BaseType>UINT</BaseType><BitSize>64</BitSize>\
      <ArrayInfo><LBound>1</LBound><Elements>4</Elements></ArrayInfo></DataType>\
    <DataType><Name>Four</Name><BitSize>80</BitSize>\
      <SubItem><SubIdx>0</SubIdx><Name>SubIndex 000</Name><Type>USINT</Type><Flags><Access>rw</Access></Flags></SubItem>\
      <SubItem><Name>Elements</Name><Type>FourARR</Type>\
        <Flags><Access WriteRestrictions=\"PreOP\">rw</Access><Backup>1</Backup></Flags></SubItem></DataType>\
    <DataType><Name>Odd</Name>\
      <SubItem><SubIdx>0</SubIdx><Name>SubIndex 000</Name><Type>USINT</Type></SubItem>\
      <SubItem><SubIdx>1</SubIdx><Name>Three bits</Name><Type>BIT3</Type></SubItem>\
      <SubItem><SubIdx>2</SubIdx><Name>Position</Name><Type>INT24</Type></SubItem>\
      <SubItem><SubIdx>3</SubIdx><Name>Inner</Name><Type>Four</Type></SubItem>\
      <SubItem><SubIdx>4</SubIdx><Name>Key</Name><Type>OCTET_STRING(4)</Type></SubItem>\
      <SubItem><SubIdx>7</SubIdx><Name>Mode</Name><Type>Mode</Type></SubItem></DataType>\
    <DataType><Name>Self</Name><BaseType>Self</BaseType></DataType>";

/// An object of a type, with its defaults and flags.
fn object(index: u16, kind: &str, rest: &str) -> String {
    format!("<Object><Index>{index}</Index><Name>One</Name><Type>{kind}</Type>{rest}</Object>")
}

/// Defaults of values, one behind the other.
fn infos(values: &[&str]) -> String {
    let each = values.iter();
    let all: String = each
        .map(|it| format!("<SubItem><Name>It</Name><Info>{it}</Info></SubItem>"))
        .collect();
    format!("<Info>{all}</Info>")
}

fn data(digits: &str) -> String {
    format!("<DefaultData>{digits}</DefaultData>")
}

fn dictionary(objects: &[String]) -> Dictionary {
    let esi = Esi::read(&with_dictionary(TYPES, &objects.concat())).unwrap();
    assert_eq!(esi.faulty(), []);
    esi.devices[0].dictionary()
}

fn number(of: &Dictionary, index: u16, sub: u8) -> Option<i64> {
    of.number(Address::new(index, sub))
}

fn bytes(of: &Dictionary, index: u16, sub: u8) -> Vec<u8> {
    of.bytes(of.entry(Address::new(index, sub)).unwrap())
        .to_vec()
}

#[test]
fn arrays_have_their_elements_and_count_those_that_they_have() {
    let whole = "<Info><SubItem/><SubItem><Name>Elements</Name><Info><DefaultData>0500060007000800\
         </DefaultData></Info></SubItem></Info>";
    let of = dictionary(&[
        object(
            0x2000,
            "Four",
            &infos(&[&data("03"), &data("0100"), &data("0200")]),
        ),
        object(0x2001, "Four", whole),
    ]);
    let four = of.object(0x2000).unwrap();
    assert_eq!((four.code, four.highest_sub()), (ObjectCode::Array, 4));
    let numbers = [0, 1, 2, 3].map(|sub| number(&of, 0x2000, sub));
    assert_eq!(numbers, [Some(3), Some(1), Some(2), Some(0)]);
    let element = of.entry(Address::new(0x2000, 4)).unwrap();
    let allowed = Access::READ.and(Access::WRITE_PREOP).and(Access::BACKUP);
    assert_eq!((element.access, &*element.name), (allowed, "SubIndex 004"));
    let count = of.entry(Address::new(0x2000, 0)).unwrap();
    assert_eq!(count.access, Access::READ.and(Access::WRITE));
    let numbers = [0, 1, 4].map(|sub| number(&of, 0x2001, sub));
    assert_eq!(numbers, [Some(4), Some(5), Some(8)]);
}

#[test]
fn records_have_values_of_all_basic_types() {
    let key = data("01020304");
    let all = infos(&[
        &data("07"),
        &data("05"),
        &data("feffff"),
        "",
        &key,
        "<DefaultValue>#x11</DefaultValue>",
    ]);
    let flags = "<Flags><Access>rw</Access></Flags>";
    let of = dictionary(&[object(0x2001, "Odd", &(all + flags))]);
    let odd = of.object(0x2001).unwrap();
    let subs: Vec<_> = odd.entries().iter().map(|it| (it.sub, it.bits)).collect();
    // The file's list within a list is left out.
    assert_eq!(subs, [(0, 8), (1, 3), (2, 24), (4, 32), (7, 8)]);
    let numbers = [1, 2, 7].map(|sub| number(&of, 0x2001, sub));
    assert_eq!(numbers, [Some(5), Some(-2), Some(0x11)]);
    assert_eq!(bytes(&of, 0x2001, 4), [1, 2, 3, 4]);
    // Values without flags of their own have the object's.
    assert!(odd.entries()[1].access.any(Access::WRITE));
}

#[test]
fn values_have_their_defaults_as_bytes_a_text_or_a_number() {
    let text = |it: &str| format!("<Info><DefaultString>{it}</DefaultString></Info>");
    let of = dictionary(&[
        object(0x2002, "STRING(8)", &text("25 °C")),
        object(0x2003, "STRING", &text("abc")),
        object(
            0x2004,
            "UDINT",
            "<Info><DefaultValue>70000</DefaultValue></Info>",
        ),
        object(
            0x2005,
            "BITARR16",
            &format!("<Info>{}</Info>", data("0180")),
        ),
        object(0x2006, "Self", ""),
        object(0x2007, "ARRAY [0..2] OF BYTE", ""),
    ]);
    assert_eq!(bytes(&of, 0x2002, 0), b"25 \xB0C\0\0\0");
    assert_eq!(bytes(&of, 0x2003, 0), b"abc");
    let numbers = [0x2004, 0x2005].map(|index| number(&of, index, 0));
    assert_eq!(numbers, [Some(70_000), Some(0x8001)]);
    assert!(of.object(0x2006).is_none());
    assert_eq!(bytes(&of, 0x2007, 0), [0; 3]);
}
