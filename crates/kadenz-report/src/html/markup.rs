//! A writer of HTML that cannot forget to escape: tags are `&'static str`, everything else is text.

use std::fmt::Display;

/// An HTML document as it grows. [`Markup::tag`] takes only text of this program's source; data of a run can only enter
/// by [`Markup::text`] or as an attribute, escaped.
#[derive(Debug, Default)]
pub(super) struct Markup {
    out: String,
}

impl Markup {
    /// Markup from this program's source.
    pub(super) fn tag(&mut self, markup: &'static str) -> &mut Self {
        self.out.push_str(markup);
        self
    }

    /// Text from anywhere.
    pub(super) fn text(&mut self, text: impl Display) -> &mut Self {
        escape_into(&mut self.out, &text.to_string());
        self
    }

    /// An opening tag without its `>`, for attributes to follow: `open("<td").attr(..).end()`.
    pub(super) fn attr(&mut self, name: &'static str, value: impl Display) -> &mut Self {
        self.out.push(' ');
        self.out.push_str(name);
        self.out.push_str("=\"");
        escape_into(&mut self.out, &value.to_string());
        self.out.push('"');
        self
    }

    /// `<name>text</name>`.
    pub(super) fn element(&mut self, name: &'static str, text: impl Display) -> &mut Self {
        self.tag("<")
            .tag(name)
            .tag(">")
            .text(text)
            .tag("</")
            .tag(name)
            .tag(">")
    }

    /// Text in which words between backticks have the typeface of commands.
    pub(super) fn ticked(&mut self, text: &str) -> &mut Self {
        for (index, part) in text.split('`').enumerate() {
            match index % 2 {
                0 => self.text(part),
                _ => self.element("code", part),
            };
        }
        self
    }

    /// An icon, which screen readers pass over.
    pub(super) fn icon(&mut self, name: &str) -> &mut Self {
        self.tag("<svg aria-hidden=\"true\"><use")
            .attr("href", format!("#i-{name}"))
            .tag("/></svg>")
    }

    /// Text in the typeface of commands, with a button that copies it.
    pub(super) fn copyable(&mut self, id: &str, what: &str, text: &str) -> &mut Self {
        self.tag("<div class=\"command\"><pre><code").attr("id", id);
        self.tag(">").text(text);
        self.tag("</code></pre><button type=\"button\" class=\"copy\"")
            .attr("data-copies", id)
            .attr("aria-label", format!("Copy {what}"));
        self.tag(">").icon("copy");
        self.tag("<span aria-live=\"polite\">Copy</span></button></div>")
    }

    /// A JSON value inside a script element: its `<` are escaped, so that none ends the element.
    pub(super) fn json(&mut self, json: &str) -> &mut Self {
        let mut rest = json;
        while let Some(at) = rest.find('<') {
            self.out.push_str(&rest[..at]);
            self.out.push_str("\\u003c");
            rest = &rest[at + 1..];
        }
        self.out.push_str(rest);
        self
    }

    /// The HTML that was written so far.
    pub(super) fn finish(self) -> String {
        self.out
    }
}

fn escape_into(out: &mut String, text: &str) {
    for character in text.chars() {
        match character {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            '\n' | '\t' => out.push(character),
            _ if is_deceptive(character) => out.push('\u{fffd}'),
            _ => out.push(character),
        }
    }
}

/// Control characters, and those that reverse the direction of the text around them: a name with one of them could look
/// like another name.
fn is_deceptive(character: char) -> bool {
    character.is_control()
        || matches!(character, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{200e}' | '\u{200f}')
}

/// A name for a canvas: on one line, nothing deceptive, never empty.
pub(super) fn plain(name: &str) -> String {
    let clean = |c| match c {
        '\n' | '\t' => ' ',
        c if is_deceptive(c) => '\u{fffd}',
        c => c,
    };
    match name.trim().is_empty() {
        true => String::from("(no name)"),
        false => name.chars().map(clean).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_and_attributes_are_escaped() {
        let mut markup = Markup::default();
        markup
            .tag("<p")
            .attr("title", "a\"b")
            .tag(">")
            .text("</p><script>'&")
            .tag("</p>");
        assert_eq!(
            markup.finish(),
            "<p title=\"a&quot;b\">&lt;/p&gt;&lt;script&gt;&#39;&amp;</p>"
        );
    }

    #[test]
    fn backticks_mark_commands() {
        let mut markup = Markup::default();
        markup.ticked("with `--samples <b>` on");
        assert_eq!(markup.finish(), "with <code>--samples &lt;b&gt;</code> on");
    }

    #[test]
    fn what_turns_the_text_around_is_made_visible() {
        let mut markup = Markup::default();
        markup.text("ok\u{202e}dekcaj\0");
        assert_eq!(markup.finish(), "ok\u{fffd}dekcaj\u{fffd}");
    }

    #[test]
    fn names_become_plain() {
        assert_eq!(
            plain("line\nbreak\0 \u{202e}x"),
            "line break\u{fffd} \u{fffd}x"
        );
        assert_eq!(plain(" "), "(no name)");
    }

    #[test]
    fn json_cannot_end_its_element() {
        let mut markup = Markup::default();
        markup.json(r#"["</script><!--"]"#);
        assert_eq!(markup.finish(), r#"["\u003c/script>\u003c!--"]"#);
    }
}
