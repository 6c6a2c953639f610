//! What an ESI file asks a MainDevice to do on a device's way up.

use roxmltree::Node;

use super::{EsiError, xml};
use crate::wire::coe::Address;

/// Most commands of a device, and most bytes that one of them writes.
const MOST_COMMANDS: usize = 4096;
const LONGEST: usize = 4096;

/// From which state to which.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Transition {
    /// INIT to PREOP.
    InitToPreOp,
    /// PREOP to SAFEOP.
    PreOpToSafeOp,
    /// SAFEOP to OP.
    SafeOpToOp,
    /// Any other, on the way down or by Bootstrap.
    Other,
}

impl Transition {
    fn of(letters: &str) -> Self {
        match letters {
            "IP" => Self::InitToPreOp,
            "PS" => Self::PreOpToSafeOp,
            "SO" => Self::SafeOpToOp,
            _ => Self::Other,
        }
    }
}

/// A value that is written by CoE when the device changes its state (`InitCmd`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InitCommand {
    /// When.
    pub transitions: Vec<Transition>,
    /// Where to.
    pub address: Address,
    /// All entries from there at once.
    pub complete: bool,
    /// What, as bytes on the wire.
    pub value: Vec<u8>,
    /// Whether a configuration tool is to fit the value to the segment, as to its cycle.
    pub adapts: bool,
    /// What it is for; empty where the file does not tell.
    pub comment: String,
}

/// What a device's file says besides what the device is.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct StartUp {
    /// Values to be written, in the file's order.
    pub commands: Vec<InitCommand>,
    /// Pairs of PDOs of which only one may be assigned: the first of each names the other (`Exclude`).
    pub excludes: Vec<(u16, u16)>,
    /// PDOs that are in no dictionary, and so cannot be written (`Virtual`).
    pub virtual_pdos: Vec<u16>,
}

pub(super) fn read(device: Node<'_, '_>) -> Result<StartUp, EsiError> {
    let mut start_up = StartUp::default();
    let mailbox = xml::child(device, "Mailbox");
    let coe = mailbox.and_then(|it| xml::child(it, "CoE"));
    for node in coe.into_iter().flat_map(|it| xml::children(it, "InitCmd")) {
        if start_up.commands.len() == MOST_COMMANDS {
            let line = xml::line(node);
            return Err(EsiError::TooMuch { line });
        }
        start_up.commands.push(command(node)?);
    }
    for node in xml::children(device, "RxPdo").chain(xml::children(device, "TxPdo")) {
        let Some(index) = xml::number_of(node, "Index")? else {
            continue;
        };
        for other in xml::children(node, "Exclude") {
            start_up.excludes.push((index, xml::number(other)?));
        }
        if xml::flag(node, "Virtual") {
            start_up.virtual_pdos.push(index);
        }
    }
    Ok(start_up)
}

fn command(node: Node<'_, '_>) -> Result<InitCommand, EsiError> {
    let needed = |name| xml::child(node, name).ok_or_else(|| xml::missing(node, "InitCmd", name));
    let data = needed("Data")?;
    let transitions = xml::children(node, "Transition");
    Ok(InitCommand {
        transitions: transitions
            .map(|it| Transition::of(it.text().unwrap_or_default().trim()))
            .collect(),
        address: Address::new(
            xml::number(needed("Index")?)?,
            xml::number_of(node, "SubIndex")?.unwrap_or(0),
        ),
        complete: xml::flag(node, "CompleteAccess"),
        value: bytes(data)?,
        adapts: xml::flag(data, "AdaptAutomatically"),
        comment: xml::text(node, "Comment"),
    })
}

/// Bytes as pairs of hexadecimal digits.
fn bytes(node: Node<'_, '_>) -> Result<Vec<u8>, EsiError> {
    let text = node.text().unwrap_or_default();
    let digits = text.chars().filter(|it| !it.is_whitespace());
    let digits: Option<Vec<u8>> = digits.map(|it| Some(it.to_digit(16)? as u8)).collect();
    let digits = digits.filter(|it| it.len().is_multiple_of(2) && it.len() <= 2 * LONGEST);
    let Some(digits) = digits else {
        let line = xml::line(node);
        return Err(EsiError::Bytes { line });
    };
    let pairs = digits.chunks_exact(2);
    Ok(pairs.map(|pair| pair[0] << 4 | pair[1]).collect())
}
