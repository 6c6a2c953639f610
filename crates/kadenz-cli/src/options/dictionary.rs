//! The same option name in all commands, and the old names, which stay for one version.

use clap::Command;

/// Old and new names of options. The program accepts and hides the old names; they end with the version after 0.1.
const OLD_WORDS: [(&str, &str); 5] = [
    ("for", "duration"),
    ("output", "out"),
    ("repetitions", "count"),
    ("payload", "size"),
    ("channels", "channel"),
];

/// The command with its old names.
pub(crate) fn with_old_words(command: Command) -> Command {
    let command = command.mut_args(|arg| {
        let old = OLD_WORDS
            .iter()
            .find(|(_, word)| arg.get_long() == Some(word));
        match old {
            Some((old, _)) => arg.alias(*old),
            None => arg,
        }
    });
    command.mut_subcommands(with_old_words)
}

#[cfg(test)]
#[path = "../../tests/common/examples.rs"]
mod examples;

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use clap::{Arg, ArgAction};

    use super::examples::{blocks, calls_in_script, examples};
    use super::*;

    /// Value names of the options that have the same meaning everywhere; none for a flag.
    const WORDS: [(&str, &[&str]); 13] = [
        ("channel", &["REGEX", "PATTERN", "CHANNEL"]),
        ("count", &["N"]),
        ("cpus", &["CPUS"]),
        ("deadline", &["SPAN"]),
        ("duration", &["SPAN"]),
        ("json", &[]),
        ("out", &["DIR", "FILE", "PATH"]),
        ("policy", &["POLICY"]),
        ("rate", &["RATE"]),
        ("report", &["FILE"]),
        ("sim", &["N|FILE"]),
        ("size", &["SIZE"]),
        ("url", &["URL"]),
    ];

    /// Names of values with a fixed set, or with a set that a shell completes.
    const ENUMERATED: [&str; 26] = [
        "CELLS",
        "CLOCK",
        "CLOCKS",
        "ENCODING",
        "EPOCH",
        "FORM",
        "FORMAT",
        "HOW",
        "KIND",
        "LANGUAGE",
        "LAYER",
        "LOAD",
        "LOOP",
        "MODE",
        "PACE",
        "PART",
        "POLICY",
        "SEVERITY",
        "SHELL",
        "SLEEPER",
        "STATE",
        "TOPOLOGY",
        "UNIT",
        "--compression",
        "--type",
        "--with",
    ];

    /// Calls this for every command, with its words.
    fn for_each_command(mut see: impl FnMut(&str, &Command)) {
        fn walk(command: &Command, words: &str, see: &mut dyn FnMut(&str, &Command)) {
            let words = format!("{words} {}", command.get_name());
            see(&words, command);
            for subcommand in command.get_subcommands() {
                walk(subcommand, &words, see);
            }
        }
        let mut command = with_old_words(crate::command());
        command.build();
        walk(&command, "", &mut see);
    }

    /// Calls this for every option of every command, with the command's words.
    fn for_each_option(mut see: impl FnMut(&str, &Arg)) {
        for_each_command(|words, command| command.get_arguments().for_each(|arg| see(words, arg)));
    }

    #[test]
    fn every_enumerated_value_is_completed() {
        let mut seen = BTreeSet::new();
        let mut bare = Vec::new();
        for_each_option(|command, arg| {
            let value = arg.get_value_names().map_or("", |names| names[0].as_str());
            let option = arg.get_long().map(|long| format!("--{long}"));
            let names = [value, option.as_deref().unwrap_or_default()];
            let known = ENUMERATED.iter().find(|name| names.contains(name));
            if let Some(name) = known {
                seen.insert(*name);
                if arg.get_possible_values().is_empty() {
                    bare.push(format!("{command}: {arg}"));
                }
            }
        });
        assert!(bare.is_empty(), "{bare:#?}");
        assert_eq!(seen, ENUMERATED.into());
    }

    #[test]
    fn every_example_of_help_is_understood() {
        let mut count = 0;
        for_each_command(|command, parsed| {
            let help = parsed.get_after_help().map(ToString::to_string);
            for words in examples(&help.unwrap_or_default()) {
                count += 1;
                let parsed = with_old_words(crate::command()).try_get_matches_from(&words);
                assert!(parsed.is_ok(), "{command}: {words:?}: {:?}", parsed.err());
            }
        });
        assert!(count > 200, "{count}");
    }

    /// tests/start_pages.rs runs the commands without special needs; the others need hardware, and are only parsed.
    #[test]
    fn every_command_of_the_start_pages_is_understood() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/start");
        let mut count = 0;
        for page in std::fs::read_dir(folder).expect("the folder of the pages") {
            let path = page.expect("readable").path();
            let page = std::fs::read_to_string(&path).expect("a page");
            let scripts = blocks(&page).into_iter().filter(|it| it.language == "sh");
            for words in scripts.flat_map(|block| calls_in_script(&block.text)) {
                count += 1;
                let parsed = with_old_words(crate::command()).try_get_matches_from(&words);
                let path = path.display();
                assert!(parsed.is_ok(), "{path}: {words:?}: {:?}", parsed.err());
            }
        }
        assert!(count > 40, "{count}");
    }

    #[test]
    fn defaults_stand_in_help() {
        let mut silent = Vec::new();
        for_each_option(|command, arg| {
            let Some(help) = arg.get_help().map(ToString::to_string) else {
                return;
            };
            let says = help.contains("[default") || !arg.get_default_values().is_empty();
            let chosen = ["duration", "out", "url", "sleeper", "deadline", "policy"];
            let asks = arg.get_long().is_some_and(|long| chosen.contains(&long));
            let free = !arg.is_required_set() && arg.get_action().takes_values();
            if asks && free && !says {
                silent.push(format!("{command}: {arg}: {help}"));
            }
        });
        assert!(silent.is_empty(), "{silent:#?}");
    }

    #[test]
    fn all_commands_use_the_same_words() {
        let mut seen = 0;
        for_each_option(|command, arg| {
            let Some(long) = arg.get_long() else { return };
            let old = OLD_WORDS.iter().find(|(old, _)| *old == long);
            assert!(old.is_none(), "{command}: --{long} is called {old:?}");
            let Some((_, values)) = WORDS.iter().find(|(word, _)| *word == long) else {
                return;
            };
            // Hidden commands of this program for itself have no help.
            let Some(help) = arg.get_help() else { return };
            seen += 1;
            let takes = match arg.get_action() {
                ArgAction::SetTrue => None,
                _ => arg.get_value_names().map(|names| names[0].as_str()),
            };
            let agrees = takes.map_or(values.is_empty(), |name| values.contains(&name));
            assert!(
                agrees,
                "{command}: --{long} takes {takes:?}, not {values:?}"
            );
            let says = match long {
                "json" => "JSON",
                "report" => "page",
                _ => "",
            };
            assert!(
                help.to_string().contains(says),
                "{command}: --{long} {help}"
            );
        });
        assert!(seen > 100, "{seen}");
    }

    #[test]
    fn no_command_gives_a_global_option_a_meaning_of_its_own() {
        for_each_option(|command, arg| {
            let global = ["quiet", "color", "json", "markdown"];
            // A command without the form hides it.
            if !arg.is_hide_set() && arg.get_long().is_some_and(|long| global.contains(&long)) {
                assert!(arg.is_global_set(), "{command}: {arg}");
            }
        });
    }

    #[test]
    fn old_words_are_accepted_for_one_version_more() {
        let accepts = |words: &str| {
            let words = words.split(' ');
            let parsed = with_old_words(crate::command()).try_get_matches_from(words);
            parsed.map(|_| ()).map_err(|error| error.to_string())
        };
        for old in [
            "kadenz load cpu --for 1s",
            "kadenz ethercat run --sim 3 --for 1s",
            "kadenz ethercat run --sim 3 --cycle 2ms",
            "kadenz report night --output night.html",
            "kadenz export night --format csv --output a.csv",
            "kadenz timer oneshot --repetitions 10",
            "kadenz check --payload 18B",
            "kadenz udp send --to 127.0.0.1 --payload 18B",
            "kadenz msg list --channels ARM",
            "kadenz run --report granted.json -- true",
            "kadenz ethercat sim --devices 12 --print",
            "kadenz log play a.mcap memq://",
            "kadenz log record memq:// --out a.mcap",
            "kadenz msg doctor udpm://239.255.76.67:7667",
        ] {
            assert_eq!(accepts(old), Ok(()), "{old}");
        }
        assert!(accepts("kadenz load cpu --lasting 1s").is_err());
        for_each_option(|command, arg| {
            let hidden = arg.get_visible_aliases().unwrap_or_default();
            for (old, _) in OLD_WORDS {
                assert!(!hidden.contains(&old), "{command}: --{old} is shown");
            }
        });
    }
}
