use super::super::lexer::Token;
use super::{ParseResult, Parser, append, check_name, doc, expected, integer};
use crate::types::model::{Dimension, Member, MemberType, PrimitiveType, Struct, TypeName};
use crate::types::problem::Problem;

impl Parser {
    /// `TYPE NAME[SIZE], NAME;`
    pub(super) fn members(&mut self, structure: &mut Struct) -> ParseResult<()> {
        let token = self.take();
        let doc = doc(&token.comments);
        let of = self.member_type(&token)?;
        let from = structure.members.len();
        loop {
            let name = self.take();
            check_name(&name, false)?;
            free_name(structure, &name)?;
            let mut dimensions = Vec::new();
            while self.take_if("[") {
                dimensions.push(self.dimension(structure)?);
                self.require("]", "']' after the array's length")?;
            }
            structure.members.push(Member {
                name: name.text,
                of: of.clone(),
                dimensions,
                doc: doc.clone(),
            });
            if !self.take_if(",") {
                break;
            }
        }
        self.require(";", "',', '[' or ';' after the member's name")?;
        let trailing = self.trailing(self.line_before());
        for member in &mut structure.members[from..] {
            append(&mut member.doc, &trailing);
        }
        Ok(())
    }

    fn member_type(&mut self, token: &Token) -> ParseResult<MemberType> {
        if let Some(primitive) = PrimitiveType::named(&token.text) {
            return Ok(MemberType::Primitive(primitive));
        }
        if let Some(problem) = foreign(&token.text) {
            return Err((token.at, problem));
        }
        check_name(token, true)?;
        let name = TypeName::within(&self.package, &token.text);
        self.parsed.references.push((name.clone(), token.at));
        Ok(MemberType::Named(name))
    }

    /// Parses the text between brackets.
    fn dimension(&mut self, within: &Struct) -> ParseResult<Dimension> {
        let token = self.take();
        let text = token.text.clone();
        if text == "]" {
            return Err((token.at, Problem::NoSize));
        }
        if text.starts_with(|it: char| it.is_ascii_digit() || it == '-') {
            return fixed(text).map_err(|problem| (token.at, problem));
        }
        if text.is_empty() {
            return Err(expected("an array's length", &token));
        }
        if let Some(constant) = within.constants.iter().find(|it| it.name == text) {
            if !constant.of.states_lengths() {
                let of = format!("a constant of type {}", constant.of);
                return Err((token.at, Problem::SizeIsNoInteger { name: text, of }));
            }
            return fixed(constant.text.clone()).map_err(|problem| (token.at, problem));
        }
        let Some(index) = within.index(&text) else {
            return Err((token.at, Problem::UnknownSize { name: text }));
        };
        let member = &within.members[index];
        match &member.of {
            MemberType::Primitive(of) if of.states_lengths() && member.dimensions.is_empty() => {
                Ok(Dimension::Variable { member: text })
            }
            _ => {
                let of = member.type_text();
                Err((token.at, Problem::SizeIsNoInteger { name: text, of }))
            }
        }
    }
}

fn fixed(text: String) -> std::result::Result<Dimension, Problem> {
    let size = integer(&text).filter(|it| (1..=i128::from(i32::MAX)).contains(it));
    match size.and_then(|it| usize::try_from(it).ok()) {
        Some(size) => Ok(Dimension::Fixed { text, size }),
        None => Err(Problem::BadSize { text }),
    }
}

/// Checks that no member and no constant of a struct has the name.
pub(super) fn free_name(within: &Struct, token: &Token) -> ParseResult<()> {
    let constants = within.constants.iter().map(|it| &it.name);
    let members = within.members.iter().map(|it| &it.name);
    if !members.chain(constants).any(|it| *it == token.text) {
        return Ok(());
    }
    let (name, within) = (token.text.clone(), within.name.to_string());
    Err((token.at, Problem::DuplicateName { name, within }))
}

/// Types of other languages, and LCM's types in their place.
fn foreign(name: &str) -> Option<Problem> {
    let unsigned = match name {
        "uint8_t" | "uint8" => Some("byte, which holds 0 to 255"),
        "uint16_t" | "uint16" => Some("int32_t, which holds its values"),
        "uint32_t" | "uint32" | "unsigned" => Some("int64_t, which holds its values"),
        "uint64_t" | "uint64" => Some("int64_t, and read its bits"),
        _ => None,
    };
    let name = name.to_owned();
    if let Some(instead) = unsigned {
        return Some(Problem::Unsigned { name, instead });
    }
    let instead = match name.as_str() {
        "int" => "int8_t, int16_t, int32_t or int64_t",
        "int8" => "int8_t",
        "char" => "int8_t, byte or string",
        "int16" | "short" => "int16_t",
        "int32" => "int32_t",
        "int64" | "long" => "int64_t",
        "float32" | "float32_t" => "float",
        "float64" | "float64_t" => "double",
        "bool" => "boolean",
        _ => return None,
    };
    Some(Problem::Foreign { name, instead })
}
