//! The columns of a type, and the values of a message in them.

use std::borrow::Cow;
use std::collections::HashSet;

use crate::log::Entry;
use crate::types::{
    Definition, Elements, Member, MemberType, PrimitiveType, Record, Struct, TypeName, Types, Value,
};

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Column {
    pub(super) name: String,
    pub(super) kind: ColumnType,
}

/// The type of a column's values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ColumnType {
    One(Scalar),
    /// An array of one dimension.
    List(Scalar),
    /// A list of bytes.
    Bytes,
    /// Values of no other form, as JSON.
    Json,
}

/// A value that is not made of others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Scalar {
    Integer { bits: i8, signed: bool },
    Float,
    Double,
    Boolean,
    Text,
}

impl Scalar {
    fn of(primitive: PrimitiveType) -> Self {
        let signed = |bits| Self::Integer { bits, signed: true };
        match primitive {
            PrimitiveType::Int8 => signed(8),
            PrimitiveType::Int16 => signed(16),
            PrimitiveType::Int32 => signed(32),
            PrimitiveType::Int64 => signed(64),
            PrimitiveType::Byte => Self::Integer {
                bits: 8,
                signed: false,
            },
            PrimitiveType::Float => Self::Float,
            PrimitiveType::Double => Self::Double,
            PrimitiveType::Boolean => Self::Boolean,
            PrimitiveType::String => Self::Text,
        }
    }
}

/// The value of a cell.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Cell<'a> {
    Null,
    Integer(i64),
    Float(f32),
    Double(f64),
    Boolean(bool),
    Text(Cow<'a, str>),
    /// An array, for [`ColumnType::List`] and [`ColumnType::Bytes`].
    List(&'a Value),
}

impl Cell<'static> {
    /// A value that is not made of others.
    pub(super) fn of(value: Value) -> Self {
        match value {
            Value::Int8(it) => Self::Integer(it.into()),
            Value::Int16(it) => Self::Integer(it.into()),
            Value::Int32(it) => Self::Integer(it.into()),
            Value::Int64(it) => Self::Integer(it),
            Value::Byte(it) => Self::Integer(it.into()),
            Value::Float(it) => Self::Float(it),
            Value::Double(it) => Self::Double(it),
            Value::Boolean(it) => Self::Boolean(it),
            Value::String(it) => Self::Text(it.into()),
            Value::Enum(it) => {
                let name = it.of.name_of(it.number).map(str::to_owned);
                Self::Text(name.unwrap_or_else(|| it.number.to_string()).into())
            }
            Value::Struct(_) | Value::Array(_) => Self::Null,
        }
    }
}

/// The columns of a type.
pub(super) struct Columns {
    all: Vec<Column>,
    plan: ColumnMapping,
    lists: Lists,
}

/// The form of arrays that have a column of their own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Lists {
    /// JSON text.
    Text,
    /// A list, where the format has such.
    Kept,
}

/// The form in which the parts of a value become cells.
enum ColumnMapping {
    One(ColumnType),
    Struct(Vec<ColumnMapping>),
    /// An array of fixed length, element by element.
    Each(Box<ColumnMapping>, usize),
}

/// The most columns of a type, the most elements of an array that have columns of their own, and the most
/// parts that are looked at: structs without members can hold each other 2^90 times.
const MAX_COLUMNS: usize = 1024;
const MAX_ELEMENTS: usize = 64;
const MAX_PARTS: usize = 10_000;

/// The longest JSON text in the cells of a row, in bytes: names may be long, and the message short.
const MAX_TEXT_BYTES: usize = 64 << 20;

/// The columns that every table begins with.
const COMMON: [(&str, Scalar); 4] = [
    ("channel", Scalar::Text),
    (
        "sequence",
        Scalar::Integer {
            bits: 32,
            signed: false,
        },
    ),
    ("log_time_ns", NANOSECONDS),
    ("publish_time_ns", NANOSECONDS),
];
const NANOSECONDS: Scalar = Scalar::Integer {
    bits: 64,
    signed: true,
};

