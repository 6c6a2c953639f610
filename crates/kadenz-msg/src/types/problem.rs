//! Errors of a `.lcm` text.

use std::fmt;
use std::path::PathBuf;

/// A place in a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Position {
    /// The line, from 1.
    pub line: usize,
    /// The character in it, from 1.
    pub column: usize,
}

impl fmt::Display for Position {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}:{}", self.line, self.column)
    }
}

/// The reason for which descriptions cannot be used, with its position.
#[derive(Debug, thiserror::Error)]
pub enum TypesError {
    /// A text is wrong.
    #[error("{file}:{at}: {problem}")]
    Text {
        /// The file, or what the text was called.
        file: String,
        /// The position in the text.
        at: Position,
        /// The kind of error.
        problem: Problem,
    },
    /// A file or a folder cannot be read.
    #[error("{path}: {source}; give .lcm files, or a folder that holds some")]
    Read {
        /// The file or folder.
        path: PathBuf,
        /// The error that the system returned.
        source: std::io::Error,
    },
    /// A folder holds no description.
    #[error("{path} holds no file that ends in .lcm")]
    NoFiles {
        /// The file or folder.
        path: PathBuf,
    },
}

/// The kind of error of a text.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Problem {
    /// Another token is required at this place.
    #[error("expected {expected}, found {found}")]
    Expected {
        /// The token that the language requires, for example `;`.
        expected: &'static str,
        /// The token in the text.
        found: String,
    },
    /// A comment has no end.
    #[error("this comment has no end; close it with */")]
    OpenComment,
    /// A brace or a comment touches a word, which lcm-gen reads as one word.
    #[error("put a space beside {what}: lcm-gen reads it and what touches it as one word")]
    Glued {
        /// The brace or the comment's beginning.
        what: &'static str,
    },
    /// lcm-gen takes no semicolon after a closing brace.
    #[error("no ';' after '}}': lcm-gen refuses it; take it away")]
    SemicolonAfterBrace,
    /// A token that is not a name.
    #[error(
        "'{name}' is not a valid name: a name begins with a letter or '_' and goes on with those and digits"
    )]
    BadName {
        /// The token as written.
        name: String,
    },
    /// A word of the language as a name.
    #[error("'{name}' is a word of the language; choose another name")]
    Reserved {
        /// The word that was used as a name.
        name: String,
    },
    /// Unsigned types do not exist.
    #[error("there is no {name} in LCM, whose Java has no unsigned types; use {instead}")]
    Unsigned {
        /// The type as written.
        name: String,
        /// The type to write instead.
        instead: &'static str,
    },
    /// A type of another language.
    #[error("there is no {name} in LCM; use {instead}")]
    Foreign {
        /// The type as written.
        name: String,
        /// The type to write instead.
        instead: &'static str,
    },
    /// A struct or enum within a struct.
    #[error(
        "a {what} within a struct is not possible in LCM; describe it before, and name it here"
    )]
    Inline {
        /// `struct` or `enum`.
        what: &'static str,
    },
    /// A name twice in a struct or enum.
    #[error("'{name}' is declared twice in {within}; rename one")]
    DuplicateName {
        /// The name that stands twice.
        name: String,
        /// The struct's or enum's name.
        within: String,
    },
    /// Two names have one value.
    #[error("{first} and {second} have the same value {number}; an enum's values differ")]
    DuplicateValue {
        /// The name that stands first.
        first: String,
        /// The name that stands later.
        second: String,
        /// The value of both names.
        number: i32,
    },
    /// A type that was described before.
    #[error("{name} is described twice, here and in {first}; remove one, or give one file only")]
    DuplicateType {
        /// The full name of the type.
        name: String,
        /// The position of the other one.
        first: String,
    },
    /// A constant of a type that has none.
    #[error(
        "no constants of type {name}: only int8_t, int16_t, int32_t, int64_t, float and double"
    )]
    NoConstants {
        /// The name of the type, for example `string`.
        name: String,
    },
    /// A value that its type does not have.
    #[error("{text} is not a valid value of {of}{hint}")]
    BadValue {
        /// The number as written.
        text: String,
        /// The name of the type, for example `string`.
        of: &'static str,
        /// A hint about what to write instead; may be empty.
        hint: &'static str,
    },
    /// An array of no elements.
    #[error("an array has 1 to 2147483647 elements, not {text}")]
    BadSize {
        /// The size as written.
        text: String,
    },
    /// An array without a length.
    #[error(
        "a length must stand between the brackets: a number, a constant, or an earlier integer member"
    )]
    NoSize,
    /// A length that is not defined at this place.
    #[error(
        "'{name}' is neither a constant nor a member above; the member that states an array's length stands before it"
    )]
    UnknownSize {
        /// The name as written.
        name: String,
    },
    /// A length that is not an integer.
    #[error(
        "'{name}' states an array's length but is {of}; make it one int8_t, int16_t, int32_t or int64_t"
    )]
    SizeIsNoInteger {
        /// The member or constant.
        name: String,
        /// The type of that name.
        of: String,
    },
    /// A type without a description.
    #[error(
        "no description of {name}{hint}; give its file as well, or write its package before it"
    )]
    UnknownType {
        /// The name of the type without a description.
        name: String,
        /// A type that may be meant.
        hint: String,
    },
    /// A struct that is made of itself without end.
    #[error("{name} holds itself without end ({way}); let it hold a variable array of itself")]
    Endless {
        /// The name of the struct.
        name: String,
        /// The structs of the cycle.
        way: String,
    },
    /// Structs within structs within structs.
    #[error("{name} nests structs more than {most} deep, which no message here may")]
    TooDeep {
        /// The name of the outermost struct.
        name: String,
        /// The deepest nesting that is allowed, in structs.
        most: usize,
    },
    /// Recursive types refer to each other in too many ways.
    #[error(
        "the fingerprint of {name} takes more than {most} steps: too many of its types refer to each other; split them"
    )]
    Tangled {
        /// The name of the type whose fingerprint was to be computed.
        name: String,
        /// How many steps are allowed.
        most: usize,
    },
    /// Too many types refer to each other.
    #[error(
        "the fingerprint of {name}, with those of the types before it, takes too much memory: too many types refer to each other; split them"
    )]
    TooTangled {
        /// The name of the type whose fingerprint was to be computed.
        name: String,
    },
}
