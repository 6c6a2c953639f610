//! Types of a dictionary: the basic ones by their names, and those that the file defines.

use std::collections::HashMap;
use std::rc::Rc;

use roxmltree::Node;

use super::dictionary::access;
use super::{EsiError, xml};
use crate::wire::coe::{Access, DataType};

/// Most values of a type.
const MAX_ITEMS: usize = 255;
/// How many types may be nested, each made of the next. A type that is nested deeper is unknown, and so is a type
/// that contains itself.
const MAX_DEPTH: usize = 8;

/// A type of one value, and its bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Value {
    pub(super) data_type: DataType,
    pub(super) bits: u32,
}

impl Value {
    /// Longest value, in bytes.
    pub(super) const MAX: usize = 4096;

    /// A value of so many bits, at most those of the longest value.
    pub(super) fn new(data_type: DataType, bits: u32) -> Self {
        let most = 8 * Self::MAX as u32;
        let bits = bits.min(most);
        Self { data_type, bits }
    }

    /// So many of the values, as bytes.
    pub(super) fn together(self, elements: u8) -> Self {
        Self::new(DataType::OCTET_STRING, self.bits * u32::from(elements))
    }
}

/// Some `<SubItem>`s of the ESI file that are described together: one, or the elements of an array.
#[derive(Debug)]
pub(super) struct SubItemGroup {
    /// Sub-index of the first.
    pub(super) first: u8,
    pub(super) count: u8,
    pub(super) is_array: bool,
    pub(super) name: String,
    pub(super) value: Value,
    pub(super) access: Option<Access>,
    /// Place of the first element's default among those of an object.
    pub(super) default: usize,
}

/// Values by rising sub-index, without the count in sub-index 0.
#[derive(Debug, Default)]
pub(super) struct List {
    pub(super) items: Vec<SubItemGroup>,
    /// The access to the count.
    pub(super) count: Option<Access>,
}

/// The structure of a type.
#[derive(Debug)]
pub(super) enum Shape {
    Value(Value),
    Array(Value, u8),
    List(List),
    /// Kadenz does not know the type.
    Unknown,
}

/// CoE's number of a type by its name in ESI (ETG.1020, base data types); 0 for other names.
pub(super) fn data_type(name: &str) -> DataType {
    basic(name).map_or(DataType(0), |it| it.data_type)
}

/// The basic type of a name.
fn basic(name: &str) -> Option<Value> {
    let data_type = match name {
        "BOOL" | "BIT" => DataType::BOOLEAN,
        "SINT" => DataType::INTEGER8,
        "INT" => DataType::INTEGER16,
        "INT24" => DataType::INTEGER24,
        "DINT" => DataType::INTEGER32,
        "INT40" => DataType::INTEGER40,
        "INT48" => DataType::INTEGER48,
        "INT56" => DataType::INTEGER56,
        "LINT" => DataType::INTEGER64,
        "USINT" | "BYTE" => DataType::UNSIGNED8,
        "UINT" | "WORD" => DataType::UNSIGNED16,
        "UINT24" => DataType::UNSIGNED24,
        "UDINT" | "DWORD" => DataType::UNSIGNED32,
        "UINT40" => DataType::UNSIGNED40,
        "UINT48" => DataType::UNSIGNED48,
        "UINT56" => DataType::UNSIGNED56,
        "ULINT" | "LWORD" => DataType::UNSIGNED64,
        "REAL" => DataType::REAL32,
        "LREAL" => DataType::REAL64,
        "BITARR8" => DataType::BITARR8,
        "BITARR16" => DataType::BITARR16,
        "BITARR32" => DataType::BITARR32,
        other => return bits_or_text(other),
    };
    Some(Value::new(data_type, data_type.bits()?.into()))
}

/// Types whose names contain their length.
fn bits_or_text(name: &str) -> Option<Value> {
    if let Some(bits) = name.strip_prefix("BIT") {
        let bits: u16 = bits.parse().ok()?;
        let number = (1..=16).contains(&bits).then(|| 0x2F + bits)?;
        return Some(Value::new(DataType(number), bits.into()));
    }
    if let Some(range) = name.strip_prefix("ARRAY") {
        return array_of(range);
    }
    let texts = [
        ("STRING", DataType::VISIBLE_STRING, 8),
        ("VISIBLE_STRING", DataType::VISIBLE_STRING, 8),
        ("OCTET_STRING", DataType::OCTET_STRING, 8),
        ("UNICODE_STRING", DataType::UNICODE_STRING, 16),
    ];
    let (word, length) = name.split_once('(').unwrap_or((name, ""));
    let (_, data_type, each) = *texts.iter().find(|it| it.0 == word.trim_end())?;
    let length: u16 = length.trim_end_matches(')').trim().parse().unwrap_or(0);
    Some(Value::new(data_type, u32::from(length) * each))
}

