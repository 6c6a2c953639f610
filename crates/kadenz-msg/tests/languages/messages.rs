//! Messages for the programs of all languages: LCM's own, messages with random members, and damaged ones.

use crate::golden::{bytes, types};
use kadenz_msg::types::{Definition, Dimension, Member, MemberType, PrimitiveType, Types};
use serde_json::{Map, Value as Json, json};

/// The bytes of a message, or what remains of one.
pub(crate) struct Case {
    pub(crate) name: String,
    pub(crate) bytes: Vec<u8>,
    /// Whether the bytes are as they were encoded.
    pub(crate) whole: bool,
    /// Whether the bytes can be decoded.
    pub(crate) valid: bool,
}

/// Messages that Python's lcm encoded.
fn golden() -> Vec<(String, Vec<u8>)> {
    let json = crate::golden::golden();
    let text = |it: &Json| it.as_str().unwrap().to_owned();
    let messages = json["messages"].as_array().unwrap().iter();
    let messages = messages.map(|it| (text(&it["type"]), bytes(&text(&it["hex"]))));
    messages.collect()
}

/// Golden and random messages, whole; and of the same messages cut, lengthened or with a changed byte, one of `every`.
pub(crate) fn cases(every: usize) -> Vec<Case> {
    let types = types();
    let mut random = Random(20_261_125);
    let mut whole = golden();
    for definition in types.iter() {
        let name = definition.name().to_string();
        for _ in 0..8 {
            let value = random.message(&types, &name, 0);
            let value = types.value_from_json(&name, &value).unwrap();
            whole.push((name.clone(), types.encode(&value).unwrap()));
        }
    }
    let mut damaged = Vec::new();
    for (name, bytes) in &whole {
        for end in 0..bytes.len() {
            damaged.push((name, bytes[..end].to_vec()));
            let mut changed = bytes.clone();
            changed[end] ^= 1 << random.below(8);
            damaged.push((name, changed));
            let mut changed = bytes.clone();
            changed[end] = [0, 0x7f, 0x80, 0xff][random.below(4)];
            damaged.push((name, changed));
        }
        damaged.push((name, [bytes.as_slice(), &[0]].concat()));
    }
    let valid = |name: &str, bytes: &[u8]| types.decode_as(name, bytes).is_ok();
    let damaged = damaged.into_iter().enumerate();
    let damaged = damaged.filter(|(at, _)| at % every == 0).map(|(_, it)| it);
    let case = |whole: bool, name: &String, bytes: Vec<u8>| Case {
        valid: valid(name, &bytes),
        name: name.clone(),
        bytes,
        whole,
    };
    let damaged = damaged.map(|(name, bytes)| case(false, name, bytes));
    let whole = whole
        .iter()
        .map(|(name, bytes)| case(true, name, bytes.clone()));
    whole.chain(damaged).collect()
}

/// Lengths that no message could hold, and endlessly nested messages.
pub(crate) fn hostile() -> Vec<Case> {
    let types = types();
    let begun = |name: &str| types.fingerprint(name).unwrap().0.to_be_bytes().to_vec();
    let mut found = Vec::new();
    let mut case = |name: &str, bytes: Vec<u8>, valid: bool| {
        assert_eq!(types.decode_as(name, &bytes).is_ok(), valid, "{name}");
        let name = name.to_owned();
        let whole = valid;
        found.push(Case {
            name,
            bytes,
            whole,
            valid,
        });
    };
    for lengths in [
        [0x7f, 0x7f, 0xff],
        [0xff, 0, 0],
        [0, 0x80, 0],
        [1, 0x7f, 0xff],
    ] {
        let mut bytes = begun("robot.arrays");
        bytes.extend([0; 72]);
        bytes.extend(lengths);
        bytes.extend([0; 64]);
        case("robot.arrays", bytes, false);
    }
    for length in [i32::MAX, i32::MIN, -1, 0] {
        let mut bytes = begun("plain");
        bytes.extend([0; 4]);
        bytes.extend(length.to_be_bytes());
        bytes.extend([0; 16]);
        case("plain", bytes, false);
    }
    for (depth, valid) in [(128, true), (129, false), (10_000, false)] {
        let mut bytes = begun("map.node");
        for left in (0..depth).rev() {
            bytes.extend([0, 0, 0, 1, u8::from(left > 0)]);
        }
        case("map.node", bytes, valid);
    }
    for name in ["robot.nothing", "robot.mode"] {
        case(name, Vec::new(), false);
        case(name, vec![0; 12], false);
    }
    found
}

