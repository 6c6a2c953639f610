//! Parses descriptions from tokens: a recursive descent, as lcm-gen's.

mod member;

use std::sync::Arc;

use super::lexer::{Comment, Token, tokens};
use super::model::{Definition, PrimitiveType, Struct, TypeName};
use super::problem::{Position, Problem};
use crate::types::model::{Constant, ConstantValue, Enum, EnumValue};
use member::free_name;

/// The content of a text.
#[derive(Debug, Default)]
pub(super) struct Parsed {
    /// The types, and where their names stand.
    pub(super) definitions: Vec<(Definition, Position)>,
    /// The types that members refer to, with the position of each reference.
    pub(super) references: Vec<(TypeName, Position)>,
}

/// The parsed item, or the position and kind of an error.
pub(super) type ParseResult<T> = std::result::Result<T, (Position, Problem)>;

/// Parses a whole text. A text begins without a package.
pub(super) fn parse(text: &str) -> ParseResult<Parsed> {
    let mut parser = Parser {
        tokens: tokens(text)?,
        next: 0,
        package: String::new(),
        parsed: Parsed::default(),
    };
    while !parser.peek().text.is_empty() {
        parser.entity()?;
    }
    Ok(parser.parsed)
}

struct Parser {
    tokens: Vec<Token>,
    next: usize,
    package: String,
    parsed: Parsed,
}

impl Parser {
    fn entity(&mut self) -> ParseResult<()> {
        let token = self.take();
        match token.text.as_str() {
            "package" => self.package_statement(),
            "struct" => self.structure(&token.comments),
            "enum" => self.enumeration(&token.comments),
            ";" if self.next > 1 => Err((token.at, Problem::SemicolonAfterBrace)),
            _ => Err(expected("'package', 'struct' or 'enum'", &token)),
        }
    }

    fn package_statement(&mut self) -> ParseResult<()> {
        let token = self.take();
        check_name(&token, true)?;
        self.package = token.text;
        self.require(";", "';' after the package's name")?;
        self.trailing(self.line_before());
        Ok(())
    }

    /// A struct, after its word.
    fn structure(&mut self, comments: &[Comment]) -> ParseResult<()> {
        let (name, at) = self.new_type()?;
        self.require("{", "'{' after the struct's name")?;
        let mut doc = doc(comments);
        append(&mut doc, &self.trailing(self.line_before()));
        let mut structure = Struct {
            name,
            doc,
            constants: Vec::new(),
            members: Vec::new(),
        };
        while self.peek().text != "}" {
            match self.peek().text.as_str() {
                "const" => self.constants(&mut structure)?,
                "struct" => return Err((self.peek().at, Problem::Inline { what: "struct" })),
                "enum" => return Err((self.peek().at, Problem::Inline { what: "enum" })),
                "" => return Err(expected("a member or '}'", self.peek())),
                _ => self.members(&mut structure)?,
            }
        }
        self.take();
        let definition = Definition::Struct(Arc::new(structure));
        self.parsed.definitions.push((definition, at));
        Ok(())
    }

    /// The name of a struct or enum that begins.
    fn new_type(&mut self) -> ParseResult<(TypeName, Position)> {
        let token = self.take();
        check_name(&token, true)?;
        if PrimitiveType::named(&token.text).is_some() {
            let name = token.text;
            return Err((token.at, Problem::Reserved { name }));
        }
        Ok((TypeName::within(&self.package, &token.text), token.at))
    }

    fn peek(&self) -> &Token {
        let last = self.tokens.len() - 1;
        &self.tokens[self.next.min(last)]
    }

    fn take(&mut self) -> Token {
        let token = self.peek().clone();
        self.next += 1;
        token
    }

    fn take_if(&mut self, text: &str) -> bool {
        let found = self.peek().text == text;
        self.next += usize::from(found);
        found
    }

    fn require(&mut self, text: &str, what: &'static str) -> ParseResult<()> {
        match self.take_if(text) {
            true => Ok(()),
            false => Err(expected(what, self.peek())),
        }
    }

    /// The line of the word that was taken last.
    fn line_before(&self) -> usize {
        let before = self.next.saturating_sub(1);
        self.tokens.get(before).map_or(0, |it| it.at.line)
    }

    /// Returns the comments on the line of the last token: they describe its item, not the next one.
    fn trailing(&mut self, line: usize) -> String {
        let last = self.tokens.len() - 1;
        let next = &mut self.tokens[self.next.min(last)];
        let here = next.comments.iter().take_while(|it| it.line == line);
        let count = here.count();
        let trailing: Vec<Comment> = next.comments.drain(..count).collect();
        doc(&trailing)
    }
}

