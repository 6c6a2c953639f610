use std::time::Instant;

const ROUNDS: u64 = 9;
const VALUES: u64 = 10_000;

/// What recording one value costs on this machine, in nanoseconds: the median over nine rounds of ten
/// thousand values, which take about a millisecond. Not for a real-time path.
#[must_use]
pub fn cost_ns() -> f64 {
    let (mut writer, _reader) = super::pair(None);
    let mut costs: Vec<f64> = (0..ROUNDS)
        .map(|round| {
            let begin = Instant::now();
            for value in 0..VALUES {
                writer.record(i64::try_from(value * 37 + round).unwrap_or(0));
            }
            begin.elapsed().as_nanos() as f64 / VALUES as f64
        })
        .collect();
    costs.sort_by(f64::total_cmp);
    costs[costs.len() / 2]
}
