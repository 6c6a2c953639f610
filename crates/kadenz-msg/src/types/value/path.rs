//! Members and elements by path, as `pose.position[2]`.

use std::fmt;
use std::rc::Rc;
use std::str::FromStr;

use super::numbers::indices;
use super::{Array, Record, Value, join, named};

/// The way to a member or an element, parsed once for many messages.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Path {
    steps: Vec<Step>,
}

/// A step of a path.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Step {
    /// To the member of this name.
    Member(String),
    /// To an element, or a row, of an array; from 0.
    Index(usize),
}

/// The reason for which there is no value at a path.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PathError {
    /// The text is not a path.
    #[error("'{text}' is not a valid path; write one as pose.position[2]")]
    Malformed {
        /// The text that was to be parsed.
        text: String,
    },
    /// There is no such member.
    #[error("{path} has no member {member}; {members}")]
    NoMember {
        /// The path of the searched value.
        path: String,
        /// The name of the missing member.
        member: String,
        /// What the value has or is instead, as a clause: `it has x, y`, `it is a number`.
        members: String,
    },
    /// There are fewer elements.
    #[error("{path} has no element {index}: it has {length}")]
    NoElement {
        /// The path of the array.
        path: String,
        /// The requested index, from 0.
        index: usize,
        /// How many there are.
        length: usize,
    },
    /// An index follows a value without elements.
    #[error("{path} is not an array, so it has no element {index}")]
    NoArray {
        /// The path of the value to which the index was applied.
        path: String,
        /// The requested index, from 0.
        index: usize,
    },
}

impl Path {
    /// The steps from the message to the value.
    #[must_use]
    pub fn steps(&self) -> &[Step] {
        &self.steps
    }
}

impl fmt::Display for Path {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, step) in self.steps.iter().enumerate() {
            match step {
                Step::Member(name) if at == 0 => formatter.write_str(name)?,
                Step::Member(name) => write!(formatter, ".{name}")?,
                Step::Index(index) => write!(formatter, "[{index}]")?,
            }
        }
        Ok(())
    }
}

impl FromStr for Path {
    type Err = PathError;

    fn from_str(text: &str) -> Result<Self, PathError> {
        let malformed = || PathError::Malformed {
            text: text.to_owned(),
        };
        let mut steps = Vec::new();
        for (at, part) in text.split('.').enumerate() {
            let (name, mut rest) = part.split_at(part.find('[').unwrap_or(part.len()));
            // Only a message that is itself an array would begin with an index, and there is none.
            if name.is_empty() || (at > 0 && name.contains(char::is_whitespace)) {
                return Err(malformed());
            }
            steps.push(Step::Member(name.to_owned()));
            while let Some(inner) = rest.strip_prefix('[') {
                let (index, after) = inner.split_once(']').ok_or_else(malformed)?;
                steps.push(Step::Index(index.parse().map_err(|_| malformed())?));
                rest = after;
            }
            if !rest.is_empty() {
                return Err(malformed());
            }
        }
        Ok(Self { steps })
    }
}

impl Value {
    /// Returns the value at a path, as a value of its own: an array if the path leads to a row of one.
    ///
    /// # Errors
    /// If there is no value at the path.
    pub fn get(&self, path: &str) -> Result<Self, PathError> {
        self.at(&path.parse()?)
    }

    /// As [`Value::get`] by a path that has been parsed. Copies that value, and nothing else.
    ///
    /// # Errors
    /// If there is no value at the path.
    pub fn at(&self, path: &Path) -> Result<Self, PathError> {
        let mut here = Cursor::Value(self);
        let mut walked = String::new();
        for step in &path.steps {
            here = here.step(step, &mut walked)?;
        }
        here.into_value().ok_or(PathError::Malformed {
            text: path.to_string(),
        })
    }
}

/// The present place of a walk along a path.
enum Cursor<'a> {
    Value(&'a Value),
    /// The rest of an array behind its first indices.
    Part {
        array: &'a Array,
        /// The first element.
        from: usize,
        /// How many indices have been given.
        depth: usize,
    },
}

impl<'a> Cursor<'a> {
    fn step(self, step: &Step, walked: &mut String) -> Result<Self, PathError> {
        match step {
            Step::Index(index) => {
                let next = self.index(*index, walked)?;
                walked.push_str(&format!("[{index}]"));
                Ok(next)
            }
            Step::Member(name) => {
                let found = self.record().and_then(|it| it.member(name));
                let Some(found) = found else {
                    return Err(self.no_member(walked, name));
                };
                *walked = join(walked, name);
                Ok(Self::Value(found))
            }
        }
    }