fn expected(expected: &'static str, token: &Token) -> (Position, Problem) {
    let found = match token.text.as_str() {
        "" => "the end of the text".to_owned(),
        text => format!("'{text}'"),
    };
    (token.at, Problem::Expected { expected, found })
}

/// Checks that a token is a name; with points if it may have a package.
fn check_name(token: &Token, points: bool) -> ParseResult<()> {
    let name = token.text.clone();
    if name.is_empty() {
        return Err(expected("a name", token));
    }
    let good = match points {
        true => name.split('.').all(is_name),
        false => is_name(&name),
    };
    if !good {
        return Err((token.at, Problem::BadName { name }));
    }
    if matches!(name.as_str(), "struct" | "enum" | "const" | "package") {
        return Err((token.at, Problem::Reserved { name }));
    }
    Ok(())
}

fn is_name(text: &str) -> bool {
    let mut characters = text.chars();
    let first = characters.next();
    first.is_some_and(|it| it.is_ascii_alphabetic() || it == '_')
        && characters.all(|it| it.is_ascii_alphanumeric() || it == '_')
}

/// Returns comments as documentation: their lines, without empty ones around.
fn doc(comments: &[Comment]) -> String {
    let lines: Vec<&str> = comments
        .iter()
        .flat_map(|it| it.lines.iter().map(String::as_str))
        .collect();
    let filled = |line: &&str| !line.is_empty();
    let from = lines.iter().position(filled).unwrap_or(lines.len());
    let to = lines.iter().rposition(filled).map_or(from, |it| it + 1);
    lines.get(from..to).unwrap_or_default().join("\n")
}

fn append(doc: &mut String, more: &str) {
    if !doc.is_empty() && !more.is_empty() {
        doc.push('\n');
    }
    doc.push_str(more);
}

/// Parses a whole number as C's `strtoll` with base 0: decimal, `0x` hexadecimal, `0` octal.
fn integer(text: &str) -> Option<i128> {
    let (negative, digits) = match text.strip_prefix('-') {
        Some(digits) => (true, digits),
        None => (false, text),
    };
    let (radix, digits) = match digits.strip_prefix("0x").or(digits.strip_prefix("0X")) {
        Some(digits) => (16, digits),
        None if digits.len() > 1 && digits.starts_with('0') => (8, digits),
        None => (10, digits),
    };
    let first = digits.chars().next()?;
    let magnitude = i128::from_str_radix(digits, radix).ok()?;
    let sign = if negative { -1 } else { 1 };
    first.is_ascii_hexdigit().then_some(sign * magnitude)
}

impl Parser {
    /// `const TYPE NAME = VALUE, NAME = VALUE;`
    fn constants(&mut self, structure: &mut Struct) -> ParseResult<()> {
        let doc = doc(&self.take().comments);
        let token = self.take();
        let of = PrimitiveType::named(&token.text).filter(|it| it.has_constants());
        let Some(of) = of else {
            let name = token.text;
            return Err((token.at, Problem::NoConstants { name }));
        };
        let from = structure.constants.len();
        loop {
            let constant = self.constant(structure, of, doc.clone())?;
            structure.constants.push(constant);
            if !self.take_if(",") {
                break;
            }
        }
        self.require(";", "',' or ';' after the constant's value")?;
        let trailing = self.trailing(self.line_before());
        for constant in &mut structure.constants[from..] {
            append(&mut constant.doc, &trailing);
        }
        Ok(())
    }

    fn constant(
        &mut self,
        within: &Struct,
        of: PrimitiveType,
        doc: String,
    ) -> ParseResult<Constant> {
        let name = self.take();
        check_name(&name, false)?;
        free_name(within, &name)?;
        self.require("=", "'=' after the constant's name")?;
        let token = self.take();
        if token.text.is_empty() {
            return Err(expected("the constant's value", &token));
        }
        match value(of, &token.text) {
            Ok(value) => Ok(Constant {
                name: name.text,
                of,
                value,
                text: token.text,
                doc,
            }),
            Err(hint) => {
                let (text, of) = (token.text, of.name());
                Err((token.at, Problem::BadValue { text, of, hint }))
            }
        }
    }
}

