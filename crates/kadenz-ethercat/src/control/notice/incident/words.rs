//! Incidents in words, the devices first, so that a line that is cut off still names them.

use std::collections::BTreeMap;
use std::fmt;

use super::{Incident, Kind, Passage, Who};
use crate::control::notice::Event;
use crate::wire::{AlStatus, AlStatusCode, State};

impl fmt::Display for Incident {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.kind {
            Kind::Gone { wire } => self.gone(f, *wire),
            Kind::Returned { wire, powered } => self.returned(f, *wire, *powered),
            Kind::States => self.in_other_states(f),
            Kind::Same(Event::PortErrors { .. }) if self.devices.len() > 1 => {
                write!(f, "{}: errors at their ports", Named(&self.devices))
            }
            Kind::Same(event) if self.devices.is_empty() => event.fmt(f),
            Kind::Same(event) => write!(f, "{}: {event}", Named(&self.devices)),
        }
    }
}

impl Incident {
    fn gone(&self, f: &mut fmt::Formatter<'_>, wire: bool) -> fmt::Result {
        if wire {
            f.write_str("no frame comes back; is the cable plugged in? ")?;
        }
        if !self.devices.is_empty() {
            write!(f, "lost: {}", Named(&self.devices))?;
        }
        self.links(f, "down")
    }

    fn returned(&self, f: &mut fmt::Formatter<'_>, wire: bool, powered: bool) -> fmt::Result {
        if wire {
            f.write_str("frames come back; ")?;
        }
        let count = self.devices.len();
        if count > 0 {
            write!(f, "back: {}", Named(&self.devices))?;
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

    fn links(&self, f: &mut fmt::Formatter<'_>, way: &str) -> fmt::Result {
        let mut before = if self.devices.is_empty() { "" } else { ", " };
        for (who, port) in &self.ports {
            write!(f, "{before}link {way} at port {port} of {}", label(who))?;
            before = ", ";
        }
        Ok(())
    }

    /// Devices that went the same way are told together.
    fn in_other_states(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut ways: BTreeMap<Passage, BTreeMap<usize, Who>> = BTreeMap::new();
        for (device, passage) in &self.states {
            let together = ways.entry(*passage).or_default();
            together.extend(self.devices.get(device).map(|it| (*device, it.clone())));
        }
        let mut before = "";
        for (passage, devices) in ways {
            write!(f, "{before}{}: {passage}", Named(&devices))?;
            before = "; ";
        }
        Ok(())
    }
}

impl fmt::Display for Passage {
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
struct Named<'d>(&'d BTreeMap<usize, Who>);

impl fmt::Display for Named<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut rows: Vec<(&Who, &Who)> = Vec::new();
        for who in self.0.values() {
            match rows.last_mut() {
                Some((_, last)) if last.device + 1 == who.device => *last = who,
                _ => rows.push((who, who)),
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

fn label(who: &Who) -> String {
    match who.name.as_str() {
        "" => who.device.to_string(),
        name => format!("{} ({name})", who.device),
    }
}
