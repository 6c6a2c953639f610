use std::time::Duration;

use kadenz_rt::clock;

use super::{MAX_PARAMETERS, SERVICE, Setting};
use crate::bus::Bus;
use crate::service::messages::{Parameter, ParameterAnswer, ParameterQuery, ParameterValue};
use crate::service::request::{CallError, Client, ClientError};

/// Reads and sets the parameters of another program. As [`Client`], a call at a time.
#[derive(Debug)]
pub struct ParameterClient {
    client: Client<ParameterQuery, ParameterAnswer>,
}

/// A parameter of another program.
#[derive(Debug, Clone, PartialEq)]
#[cfg_attr(feature = "schema", derive(serde::Serialize, schemars::JsonSchema))]
pub struct ParameterInfo {
    /// The name by which the parameter is read and set.
    pub name: String,
    /// Its purpose and its unit.
    pub description: String,
    /// Its value; `None` if the program states an unknown kind.
    pub value: Option<Setting>,
    /// The least it may be; of a text, an integer of bytes.
    #[cfg_attr(feature = "schema", schemars(with = "Option<f64>"))]
    pub least: Option<Setting>,
    /// The most it may be; of a text, an integer of bytes.
    #[cfg_attr(feature = "schema", schemars(with = "Option<f64>"))]
    pub most: Option<Setting>,
}

impl ParameterClient {
    /// Returns a client of the program of that name.
    ///
    /// # Errors
    /// As [`Bus::client`].
    pub fn new(bus: &Bus, program: &str) -> Result<Self, ClientError> {
        let client = bus.client(&format!("{SERVICE}{program}"))?;
        Ok(Self { client })
    }

    /// Returns all parameters, by name.
    ///
    /// # Errors
    /// If there is no answer within the timeout, which is for the whole list.
    pub fn list(&mut self, timeout: Duration) -> Result<Vec<ParameterInfo>, CallError> {
        let until = clock::now() + timeout;
        let mut all = Vec::new();
        loop {
            let query = ParameterQuery {
                action: ParameterQuery::LIST,
                first: i32::try_from(all.len()).unwrap_or(i32::MAX),
                ..ParameterQuery::default()
            };
            let left = until.remaining(clock::now());
            let answer = self.client.call(&query, left);
            let answer = answer.map_err(|error| error.within(timeout))?;
            let is_last = answer.parameters.is_empty();
            all.extend(answer.parameters.into_iter().map(ParameterInfo::of));
            let total = usize::try_from(answer.total).unwrap_or(0);
            if is_last || all.len() >= total.min(MAX_PARAMETERS) {
                return Ok(all);
            }
        }
    }

    /// Returns one parameter.
    ///
    /// # Errors
    /// If there is no answer within the timeout, or no such parameter.
    pub fn get(&mut self, name: &str, timeout: Duration) -> Result<ParameterInfo, CallError> {
        self.one(
            &ParameterQuery {
                action: ParameterQuery::GET,
                name: name.to_owned(),
                ..ParameterQuery::default()
            },
            timeout,
        )
    }

    /// Sets one parameter, and returns its new state.
    ///
    /// # Errors
    /// If there is no answer within the timeout, no such parameter, or the value is not allowed: then the
    /// error names the allowed values.
    pub fn set(
        &mut self,
        name: &str,
        value: &Setting,
        timeout: Duration,
    ) -> Result<ParameterInfo, CallError> {
        self.one(
            &ParameterQuery {
                action: ParameterQuery::SET,
                name: name.to_owned(),
                value: value.to_wire(),
                ..ParameterQuery::default()
            },
            timeout,
        )
    }

    fn one(
        &mut self,
        query: &ParameterQuery,
        timeout: Duration,
    ) -> Result<ParameterInfo, CallError> {
        let answer = self.client.call(query, timeout)?;
        let mut parameters = answer.parameters.into_iter();
        match parameters.next() {
            Some(parameter) => Ok(ParameterInfo::of(parameter)),
            None => Err(CallError::Refused {
                service: *self.client.service(),
                reason: "it answered without a parameter".to_owned(),
            }),
        }
    }
}

impl ParameterInfo {
    fn of(parameter: Parameter) -> Self {
        let value = |it: &ParameterValue| Setting::from_wire(it);
        Self {
            value: value(&parameter.value),
            least: value(&parameter.least),
            most: value(&parameter.most),
            name: parameter.name,
            description: parameter.description,
        }
    }
}
