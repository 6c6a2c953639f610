//! The examples of a command's help and of the book, as a shell would read them.
#![allow(dead_code, reason = "each test file uses its part")]

/// Every call of `kadenz` under `Examples:`, as its words.
pub(crate) fn examples(help: &str) -> Vec<Vec<String>> {
    let listed = help.lines().skip_while(|line| *line != "Examples:").skip(1);
    let listed = listed.take_while(|line| line.starts_with("  "));
    // A line with deeper indentation continues the description of the example above.
    let first = listed.filter(|line| !line.starts_with("   "));
    first
        .flat_map(|line| calls(line.trim_start()))
        .collect::<Vec<_>>()
}

/// A fenced block of a page.
pub(crate) struct Block {
    /// The line of the fence.
    pub(crate) line: usize,
    /// The language after the fence, say `sh`.
    pub(crate) language: String,
    /// The lines between the fences.
    pub(crate) text: String,
    /// The text of an HTML comment in the line above, which the rendered page does not show.
    pub(crate) mark: String,
}

/// The fenced blocks of a page, in its order.
pub(crate) fn blocks(page: &str) -> Vec<Block> {
    let mut blocks = Vec::new();
    let mut open: Option<Block> = None;
    let mut above = "";
    for (at, line) in page.lines().enumerate() {
        match (open.as_mut(), line.strip_prefix("```")) {
            (Some(block), None) => {
                block.text.push_str(line);
                block.text.push('\n');
            }
            (Some(_), Some(_)) => blocks.extend(open.take()),
            (None, Some(language)) => {
                let mark = above
                    .strip_prefix("<!--")
                    .and_then(|it| it.strip_suffix("-->"));
                open = Some(Block {
                    line: at + 1,
                    language: language.to_owned(),
                    text: String::new(),
                    mark: mark.unwrap_or_default().trim().to_owned(),
                });
            }
            (None, None) => {}
        }
        above = line;
    }
    blocks
}

/// Every call of `kadenz` in a script, as its words.
pub(crate) fn calls_in_script(script: &str) -> Vec<Vec<String>> {
    script
        .replace("\\\n", " ")
        .lines()
        .flat_map(calls)
        .collect()
}

/// The calls in one line of shell: separated by `|`, `;`, `&` and `&&`, until the comment after two spaces.
fn calls(line: &str) -> Vec<Vec<String>> {
    let mut calls = vec![vec![]];
    let (mut word, mut quote, mut spaces) = (None::<String>, None, 0);
    for c in line.chars().chain([' ']) {
        spaces = if c == ' ' && quote.is_none() {
            spaces + 1
        } else {
            0
        };
        match c {
            '\'' if quote.is_some() => quote = None,
            '\'' => {
                quote = Some(c);
                word.get_or_insert_default();
            }
            ' ' | ';' if quote.is_none() => {
                let last = word.take();
                match last.as_deref() {
                    Some("|" | "&" | "&&") => calls.push(vec![]),
                    _ => calls
                        .last_mut()
                        .into_iter()
                        .for_each(|it| it.extend(last.clone())),
                }
                if c == ';' {
                    calls.push(vec![]);
                }
            }
            _ => word.get_or_insert_default().push(c),
        }
        if spaces == 2 {
            break;
        }
    }
    for call in &mut calls {
        call.retain(|word| word != "sudo");
        if let Some(end) = call.iter().position(|word| word.starts_with('>')) {
            call.truncate(end);
        }
    }
    calls.retain(|call| call.first().is_some_and(|word| word == "kadenz"));
    calls
}