impl Columns {
    /// Returns the columns of a type: to its full depth, or if they are too many, one for each member.
    pub(super) fn of(types: &Types, name: &TypeName, lists: Lists) -> Self {
        let Some(Definition::Struct(of)) = types.definition(name) else {
            return Self::whole(ColumnType::One(Scalar::Text), lists);
        };
        let found = [true, false].into_iter().find_map(|deep| {
            let mut finder = Finder {
                types,
                deep,
                columns: Vec::new(),
                parts: 0,
            };
            let plan = finder.members(of, "")?;
            Some((plan, finder.columns))
        });
        let Some((plan, columns)) = found else {
            return Self::whole(ColumnType::Json, lists);
        };
        Self::with(plan, columns, lists)
    }

    /// Returns one column for the whole message.
    fn whole(kind: ColumnType, lists: Lists) -> Self {
        let name = "message".to_owned();
        Self::with(ColumnMapping::One(kind), vec![Column { name, kind }], lists)
    }

    fn with(plan: ColumnMapping, columns: Vec<Column>, lists: Lists) -> Self {
        let common = COMMON.map(|(name, of)| Column {
            name: name.to_owned(),
            kind: ColumnType::One(of),
        });
        let taken: HashSet<&str> = COMMON.into_iter().map(|(name, _)| name).collect();
        let own = columns.into_iter().map(|mut column| {
            if taken.contains(column.name.as_str()) {
                column.name.insert_str(0, "message.");
            }
            column
        });
        let all = common.into_iter().chain(own).collect();
        Self { all, plan, lists }
    }

    pub(super) fn all(&self) -> &[Column] {
        &self.all
    }

    /// The first cells of a row.
    pub(super) fn common<'a>(&self, entry: &'a Entry) -> Vec<Cell<'a>> {
        let mut cells = Vec::with_capacity(self.all.len());
        cells.push(Cell::Text(Cow::Borrowed(&entry.channel.name)));
        cells.push(Cell::Integer(entry.sequence.into()));
        cells.push(Cell::Integer(entry.log_time.as_unix_ns()));
        cells.push(Cell::Integer(entry.publish_time.as_unix_ns()));
        cells
    }

    /// Fills the rest of the cells, with empty ones for missing values. `false` if one is empty because its
    /// text is too long.
    pub(super) fn fill<'a>(&self, value: Option<&'a Value>, cells: &mut Vec<Cell<'a>>) -> bool {
        self.fill_within(MAX_TEXT_BYTES, value, cells)
    }

    fn fill_within<'a>(
        &self,
        text_bytes: usize,
        value: Option<&'a Value>,
        cells: &mut Vec<Cell<'a>>,
    ) -> bool {
        let mut filling = RowBuilder {
            cells,
            lists: self.lists,
            left: text_bytes,
            is_whole: true,
        };
        if let Some(value) = value {
            filling.fill(&self.plan, value);
        }
        let is_whole = filling.is_whole;
        cells.resize(self.all.len(), Cell::Null);
        is_whole
    }
}

/// The cells of a row while they are filled.
struct RowBuilder<'c, 'a> {
    cells: &'c mut Vec<Cell<'a>>,
    lists: Lists,
    /// The rest of the allowed bytes of JSON text.
    left: usize,
    is_whole: bool,
}

