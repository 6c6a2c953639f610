//! `kadenz msg call`: calls a service, once.

use anyhow::Context as _;
use clap::Args;
use kadenz::msg::message::Fingerprint;
use kadenz::msg::service::messages::{Reply, Request};
use kadenz::msg::service::request::Client;
use kadenz::msg::service::types_on_wire::{KnownTypes, TypeFinder};
use kadenz::msg::types::Value;
use kadenz::report::document::{Answer, Document, Version};
use schemars::JsonSchema;
use serde::Serialize;

use super::bus::BusOption;
use super::shown;
use super::types::TypesOption;
use crate::options::Span;
use crate::output;

/// Call a service, and print its answer.
///
/// The request is written as JSON and encoded by its description. The answer is decoded by the same descriptions, or
/// by those that the server provides.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  kadenz msg call ADD robot.pair_t '{\"a\": 2, \"b\": 3}' --types lcmtypes
  kadenz msg call ADD robot.pair_t '{\"a\": 2, \"b\": 3}' --types lcmtypes --timeout 200ms --json")]
pub(crate) struct Options {
    /// Name of the service
    #[arg(value_name = "NAME")]
    service: String,

    /// Full name of the request's type, as package.type
    #[arg(value_name = "TYPE")]
    r#type: String,

    /// The request as JSON
    #[arg(value_name = "JSON")]
    request: String,

    #[command(flatten)]
    bus: BusOption,

    #[command(flatten)]
    types: TypesOption,

    /// How long to wait for the answer
    #[arg(long, value_name = "SPAN", default_value = "1s")]
    timeout: Span,
}

/// answer is null where no description of its type is available; then it is in hex.
#[derive(JsonSchema, Serialize)]
pub(super) struct CallAnswer {
    version: Version<1>,
    service: String,
    r#type: Option<String>,
    fingerprint: Option<Fingerprint>,
    answer: Option<serde_json::Value>,
    hex: Option<String>,
}

pub(super) fn run(options: &Options) -> anyhow::Result<CallAnswer> {
    let known = options.types.need()?;
    let json: serde_json::Value =
        serde_json::from_str(&options.request).context("the request is not valid JSON")?;
    let value = known.types().value_from_json(&options.r#type, &json);
    let value = value.with_context(|| format!("the request is not a valid {}", options.r#type))?;
    let request = known.types().encode(&value)?;
    let bus = options.bus.open()?;
    let mut finder = TypeFinder::new(&bus)?;
    // The types of a client play no part, since bytes are exchanged.
    let mut client: Client<Request, Reply> = bus.client(&options.service)?;
    let answer = client.call_bytes(&request, options.timeout.0)?.to_vec();
    let decoded = decode(&known, &mut finder, &answer, options.timeout);
    if decoded.is_none() {
        output::note("no program describes the type of the answer; describe it with `--types`");
    }
    let of = decoded.as_ref().and_then(Value::record);
    Ok(CallAnswer {
        version: Version,
        service: options.service.clone(),
        r#type: of.map(|record| record.of().name.to_string()),
        fingerprint: Fingerprint::of(&answer),
        answer: decoded.as_ref().map(Value::to_json),
        hex: decoded.is_none().then(|| shown::hex(&answer)),
    })
}

impl Answer for CallAnswer {
    fn document(&self) -> Document {
        let hex = || self.hex.clone().unwrap_or_default();
        let answer = self.answer.as_ref();
        Document::new().listing(answer.map_or_else(hex, |it| format!("{it:#}")))
    }
}

fn decode(known: &KnownTypes, finder: &mut TypeFinder, answer: &[u8], wait: Span) -> Option<Value> {
    if let Ok(value) = known.decode(answer) {
        return Some(value);
    }
    let found = finder.find(Fingerprint::of(answer)?, wait.0).ok()??;
    found.types.decode(answer).ok()
}
