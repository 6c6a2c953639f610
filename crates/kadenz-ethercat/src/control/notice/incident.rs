//! Notices of one fault, grouped: a cut cable is one incident with the devices behind it.
//!
//! Assumption: notices come in their order. Guarantee: each belongs to exactly one incident, except for two
//! kinds: counts of frames, which statistics have, and errors at ports whose incident was just reported. Not
//! for a real-time path: it allocates.
//!
//! ```
//! use kadenz_ethercat::control::notice::{Event, Incidents, Notices, NoticeDevice};
//! use kadenz_rt::clock::MonotonicTime;
//!
//! let at = |ms: u64| MonotonicTime::from_ns(ms * 1_000_000);
//! let device = |device: usize| Some(NoticeDevice { device, name: format!("joint {device}"), station: 0 });
//! let notices = Notices::new();
//! let mut subscription = notices.subscribe(16);
//! notices.publish(at(0), device(8), Event::Lost);
//! notices.publish(at(0), device(9), Event::Lost);
//! notices.publish(at(3), device(7), Event::LinkDown { port: 1 });
//!
//! let mut incidents = Incidents::default();
//! while let Some(notice) = subscription.try_next() {
//!     incidents.add(notice);
//! }
//! let settled = incidents.settled(at(1_000));
//! assert_eq!(settled.len(), 1);
//! assert_eq!(
//!     settled[0].to_string(),
//!     "lost: 8 (joint 8) to 9 (joint 9), link down at port 1 of 7 (joint 7)"
//! );
//! ```

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use kadenz_rt::clock::MonotonicTime;

use super::{Event, Notice, NoticeDevice};
use crate::wire::{AlStatus, AlStatusCode, State};

/// Notices within this time of each other may belong to one fault.
const SAME_FAULT_NS: u64 = 250_000_000;
/// An incident ends this long after it began, whatever follows.
const MAX_NS: u64 = 2_000_000_000;
/// Errors at the ports of a device belong to a fault of the device within this time before them.
const PORT_ERROR_WINDOW_NS: u64 = 3_000_000_000;

/// One fault, or the return from one, with the devices that it concerns.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Incident {
    /// The time of its first notice, by the segment's port, ns.
    pub at_ns: u64,
    last_ns: u64,
    kind: IncidentKind,
    devices: BTreeMap<usize, NoticeDevice>,
    /// Devices that are in other states now.
    states: BTreeMap<usize, AlTransition>,
    /// Ports whose link changed with it.
    ports: Vec<(NoticeDevice, u8)>,
    /// Codes of the emergencies from devices that came back.
    emergencies: BTreeSet<u16>,
}

/// The common kind of an incident's notices.
#[derive(Debug, Clone, PartialEq, Eq)]
enum IncidentKind {
    /// Devices went, or links, or (`wire`) all frames.
    Gone { wire: bool },
    /// They came back; `powered` where none had lost its power.
    Returned { wire: bool, powered: bool },
    /// They changed their states.
    States,
    /// All notices report the same event.
    Same(Event),
}

/// The AL states before and after the change of a device, and the last code that was not 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct AlTransition {
    from: u16,
    worst: u16,
    to: u16,
    code: u16,
}

/// Groups notices into incidents.
#[derive(Debug, Default)]
pub struct Incidents {
    open: Vec<Incident>,
    /// Devices that went or came, or a link of which did, with the time of the last such notice.
    touched: BTreeMap<usize, u64>,
}

impl Incidents {
    /// Adds the next notice.
    pub fn add(&mut self, notice: Notice) {
        if self.is_reported_elsewhere(&notice) {
            return;
        }
        let mut open = self.open.iter_mut().rev();
        let incident = match open.find(|it| it.takes(&notice)) {
            Some(incident) => incident,
            None => {
                self.open.push(Incident::begun_by(&notice));
                let last = self.open.len() - 1;
                &mut self.open[last]
            }
        };
        if let (Some(device), true) = (&notice.device, incident.is_of_presence()) {
            self.touched.insert(device.device, notice.at_ns);
        }
        incident.take(notice);
    }

    /// Takes the incidents to which no further notice is expected to belong, oldest first.
    pub fn settled(&mut self, now: MonotonicTime) -> Vec<Incident> {
        let now = now.as_ns();
        self.open.extract_if(.., |it| it.is_settled(now)).collect()
    }

