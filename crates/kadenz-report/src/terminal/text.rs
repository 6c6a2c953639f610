//! Prose that keeps to a width.

/// Breaks `text` at spaces so that no line is longer than `width` characters, words aside that are
/// longer by themselves.
#[must_use]
pub fn wrap(text: &str, width: u16) -> String {
    let width = usize::from(width);
    let mut lines: Vec<String> = Vec::new();
    for paragraph in text.lines() {
        let mut line = String::new();
        let mut length = 0;
        for word in paragraph.split_whitespace() {
            let letters = word.chars().count();
            if length > 0 && length + 1 + letters > width {
                lines.push(std::mem::take(&mut line));
                length = 0;
            }
            if length > 0 {
                line.push(' ');
                length += 1;
            }
            line.push_str(word);
            length += letters;
        }
        lines.push(line);
    }
    lines.join("\n")
}

/// As [`wrap`], two columns in.
pub(crate) fn indented(text: &str, width: u16) -> String {
    let wrapped = wrap(text, width.saturating_sub(2));
    wrapped
        .lines()
        .map(|line| format!("  {line}"))
        .collect::<Vec<_>>()
        .join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_keep_to_the_width_and_words_stay_whole() {
        assert_eq!(wrap("one two three", 7), "one two\nthree");
        assert_eq!(
            wrap("incomprehensibilities a b", 5),
            "incomprehensibilities\na b"
        );
        assert_eq!(wrap("", 5), "");
        assert_eq!(indented("one two", 5), "  one\n  two");
    }
}
