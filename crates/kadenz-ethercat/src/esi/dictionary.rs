//! The object dictionary of an ESI file: values and records of basic types. Arrays are passed over: the
//! lists of PDOs are made from the PDOs.

use std::collections::HashMap;

use roxmltree::Node;

use super::{EsiError, xml};
use crate::sim::coe::Object;
use crate::wire::coe::{Access, DataType};

/// Most bytes of a default value.
const LONGEST: usize = 4096;
/// Most bytes of all values of a device: every object has those of its type, however short the text is that
/// names it.
const LONGEST_ALL: usize = 1 << 20;

/// CoE's type of a name in ESI, with the bytes of a text.
pub(super) fn data_type(name: &str) -> DataType {
    match name {
        "BOOL" | "BIT" => DataType::BOOLEAN,
        "BIT2" => DataType::BIT2,
        "BIT8" => DataType::BIT8,
        "SINT" => DataType::INTEGER8,
        "INT" => DataType::INTEGER16,
        "DINT" => DataType::INTEGER32,
        "LINT" => DataType::INTEGER64,
        "USINT" | "BYTE" => DataType::UNSIGNED8,
        "UINT" | "WORD" => DataType::UNSIGNED16,
        "UDINT" | "DWORD" => DataType::UNSIGNED32,
        "ULINT" | "LWORD" => DataType::UNSIGNED64,
        "REAL" => DataType::REAL32,
        "LREAL" => DataType::REAL64,
        other if other.starts_with("STRING") => DataType::VISIBLE_STRING,
        _ => DataType(0),
    }
}

/// A default as hexadecimal bytes, as many as the type has.
fn value(info: Option<Node<'_, '_>>, bits: usize) -> Vec<u8> {
    let text = info.map_or_else(String::new, |it| xml::text(it, "DefaultData"));
    let digits: Vec<u8> = text.bytes().filter(u8::is_ascii_hexdigit).collect();
    let bytes = digits.chunks_exact(2).map(|pair| {
        let digit = |it: u8| char::from(it).to_digit(16).unwrap_or(0) as u8;
        digit(pair[0]) << 4 | digit(pair[1])
    });
    let mut value: Vec<u8> = bytes.take(LONGEST).collect();
    value.resize(bits.div_ceil(8).min(LONGEST), 0);
    value
}

fn access(node: Node<'_, '_>) -> Access {
    let flags = xml::child(node, "Flags");
    let text = flags.map_or_else(String::new, |it| xml::text(it, "Access"));
    let mapping = flags.map_or_else(String::new, |it| xml::text(it, "PdoMapping"));
    let mut access = match text.to_ascii_lowercase().as_str() {
        "rw" => Access::READ.and(Access::WRITE),
        "wo" => Access::WRITE,
        _ => Access::READ,
    };
    if mapping.to_ascii_uppercase().contains('R') {
        access = access.and(Access::RX_MAPPABLE);
    }
    if mapping.to_ascii_uppercase().contains('T') {
        access = access.and(Access::TX_MAPPABLE);
    }
    access
}

/// The objects of a `Profile`.
pub(super) fn read(profile: Node<'_, '_>) -> Result<Vec<Object>, EsiError> {
    let Some(dictionary) = xml::child(profile, "Dictionary") else {
        return Ok(Vec::new());
    };
    let types = xml::child(dictionary, "DataTypes");
    let types = types
        .into_iter()
        .flat_map(|it| xml::children(it, "DataType"));
    // The first of a name counts.
    let types: Types<'_, '_> = types
        .collect::<Vec<_>>()
        .into_iter()
        .rev()
        .map(|it| (xml::text(it, "Name"), it))
        .collect();
    let objects = xml::child(dictionary, "Objects");
    let mut all = Vec::new();
    let mut bytes = 0;
    for node in objects
        .into_iter()
        .flat_map(|it| xml::children(it, "Object"))
    {
        let Some(index) = xml::number_of::<u16>(node, "Index")? else {
            return Err(xml::missing(node, "Object", "Index"));
        };
        // Made from identity, SyncManagers and PDOs, so that they agree with them.
        let made = matches!(index, 0x1018 | 0x1600..=0x17FF | 0x1A00..=0x1BFF | 0x1C00..=0x1C3F);
        if made || index < 0x1000 {
            continue;
        }
        let Some((object, values)) = object(node, index, &types)? else {
            continue;
        };
        bytes += values;
        if bytes > LONGEST_ALL {
            return Err(EsiError::TooMuch {
                line: xml::line(node),
            });
        }
        all.push(object);
    }
    Ok(all)
}

/// Data types by their names.
type Types<'d, 'i> = HashMap<String, Node<'d, 'i>>;

/// An object and the bytes of its values; `None` for one of a type that is not known.
fn object(
    node: Node<'_, '_>,
    index: u16,
    types: &Types<'_, '_>,
) -> Result<Option<(Object, usize)>, EsiError> {
    let type_name = xml::text(node, "Type");
    let name = xml::text(node, "Name");
    let info = xml::child(node, "Info");
    let kind = data_type(&type_name);
    if kind != DataType(0) {
        let bits = xml::number_of::<u16>(node, "BitSize")?.unwrap_or(0);
        let value = value(info, usize::from(bits.max(kind.bits().unwrap_or(8))));
        let object = Object::variable(index, name, kind, access(node), &value);
        return Ok(Some((object, value.len())));
    }
    let Some(record) = types.get(&type_name) else {
        return Ok(None);
    };
    let mut object = Object::record(index, name, DataType(0x0800));
    let mut defaults = info.into_iter().flat_map(|it| xml::children(it, "SubItem"));
    let (mut last, mut bytes) = (0, 0);
    for item in xml::children(*record, "SubItem") {
        let default = defaults.next().and_then(|it| xml::child(it, "Info"));
        let Some(sub) = xml::number_of::<u8>(item, "SubIdx")? else {
            continue;
        };
        let kind = data_type(&xml::text(item, "Type"));
        if sub <= last || kind == DataType(0) {
            continue;
        }
        last = sub;
        let bits = xml::number_of::<u16>(item, "BitSize")?.unwrap_or(0);
        let value = value(default, usize::from(bits.max(kind.bits().unwrap_or(8))));
        bytes += value.len();
        object = object.entry(sub, xml::text(item, "Name"), kind, access(item), &value);
    }
    Ok((last > 0).then_some((object, bytes)))
}
