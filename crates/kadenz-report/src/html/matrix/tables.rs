//! The control periods in the rows and columns of Yoon's figures, and Yoon's own.

use super::heat::{loads, title};
use crate::html::markup::Markup;
use crate::matrix::layout::{self, Layout, microseconds};
use crate::matrix::{Matrix, paper};

/// The section.
pub(super) fn section(out: &mut Markup, matrix: &Matrix) {
    out.tag("<section id=\"paper\"><h2>Yoon’s tables</h2><p class=\"lead\">Control periods in ");
    out.tag("microseconds: the shortest, then largest, mean and standard deviation of the lowest 99&#160;%, ");
    out.tag("99.9&#160;% and so on, which leave the peaks out. Rows that the sample cannot carry are missing. ");
    out.tag("Below each stands the table of H. Yoon, J. Song and J. Lee, “Real-Time Performance Analysis in ");
    out.tag("Linux-Based Robotic Systems” (Linux Symposium 2009): Linux 2.6.26.8-rt16 on 4 CPUs at 2.4 GHz, ");
    out.tag("1 ms, 10 minutes a cell.</p>");
    let mut any = false;
    for load in loads(matrix) {
        let Some(here) = layout::here(matrix, load) else {
            continue;
        };
        any = true;
        out.tag("<h3>").tag(title(load)).tag("</h3>");
        let caption = format!("Measured here {}, in microseconds", load.words());
        table(out, &here, &caption);
        let figure = paper::table(load).figure;
        out.tag("<details><summary>Yoon’s figure ")
            .text(figure)
            .tag("</summary>");
        let caption = format!("Yoon’s figure {figure}, in microseconds");
        table(out, &layout::published(load), &caption);
        out.tag("</details>");
    }
    if !any {
        out.tag("<p class=\"missing\">No control periods were recorded.</p>");
    }
    out.tag("</section>");
}

fn table(out: &mut Markup, layout: &Layout, caption: &str) {
    out.tag("<div class=\"scroll\" role=\"region\" tabindex=\"0\"")
        .attr("aria-label", caption);
    out.tag("><table class=\"dense\"><caption>").text(caption);
    out.tag("</caption><thead><tr><th scope=\"col\">Periods</th>");
    for column in &layout.columns {
        out.tag("<th scope=\"col\">").text(column).tag("</th>");
    }
    out.tag("</tr></thead>");
    let mut range = None;
    for row in &layout.rows {
        if range != Some(&row.range) {
            out.tag(if range.is_some() {
                "</tbody><tbody>"
            } else {
                "<tbody>"
            });
            range = Some(&row.range);
        }
        out.tag("<tr><th scope=\"row\">")
            .text(row.label())
            .tag("</th>");
        for cell in &row.cells {
            let figure = cell.map_or_else(|| "—".to_owned(), microseconds);
            out.element("td", figure);
        }
        out.tag("</tr>");
    }
    out.tag("</tbody></table></div>");
}
