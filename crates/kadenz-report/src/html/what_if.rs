//! What another deadline would have said: a slider, and misses that the page counts again from its
//! histograms.

use super::markup::Markup;
use super::page::Page;

/// The slider, hidden where there is no script to move it. It starts at the deadline of the page.
pub(super) fn write(out: &mut Markup, page: &Page<'_>) {
    if page.series.iter().all(|it| it.summary.count == 0) {
        return;
    }
    out.tag(concat!(
        "<div id=\"what-if\" hidden><h2>Another deadline</h2>",
        "<p class=\"slide\"><label for=\"deadline\">Deadline</label>",
        "<input type=\"range\" id=\"deadline\" min=\"0\" max=\"1000\" step=\"1\" ",
        "aria-describedby=\"what-if-note\">",
        "<output for=\"deadline\"></output>",
        "<button type=\"button\" class=\"reset\">Back</button>",
        "<a class=\"link\" href=\"#deadline\">Link to this deadline</a></p>",
        "<div class=\"scroll\" role=\"region\" tabindex=\"0\" aria-label=\"Misses of another deadline\">",
        "<table class=\"rows\"><caption>Misses, counted again</caption><thead><tr>",
        "<th scope=\"col\">Series</th><th scope=\"col\">Deadline</th><th scope=\"col\">Misses</th>",
        "<th scope=\"col\">Share</th><th scope=\"col\">Samples</th></tr></thead><tbody></tbody></table></div>",
        "<p class=\"hint\" id=\"what-if-note\"></p></div>",
    ));
}
