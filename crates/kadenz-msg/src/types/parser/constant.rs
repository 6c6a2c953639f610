use super::{Parser, Result, append, check_name, doc, expected, integer, member::free_name};
use crate::types::model::{Constant, ConstantValue, PrimitiveType, Struct};
use crate::types::problem::Problem;

impl Parser {
    /// `const TYPE NAME = VALUE, NAME = VALUE;`
    pub(super) fn constants(&mut self, structure: &mut Struct) -> Result<()> {
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

    fn constant(&mut self, within: &Struct, of: PrimitiveType, doc: String) -> Result<Constant> {
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

/// 64 bits; what is written in hexadecimal may fill them all, as Java reads it.
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
