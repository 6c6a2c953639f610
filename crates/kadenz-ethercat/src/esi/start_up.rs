//! What an ESI file requires of a MainDevice during a device's start-up.

use roxmltree::Node;

use super::device::sync1_of_its_own;
use super::{EsiError, xml};
use crate::value::bytes_of_digits;
use crate::wire::coe::Address;

/// Most commands of a device, most bytes that one of them writes, and most pairs that exclude each other.
const MAX_COMMANDS: usize = 4096;
const MAX: usize = 4096;
const MAX_EXCLUDES: usize = 4096;

/// A transition between two states.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Transition {
    /// From INIT to PREOP (`IP`).
    InitToPreOp,
    /// From PREOP to SAFEOP (`PS`).
    PreOpToSafeOp,
    /// From SAFEOP to OP (`SO`).
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
pub(crate) struct InitCommand {
    /// The transitions at which the value is written.
    pub transitions: Vec<Transition>,
    /// The object and sub-index.
    pub address: Address,
    /// Whether the value holds all entries from there at once.
    pub complete: bool,
    /// The value, as bytes on the wire.
    pub value: Vec<u8>,
    /// Whether a configuration tool is to fit the value to the segment, as to its cycle.
    pub adapts: bool,
    /// Its purpose; empty where the file states none.
    pub comment: String,
}

/// Settings that an operation mode of the clocks requires and Kadenz does not apply.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct UnsupportedMode {
    /// The mode's name.
    pub mode: String,
    /// The mode requires PDOs to be assigned.
    pub pdos: bool,
    /// A part of the cycle by which SYNC0 is to be later (`Factor` of `ShiftTimeSync0`).
    pub shift_factor: bool,
    /// SYNC0 is to be timed for inputs, by when they are fetched (`Input` of `ShiftTimeSync0`).
    pub for_inputs: bool,
    /// A cycle of SYNC1 in nanoseconds that is not a multiple of SYNC0's.
    pub sync1_cycle: bool,
}

impl UnsupportedMode {
    /// The settings in words; none where Kadenz applies all.
    pub(crate) fn words(&self) -> impl Iterator<Item = &'static str> {
        let all = [
            (self.pdos, "PDOs of its own"),
            (self.shift_factor, "a shift by a part of the cycle"),
            (self.for_inputs, "SYNC0 timed for inputs"),
            (
                self.sync1_cycle,
                "a cycle of SYNC1 that is not a multiple of SYNC0's",
            ),
        ];
        all.into_iter()
            .filter_map(|(asked, words)| asked.then_some(words))
    }
}

/// The start-up requirements of a device's file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct StartUp {
    /// Values to be written, in the file's order.
    pub commands: Vec<InitCommand>,
    /// Pairs of PDOs of which only one may be assigned: the first of each names the other (`Exclude`).
    pub excludes: Vec<(u16, u16)>,
    /// PDOs that are in no dictionary, and so cannot be written (`Virtual`).
    pub virtual_pdos: Vec<u16>,
    /// Operation modes with settings that Kadenz does not apply.
    pub unsupported: Vec<UnsupportedMode>,
}

pub(super) fn read(device: Node<'_, '_>) -> Result<StartUp, EsiError> {
    let mut start_up = StartUp::default();
    let mailbox = xml::child(device, "Mailbox");
    let coe = mailbox.and_then(|it| xml::child(it, "CoE"));
    for node in coe.into_iter().flat_map(|it| xml::children(it, "InitCmd")) {
        if start_up.commands.len() == MAX_COMMANDS {
            return Err(xml::too_much(node, "values to be written", MAX_COMMANDS));
        }
        start_up.commands.push(command(node)?);
    }
    for node in xml::children(device, "RxPdo").chain(xml::children(device, "TxPdo")) {
        let Some(index) = xml::number_of(node, "Index")? else {
            continue;
        };
        for other in xml::children(node, "Exclude") {
            if start_up.excludes.len() == MAX_EXCLUDES {
                let what = "pairs of PDOs that exclude each other";
                return Err(xml::too_much(other, what, MAX_EXCLUDES));
            }
            start_up.excludes.push((index, xml::number(other)?));
        }
        if xml::flag(node, "Virtual") {
            start_up.virtual_pdos.push(index);
        }
    }
    let clocks = xml::child(device, "Dc");
    for mode in clocks
        .into_iter()
        .flat_map(|it| xml::children(it, "OpMode"))
    {
        let unsupported = unsupported(mode)?;
        if unsupported.words().next().is_some() {
            start_up.unsupported.push(unsupported);
        }
    }
    Ok(start_up)
}

fn unsupported(mode: Node<'_, '_>) -> Result<UnsupportedMode, EsiError> {
    let shift = xml::child(mode, "ShiftTimeSync0");
    let factor = shift.map(|it| xml::attribute::<i16>(it, "Factor"));
    let cycle0_ns: u32 = xml::number_of(mode, "CycleTimeSync0")?.unwrap_or(0);
    let own = sync1_of_its_own(mode)?;
    let managers = xml::children(mode, "Sm");
    Ok(UnsupportedMode {
        mode: xml::name(mode, "Name"),
        pdos: managers
            .map(|it| xml::child(it, "Pdo"))
            .any(|it| it.is_some()),
        shift_factor: factor.transpose()?.flatten().is_some_and(|it| it != 0),
        for_inputs: shift.is_some_and(|it| xml::flag(it, "Input")),
        sync1_cycle: own.is_some_and(|it| !it.is_multiple_of(cycle0_ns)),
    })
}

fn command(node: Node<'_, '_>) -> Result<InitCommand, EsiError> {
    let needed = |name| xml::child(node, name).ok_or_else(|| xml::missing(node, "InitCmd", name));
    let data = needed("Data")?;
    let transitions = xml::children(node, "Transition");
    Ok(InitCommand {
        transitions: transitions.map(|it| Transition::of(xml::own(it))).collect(),
        address: Address::new(
            xml::number(needed("Index")?)?,
            xml::number_of(node, "SubIndex")?.unwrap_or(0),
        ),
        complete: xml::flag(node, "CompleteAccess"),
        value: bytes(data)?,
        adapts: xml::flag(data, "AdaptAutomatically"),
        comment: xml::name(node, "Comment"),
    })
}

/// Bytes as pairs of hexadecimal digits.
fn bytes(node: Node<'_, '_>) -> Result<Vec<u8>, EsiError> {
    let text = node.text().unwrap_or_default();
    let bytes = bytes_of_digits(text.chars().filter(|it| !it.is_whitespace()));
    let line = xml::place(node);
    bytes
        .filter(|it| it.len() <= MAX)
        .ok_or(EsiError::Bytes { line })
}
