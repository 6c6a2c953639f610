//! The examples of a command's help, as a shell would read them.

/// Every call of `kadenz` under `Examples:`, as its words.
pub(crate) fn examples(help: &str) -> Vec<Vec<String>> {
    let listed = help.lines().skip_while(|line| *line != "Examples:").skip(1);
    let listed = listed.take_while(|line| line.starts_with("  "));
    // A line further in goes on with what the line before says of its example.
    let first = listed.filter(|line| !line.starts_with("   "));
    first
        .flat_map(|line| calls(line.trim_start()))
        .collect::<Vec<_>>()
}

/// The calls in one line of shell: parted by `|`, `;` and `&&`, until the comment after two spaces.
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
                    Some("|" | "&&") => calls.push(vec![]),
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