/// ` [0..3] OF BYTE`: CoE has a type for arrays of bytes and of 16 bits; the others are bytes, too.
fn array_of(range: &str) -> Option<Value> {
    let (range, of) = range.split_once("OF")?;
    let range = range.trim().strip_prefix('[')?.strip_suffix(']')?;
    let (first, last) = range.split_once("..")?;
    let (first, last): (u16, u16) = (first.trim().parse().ok()?, last.trim().parse().ok()?);
    let element = match of.trim() {
        // No real file nests them.
        nested if nested.starts_with("ARRAY") => return None,
        of => basic(of)?,
    };
    let count = u32::from(last.checked_sub(first)?) + 1;
    let data_type = match element.data_type {
        DataType::UNSIGNED16 => DataType::UNICODE_STRING,
        _ => DataType::OCTET_STRING,
    };
    Some(Value::new(data_type, count.saturating_mul(element.bits)))
}

/// The types of a dictionary. The reader reads each once for each depth at which others contain it, however many
/// objects are of it; so the result does not depend on the order of the requests.
pub(super) struct Types<'d, 'i> {
    nodes: HashMap<&'d str, Node<'d, 'i>>,
    /// The types by name and by how many more levels they may contain.
    known: HashMap<(&'d str, usize), Rc<Shape>>,
}

impl<'d, 'i> Types<'d, 'i> {
    /// The types of a dictionary. The first type of a name counts.
    pub(super) fn of(dictionary: Node<'d, 'i>) -> Self {
        let types = xml::child(dictionary, "DataTypes");
        let mut nodes = HashMap::new();
        for node in types
            .into_iter()
            .flat_map(|it| xml::children(it, "DataType"))
        {
            nodes.entry(xml::text(node, "Name")).or_insert(node);
        }
        Self {
            nodes,
            known: HashMap::new(),
        }
    }

    /// The structure of a type.
    pub(super) fn shape(&mut self, name: &'d str) -> Result<Rc<Shape>, EsiError> {
        self.shape_within(name, MAX_DEPTH)
    }

    fn shape_within(&mut self, name: &'d str, depth: usize) -> Result<Rc<Shape>, EsiError> {
        if let Some(value) = basic(name) {
            return Ok(Rc::new(Shape::Value(value)));
        }
        if let Some(shape) = self.known.get(&(name, depth)) {
            return Ok(Rc::clone(shape));
        }
        let Some(node) = self.nodes.get(name).copied() else {
            return Ok(Rc::new(Shape::Unknown));
        };
        let shape = Rc::new(self.read(node, depth)?);
        self.known.insert((name, depth), Rc::clone(&shape));
        Ok(shape)
    }

    fn read(&mut self, node: Node<'d, 'i>, depth: usize) -> Result<Shape, EsiError> {
        let Some(depth) = depth.checked_sub(1) else {
            return Ok(Shape::Unknown);
        };
        if xml::child(node, "SubItem").is_some() {
            return Ok(Shape::List(self.list(node, depth)?));
        }
        let base = self.shape_within(xml::text(node, "BaseType"), depth)?;
        let Shape::Value(value) = *base else {
            return Ok(Shape::Unknown);
        };
        let (mut elements, mut is_array) = (1_u32, false);
        // An array of several dimensions has the elements of all.
        for info in xml::children(node, "ArrayInfo") {
            let more: u16 = xml::number_of(info, "Elements")?.unwrap_or(0);
            elements = elements.saturating_mul(more.into());
            is_array = true;
        }
        Ok(match is_array {
            true => Shape::Array(value, u8::try_from(elements).unwrap_or(u8::MAX)),
            false => Shape::Value(value),
        })
    }

