use std::collections::BTreeMap;
use std::ops::RangeInclusive;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use kadenz_rt::tuning::Tuning;

use super::handles::{
    BoolParameter, IntegerParameter, NumberParameter, ParameterCell, TextParameter,
};
use super::{MAX_DESCRIPTION, MAX_NAME, MAX_PARAMETERS, MAX_TEXT, PAGE, SERVICE, Setting};
use crate::bus::Bus;
use crate::service::messages::{Parameter, ParameterAnswer, ParameterQuery, ParameterValue};
use crate::service::request::{
    RequestContext, ServeError, Server, ServiceCounters, ServiceOptions,
};

/// The parameters of a program, before they are served.
#[derive(Debug, Default)]
pub struct Parameters {
    entries: BTreeMap<String, ParameterEntry>,
}

/// A parameter of a program: its description, and where its value is kept.
#[derive(Debug)]
pub(super) struct ParameterEntry {
    description: String,
    place: ParameterCell,
}

/// The reason for which a parameter is impossible.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ParameterError {
    /// Its name or its description cannot be shown.
    #[error(
        "the parameter {name:?}: a name has 1 to {MAX_NAME} bytes, a description {MAX_DESCRIPTION} at most, and neither has a NUL"
    )]
    Name {
        /// The name of the parameter.
        name: String,
    },
    /// There is already one of that name.
    #[error("there are two parameters {name:?}: rename one")]
    Twice {
        /// The name that both parameters have.
        name: String,
    },
    /// The initial value is not allowed.
    #[error("the parameter {name:?} cannot start with {value}: {reason}")]
    Start {
        /// The name of the parameter.
        name: String,
        /// The initial value, as text.
        value: String,
        /// Why the value is not allowed.
        reason: String,
    },
    /// There are too many.
    #[error("a program has {MAX_PARAMETERS} parameters at most")]
    TooMany,
}

impl Parameters {
    /// Returns a set without parameters.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a parameter that is true or false.
    ///
    /// # Errors
    /// If its name or description cannot be shown, or the name is taken.
    pub fn truth(
        &mut self,
        name: &str,
        starts_with: bool,
        description: &str,
    ) -> Result<BoolParameter, ParameterError> {
        self.add(name, description, ParameterCell::truth(starts_with))
    }

    /// Adds a whole number within a range.
    ///
    /// # Errors
    /// As [`Parameters::truth`], and if the initial value is outside of the range.
    pub fn integer(
        &mut self,
        name: &str,
        starts_with: i64,
        range: RangeInclusive<i64>,
        description: &str,
    ) -> Result<IntegerParameter, ParameterError> {
        self.add(
            name,
            description,
            ParameterCell::integer(starts_with, range),
        )
    }

    /// Adds a number within a range; it is never NaN.
    ///
    /// # Errors
    /// As [`Parameters::integer`].
    pub fn number(
        &mut self,
        name: &str,
        starts_with: f64,
        range: RangeInclusive<f64>,
        description: &str,
    ) -> Result<NumberParameter, ParameterError> {
        self.add(name, description, ParameterCell::number(starts_with, range))
    }

    /// Adds a text of at most that many bytes, at most 1000.
    ///
    /// # Errors
    /// As [`Parameters::integer`].
    pub fn text(
        &mut self,
        name: &str,
        starts_with: &str,
        most_bytes: usize,
        description: &str,
    ) -> Result<TextParameter, ParameterError> {
        self.add(
            name,
            description,
            ParameterCell::text(starts_with, most_bytes.min(MAX_TEXT)),
        )
    }

    #[cfg(any(test, fuzzing))]
    pub(super) fn entries(&self) -> &BTreeMap<String, ParameterEntry> {
        &self.entries
    }

