//! Errors of the command line, and help and version as requested.

use std::process::ExitCode;

use crate::output;

/// Prints help and version as requested; wrong arguments are exit code 2.
pub(crate) fn print(error: &clap::Error) -> ExitCode {
    match error.use_stderr() {
        // An argument may be a file name of another user.
        true => output::complain(with_remedies(&error.render().to_string()).trim_end()),
        false => output::help(error),
    }
    ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(2))
}

/// Texts of the standard library at the end of a line, and what to write instead of the refused value.
const REMEDIES: [(&str, &str); 3] = [
    (
        ": invalid digit found in string",
        ": write a whole number, as 1000000",
    ),
    (": invalid float literal", ": write a number, as 0.5"),
    (
        ": invalid socket address syntax",
        ": write an address and a port, as 127.0.0.1:8554",
    ),
];

/// The text of an error of clap, with a remedy in place of a text of the standard library.
fn with_remedies(text: &str) -> String {
    let lines = text.lines().map(|line| {
        let mut known = REMEDIES.iter();
        let remedy = known.find_map(|(said, remedy)| Some((line.strip_suffix(*said)?, remedy)));
        remedy.map_or_else(
            || line.to_owned(),
            |(begin, remedy)| format!("{begin}{remedy}"),
        )
    });
    lines.collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_of_the_standard_library_becomes_a_remedy() {
        let said =
            "error: invalid value '1e6' for '--count <N>': invalid digit found in string\n\nMore";
        assert_eq!(
            with_remedies(said),
            "error: invalid value '1e6' for '--count <N>': write a whole number, as 1000000\n\nMore"
        );
        let named = "error: unexpected ': invalid float literal' found";
        assert_eq!(with_remedies(named), named);
    }
}