impl<'a> RowBuilder<'_, 'a> {
    fn fill(&mut self, plan: &ColumnMapping, value: &'a Value) {
        match (plan, value) {
            (ColumnMapping::Struct(plans), Value::Struct(record)) => self.record(plans, record),
            (ColumnMapping::Each(of, count), Value::Array(array)) => {
                match (&array.elements, of.as_ref()) {
                    (Elements::Struct(_, all), ColumnMapping::Struct(plans)) => {
                        for record in all.iter().take(*count) {
                            self.record(plans, record);
                        }
                    }
                    (elements, _) => {
                        let values = (0..*count).map(|index| elements.get(index).map(Cell::of));
                        self.cells.extend(values.map(|it| it.unwrap_or(Cell::Null)));
                    }
                }
            }
            (ColumnMapping::One(ColumnType::List(_) | ColumnType::Bytes), value)
                if self.lists == Lists::Kept =>
            {
                self.cells.push(Cell::List(value));
            }
            (
                ColumnMapping::One(ColumnType::Json | ColumnType::List(_) | ColumnType::Bytes),
                value,
            ) => self.json(value),
            (ColumnMapping::One(_), Value::String(text)) => {
                self.cells.push(Cell::Text(text.as_str().into()));
            }
            (ColumnMapping::One(_), value) => self.cells.push(Cell::of(value.clone())),
            (ColumnMapping::Struct(_) | ColumnMapping::Each(..), _) => {}
        }
    }

    fn record(&mut self, plans: &[ColumnMapping], record: &'a Record) {
        for (plan, (_, value)) in plans.iter().zip(record.iter()) {
            self.fill(plan, value);
        }
    }

    fn json(&mut self, value: &Value) {
        let text = value.to_json_text(self.left);
        self.is_whole &= text.is_some();
        self.left -= text.as_ref().map_or(0, String::len);
        self.cells
            .push(text.map_or(Cell::Null, |it| Cell::Text(it.into())));
    }
}

/// Finds the columns of a type.
struct Finder<'a> {
    types: &'a Types,
    /// Whether structs and arrays within are taken apart.
    deep: bool,
    columns: Vec<Column>,
    parts: usize,
}