    /// Takes all incidents, oldest first, as when no further notice comes.
    pub fn rest(&mut self) -> Vec<Incident> {
        std::mem::take(&mut self.open)
    }

    fn is_reported_elsewhere(&self, notice: &Notice) -> bool {
        match (&notice.event, &notice.device) {
            (Event::Frames { .. } | Event::WorkingCounter { .. }, _) => true,
            (Event::PortErrors { .. }, Some(device)) => {
                let touched = self.touched.get(&device.device);
                touched.is_some_and(|at| notice.at_ns.saturating_sub(*at) < PORT_ERROR_WINDOW_NS)
            }
            _ => false,
        }
    }
}

impl Incident {
    fn begun_by(notice: &Notice) -> Self {
        let kind = match &notice.event {
            Event::Lost | Event::LinkDown { .. } | Event::WireLost => {
                IncidentKind::Gone { wire: false }
            }
            Event::Back { .. } | Event::LinkUp { .. } | Event::WireBack => IncidentKind::Returned {
                wire: false,
                powered: true,
            },
            Event::State { .. } => IncidentKind::States,
            other => IncidentKind::Same(other.clone()),
        };
        Self {
            at_ns: notice.at_ns,
            last_ns: notice.at_ns,
            kind,
            devices: BTreeMap::new(),
            states: BTreeMap::new(),
            ports: Vec::new(),
            emergencies: BTreeSet::new(),
        }
    }

    const fn is_of_presence(&self) -> bool {
        matches!(
            self.kind,
            IncidentKind::Gone { .. } | IncidentKind::Returned { .. }
        )
    }

    /// Whether a notice belongs to the same fault.
    fn takes(&self, notice: &Notice) -> bool {
        let since = |ns: u64| notice.at_ns.saturating_sub(ns);
        let returns = matches!(self.kind, IncidentKind::Returned { .. });
        let device = notice.device.as_ref().map(|it| it.device);
        let is_of_these = device.is_some_and(|it| self.devices.contains_key(&it));
        let is_near = since(self.last_ns) < SAME_FAULT_NS || (returns && is_of_these);
        if !is_near || since(self.at_ns) >= MAX_NS {
            return false;
        }
        match (&self.kind, &notice.event) {
            (IncidentKind::Gone { .. }, Event::Lost | Event::LinkDown { .. } | Event::WireLost)
            | (
                IncidentKind::Returned { .. },
                Event::Back { .. } | Event::LinkUp { .. } | Event::WireBack,
            )
            | (IncidentKind::States, Event::State { .. })
            | (IncidentKind::Same(Event::PortErrors { .. }), Event::PortErrors { .. }) => true,
            (IncidentKind::Returned { .. }, Event::State { .. } | Event::Emergency { .. }) => {
                is_of_these
            }
            (IncidentKind::Same(this), other) => this == other && device.is_some(),
            _ => false,
        }
    }

    fn take(&mut self, notice: Notice) {
        self.last_ns = notice.at_ns;
        match (&mut self.kind, &notice.event) {
            (IncidentKind::Gone { wire }, Event::WireLost)
            | (IncidentKind::Returned { wire, .. }, Event::WireBack) => {
                *wire = true;
            }
            (IncidentKind::Returned { powered, .. }, Event::Back { powered: kept, .. }) => {
                *powered &= kept;
            }
            _ => {}
        }
        let Some(device) = notice.device else { return };
        match notice.event {
            Event::LinkDown { port } | Event::LinkUp { port } => {
                let known = self.ports.iter().any(|it| *it == (device.clone(), port));
                if !known {
                    self.ports.push((device, port));
                }
                return;
            }
            Event::Emergency { code, .. } if self.is_of_presence() => {
                self.emergencies.insert(code);
            }
            Event::State { from, to, code } => {
                let first = AlTransition {
                    from,
                    worst: to,
                    to,
                    code,
                };
                let passage = self.states.entry(device.device).or_insert(first);
                passage.to = to;
                if code != 0 {
                    (passage.worst, passage.code) = (to, code);
                }
            }
            _ => {}
        }
        self.devices.insert(device.device, device);
    }

    fn is_settled(&self, now_ns: u64) -> bool {
        let quiet = now_ns.saturating_sub(self.last_ns) >= SAME_FAULT_NS;
        let returns = matches!(self.kind, IncidentKind::Returned { .. });
        let old = now_ns.saturating_sub(self.at_ns) >= MAX_NS;
        old || (quiet && (!returns || self.in_op() == self.devices.len()))
    }

