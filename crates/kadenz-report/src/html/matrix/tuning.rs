//! What the cells asked of the machine, each measure once.

use kadenz_record::run::model::TuningMeasure;

use crate::html::machine::tuning_row;
use crate::html::markup::Markup;
use crate::matrix::Matrix;

/// The section; absent where everything was granted.
pub(super) fn section(out: &mut Markup, matrix: &Matrix) {
    let mut refused: Vec<(&TuningMeasure, Vec<String>)> = Vec::new();
    for cell in &matrix.cells {
        for measure in &cell.refused {
            let name = cell.combination.to_string();
            match refused.iter_mut().find(|(told, _)| *told == measure) {
                Some((_, cells)) if !cells.contains(&name) => cells.push(name),
                Some(_) => {}
                None => refused.push((measure, vec![name])),
            }
        }
    }
    if refused.is_empty() {
        return;
    }
    out.tag("<section id=\"tuning\"><h2>What was not granted</h2>");
    out.tag("<div class=\"scroll\" role=\"region\" aria-label=\"Table of refusals\" tabindex=\"0\"><table class=\"prose\">");
    out.tag("<caption>What cells asked of the system and did not get</caption><thead><tr>");
    out.tag(
        "<th scope=\"col\">Measure</th><th scope=\"col\">Asked</th><th scope=\"col\">Granted</th>",
    );
    out.tag("<th scope=\"col\">Result</th></tr></thead>");
    for (measure, cells) in refused {
        out.tag("<tbody><tr class=\"group\"><th scope=\"rowgroup\" colspan=\"4\">");
        out.text(cells.join(", ")).tag("</th></tr>");
        tuning_row(out, measure);
        out.tag("</tbody>");
    }
    out.tag("</table></div></section>");
}
