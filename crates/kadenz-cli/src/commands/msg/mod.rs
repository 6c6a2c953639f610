//! `kadenz msg`, one file per command.

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
mod probes;
mod publish;
mod publisher;
mod server;
mod shown;
mod spy;
pub(super) mod table;
mod r#type;
pub(super) mod types;

#[cfg(all(test, target_os = "linux"))]
use crate::commands::outcome::Measures;

commands! {
    /// Publish, watch and measure the messages of a robot's programs
    ///
    /// Messages are LCM's, over the transport of the URL; unmodified LCM programs in any language exchange messages
    /// with Kadenz.
    ///
    /// The scheme of a bus's URL selects the transport: udpm://239.255.76.67:7667?ttl=0 is LCM's. Without `--url` the
    /// commands use the URL of LCM_DEFAULT_URL, or LCM's own.
    enum Msg in msg {
        Doctor(doctor::Options) = doctor::run => "doctor": doctor::BusReport;
        Spy(spy::Options) = spy::run => "spy": spy::BusStatistics;
        Echo(echo::Options) = echo::run => "echo": echo::Echoed;
        Pub(publish::Options) = publish::run => "pub": publish::PublishCounts;
        Hz(hz::Options) = hz::run => "hz": hz::Rates;
        Delay(Box<delay::Options>) = delay::run => "delay": Measures;
        List(list::Options) = list::run => "list": list::Channels, "list-providers": list::Providers;
        Bridge(bridge::Options) = bridge::run => "bridge": bridge::Bridged;
        Server(server::Options) = server::run => "server": server::ServerReport;
        Call(call::Options) = call::run => "call": call::CallAnswer;
        #[command(subcommand)]
        Param(param::Param) = param::run => "param": param::Parameters;
        Nodes(nodes::Options) = nodes::run => "nodes": nodes::LiveNodes;
        Latency(Box<latency::Options>) = latency::run => "latency": Measures;
        #[command(hide = true)]
        LatencyPublisher(Box<publisher::Options>) = publisher::run;
        Probes(probes::Options) = probes::run => "probes": probes::Probes;
        Gen(r#gen::Options) = r#gen::run => "gen": r#gen::Generated;
        Type(r#type::Options) = r#type::run => "type": r#type::DescribedTypes;
        Diff(diff::Options) = diff::run => "diff": diff::Differences;
    }
}