fn value(of: PrimitiveType, text: &str) -> std::result::Result<ConstantValue, &'static str> {
    let whole = |range: std::ops::RangeInclusive<i128>| match integer(text) {
        Some(it) if range.contains(&it) => {
            i64::try_from(it).map_err(|_| "; it does not fit 64 bits")
        }
        Some(_) => Err("; it is out of its range"),
        None => Err("; write a whole number, as 12, -3 or 0xff"),
    };
    let whole = match of {
        PrimitiveType::Int8 => whole(i8::MIN.into()..=i8::MAX.into()),
        PrimitiveType::Int16 => whole(i16::MIN.into()..=i16::MAX.into()),
        PrimitiveType::Int32 => whole(i32::MIN.into()..=i32::MAX.into()),
        PrimitiveType::Int64 => return wide(text).map(ConstantValue::Integer),
        PrimitiveType::Float => return real(text, f64::from(f32::MAX)).map(ConstantValue::Real),
        _ => return real(text, f64::MAX).map(ConstantValue::Real),
    };
    whole.map(ConstantValue::Integer)
}

/// Parses 64 bits; a hexadecimal number may fill them all, as in Java.
fn wide(text: &str) -> std::result::Result<i64, &'static str> {
    let value = integer(text).ok_or("; write a whole number, as 12, -3 or 0xff")?;
    let hexadecimal = text.starts_with("0x") || text.starts_with("0X");
    match (i64::try_from(value), u64::try_from(value)) {
        (Ok(value), _) => Ok(value),
        (_, Ok(bits)) if hexadecimal => Ok(bits.cast_signed()),
        _ => Err("; it is out of its range"),
    }
}

/// A number that every language of lcm-gen reads.
fn real(text: &str, most: f64) -> std::result::Result<f64, &'static str> {
    const HINT: &str = "; write a number, as 3, -0.5 or 1.5e-3 (lcm-gen takes no '+')";
    let hexadecimal = text.contains(['x', 'X']);
    let digits = |it: char| it.is_ascii_digit() || "-.eE".contains(it);
    let value = match hexadecimal {
        true => integer(text).map(|it| it as f64),
        false if text.chars().all(digits) => text.parse().ok(),
        false => None,
    };
    match value.ok_or(HINT)? {
        value if value.abs() <= most => Ok(value),
        _ => Err("; it is out of its range"),
    }
}

impl Parser {
    /// An enum, after its word.
    fn enumeration(&mut self, comments: &[Comment]) -> ParseResult<()> {
        let (name, at) = self.new_type()?;
        self.require("{", "'{' after the enum's name")?;
        let mut doc = doc(comments);
        append(&mut doc, &self.trailing(self.line_before()));
        let mut enumeration = Enum {
            name,
            doc,
            values: Vec::new(),
        };
        while !self.take_if("}") {
            self.enum_value(&mut enumeration)?;
        }
        let definition = Definition::Enum(Arc::new(enumeration));
        self.parsed.definitions.push((definition, at));
        Ok(())
    }

    fn enum_value(&mut self, within: &mut Enum) -> ParseResult<()> {
        let token = self.take();
        check_name(&token, false)?;
        let number = match self.take_if("=") {
            true => self.enum_number()?,
            // As lcm-gen: one more than the greatest so far, and never less than 1.
            false => next(within).ok_or_else(|| (token.at, out_of_range("the next value")))?,
        };
        distinct(within, &token, number)?;
        let mut value = EnumValue {
            name: token.text,
            number,
            doc: doc(&token.comments),
        };
        let separated = self.take_if(",") | self.take_if(";");
        if separated || self.peek().text == "}" {
            append(&mut value.doc, &self.trailing(self.line_before()));
        }
        within.values.push(value);
        Ok(())
    }

    fn enum_number(&mut self) -> ParseResult<i32> {
        let token = self.take();
        let number = integer(&token.text).and_then(|it| i32::try_from(it).ok());
        number.ok_or_else(|| (token.at, out_of_range(&token.text)))
    }
}

fn next(within: &Enum) -> Option<i32> {
    let greatest = within.values.iter().map(|it| it.number).max();
    greatest.unwrap_or(0).max(0).checked_add(1)
}

fn distinct(within: &Enum, token: &Token, number: i32) -> ParseResult<()> {
    if within.values.iter().any(|it| it.name == token.text) {
        let (name, within) = (token.text.clone(), within.name.to_string());
        return Err((token.at, Problem::DuplicateName { name, within }));
    }
    match within.values.iter().find(|it| it.number == number) {
        None => Ok(()),
        Some(first) => {
            let (first, second) = (first.name.clone(), token.text.clone());
            let problem = Problem::DuplicateValue {
                first,
                second,
                number,
            };
            Err((token.at, problem))
        }
    }
}

fn out_of_range(text: &str) -> Problem {
    Problem::BadValue {
        text: text.to_owned(),
        of: "an enum",
        hint: ", whose values are whole numbers of 32 bits",
    }
}
