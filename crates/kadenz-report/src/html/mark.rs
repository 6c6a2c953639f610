//! How a series is drawn everywhere: a colour and a dash, in the charts and beside its name.

use super::markup::Markup;

/// Colours in the style sheet, `--series-0` and on.
const COLOURS: usize = 8;

/// Lengths of dashes and gaps in pixels; none is a solid line.
const DASHES: [&[u8]; COLOURS] = [
    &[],
    &[9, 4],
    &[2, 3],
    &[12, 4, 2, 4],
    &[5, 3],
    &[12, 3, 2, 3, 2, 3],
    &[3, 7],
    &[18, 5],
];

/// The dash of a series: the first eight differ, and so do eight of one colour.
pub(super) fn dash(index: usize) -> &'static [u8] {
    DASHES[(index + index / COLOURS) % COLOURS]
}

/// A short piece of the line that stands for a series.
pub(super) fn write(out: &mut Markup, index: usize) {
    let dashes: Vec<String> = dash(index).iter().map(u8::to_string).collect();
    out.tag("<svg aria-hidden=\"true\" viewBox=\"0 0 30 8\"");
    out.attr("class", format!("mark k{}", index % COLOURS));
    out.tag("><path d=\"M0 4h30\"")
        .attr("stroke-dasharray", dashes.join(" "))
        .tag("/></svg>");
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn no_two_of_64_series_look_the_same() {
        let looks: BTreeSet<_> = (0..64).map(|it| (it % COLOURS, dash(it))).collect();
        assert_eq!(looks.len(), 64);
        let first: BTreeSet<_> = (0..8).map(dash).collect();
        assert_eq!(first.len(), 8);
    }
}