/// The message that each program makes member by member upon the line `fields`.
pub(crate) fn fields() -> Vec<u8> {
    let types = types();
    let load = |small: i8, text: &str| {
        json!({"small": small, "medium": 0, "large": 0, "huge": 0, "raw": 200, "single": 0.5, "precise": 0.0,
            "text": text, "yes": true})
    };
    let value = json!({
        "position": [1.0, 2.0, 3.0],
        "matrix": [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]],
        "n": 2,
        "m": 3,
        "samples": [-7, 8],
        "image": [[1, 2], [3, 4], [5, 255]],
        "mixed": [[[0.5, 1.0, 1.5], [2.0, 2.5, 3.0]], [[3.5, 4.0, 4.5], [5.0, 5.5, 6.0]]],
        "names": ["a", "größer"],
        "flags": [true, false],
        "labels": ["x", ""],
        "cube": [[[1, 2], [3, 4], [5, 6]], [[7, 8], [9, 10], [11, i64::MIN]]],
        "some": [load(-5, ""), load(0, "t")],
        "pair": [load(1, ""), load(2, "")],
        "table": [["1", "2", "3"], ["4", "5", "6"]],
    });
    let value = types.value_from_json("robot.arrays", &value).unwrap();
    types.encode(&value).unwrap()
}

/// A random number generator with the same sequence every time.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn below(&mut self, limit: usize) -> usize {
        (self.next() % limit as u64) as usize
    }

    fn message(&mut self, types: &Types, name: &str, depth: usize) -> Json {
        let it = match types.get(name).unwrap() {
            Definition::Enum(_) => return json!(self.below(9)),
            Definition::Struct(it) => it,
        };
        let mut value = Map::new();
        for member in &it.members {
            let one = if it.is_length(&member.name) {
                let most = if depth > 2 { 1 } else { 4 };
                json!(self.below(most))
            } else {
                let sizes = member.dimensions.iter().map(|it| match it {
                    Dimension::Fixed { size, .. } => *size,
                    Dimension::Variable { member } => value[member].as_u64().unwrap() as usize,
                });
                let sizes: Vec<usize> = sizes.collect();
                // As in the JSON of a message: no rows if a row holds nothing.
                if sizes.contains(&0) {
                    json!([])
                } else {
                    self.array(types, member, &sizes, depth)
                }
            };
            value.insert(member.name.clone(), one);
        }
        Json::Object(value)
    }

    fn array(&mut self, types: &Types, member: &Member, sizes: &[usize], depth: usize) -> Json {
        if let Some((first, inner)) = sizes.split_first() {
            let rows = (0..*first).map(|_| self.array(types, member, inner, depth));
            return Json::Array(rows.collect());
        }
        match &member.of {
            MemberType::Named(name) => self.message(types, &name.to_string(), depth + 1),
            MemberType::Primitive(of) => self.primitive(*of),
        }
    }

    fn primitive(&mut self, of: PrimitiveType) -> Json {
        let bits = self.next();
        match of {
            PrimitiveType::Int8 => json!(bits as i8),
            PrimitiveType::Int16 => json!(bits as i16),
            PrimitiveType::Int32 => json!(bits as i32),
            PrimitiveType::Int64 => json!(bits as i64),
            PrimitiveType::Byte => json!(bits as u8),
            PrimitiveType::Boolean => json!(bits & 1 == 0),
            PrimitiveType::Float => json!(f64::from(bits as i32 as f32 / 1e3)),
            PrimitiveType::Double => json!(bits as i64 as f64 / 1e9),
            PrimitiveType::String => {
                json!(["", "a", "größer 機械", "line\nbreak\t\"q\\"][bits as usize % 4])
            }
        }
    }
}
