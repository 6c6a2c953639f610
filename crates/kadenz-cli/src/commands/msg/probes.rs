//! `kadenz msg probes`: the programs that measure other middlewares through their own clients.

use std::path::PathBuf;

use anyhow::Context as _;
use clap::Args;
use kadenz::lab::probes::{self, ALL, Measures, Probe};
use kadenz::report::document::{Answer, Document, Table, Version};
use schemars::JsonSchema;
use serde::Serialize;

use crate::options::waiting;
use crate::output::{self, Outcome, Reply};

/// List the middlewares that can be measured here, each through its own client
///
/// Lists the probes that come with this program: what each measures, whether it is built, and its server. `--build`
/// builds them, or only the named ones; for a missing part, the command that installs it is printed. `kadenz msg
/// latency --with NAME` measures with one. To write one for another middleware, begin with the sources that
/// `--sources` writes (docs/messages-probes.md).
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  kadenz msg probes                            all probes
  kadenz msg probes --build                    build all for installed middlewares
  kadenz msg probes --build lcm zmq            these two; exit code 1 where one cannot be built
  kadenz msg probes --sources probes           their sources, as a template
  kadenz msg latency --with lcm --policy fifo:80

Exit codes: 0 done; 1 a probe that was named cannot be built, or its server is not installed;
2 there is no probe of that name, or its sources cannot be written.")]
pub(crate) struct Options {
    /// Only these probes
    #[arg(value_name = "NAME")]
    names: Vec<String>,

    /// Build them
    #[arg(long)]
    build: bool,

    /// Write the sources into this folder instead
    #[arg(long, value_name = "DIR", conflicts_with = "build")]
    sources: Option<PathBuf>,
}

#[derive(Debug, JsonSchema, Serialize)]
pub(super) struct Probes {
    version: Version<1>,
    /// In the order of the catalogue.
    probes: Vec<Listed>,
}

/// A probe of the catalogue, and whether it can be started here.
#[derive(Debug, JsonSchema, Serialize)]
struct Listed {
    /// Name for `--with`.
    name: &'static str,
    /// Middleware that it measures.
    middleware: &'static str,
    /// Command that it works with: `msg latency` or `timer`.
    command: &'static str,
    /// URL of both sides unless `--url` states another.
    url: &'static str,
    /// Server of both sides, started by `kadenz msg latency`.
    server: Option<&'static str>,
    /// Whether it is ready to start.
    built: bool,
    /// Why it could not be built, or why its server is missing, and the remedy.
    missing: Option<String>,
}

pub(crate) fn run(options: &Options) -> anyhow::Result<Reply> {
    let chosen = chosen(&options.names)?;
    if let Some(folder) = &options.sources {
        return write_sources(&chosen, folder).map(Reply::from);
    }
    let listed: Vec<Listed> = chosen.iter().map(|it| listed(it, options.build)).collect();
    let is_whole = listed.iter().all(|it| it.missing.is_none());
    let probes = Probes {
        version: Version,
        probes: listed,
    };
    let outcome = Outcome::missed_if(!is_whole && !options.names.is_empty());
    Ok(Reply::from(probes).with(outcome))
}

fn chosen(names: &[String]) -> anyhow::Result<Vec<&'static Probe>> {
    if names.is_empty() {
        return Ok(ALL.iter().collect());
    }
    let known = || ALL.iter().map(|it| it.name).collect::<Vec<_>>().join(", ");
    let one = |name: &String| {
        probes::probe(name)
            .with_context(|| format!("there is no probe `{name}`; there are {}", known()))
    };
    names.iter().map(one).collect()
}

fn listed(probe: &'static Probe, build: bool) -> Listed {
    let cache = probes::cache();
    let failed = match build {
        true => waiting(&format!("building {}", probe.name), || {
            probes::build(probe, &cache)
        })
        .err(),
        false => None,
    };
    let server = probe.server.filter(|it| !it.is_here());
    let absent = server.map(|it| format!("the server {it} is not here: {}", it.remedy()));
    Listed {
        name: probe.name,
        middleware: probe.middleware,
        command: match probe.measures {
            Measures::Messages => "msg latency",
            Measures::Timers => "timer",
        },
        url: probe.url,
        server: probe.server.map(probes::ServerKind::name),
        built: probes::is_built(probe, &cache),
        missing: failed.map(|error| error.to_string()).or(absent),
    }
}

fn write_sources(chosen: &[&'static Probe], folder: &std::path::Path) -> anyhow::Result<Outcome> {
    for probe in chosen {
        for path in probes::write_sources(probe, folder)? {
            output::note(&format!("{}", path.display()));
        }
    }
    Ok(Outcome::Kept)
}

impl Answer for Probes {
    fn document(&self) -> Document {
        let row = |it: &Listed| {
            let state = match (&it.missing, it.built) {
                (Some(missing), _) => missing.replace('\n', ";"),
                (None, true) => "built".to_owned(),
                (None, false) => "not built".to_owned(),
            };
            let server = it.server.unwrap_or("-").to_owned();
            vec![it.name.to_owned(), it.middleware.to_owned(), server, state]
        };
        let rows = self.probes.iter().map(row).collect();
        Document::new()
            .table(Table::new(
                &["probe", "middleware", "server", "state"],
                4,
                rows,
            ))
            .sentence("`kadenz msg latency --with PROBE` measures with one, and builds it first.")
    }
}
