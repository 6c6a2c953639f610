//! `kadenz msg call`: asks a service, once.

use anyhow::Context as _;
use clap::Args;
use kadenz::msg::message::Fingerprint;
use kadenz::msg::service::messages::{Reply, Request};
use kadenz::msg::service::request::Client;
use kadenz::msg::service::types_on_wire::TypeFinder;
use kadenz::msg::types::Value;
use serde::Serialize;

use super::bus::BusOption;
use super::types::{Known, TypesOption};
use crate::options::Span;
use crate::output::{self, Outcome};

/// Call a service, and print its answer.
///
/// The request is written as JSON and encoded by its description. The answer is decoded by the same
/// descriptions, or by what the server tells of its types.
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

#[derive(Serialize)]
struct CallOutput {
    version: u32,
    service: String,
    r#type: Option<String>,
    fingerprint: Option<String>,
    answer: Option<serde_json::Value>,
    hex: Option<String>,
}

pub(super) fn run(options: &Options) -> anyhow::Result<Outcome> {
    let known = options.types.need()?;
    let json: serde_json::Value =
        serde_json::from_str(&options.request).context("the request is no JSON")?;
    let value = known.types().value_from_json(&options.r#type, &json);
    let value = value.with_context(|| format!("the request is no {}", options.r#type))?;
    let request = known.types().encode(&value)?;
    let bus = options.bus.open()?;
    let mut finder = TypeFinder::new(&bus)?;
    // Which types a client is of plays no part where bytes go to and fro.
    let mut client: Client<Request, Reply> = bus.client(&options.service)?;
    let answer = client.call_bytes(&request, options.timeout.0)?.to_vec();
    let decoded = decode(&known, &mut finder, &answer, options.timeout);
    tell(options, &answer, decoded.as_ref())
}

fn fingerprint(payload: &[u8]) -> Option<Fingerprint> {
    let first = payload.first_chunk()?;
    Some(Fingerprint(u64::from_be_bytes(*first)))
}

fn decode(known: &Known, finder: &mut TypeFinder, answer: &[u8], wait: Span) -> Option<Value> {
    if let Ok(value) = known.decode(answer) {
        return Some(value);
    }
    let found = finder.find(fingerprint(answer)?, wait.0).ok()??;
    found.types.decode(answer).ok()
}

fn tell(options: &Options, answer: &[u8], decoded: Option<&Value>) -> anyhow::Result<Outcome> {
    let hex = || answer.iter().map(|byte| format!("{byte:02x}")).collect();
    if output::is_json() {
        output::json(&CallOutput {
            version: 1,
            service: options.service.clone(),
            r#type: decoded.and_then(|it| match it {
                Value::Struct(record) => Some(record.of().name.to_string()),
                _ => None,
            }),
            fingerprint: fingerprint(answer).map(|it| it.to_string()),
            answer: decoded.map(Value::to_json),
            hex: decoded.is_none().then(hex),
        })?;
        return Ok(Outcome::Kept);
    }
    match decoded {
        Some(value) => output::say(&serde_json::to_string_pretty(&value.to_json())?),
        None => {
            output::note("nobody tells the type of the answer; describe it with `--types`");
            output::say(&hex());
        }
    }
    Ok(Outcome::Kept)
}
