//! Benchmarks that are examples of a crate and print one JSON object as their last line.

use anyhow::{Context, Result, bail};
use serde_json::Value;

use super::BenchOptions;
use super::figure::Figure;
use crate::files;
use crate::process::{self, spelled};
use crate::repository::Repository;

/// `modes_days` of kadenz-report, for so many days of each noise.
pub(crate) fn modes_days(repository: &Repository, what: &str, days: u32) -> Result<Figure> {
    let days = days.to_string();
    run(repository, "kadenz-report", "modes_days", &[what, &days])
}

/// `summary_cost` of kadenz-report.
pub(crate) fn samples(repository: &Repository, options: &BenchOptions) -> Result<Figure> {
    let above = repository.target().join("bench");
    files::make_folder(&above)?;
    let folder = files::absent(&above.join("samples"))?;
    let arguments = [&*folder.to_string_lossy(), &options.samples.to_string()];
    let figure = run(repository, "kadenz-report", "summary_cost", &arguments);
    // So many samples fill a disk, and are read only once.
    let _ = std::fs::remove_dir_all(&folder);
    figure
}

/// An example of a crate.
pub(crate) fn run(
    repository: &Repository,
    package: &str,
    example: &str,
    arguments: &[&str],
) -> Result<Figure> {
    let words = format!("run --release -p {package} --example {example} --");
    let mut command = repository.cargo(&words);
    command.args(arguments);
    let mut last = None;
    let status = process::tee(&mut command, |_, line| {
        eprintln!("{line}");
        if let Ok(value @ Value::Object(_)) = serde_json::from_str(line) {
            last = Some(value);
        }
    })?;
    if !status.success() {
        bail!("`{}` ended with {status}", spelled(&command));
    }
    let result = last.with_context(|| format!("the example {example} printed no line of JSON"))?;
    Ok(Figure {
        method: format!("example {example} of {package}, release build"),
        cells: cells(&result),
        result,
    })
}

/// The numbers and words of an object, under their names.
fn cells(result: &Value) -> Vec<(String, String)> {
    let fields = result.as_object().into_iter().flatten();
    let plain = fields.filter(|(_, value)| value.is_number() || value.is_string());
    plain
        .map(|(name, value)| (name.replace('_', " "), cell(value)))
        .collect()
}

fn cell(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Number(number) if number.is_f64() => {
            format!("{:.3}", number.as_f64().unwrap_or(f64::NAN))
        }
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_words_go_into_the_table_and_lists_do_not() {
        let result = serde_json::json!({ "record_ns": 12.34567, "samples": 184, "rounds": [1, 2] });
        let expected = [("record ns", "12.346"), ("samples", "184")]
            .map(|(name, value)| (name.to_owned(), value.to_owned()));
        assert_eq!(cells(&result), expected);
    }
}
