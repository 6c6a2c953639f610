//! Finds the finder marks of codes: runs of 1:1:3:1:1 in rows, checked down and across, as in ISO/IEC 18004
//! (QR codes), annex on the reference decoding algorithm.

use super::read::Gray;
use super::{COLUMNS, MARK, ROWS};

/// A point in pixels; the middle of the first pixel is at 0.5.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Point {
    pub(super) x: f32,
    pub(super) y: f32,
}

/// A finder mark: its middle, and the side of one of its cells.
#[derive(Debug, Clone, Copy)]
struct Mark {
    at: Point,
    cell: f32,
}

/// Four marks that may be the corners of a code: left and right above, left and right below.
pub(super) type Corners = [Point; 4];

/// A picture without a code may look like many marks; work grows with the cube.
const MAX_MARKS: usize = 64;
/// Fewer levels between dark and light are noise.
const MIN_CONTRAST: u8 = 30;
/// The rows that are searched.
const SCANNED_ROWS: usize = 240;

/// Middles of the marks of a code, in cells.
pub(super) const ACROSS: f32 = (COLUMNS - MARK) as f32;
pub(super) const DOWN: f32 = (ROWS - MARK) as f32;

/// The level between dark and light around each block of pixels.
struct Thresholds {
    levels: Vec<u8>,
    columns: usize,
    block: usize,
}

impl Thresholds {
    fn of(gray: &Gray<'_>) -> Self {
        let block = (gray.height() / 32).max(8);
        let columns = gray.width().div_ceil(block);
        let rows = gray.height().div_ceil(block);
        let mut extremes = vec![(u8::MAX, 0); columns * rows];
        for y in (0..gray.height()).step_by((block / 16).max(1)) {
            let of_row = &mut extremes[y / block * columns..][..columns];
            for (pixels, (low, high)) in gray.row(y).chunks(block).zip(of_row) {
                for pixel in pixels {
                    *low = (*low).min(*pixel);
                    *high = (*high).max(*pixel);
                }
            }
        }
        let level = |column: usize, row: usize| {
            let (mut low, mut high) = (u8::MAX, 0);
            for y in row.saturating_sub(1)..(row + 2).min(rows) {
                for x in column.saturating_sub(1)..(column + 2).min(columns) {
                    let (of_low, of_high) = extremes[y * columns + x];
                    (low, high) = (low.min(of_low), high.max(of_high));
                }
            }
            if high.saturating_sub(low) < MIN_CONTRAST {
                0
            } else {
                low + (high - low) / 2
            }
        };
        let levels = (0..columns * rows).map(|at| level(at % columns, at / columns));
        Self {
            levels: levels.collect(),
            columns,
            block,
        }
    }

    fn is_dark(&self, gray: &Gray<'_>, x: usize, y: usize) -> bool {
        gray.row(y)[x] < self.levels[y / self.block * self.columns + x / self.block]
    }
}

/// Calls `is_code` with all groups of four marks that may be a code, until it returns true.
pub(super) fn each_code(gray: &Gray<'_>, mut is_code: impl FnMut(Corners) -> bool) {
    let mut marks = marks(gray);
    // Upper marks first.
    marks.sort_by(|a, b| a.at.y.total_cmp(&b.at.y));
    for left in &marks {
        for right in &marks {
            if !are_above(left, right) {
                continue;
            }
            let (dx, dy) = (right.at.x - left.at.x, right.at.y - left.at.y);
            let below = |of: Point| Point {
                x: of.x - dy * DOWN / ACROSS,
                y: of.y + dx * DOWN / ACROSS,
            };
            let near = |expected: Point| {
                let reach = 3.0 * left.cell.max(right.cell);
                nearest(&marks, expected).filter(|mark| distance(mark.at, expected) < reach)
            };
            let (Some(lower_left), Some(lower_right)) =
                (near(below(left.at)), near(below(right.at)))
            else {
                continue;
            };
            if is_code([left.at, right.at, lower_left.at, lower_right.at]) {
                break;
            }
        }
    }
}

/// Whether two marks may be the upper ones of a code, `left` the left one.
fn are_above(left: &Mark, right: &Mark) -> bool {
    let (dx, dy) = (right.at.x - left.at.x, right.at.y - left.at.y);
    let cell = (left.cell + right.cell) / 2.0;
    dx > 0.0
        && dy.abs() < 0.35 * dx
        && (0.6..1.67).contains(&(left.cell / right.cell))
        && (0.65..1.4).contains(&(dx / (cell * ACROSS)))
}