    fn list(&mut self, node: Node<'d, 'i>, depth: usize) -> Result<List, EsiError> {
        let mut list = List::default();
        let (mut last, mut default) = (0_u8, 0);
        for (number, node) in xml::children(node, "SubItem").enumerate() {
            if number == MAX_ITEMS + 1 {
                return Err(xml::too_much(node, "values of a type", MAX_ITEMS));
            }
            let sub = xml::number_of::<u8>(node, "SubIdx")?;
            let shape = self.shape_within(xml::text(node, "Type"), depth)?;
            let (first, count, value, is_array) = match (sub, &*shape) {
                (Some(0), _) => {
                    list.count = access(node);
                    default += 1;
                    continue;
                }
                (Some(sub), Shape::Value(value)) => (sub, 1, sized(node, *value)?, false),
                // One value of a list may be an array, which is then so many bytes.
                (Some(sub), Shape::Array(value, elements)) => {
                    (sub, 1, value.together(*elements), false)
                }
                (None, Shape::Array(value, elements)) => {
                    let room = u8::MAX - last;
                    (last.saturating_add(1), room.min(*elements), *value, true)
                }
                _ => {
                    default += 1;
                    continue;
                }
            };
            if first > last && count > 0 {
                last = first + (count - 1);
                list.items.push(SubItemGroup {
                    first,
                    count,
                    is_array,
                    name: xml::name(node, "Name"),
                    value,
                    access: access(node),
                    default,
                });
            }
            default += usize::from(count);
        }
        Ok(list)
    }
}

/// The value of an element that may be longer than its type.
pub(super) fn sized(node: Node<'_, '_>, value: Value) -> Result<Value, EsiError> {
    let bits: u32 = xml::number_of(node, "BitSize")?.unwrap_or(0);
    Ok(Value::new(value.data_type, bits.max(value.bits)))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use roxmltree::Document;

    /// Which of these types the reader knows when they are requested in this order.
    fn known<'n>(text: &str, names: &[&'n str]) -> BTreeMap<&'n str, bool> {
        let document = Document::parse(text).unwrap();
        let mut types = Types::of(document.root_element());
        let is_known = |it: &&'n str| {
            let shape = types.shape(it).unwrap();
            (*it, matches!(*shape, Shape::Value(_)))
        };
        names.iter().map(is_known).collect()
    }

    #[test]
    fn the_structure_of_a_type_does_not_depend_on_the_order_of_requests() {
        let names: Vec<_> = (0..MAX_DEPTH + 2).map(|it| format!("T{it}")).collect();
        let chain: String = names
            .windows(2)
            .map(|it| {
                format!(
                    "<DataType><Name>{}</Name><BaseType>{}</BaseType></DataType>",
                    it[1], it[0]
                )
            })
            .collect();
        let text = format!(
            "<Dictionary><DataTypes><DataType><Name>T0</Name><BaseType>UINT</BaseType></DataType>{chain}\
             </DataTypes></Dictionary>"
        );
        let mut names: Vec<_> = names.iter().map(String::as_str).collect();
        let from_the_first = known(&text, &names);
        let of_all = from_the_first.values().filter(|it| **it);
        assert_eq!(of_all.count(), MAX_DEPTH);
        names.reverse();
        assert_eq!(known(&text, &names), from_the_first);
    }

    #[test]
    fn a_type_of_many_values_is_read_once() {
        let items = "<SubItem><SubIdx>1</SubIdx><Type>UINT</Type></SubItem>";
        let many = format!("<DataType><Name>Many</Name>{items}</DataType>");
        let text = format!("<Dictionary><DataTypes>{many}</DataTypes></Dictionary>");
        let document = Document::parse(&text).unwrap();
        let mut types = Types::of(document.root_element());
        let (one, other) = (types.shape("Many").unwrap(), types.shape("Many").unwrap());
        assert!(matches!(&*one, Shape::List(list) if list.items.len() == 1));
        assert!(Rc::ptr_eq(&one, &other));
    }

    #[test]
    fn basic_types_have_the_numbers_of_coe_and_the_length_that_their_names_state() {
        let of = |name| basic(name).map(|it| (it.data_type.0, it.bits));
        for (name, number, bits) in [
            ("BOOL", 0x01, 1),
            ("INT24", 0x10, 24),
            ("UINT56", 0x1A, 56),
            ("BIT2", 0x31, 2),
            ("BIT7", 0x36, 7),
            ("BIT16", 0x3F, 16),
            ("BITARR16", 0x2E, 16),
            ("STRING(12)", 0x09, 96),
            ("STRING", 0x09, 0),
            ("OCTET_STRING(3)", 0x0A, 24),
            ("UNICODE_STRING(3)", 0x0B, 48),
            ("ARRAY [0..3] OF BYTE", 0x0A, 32),
            ("ARRAY [1..4] OF UINT", 0x0B, 64),
            ("ARRAY [0..2] OF DINT", 0x0A, 96),
        ] {
            assert_eq!(of(name), Some((number, bits)), "{name}");
        }
        for name in ["", "BIT17", "BIT0", "DT8000", "ARRAY [3..1] OF BYTE"] {
            assert_eq!(of(name), None, "{name}");
        }
    }
}
