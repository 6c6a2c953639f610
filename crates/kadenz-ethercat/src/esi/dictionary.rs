//! The object dictionary of an ESI file: values, records and arrays of basic types. The PDOs of the file, not its
//! dictionary, define the lists of PDOs.

use std::collections::BTreeMap;

use roxmltree::Node;

use super::types::{List, Shape, SubItemGroup, Types, Value, sized};
use super::{Budget, EsiError, xml};
use crate::description::Object;
use crate::wire::coe::{Access, DataType};

/// The objects of a `Profile`, as far as the budget allows. The last object of an index counts.
pub(super) fn read(profile: Node<'_, '_>, budget: &mut Budget) -> Result<Vec<Object>, EsiError> {
    let Some(dictionary) = xml::child(profile, "Dictionary") else {
        return Ok(Vec::new());
    };
    budget.begin();
    let mut types = Types::of(dictionary);
    let objects = xml::child(dictionary, "Objects");
    // Sorted, since a dictionary places each object behind the one before.
    let mut all = BTreeMap::new();
    for node in objects
        .into_iter()
        .flat_map(|it| xml::children(it, "Object"))
    {
        let Some(index) = xml::number_of::<u16>(node, "Index")? else {
            return Err(xml::missing(node, "Object", "Index"));
        };
        // Identity, SyncManagers and PDOs define these objects, so that they agree.
        let made = matches!(index, 0x1018 | 0x1600..=0x17FF | 0x1A00..=0x1BFF | 0x1C00..=0x1C3F);
        if made || index < 0x1000 {
            continue;
        }
        let shape = types.shape(xml::text(node, "Type"))?;
        let object = match &*shape {
            Shape::Value(value) => Some(variable(node, index, sized(node, *value)?, budget)?),
            Shape::Array(value, elements) => {
                Some(variable(node, index, value.together(*elements), budget)?)
            }
            Shape::List(list) => several(node, index, list, budget)?,
            Shape::Unknown => None,
        };
        if let Some(object) = object {
            all.insert(index, object);
        }
    }
    Ok(all.into_values().collect())
}

/// An object of one value.
fn variable(
    node: Node<'_, '_>,
    index: u16,
    value: Value,
    budget: &mut Budget,
) -> Result<Object, EsiError> {
    let name = xml::name(node, "Name");
    let bytes = default(xml::child(node, "Info"), value);
    budget.take(node, 2 * name.len(), bytes.len())?;
    let access = access(node).unwrap_or(Access::READ);
    Ok(Object::variable(
        index,
        name,
        value.data_type,
        access,
        &bytes,
    ))
}

/// An object of several values; `None` for one of unknown types.
fn several(
    node: Node<'_, '_>,
    index: u16,
    list: &List,
    budget: &mut Budget,
) -> Result<Option<Object>, EsiError> {
    let name = xml::name(node, "Name");
    let info = xml::child(node, "Info");
    let infos = info.into_iter().flat_map(|it| xml::children(it, "SubItem"));
    let infos: Vec<_> = infos.collect();
    let of_object = access(node);
    budget.take(node, name.len(), 1)?;
    let mut object = match &list.items[..] {
        [] => return Ok(None),
        [array] if array.is_array => {
            let count = list.count.or(of_object).unwrap_or(Access::READ);
            Object::array(index, name, array.value.data_type, count)
        }
        _ => Object::record(index, name, DataType(0x0800)),
    };
    for item in &list.items {
        let access = item.access.or(of_object).unwrap_or(Access::READ);
        let whole = whole(item, &infos);
        for place in 0..item.count {
            let (name, bytes) = element(item, place, whole.as_deref(), &infos);
            budget.take(node, name.len(), bytes.len())?;
            let (sub, kind) = (item.first + place, item.value.data_type);
            object = object.entry(sub, name, kind, access, &bytes);
        }
    }
    Ok(Some(counted(object, list, &infos)))
}

/// Sets the count of an array that is not full to the default of its sub-index 0.
fn counted(object: Object, list: &List, infos: &[Node<'_, '_>]) -> Object {
    let is_array = list.items.iter().all(|it| it.is_array);
    let info = infos.first().and_then(|it| xml::child(*it, "Info"));
    let count = default(info, Value::new(DataType::UNSIGNED8, 8));
    let starts = list.items.first().is_some_and(|it| it.default > 0);
    let is_stated = info.is_some_and(|it| it.children().any(|it| it.is_element()));
    match count.first() {
        Some(count) if is_array && starts && is_stated && *count <= object.highest_sub() => {
            object.counting(*count)
        }
        _ => object,
    }
}

