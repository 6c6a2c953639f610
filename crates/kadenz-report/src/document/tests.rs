use kadenz_record::run::model::Warning;

use super::*;
use crate::text::{Emphasis, Style};

fn document() -> Document {
    Document::new()
        .sentence("two devices")
        .sentence("of one segment")
        .table(Table::new(
            &["name", "bytes"],
            1,
            vec![
                vec!["left|knee".to_owned(), "12".to_owned()],
                vec!["<b>\u{1b}[2J\n".to_owned(), "3".to_owned()],
            ],
        ))
        .listing("0000  01 02\n0010  03")
}

#[test]
fn a_terminal_gets_columns_and_nothing_that_steers_it() {
    let shown = document().terminal(Style::plain());
    assert_eq!(
        shown,
        [
            "two devices",
            "of one segment",
            "",
            " name               bytes",
            " left|knee             12",
            " <b>\\u{1b}[2J\\u{a}      3",
            "",
            "0000  01 02",
            "0010  03",
        ]
        .join("\n")
        .as_str()
    );
}

#[test]
fn markdown_is_a_table_whose_cells_make_no_columns_and_no_html() {
    assert_eq!(
        document().markdown(),
        "two devices\n\nof one segment\n\n\
         | name | bytes |\n|------|------:|\n\
         | left\\|knee | 12 |\n\
         | &lt;b>\\u{1b}[2J\\u{a} | 3 |\n\n    0000  01 02\n    0010  03\n"
    );
}

#[test]
fn a_page_has_the_same_and_escapes_it() {
    assert_eq!(
        document().html(),
        "<p>two devices</p><p>of one segment</p>\
         <div class=\"scroll\" role=\"region\" tabindex=\"0\"><table><thead><tr>\
         <th scope=\"col\">name</th><th scope=\"col\">bytes</th></tr></thead><tbody>\
         <tr><th scope=\"row\">left|knee</th><td>12</td></tr>\
         <tr><th scope=\"row\">&lt;b&gt;\u{fffd}[2J\n</th><td>3</td></tr></tbody></table></div>\
         <pre>0000  01 02\n0010  03</pre>"
    );
}

#[test]
fn colours_of_a_listing_show_on_a_terminal_alone() {
    let kept = Text::emphasised("kept", Emphasis::Good);
    let document = Document::new().listing(Text::join([kept, "<i>\u{1b}[2J".into()], " "));
    assert_eq!(
        document.terminal(Style::plain()),
        "\u{1b}[1;32mkept\u{1b}[0m <i>\\u{1b}[2J"
    );
    assert_eq!(document.markdown(), "    kept <i>\\u{1b}[2J\n");
    assert_eq!(document.html(), "<pre>kept &lt;i&gt;\\u{1b}[2J</pre>");
}

#[test]
fn lines_and_notes_of_a_table_are_paragraphs_beyond_a_terminal() {
    let mut table = Table::new(&["name"], 1, vec![vec!["knee".to_owned()]]);
    table.notes.push("of <one> segment".to_owned());
    let lines = [
        DocumentLine::labelled("costs", 9, "much <time>"),
        DocumentLine::labelled("remedy", 9, "now: sudo sysctl -w <name>=0"),
    ];
    let document = Document::new().lines(lines).table(table);
    let markdown = document.markdown();
    assert!(
        markdown.starts_with(
            "**costs** much &lt;time>  \n**remedy** now: `sudo sysctl -w <name>=0`\n\n| name |"
        ),
        "{markdown}"
    );
    assert!(
        markdown.ends_with("| knee |\n\nof &lt;one> segment\n"),
        "{markdown}"
    );
    let html = document.html();
    assert!(
        html.starts_with("<p>costs much &lt;time&gt;</p><p>remedy"),
        "{html}"
    );
    assert!(
        html.ends_with("<p class=\"hint\">of &lt;one&gt; segment</p>"),
        "{html}"
    );
}

