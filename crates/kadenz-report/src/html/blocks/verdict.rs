//! The answer of a page in large words, and the verdicts of its series.

use super::{pairs, paragraph};
use crate::document::VerdictCard;
use crate::figures::{count, printed};
use crate::html::markup::Markup;

/// Writes the largest words of the page, with the icon of their class.
pub(super) fn headline(out: &mut Markup, class: &str, words: &str) {
    out.tag("<h1").attr("class", class).tag(">").icon(class);
    out.element("span", printed(words)).tag("</h1>");
}

/// Writes the verdicts of series.
pub(super) fn cards(out: &mut Markup, cards: &[VerdictCard]) {
    out.tag("<div class=\"cards\">");
    cards.iter().for_each(|it| card(out, it));
    out.tag("</div>");
}

fn card(out: &mut Markup, card: &VerdictCard) {
    out.tag("<article")
        .attr("class", format!("card {}", card.class));
    out.tag(">").element("h2", &card.title);
    out.tag("<p class=\"word\">").icon(card.class);
    out.text(card.words).tag("</p><p class=\"figure\">");
    out.element("b", count(card.misses));
    out.tag(if card.misses == 1 {
        " miss in "
    } else {
        " misses in "
    });
    out.element("b", count(card.count)).tag(" samples</p>");
    paragraph(out, "<p>", &card.basis);
    pairs(out, "<dl class=\"facts\">", &card.facts);
    out.tag("</article>");
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::Document;

    #[test]
    fn headings_below_the_headline_are_of_the_second_level() {
        let column = Document::new().heading("<i>");
        let document = Document::new().heading("b");
        let document = document.headline("kept", "<a> in 5 us");
        assert_eq!(
            document.columns("steps", vec![column]).html(),
            "<h3>b</h3><h1 class=\"kept\"><svg aria-hidden=\"true\"><use href=\"#i-kept\"/></svg>\
             <span>&lt;a&gt; in 5\u{a0}µs</span></h1><div class=\"steps\"><div><h2>&lt;i&gt;</h2></div></div>"
        );
    }

    #[test]
    fn a_card_has_the_misses_and_what_the_verdict_rests_on() {
        let card = VerdictCard {
            title: "<beat>".to_owned(),
            class: "missed",
            words: "Missed",
            misses: 1,
            count: 60_000,
            basis: "Longest run: 1 miss.".to_owned(),
            facts: vec![("Scheduling".to_owned(), "<FIFO>".to_owned())],
        };
        assert_eq!(
            Document::new().cards(vec![card]).html(),
            "<div class=\"cards\"><article class=\"card missed\"><h2>&lt;beat&gt;</h2><p class=\"word\">\
             <svg aria-hidden=\"true\"><use href=\"#i-missed\"/></svg>Missed</p>\
             <p class=\"figure\"><b>1</b> miss in <b>60,000</b> samples</p><p>Longest run: 1 miss.</p>\
             <dl class=\"facts\"><div><dt>Scheduling</dt><dd>&lt;FIFO&gt;</dd></div></dl></article></div>"
        );
    }
}