/// One default for all elements of an array together; `None` where each element has its own.
fn whole(item: &SubItemGroup, infos: &[Node<'_, '_>]) -> Option<Vec<u8>> {
    let first = infos.get(item.default)?;
    if !item.is_array || xml::text(*first, "Name") != item.name {
        return None;
    }
    let bits = item.value.bits.next_multiple_of(8) * u32::from(item.count);
    let all = Value::new(item.value.data_type, bits);
    Some(default(xml::child(*first, "Info"), all))
}

/// The name and the default of one value.
fn element(
    item: &SubItemGroup,
    place: u8,
    whole: Option<&[u8]>,
    infos: &[Node<'_, '_>],
) -> (String, Vec<u8>) {
    if let Some(all) = whole {
        let length = item.value.bits.div_ceil(8) as usize;
        let own = all.chunks(length.max(1)).nth(place.into());
        let mut own = own.unwrap_or_default().to_vec();
        own.resize(length, 0);
        return (numbered(item.first + place), own);
    }
    let info = infos.get(item.default + usize::from(place));
    let name = match (item.is_array, info) {
        (false, _) => item.name.clone(),
        (true, Some(info)) => xml::name(*info, "Name"),
        (true, None) => numbered(item.first + place),
    };
    let info = info.and_then(|it| xml::child(*it, "Info"));
    (name, default(info, item.value))
}

fn numbered(sub: u8) -> String {
    format!("SubIndex {sub:03}")
}

/// The default of a value, in exactly its number of bytes: `DefaultData` in hexadecimal, or else a text or a number.
fn default(info: Option<Node<'_, '_>>, value: Value) -> Vec<u8> {
    let text = |name| info.map_or("", |it| xml::text(it, name));
    let mut bytes = hexadecimal(text("DefaultData"));
    if bytes.is_empty() {
        let letters = text("DefaultString").chars().take(Value::MAX);
        bytes = match value.data_type {
            DataType::UNICODE_STRING => {
                let letters: String = letters.collect();
                letters.encode_utf16().flat_map(u16::to_le_bytes).collect()
            }
            // CoE's texts are ASCII, but vendors do not keep to it; Latin-1 stays.
            _ => letters
                .map(|it| u8::try_from(u32::from(it)).unwrap_or(b'?'))
                .collect(),
        };
    }
    if bytes.is_empty()
        && let Some(number) = xml::integer(text("DefaultValue"))
    {
        bytes = number.to_le_bytes().to_vec();
    }
    let length = match value.bits.div_ceil(8) as usize {
        // A text whose type does not state its length.
        0 => bytes.len().clamp(1, Value::MAX),
        length => length,
    };
    bytes.resize(length, 0);
    bytes
}

/// Bytes as pairs of hexadecimal digits; skips all other letters.
pub(super) fn hexadecimal(text: &str) -> Vec<u8> {
    let letters = text.chars().take(16 * Value::MAX);
    let digits = letters.filter_map(|it| it.to_digit(16));
    let digits: Vec<u8> = digits.take(2 * Value::MAX).map(|it| it as u8).collect();
    let pairs = digits.chunks_exact(2);
    pairs.map(|pair| pair[0] << 4 | pair[1]).collect()
}

/// The access that an element's `Flags` allow; `None` for an element without flags.
pub(super) fn access(node: Node<'_, '_>) -> Option<Access> {
    let flags = xml::child(node, "Flags")?;
    let access = xml::child(flags, "Access");
    let within = |name: &str| states(access.and_then(|it| it.attribute(name)));
    let read = Access(within("ReadRestrictions"));
    let write = Access(within("WriteRestrictions") << 3);
    let mut allowed = match access.map_or("", xml::own) {
        rw if rw.eq_ignore_ascii_case("rw") => read.and(write),
        wo if wo.eq_ignore_ascii_case("wo") => write,
        _ => read,
    };
    let mapping = xml::text(flags, "PdoMapping").to_ascii_uppercase();
    for (is_set, bit) in [
        (mapping.contains('R'), Access::RX_MAPPABLE),
        (mapping.contains('T'), Access::TX_MAPPABLE),
        (is_yes(xml::text(flags, "Backup")), Access::BACKUP),
        (is_yes(xml::text(flags, "Setting")), Access::SETTING),
    ] {
        if is_set {
            allowed = allowed.and(bit);
        }
    }
    Some(allowed)
}

fn is_yes(text: &str) -> bool {
    matches!(text, "1" | "true")
}

/// Bits of the states that a restriction names, as `PreOP_SafeOP`; all three where it names none.
fn states(restriction: Option<&str>) -> u16 {
    let bits = restriction
        .unwrap_or_default()
        .split('_')
        .map(|it| match it {
            it if it.eq_ignore_ascii_case("PreOP") => 1,
            it if it.eq_ignore_ascii_case("SafeOP") => 2,
            it if it.eq_ignore_ascii_case("OP") => 4,
            _ => 0,
        });
    match bits.fold(0, |all, bit| all | bit) {
        0 => 7,
        some => some,
    }
}
