//! The worked example of CONTRIBUTING.md: a command in one file, and its row.

mod networks;

use std::path::Path;

use clap::{FromArgMatches as _, Subcommand as _};
use kadenz::report::document::Answer as _;
use kadenz::report::text::Style;
use kadenz::rt::net::interface::Broadcast;

use self::networks::Networks;
use crate::output::Outcome;

commands! {
    /// Commands of the test.
    enum Example in each {
        Networks(networks::Options) = networks::run => "networks": networks::Networks;
    }
}

fn command() -> clap::Command {
    Example::augment_subcommands(clap::Command::new("kadenz"))
}

fn two() -> Networks {
    let network = |interface: &str, last: u8| Broadcast {
        interface: interface.to_owned(),
        local: [10, 0, 0, 1].into(),
        broadcast: [10, 0, 0, last].into(),
    };
    Networks::new(vec![network("eth0", 255), network("<b>", 63)], None)
}

#[test]
fn the_example_stands_in_contributing_as_it_is() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../CONTRIBUTING.md");
    let page = std::fs::read_to_string(path).unwrap();
    let file = format!("```rust\n{}```", include_str!("example/networks.rs"));
    assert!(page.contains(&file), "CONTRIBUTING.md has the file");
    let own = include_str!("example.rs");
    for start in ["mod networks", "Networks(networks"] {
        let mut lines = own.lines().map(str::trim);
        let line = lines.find(|line| line.starts_with(start)).unwrap();
        assert!(page.contains(&format!("{line}\n")), "it has {line}");
    }
}

#[test]
fn the_example_has_help_and_runs() {
    let mut command = command();
    let help = command.render_help().to_string();
    let about = "List the networks that `kadenz udp discover` searches";
    assert!(help.contains(&format!("networks  {about}")), "{help}");
    let networks = command.find_subcommand_mut("networks").unwrap();
    let help = networks.render_long_help().to_string();
    assert!(help.contains("--interface <NAME>") && help.contains("Examples:"));
    let words = ["kadenz", "networks", "--interface", "no such one"];
    let matches = command.try_get_matches_from_mut(words).unwrap();
    let chosen = Example::from_arg_matches(&matches).unwrap();
    assert_eq!(run(&chosen).unwrap().print().unwrap(), Outcome::Kept);
}

#[test]
fn the_example_has_json_that_its_schema_describes() {
    let [file] = schemas().try_into().unwrap();
    assert_eq!(file.file_name(), "networks.schema.json");
    let mut compiler = boon::Compiler::new();
    compiler.add_resource("networks", file.finish()).unwrap();
    let mut schemas = boon::Schemas::new();
    let schema = compiler.compile("networks", &mut schemas).unwrap();
    let mut json = serde_json::to_value(two()).unwrap();
    assert!(schemas.validate(&json, schema).is_ok());
    json["networks"][0]["broadcast"] = 7.into();
    assert!(schemas.validate(&json, schema).is_err());
}

#[test]
fn the_example_is_shown_on_a_terminal_and_on_a_page() {
    let document = two().document();
    assert_eq!(
        document.terminal(Style::plain()),
        " interface  broadcast\n eth0       10.0.0.255\n <b>        10.0.0.63"
    );
    assert!(document.markdown().contains("| eth0 | 10.0.0.255 |"));
    let page = document.html();
    assert!(page.contains("&lt;b&gt;</th><td>10.0.0.63</td>"), "{page}");
}
