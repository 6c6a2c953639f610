//! The command reference: what `--help` says, of every command.

use std::fmt::Write;

use anyhow::Result;

/// All help texts as one Markdown page. `help` gives the text for the words after `kadenz`.
pub fn of(help: &mut dyn FnMut(&[String]) -> Result<String>) -> Result<String> {
    let mut page = String::from("# The commands of kadenz\n\nWhat `--help` says, of each.\n");
    add(&mut page, &[], help)?;
    Ok(page)
}

fn add(
    page: &mut String,
    words: &[String],
    help: &mut dyn FnMut(&[String]) -> Result<String>,
) -> Result<()> {
    let text = help(words)?;
    let name = std::iter::once("kadenz").chain(words.iter().map(String::as_str));
    let name = name.collect::<Vec<_>>().join(" ");
    write!(page, "\n## {name}\n\n```text\n{}\n```\n", text.trim_end())?;
    for command in commands(&text) {
        let words: Vec<String> = words.iter().cloned().chain([command]).collect();
        add(page, &words, help)?;
    }
    Ok(())
}

/// The names in the list under `Commands:`, without `help`.
fn commands(text: &str) -> Vec<String> {
    let list = text.lines().skip_while(|line| *line != "Commands:").skip(1);
    let list = list.take_while(|line| line.is_empty() || line.starts_with("  "));
    let names = list.filter(|line| line.starts_with("  ") && !line.starts_with("   "));
    let names = names.filter_map(|line| line.split_whitespace().next());
    names
        .filter(|name| *name != "help")
        .map(str::to_owned)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const TOP: &str = "Can it?\n\nUsage: kadenz <COMMAND>\n\nCommands:\n  check  Can this machine\n         \
                       keep a rate?\n  timer  Does a timer\n  help   Print this\n\nOptions:\n  -h  Help\n";

    #[test]
    fn commands_are_read_from_the_list_and_from_nowhere_else() {
        assert_eq!(commands(TOP), ["check", "timer"]);
        assert!(commands("Usage: kadenz check\n\nOptions:\n  -h  Help\n").is_empty());
    }

    #[test]
    fn commands_below_commands_are_found() {
        let mut help = |words: &[String]| {
            Ok(match words.join(" ").as_str() {
                "" => TOP.to_owned(),
                "timer" => "Commands:\n  cyclic  A rate\n".to_owned(),
                other => format!("help of {other}\n"),
            })
        };
        let page = of(&mut help).expect("all have help");
        let headings: Vec<&str> = page
            .lines()
            .filter(|line| line.starts_with("## "))
            .collect();
        assert_eq!(
            headings,
            [
                "## kadenz",
                "## kadenz check",
                "## kadenz timer",
                "## kadenz timer cyclic"
            ]
        );
        assert!(page.contains("help of timer cyclic"));
    }
}