    /// How many of the devices that came back are in OP again.
    fn in_op(&self) -> usize {
        let op = AlStatus::new(State::Op, false).0;
        self.states.values().filter(|it| it.to == op).count()
    }
}

/// In words, the devices first, so that a line that is cut off still names them.
impl fmt::Display for Incident {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.kind {
            IncidentKind::Gone { wire } => self.gone(f, *wire),
            IncidentKind::Returned { wire, powered } => self.returned(f, *wire, *powered),
            IncidentKind::States => self.in_other_states(f),
            IncidentKind::Same(Event::PortErrors { .. }) if self.devices.len() > 1 => {
                write!(f, "{}: errors at their ports", DeviceNames(&self.devices))
            }
            IncidentKind::Same(event) if self.devices.is_empty() => event.fmt(f),
            IncidentKind::Same(event) => write!(f, "{}: {event}", DeviceNames(&self.devices)),
        }
    }
}

impl Incident {
    fn gone(&self, f: &mut fmt::Formatter<'_>, wire: bool) -> fmt::Result {
        if wire {
            f.write_str("no frame comes back; is the cable plugged in? ")?;
        }
        if !self.devices.is_empty() {
            write!(f, "lost: {}", DeviceNames(&self.devices))?;
        }
        self.links(f, "down")
    }

    fn returned(&self, f: &mut fmt::Formatter<'_>, wire: bool, powered: bool) -> fmt::Result {
        if wire {
            f.write_str("frames come back; ")?;
        }
        let count = self.devices.len();
        if count > 0 {
            write!(f, "back: {}", DeviceNames(&self.devices))?;
            match self.in_op() {
                in_op if in_op == count => f.write_str(", in OP")?,
                in_op => write!(f, ", {in_op} of {count} in OP")?,
            }
            if !powered {
                f.write_str(", after a loss of power")?;
            }
        }
        for code in &self.emergencies {
            write!(f, ", emergency 0x{code:04X}")?;
        }
        self.links(f, "up")
    }

    fn links(&self, f: &mut fmt::Formatter<'_>, change: &str) -> fmt::Result {
        let mut before = if self.devices.is_empty() { "" } else { ", " };
        for (device, port) in &self.ports {
            write!(
                f,
                "{before}link {change} at port {port} of {}",
                label(device)
            )?;
            before = ", ";
        }
        Ok(())
    }

    /// Devices with the same transition are listed together.
    fn in_other_states(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut ways: BTreeMap<AlTransition, BTreeMap<usize, NoticeDevice>> = BTreeMap::new();
        for (device, passage) in &self.states {
            let together = ways.entry(*passage).or_default();
            together.extend(self.devices.get(device).map(|it| (*device, it.clone())));
        }
        let mut before = "";
        for (passage, devices) in ways {
            write!(f, "{before}{}: {passage}", DeviceNames(&devices))?;
            before = "; ";
        }
        Ok(())
    }
}

impl fmt::Display for AlTransition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let op = AlStatus::new(State::Op, false).0;
        write!(f, "{} -> {}", AlStatus(self.from), AlStatus(self.worst))?;
        if self.code != 0 {
            write!(f, " ({})", AlStatusCode(self.code))?;
        }
        match self.to {
            to if to == self.worst => Ok(()),
            to if to == op => f.write_str(", in OP again"),
            to => write!(f, " -> {}", AlStatus(to)),
        }
    }
}

/// Devices with their names; of several in a row the first and the last.
struct DeviceNames<'d>(&'d BTreeMap<usize, NoticeDevice>);

impl fmt::Display for DeviceNames<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut rows: Vec<(&NoticeDevice, &NoticeDevice)> = Vec::new();
        for device in self.0.values() {
            match rows.last_mut() {
                Some((_, last)) if last.device + 1 == device.device => *last = device,
                _ => rows.push((device, device)),
            }
        }
        for (number, (first, last)) in rows.iter().enumerate() {
            let comma = if number == 0 { "" } else { ", " };
            match first.device == last.device {
                true => write!(f, "{comma}{}", label(first))?,
                false => write!(f, "{comma}{} to {}", label(first), label(last))?,
            }
        }
        Ok(())
    }
}

fn label(device: &NoticeDevice) -> String {
    match device.name.as_str() {
        "" => device.device.to_string(),
        name => format!("{} ({name})", device.device),
    }
}

#[cfg(test)]
mod tests;