fn distance(a: Point, b: Point) -> f32 {
    (a.x - b.x).hypot(a.y - b.y)
}

fn nearest(marks: &[Mark], to: Point) -> Option<&Mark> {
    marks
        .iter()
        .min_by(|a, b| distance(a.at, to).total_cmp(&distance(b.at, to)))
}

fn marks(gray: &Gray<'_>) -> Vec<Mark> {
    let thresholds = Thresholds::of(gray);
    let mut marks: Vec<Mark> = Vec::new();
    let step = (gray.height() / SCANNED_ROWS).max(1);
    for y in (0..gray.height()).step_by(step) {
        let mut runs = Runs::default();
        for x in 0..=gray.width() {
            let is_dark = x < gray.width() && thresholds.is_dark(gray, x, y);
            let Some((middle, cell)) = runs.take(x, is_dark) else {
                continue;
            };
            let is_known = |at: Point| marks.iter().any(|it| distance(it.at, at) < 2.0 * it.cell);
            if is_known(point(middle, y)) {
                continue;
            }
            let mark = checked(gray, &thresholds, middle, y, cell);
            // Another row may lead to the same mark.
            if let Some(mark) = mark.filter(|mark| !is_known(mark.at)) {
                marks.push(mark);
                if marks.len() == MAX_MARKS {
                    return marks;
                }
            }
        }
    }
    marks
}

fn point(x: f32, y: usize) -> Point {
    let y = y as f32 + 0.5;
    Point { x, y }
}

/// Checks the mark around a middle that one row shows: the column and another row must show it, too.
fn checked(gray: &Gray<'_>, thresholds: &Thresholds, x: f32, y: usize, cell: f32) -> Option<Mark> {
    let column = x as usize;
    let (middle_y, down) = through(y, gray.height(), cell, |y| {
        thresholds.is_dark(gray, column, y)
    })?;
    let row = middle_y as usize;
    let (middle_x, across) = through(column, gray.width(), cell, |x| {
        thresholds.is_dark(gray, x, row)
    })?;
    let is_square = (0.6..1.67).contains(&(down / across));
    let at = Point {
        x: middle_x,
        y: middle_y,
    };
    let cell = (down + across) / 2.0;
    is_square.then_some(Mark { at, cell })
}

/// The middle and the cell of the mark that a line shows around `at`.
fn through(
    at: usize,
    length: usize,
    cell: f32,
    is_dark: impl Fn(usize) -> bool,
) -> Option<(f32, f32)> {
    let reach = (cell * 7.0) as usize + 2;
    let mut runs = Runs::default();
    let end = (at + reach).min(length);
    for x in at.saturating_sub(reach)..=end {
        let found = runs.take(x, x < end && is_dark(x));
        if let Some(found) = found.filter(|(middle, of)| {
            (middle - at as f32).abs() < 2.0 * cell && (0.5..2.0).contains(&(of / cell))
        }) {
            return Some(found);
        }
    }
    None
}

/// The last five runs of a line, and the run that it is in.
#[derive(Default)]
struct Runs {
    lengths: [usize; 5],
    is_dark: bool,
    since: usize,
}

impl Runs {
    /// Takes the next pixel. At the end of a mark, returns its middle and the side of its cells.
    fn take(&mut self, x: usize, is_dark: bool) -> Option<(f32, f32)> {
        if is_dark == self.is_dark {
            return None;
        }
        self.lengths.rotate_left(1);
        self.lengths[4] = x - self.since;
        self.is_dark = is_dark;
        self.since = x;
        let [.., middle, light, dark] = self.lengths;
        let cell = self.lengths.iter().sum::<usize>() as f32 / MARK as f32;
        let fits = |length: usize, cells: f32| {
            (length as f32 - cells * cell).abs() < cells * cell * 0.5 + 0.5
        };
        let is_mark = !is_dark
            && cell >= 1.0
            && fits(middle, 3.0)
            && [0, 1, 3, 4].iter().all(|run| fits(self.lengths[*run], 1.0));
        let at = x as f32 - (dark + light) as f32 - middle as f32 / 2.0;
        is_mark.then_some((at, cell))
    }
}