impl Finder<'_> {
    /// The members of a struct; `None` where there are too many columns.
    fn members(&mut self, of: &Struct, prefix: &str) -> Option<ColumnMapping> {
        let mut plans = Vec::new();
        for member in &of.members {
            let path = match prefix.is_empty() {
                true => member.name.clone(),
                false => format!("{prefix}.{}", member.name),
            };
            plans.push(self.member(member, path)?);
        }
        Some(ColumnMapping::Struct(plans))
    }

    fn member(&mut self, member: &Member, path: String) -> Option<ColumnMapping> {
        self.parts += 1;
        if self.parts > MAX_PARTS {
            return None;
        }
        if member.dimensions.is_empty() {
            return self.single(&member.of, path);
        }
        if let Some(sizes) = self.taken_apart(member) {
            return self.each(member, &path, &sizes);
        }
        let kind = match &member.of {
            _ if member.dimensions.len() > 1 => ColumnType::Json,
            MemberType::Primitive(PrimitiveType::Byte) => ColumnType::Bytes,
            MemberType::Primitive(primitive) => ColumnType::List(Scalar::of(*primitive)),
            MemberType::Named(name) => match self.types.definition(name) {
                Some(Definition::Enum(_)) => ColumnType::List(Scalar::Text),
                _ => ColumnType::Json,
            },
        };
        self.column(path, kind)
    }

    /// The sizes of an array whose elements have columns of their own.
    fn taken_apart(&self, member: &Member) -> Option<Vec<usize>> {
        let sizes = member.dimensions.iter().map(|it| it.fixed());
        let sizes = sizes.collect::<Option<Vec<usize>>>()?;
        let count = sizes
            .iter()
            .try_fold(1_usize, |count, size| count.checked_mul(*size))?;
        (self.deep && count <= MAX_ELEMENTS).then_some(sizes)
    }

    fn each(&mut self, member: &Member, path: &str, sizes: &[usize]) -> Option<ColumnMapping> {
        let count: usize = sizes.iter().product();
        let mut plan = ColumnMapping::Struct(Vec::new());
        for element in 0..count {
            // The last index runs fastest.
            let (mut indices, mut left) = (String::new(), element);
            for size in sizes.iter().rev() {
                indices.insert_str(0, &format!("[{}]", left % size));
                left /= size;
            }
            plan = self.single(&member.of, format!("{path}{indices}"))?;
        }
        Some(ColumnMapping::Each(Box::new(plan), count))
    }

    fn single(&mut self, of: &MemberType, path: String) -> Option<ColumnMapping> {
        match of {
            MemberType::Primitive(primitive) => {
                self.column(path, ColumnType::One(Scalar::of(*primitive)))
            }
            MemberType::Named(name) => match self.types.definition(name) {
                Some(Definition::Struct(of)) if self.deep => self.members(of, &path),
                Some(Definition::Struct(_)) => self.column(path, ColumnType::Json),
                _ => self.column(path, ColumnType::One(Scalar::Text)),
            },
        }
    }

    fn column(&mut self, name: String, kind: ColumnType) -> Option<ColumnMapping> {
        self.columns.push(Column { name, kind });
        (self.columns.len() <= MAX_COLUMNS).then_some(ColumnMapping::One(kind))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn columns(text: &str, name: &str) -> Vec<Column> {
        let types = Types::from_text(text).unwrap();
        let columns = Columns::of(&types, &TypeName::new(name), Lists::Kept);
        columns.all()[COMMON.len()..].to_vec()
    }

    fn names(columns: &[Column]) -> Vec<&str> {
        columns.iter().map(|it| it.name.as_str()).collect()
    }

    #[test]
    fn arrays_are_taken_apart_up_to_a_length_and_where_they_are_always_as_long() {
        let text =
            "struct in_t { int8_t z; } struct a_t { int32_t n; double short[2]; double long[65];
            in_t structs[2]; in_t many[n]; byte rows[n][2]; byte image[n]; string texts[n]; }";
        let columns = columns(text, "a_t");
        let expected = [
            "n",
            "short[0]",
            "short[1]",
            "long",
            "structs[0].z",
            "structs[1].z",
            "many",
            "rows",
            "image",
            "texts",
        ];
        assert_eq!(names(&columns), expected);
        let kinds: Vec<ColumnType> = columns.iter().map(|it| it.kind).collect();
        assert_eq!(kinds[3], ColumnType::List(Scalar::Double));
        let last = [
            ColumnType::Json,
            ColumnType::Json,
            ColumnType::Bytes,
            ColumnType::List(Scalar::Text),
        ];
        assert_eq!(kinds[6..], last);
    }

    #[test]
    fn a_type_of_too_many_columns_has_one_a_member_and_else_one() {
        let wide =
            "struct in_t { int32_t a[60]; } struct a_t { int8_t n; in_t all[20]; in_t one; }";
        assert_eq!(names(&columns(wide, "a_t")), ["n", "all", "one"]);
        let members: String = (0..1100).map(|n| format!("int8_t m{n};")).collect();
        let widest = columns(&format!("struct a_t {{ {members} }}"), "a_t");
        assert_eq!(
            (names(&widest), widest[0].kind),
            (vec!["message"], ColumnType::Json)
        );
    }

    #[test]
    fn an_array_whose_text_is_too_long_is_left_empty_and_counted() {
        let types = Types::from_text("struct a_t { int32_t n; byte image[n]; int8_t last; }");
        let (types, name) = (types.unwrap(), TypeName::new("a_t"));
        let fingerprint = types.fingerprint_of(&name).unwrap().0.to_be_bytes();
        let bytes = [&fingerprint[..], &[0, 0, 0, 9], &[200; 9], &[5]].concat();
        let value = types.decode_as("a_t", &bytes).unwrap();
        for (lists, text_bytes, is_whole) in [
            (Lists::Text, 100, true),
            (Lists::Text, 30, false),
            (Lists::Kept, 30, true),
        ] {
            let mut cells = vec![Cell::Null; COMMON.len()];
            let columns = Columns::of(&types, &name, lists);
            let is_filled = columns.fill_within(text_bytes, Some(&value), &mut cells);
            assert_eq!(is_filled, is_whole, "{lists:?} {text_bytes}");
            let [n, image, last] = &cells[COMMON.len()..] else {
                panic!("{cells:?}");
            };
            assert_eq!((n, last), (&Cell::Integer(9), &Cell::Integer(5)));
            assert_eq!(*image == Cell::Null, !is_whole);
        }
    }

    /// Without a column and without a byte, but with 2^60 parts.
    #[test]
    fn structs_that_hold_each_other_again_and_again_end() {
        let mut text = "struct s0_t { } ".to_owned();
        for n in 1..=60 {
            let inner = n - 1;
            text += &format!("struct s{n}_t {{ s{inner}_t a; s{inner}_t b; }} ");
        }
        assert_eq!(names(&columns(&text, "s60_t")), ["a", "b"]);
    }
}
