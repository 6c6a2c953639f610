//! Remedies: commands in the letters of commands, steps in words.

use super::markup::Markup;

/// Words that a command starts with; anything else is a step in words.
const PROGRAMS: [&str; 12] = [
    "sudo",
    "kadenz",
    "sysctl",
    "systemctl",
    "echo",
    "printf",
    "for",
    "cat",
    "chmod",
    "chrt",
    "top",
    "apt-get",
];

/// A remedy, a line each: `now: sudo sysctl -w ...`, or a step in words.
pub(super) fn write(out: &mut Markup, remedy: &str) {
    out.tag("<p class=\"remedy\"><b>Remedy</b> ");
    for (index, line) in remedy.lines().enumerate() {
        if index > 0 {
            out.tag("<br>");
        }
        let (when, what) = split(line);
        out.text(when);
        match is_command(what) {
            true => out.element("code", what),
            false => out.ticked(what),
        };
    }
    out.tag("</p>");
}

/// `now: sudo x` into `now: ` and `sudo x`, where a command follows the colon.
fn split(line: &str) -> (&str, &str) {
    match line.split_once(": ") {
        Some((when, what)) if is_command(what) && !is_command(line) => {
            line.split_at(when.len() + 2)
        }
        _ => ("", line),
    }
}

/// A known program with an argument that no prose would have.
fn is_command(text: &str) -> bool {
    let mut words = text.split_whitespace();
    let known = words.next().is_some_and(|first| PROGRAMS.contains(&first));
    known && text.contains(['-', '/', '=', '.', '|'])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(remedy: &str) -> String {
        let mut out = Markup::default();
        write(&mut out, remedy);
        out.finish()
            .replace("<p class=\"remedy\"><b>Remedy</b> ", "")
            .replace("</p>", "")
    }

    #[test]
    fn commands_stand_in_the_letters_of_commands() {
        assert_eq!(
            written("sudo sysctl -w a.b=1"),
            "<code>sudo sysctl -w a.b=1</code>"
        );
        assert_eq!(
            written("now: sudo x -y\nfor good: add a to b"),
            "now: <code>sudo x -y</code><br>for good: add a to b"
        );
    }

    #[test]
    fn steps_stand_in_words() {
        for step in [
            "measure on bare metal; else pin its CPUs",
            "kadenz doctor says what each costs",
        ] {
            assert_eq!(written(step), step);
        }
        assert_eq!(written("run `x <y>`"), "run <code>x &lt;y&gt;</code>");
    }
}
