//! What each measure bought, as points with intervals and as sentences; and the ranking.

use super::heat::loads;
use crate::html::charts::plot;
use crate::html::figures::printed;
use crate::html::markup::Markup;
use crate::matrix::{Bought, Matrix, Reproduced, paper_pair_words};

/// The section.
pub(super) fn section(out: &mut Markup, matrix: &Matrix) {
    out.tag("<section id=\"bought\"><h2>What each measure bought</h2><p class=\"lead\">How many times lower ");
    out.tag("p99.9 of the lateness is with the measure than without it: the geometric mean over all pairs of ");
    out.tag("cells that differ in it alone. A bar is the interval that holds it at 95&#160;% confidence; one ");
    out.tag("that reaches across 1 shows no difference.</p>");
    let told: Vec<_> = matrix
        .contributions
        .iter()
        .filter(|contribution| contribution.figure == Bought::P99_9)
        .collect();
    if told.is_empty() {
        out.tag("<p class=\"missing\">No two cells were measured that differ in one measure alone and got what they asked for.</p>");
    } else {
        let words: Vec<String> = told.iter().map(|one| Matrix::words_of(one)).collect();
        if told.iter().any(|one| one.ratio.is_some()) {
            out.tag("<div class=\"controls\"><p class=\"key-loads\">");
            for load in loads(matrix) {
                out.tag("<span class=\"key\"><b").attr("class", load.name());
                out.tag("></b>").text(load.words()).tag("</span>");
            }
            out.tag("</p></div>");
            plot(
                out,
                false,
                &format!("What each measure bought. {}.", words.join(". ")),
            );
        }
        out.tag("<ul class=\"told-list\">");
        for sentence in &words {
            out.tag("<li>").text(printed(sentence)).tag("</li>");
        }
        out.tag("</ul>");
    }
    ranking(out, matrix);
    out.tag("</section>");
}

fn ranking(out: &mut Markup, matrix: &Matrix) {
    let sentences = matrix.ranking_words();
    if sentences.is_empty() {
        return;
    }
    out.tag("<h3>Ranking</h3>");
    for sentence in &sentences {
        out.tag("<p>").text(printed(sentence)).tag("</p>");
    }
    let pairs: Vec<_> = matrix.rankings.iter().flat_map(|r| &r.paper).collect();
    if pairs.is_empty() {
        return;
    }
    out.tag("<details><summary>Yoon’s order, pair by pair</summary><ul class=\"told-list\">");
    for pair in pairs {
        out.tag(match pair.outcome {
            Reproduced::Yes => "<li><span class=\"yes\" aria-hidden=\"true\">✓</span> ",
            Reproduced::No => "<li><span class=\"no\" aria-hidden=\"true\">✗</span> ",
            Reproduced::Open => "<li><span aria-hidden=\"true\">–</span> ",
        });
        out.text(printed(&paper_pair_words(pair))).tag("</li>");
    }
    out.tag("</ul></details>");
}
