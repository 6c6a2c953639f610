//! The command reference: the `--help` text of every command.

use std::fmt::Write;

use anyhow::Result;

/// A page of the reference: a command, with the commands below it.
#[derive(Debug)]
pub(crate) struct Page {
    /// The command, `kadenz timer`.
    pub(crate) name: String,
    /// The page in Markdown.
    pub(crate) text: String,
}

impl Page {
    /// The page's path in the book.
    pub(crate) fn path(&self) -> String {
        format!("docs/commands/{}.md", self.name.replace(' ', "-"))
    }
}

/// A page for the program, then one for each command. `help` returns the text for the words after `kadenz`.
pub(crate) fn pages(help: &mut dyn FnMut(&[String]) -> Result<String>) -> Result<Vec<Page>> {
    let top = help(&[])?;
    let mut pages = vec![Page {
        name: "kadenz".to_owned(),
        text: section(1, "kadenz", &top),
    }];
    for command in commands(&top) {
        let name = format!("kadenz {command}");
        let mut text = String::new();
        add(&mut text, &[command], help)?;
        pages.push(Page { name, text });
    }
    Ok(pages)
}

fn add(
    page: &mut String,
    words: &[String],
    help: &mut dyn FnMut(&[String]) -> Result<String>,
) -> Result<()> {
    let text = help(words)?;
    let name = format!("kadenz {}", words.join(" "));
    page.push_str(&section(words.len().min(2), &name, &text));
    for command in commands(&text) {
        let words: Vec<String> = words.iter().cloned().chain([command]).collect();
        add(page, &words, help)?;
    }
    Ok(())
}

fn section(level: usize, name: &str, help: &str) -> String {
    let mut text = String::new();
    let marks = "#".repeat(level);
    let _ = write!(
        text,
        "{marks} {name}\n\n```text\n{}\n```\n\n",
        help.trim_end()
    );
    text
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
    fn a_command_has_a_page_with_the_commands_below_it() {
        let mut help = |words: &[String]| {
            Ok(match words.join(" ").as_str() {
                "" => TOP.to_owned(),
                "timer" => "Commands:\n  cyclic  A rate\n".to_owned(),
                other => format!("help of {other}\n"),
            })
        };
        let pages = pages(&mut help).expect("all have help");
        let headings = |page: &Page| -> Vec<String> {
            let lines = page.text.lines().filter(|line| line.starts_with('#'));
            lines.map(str::to_owned).collect()
        };
        let headings: Vec<Vec<String>> = pages.iter().map(headings).collect();
        assert_eq!(
            headings,
            [
                vec!["# kadenz"],
                vec!["# kadenz check"],
                vec!["# kadenz timer", "## kadenz timer cyclic"]
            ]
        );
        assert!(pages[2].text.contains("help of timer cyclic"));
        assert_eq!(pages[2].path(), "docs/commands/kadenz-timer.md");
    }
}
