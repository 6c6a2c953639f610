//! `kadenz msg`, a file a command.

mod bridge;
pub(super) mod bus;
mod call;
mod delay;
mod diff;
mod doctor;
mod echo;
mod r#gen;
mod hz;
mod latency;
mod list;
mod nodes;
mod param;
mod publish;
mod publisher;
mod server;
mod shown;
mod spy;
mod stamp;
pub(super) mod table;
pub(super) mod telling;
mod r#type;
pub(super) mod types;

use clap::Subcommand;

use crate::output::Outcome;

/// What do this robot's programs say to each other, how often, and what is lost?
///
/// Messages are LCM's, over any transport that the URL names; unmodified LCM programs in any language
/// are seen, heard and answered.
///
/// A bus is named by a URL, whose scheme chooses what moves the messages:
/// udpm://239.255.76.67:7667?ttl=0 is LCM's. Without `--url` it is that of LCM_DEFAULT_URL, or LCM's own.
#[derive(Debug, Subcommand)]
pub(crate) enum Msg {
    Doctor(doctor::Options),
    Spy(spy::Options),
    Echo(echo::Options),
    Pub(publish::Options),
    Hz(hz::Options),
    Delay(Box<delay::Options>),
    List(list::Options),
    Bridge(bridge::Options),
    Server(server::Options),
    Call(call::Options),
    #[command(subcommand)]
    Param(param::Param),
    Nodes(nodes::Options),
    Latency(Box<latency::Options>),
    #[command(hide = true)]
    LatencyPublisher(Box<publisher::Options>),
    Gen(r#gen::Options),
    Type(r#type::Options),
    Diff(diff::Options),
}

pub(crate) fn run(msg: &Msg) -> anyhow::Result<Outcome> {
    match msg {
        Msg::Doctor(options) => doctor::run(options),
        Msg::Spy(options) => spy::run(options),
        Msg::Echo(options) => echo::run(options),
        Msg::Pub(options) => publish::run(options),
        Msg::Hz(options) => hz::run(options),
        Msg::Delay(options) => delay::run(options),
        Msg::List(options) => list::run(options),
        Msg::Bridge(options) => bridge::run(options),
        Msg::Server(options) => server::run(options),
        Msg::Call(options) => call::run(options),
        Msg::Param(param) => param::run(param),
        Msg::Nodes(options) => nodes::run(options),
        Msg::Latency(options) => latency::run(options),
        Msg::LatencyPublisher(options) => publisher::run(options),
        Msg::Gen(options) => r#gen::run(options),
        Msg::Type(options) => r#type::run(options),
        Msg::Diff(options) => diff::run(options),
    }
}

/// What the commands' JSON looks like.
#[cfg(test)]
pub(crate) fn schemas() -> kadenz_report::schema::SchemaFile {
    kadenz_report::schema::SchemaFile::new("msg", 1)
        .answer::<doctor::Examined>("doctor")
        .answer::<spy::Spied>("spy")
        .answer::<echo::Echoed>("echo")
        .answer::<publish::Published>("pub")
        .answer::<hz::Rates>("hz")
        .answer::<list::Channels>("list")
        .answer::<list::Providers>("list-providers")
        .answer::<bridge::Bridged>("bridge")
        .answer::<server::Served>("server")
        .answer::<call::Called>("call")
        .answer::<param::Parameters>("param")
        .answer::<nodes::LiveNodes>("nodes")
        .answer::<r#gen::Generated>("gen")
        .answer::<r#type::DescribedTypes>("type")
        .answer::<diff::Differences>("diff")
}