    fn no_member(&self, walked: &str, member: &str) -> PathError {
        let kind = |kind: &str| format!("it is {kind}");
        let members = match (self.record(), self) {
            (Some(record), _) if record.of.members.is_empty() => "it has none".to_owned(),
            (Some(record), _) => {
                let names = record.of.members.iter().map(|it| it.name.as_str());
                format!("it has {}", names.collect::<Vec<_>>().join(", "))
            }
            (None, Self::Value(Value::String(_))) => kind("a string"),
            (None, Self::Value(Value::Boolean(_))) => kind("a boolean"),
            (None, Self::Value(Value::Enum(_))) => kind("an enum"),
            (None, Self::Value(Value::Array(_))) => kind("an array"),
            (None, Self::Value(_)) => kind("a number"),
            (None, Self::Part { array, depth, .. }) => match *depth == array.shape.len() {
                true => kind("an element of an array"),
                false => kind("an array"),
            },
        };
        PathError::NoMember {
            path: named(walked),
            member: member.to_owned(),
            members,
        }
    }

    fn record(&self) -> Option<&'a Record> {
        match self {
            Self::Value(Value::Struct(record)) => Some(record),
            Self::Part { array, from, depth } if *depth == array.shape.len() => {
                match &array.elements {
                    super::Elements::Struct(_, records) => records.get(*from),
                    _ => None,
                }
            }
            _ => None,
        }
    }

    fn index(self, index: usize, walked: &str) -> Result<Self, PathError> {
        let (array, from, depth) = match self {
            Self::Value(Value::Array(array)) => (array, 0, 0),
            Self::Part { array, from, depth } => (array, from, depth),
            Self::Value(_) => return Err(no_array(walked, index)),
        };
        let Some(length) = array.shape.get(depth).copied() else {
            return Err(no_array(walked, index));
        };
        if index >= length {
            let path = named(walked);
            return Err(PathError::NoElement {
                path,
                index,
                length,
            });
        }
        let row = row(array, depth + 1);
        Ok(Self::Part {
            array,
            from: from.saturating_add(index.saturating_mul(row)),
            depth: depth + 1,
        })
    }

    fn into_value(self) -> Option<Value> {
        match self {
            Self::Value(value) => Some(value.clone()),
            Self::Part { array, from, depth } if depth == array.shape.len() => {
                array.elements.get(from)
            }
            Self::Part { array, from, depth } => Some(Value::Array(Array {
                shape: array.shape.get(depth..)?.to_vec(),
                elements: array
                    .elements
                    .part(from..from.checked_add(row(array, depth))?)?,
            })),
        }
    }
}

/// Returns how many elements lie behind so many indices.
fn row(array: &Array, depth: usize) -> usize {
    let rest = array.shape.get(depth..).unwrap_or_default();
    rest.iter().fold(1, |count, it| count.saturating_mul(*it))
}

fn no_array(walked: &str, index: usize) -> PathError {
    let path = named(walked);
    PathError::NoArray { path, index }
}

/// The way to what is being read or written, put into words only where something is wrong.
#[derive(Debug, Default)]
pub(super) struct ValuePath<'a> {
    steps: Vec<Mark<'a>>,
}

#[derive(Debug)]
enum Mark<'a> {
    Member(&'a str),
    Index(usize),
    /// The element of an array by its place, and how long the array is in each direction.
    Place(usize, Rc<[usize]>),
}

impl<'a> ValuePath<'a> {
    pub(super) fn enter(&mut self, member: &'a str) {
        self.steps.push(Mark::Member(member));
    }

    pub(super) fn enter_index(&mut self, index: usize) {
        self.steps.push(Mark::Index(index));
    }

    pub(super) fn enter_place(&mut self, place: usize, shape: &Rc<[usize]>) {
        self.steps.push(Mark::Place(place, Rc::clone(shape)));
    }

    pub(super) fn leave(&mut self) {
        self.steps.pop();
    }

    pub(super) fn path(&self) -> String {
        let path = self.steps.iter().fold(String::new(), |path, it| match it {
            Mark::Member(name) => join(&path, name),
            Mark::Index(index) => format!("{path}[{index}]"),
            Mark::Place(place, shape) => format!("{path}{}", indices(*place, shape)),
        });
        named(&path)
    }
}
