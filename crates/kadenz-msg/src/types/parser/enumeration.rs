use std::sync::Arc;

use super::super::lexer::{Comment, Token};
use super::{Parser, Result, append, check_name, doc, integer};
use crate::types::model::{Definition, Enum, EnumValue};
use crate::types::problem::Problem;

impl Parser {
    /// An enum, after its word.
    pub(super) fn enumeration(&mut self, comments: &[Comment]) -> Result<()> {
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

    fn enum_value(&mut self, within: &mut Enum) -> Result<()> {
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

    fn enum_number(&mut self) -> Result<i32> {
        let token = self.take();
        let number = integer(&token.text).and_then(|it| i32::try_from(it).ok());
        number.ok_or_else(|| (token.at, out_of_range(&token.text)))
    }
}

fn next(within: &Enum) -> Option<i32> {
    let greatest = within.values.iter().map(|it| it.number).max();
    greatest.unwrap_or(0).max(0).checked_add(1)
}

fn distinct(within: &Enum, token: &Token, number: i32) -> Result<()> {
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