    fn add<H>(
        &mut self,
        name: &str,
        description: &str,
        (place, handle): (ParameterCell, H),
    ) -> Result<H, ParameterError> {
        let good = (1..=MAX_NAME).contains(&name.len())
            && description.len() <= MAX_DESCRIPTION
            && !name.contains('\0')
            && !description.contains('\0');
        let name = name.to_owned();
        if !good {
            return Err(ParameterError::Name { name });
        }
        if self.entries.contains_key(&name) {
            return Err(ParameterError::Twice { name });
        }
        if self.entries.len() >= MAX_PARAMETERS {
            return Err(ParameterError::TooMany);
        }
        let start = place.get();
        if let Err(reason) = place.set(&start) {
            let value = start.to_string();
            return Err(ParameterError::Start {
                name,
                value,
                reason,
            });
        }
        let description = description.to_owned();
        self.entries
            .insert(name, ParameterEntry { description, place });
        Ok(handle)
    }

    /// Lets other programs read and set the parameters, on a thread with the given tuning.
    ///
    /// # Errors
    /// As [`Bus::serve`]; a program's name has 45 bytes at most.
    pub fn serve(self, bus: &Bus, program: &str, tuning: Tuning) -> Result<Served, ServeError> {
        let generation = Arc::new(AtomicU64::new(0));
        let raised = Arc::clone(&generation);
        let entries = self.entries;
        let answer = move |query: &ParameterQuery, _: &RequestContext| {
            answer(&entries, query, || raise(&raised))
        };
        let name = format!("{SERVICE}{program}");
        let options = ServiceOptions::default();
        Ok(Served {
            server: bus.serve_with(&name, &options, tuning, answer)?,
            generation,
            seen: 0,
        })
    }
}

/// Parameters that other programs may read and set. Dropping it ends that; the values stay readable.
#[derive(Debug)]
pub struct Served {
    server: Server,
    generation: Arc<AtomicU64>,
    seen: u64,
}

impl Served {
    /// Returns whether a parameter was set since the last call. A value that was set before `true` is
    /// returned is visible to reads after it.
    ///
    /// # Real-time safety
    /// Real-time safe: reads one number, without a lock.
    pub fn changed(&mut self) -> bool {
        let now = self.generation.load(Ordering::Acquire);
        std::mem::replace(&mut self.seen, now) != now
    }

    /// Returns the counters of the requests.
    #[must_use]
    pub fn counters(&self) -> ServiceCounters {
        self.server.counters()
    }
}

fn raise(generation: &AtomicU64) {
    generation.fetch_add(1, Ordering::Release);
}

pub(super) fn answer(
    entries: &BTreeMap<String, ParameterEntry>,
    query: &ParameterQuery,
    set: impl Fn(),
) -> Result<ParameterAnswer, String> {
    let parameters: Vec<Parameter> = match query.action {
        ParameterQuery::LIST => {
            let first = usize::try_from(query.first).map_err(|_| "first is negative")?;
            let page = entries.iter().skip(first).take(PAGE);
            page.map(|(name, entry)| entry.describe(name)).collect()
        }
        ParameterQuery::GET => vec![find(entries, &query.name)?.describe(&query.name)],
        ParameterQuery::SET => {
            let entry = find(entries, &query.name)?;
            let value = Setting::from_wire(&query.value).ok_or("there is no value to set")?;
            let refused = |reason| format!("{} is not set: {reason}", query.name);
            entry.place.set(&value).map_err(refused)?;
            set();
            vec![entry.describe(&query.name)]
        }
        other => return Err(format!("there is no action {other}")),
    };
    let number = |it: usize| i32::try_from(it).unwrap_or(i32::MAX);
    Ok(ParameterAnswer {
        total: number(entries.len()),
        count: number(parameters.len()),
        parameters,
    })
}

fn find<'a>(
    entries: &'a BTreeMap<String, ParameterEntry>,
    name: &str,
) -> Result<&'a ParameterEntry, String> {
    let entry = entries.get(name);
    entry.ok_or_else(|| format!("there is no parameter {name:?}"))
}

impl ParameterEntry {
    fn describe(&self, name: &str) -> Parameter {
        let limits = self.place.limits();
        let wire = |it: Option<&Setting>| it.map_or_else(ParameterValue::default, Setting::to_wire);
        Parameter {
            name: name.to_owned(),
            description: self.description.clone(),
            value: self.place.get().to_wire(),
            least: wire(limits.as_ref().map(|it| &it.0)),
            most: wire(limits.as_ref().map(|it| &it.1)),
        }
    }
}