#[test]
fn a_document_of_fitted_ones_keeps_the_smallest_number_of_columns() {
    let words = "twelve words that stand in a paragraph";
    let document = Document::new().sentence(words).within(12).fitted();
    let shown = document.terminal(Style::plain().of_width(80));
    assert_eq!(shown, "twelve words\nthat stand\nin a\nparagraph");
}

#[test]
fn backticks_in_text_let_no_html_into_markdown() {
    for (text, expected) in [
        ("run `a <b>` now", "run `a <b>` now"),
        ("x`<img src=x>", "x&#96;&lt;img src=x>"),
        ("`x`<img>`<img>", "`x`&lt;img>&#96;&lt;img>"),
        ("`<a>``<img>`", "&#96;&lt;a>&#96;&#96;&lt;img>&#96;"),
        ("a\\`<img>`", "a\\&#96;&lt;img>&#96;"),
        ("a `b\n# <img>`", "a &#96;b\n# &lt;img>&#96;"),
    ] {
        let markdown = Document::new().sentence(text).markdown();
        assert_eq!(markdown.trim_end(), expected);
    }
    let line = DocumentLine::labelled("", 0, "a`: sudo rm -f <img>");
    let markdown = Document::new().lines([line]).markdown();
    assert_eq!(markdown, "a&#96;: `sudo rm -f <img>`\n");
    let code = Document::new().code("run", "```\n<img>");
    assert_eq!(code.markdown(), "run\n\n````text\n```\n<img>\n````\n");
}

#[test]
fn an_empty_document_shows_nothing() {
    assert_eq!(Document::new().terminal(Style::plain()), "");
    assert_eq!(Document::new().markdown(), "");
    let foreign = Document::new().sentence("![x](http://y) *z* `a[0] < b` __init__");
    assert_eq!(
        foreign.markdown(),
        "![x]\\(http://y) \\*z\\* `a[0] < b` \\_\\_init\\_\\_\n"
    );
}

#[test]
fn a_chart_is_drawn_on_a_page_and_told_elsewhere() {
    let words = "largest <i>: 9 us";
    let document = Document::new().chart(words.to_owned(), vec![ChartControl::Legend]);
    assert_eq!(document.terminal(Style::plain()), words);
    assert_eq!(document.markdown(), "largest &lt;i>: 9 us\n");
    let page = document.html();
    assert!(
        page.starts_with("<div class=\"controls\"><div class=\"legend\">"),
        "{page}"
    );
    assert!(
        page.contains("aria-label=\"largest &lt;i&gt;: 9 us\">"),
        "{page}"
    );
}

#[test]
fn findings_are_numbered_on() {
    let finding = |text: &str| {
        let warning = Warning::new("id", text, Some("now: sudo x -y\nthen: wait"));
        vec![Finding::of_warning(&warning)]
    };
    let document = Document::new()
        .findings(finding("<one>"))
        .findings(finding("two"));
    let text = "warning: <one>\n  remedy: now: sudo x -y\n  then: wait\n\nwarning: two\n";
    assert!(document.terminal(Style::plain()).starts_with(text));
    let markdown =
        "warning: &lt;one>  \nremedy: now: `sudo x -y`  \nthen: wait\n\nwarning: two  \n";
    assert!(document.markdown().starts_with(markdown));
    let page = document.html();
    assert!(page.contains("<li id=\"doubt-0\">") && page.contains("<li id=\"doubt-1\">"));
    assert!(Document::new().findings(Vec::new()).is_empty());
}

#[test]
fn an_answer_follows_the_name_of_what_it_is_about() {
    let document = Document::new()
        .headline("kept", "It keeps")
        .answer("<run>", "no miss in 5 us")
        .missing_of(&["a".to_owned(), "b".to_owned()], "no samples");
    assert_eq!(document.terminal(Style::plain()), "a, b: no samples");
    assert_eq!(document.markdown(), "a, b: no samples\n");
    let page = "<p class=\"answer\"><b>&lt;run&gt;</b>: no miss in 5\u{a0}µs</p>\
                <p class=\"missing\"><b>a, b: </b>no samples</p>";
    assert!(document.html().ends_with(page), "{}", document.html());
}
