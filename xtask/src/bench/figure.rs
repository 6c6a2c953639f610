//! The result of a benchmark, with the machine and the day: as JSON, and as a row of a table.

use anyhow::{Context, Result};
use serde_json::{Value, json};

use crate::process;
use crate::repository::Repository;

/// The cells of a row: headings and values.
pub(crate) type Cells = Vec<(String, String)>;

/// The result of a benchmark.
pub(crate) struct Figure {
    /// The method, in a sentence.
    pub(crate) method: String,
    /// The complete result.
    pub(crate) result: Value,
    /// The cells of its row; none where nothing that was measured has a place there.
    pub(crate) cells: Cells,
}

/// The machine and the day.
pub(crate) struct Machine {
    /// `2026-03-01`, UTC.
    pub(crate) day: String,
    /// CPU, number of CPUs, kernel, and whether it is a virtual machine.
    pub(crate) name: String,
    /// Load over the last minute when the benchmark began: a busy machine spoils the figure.
    pub(crate) load: String,
}

impl Machine {
    /// Reads the data of this machine.
    pub(crate) fn look(repository: &Repository) -> Self {
        let said = |program: &str, arguments: &[&str]| {
            let mut command = repository.command(program);
            let output = process::output(command.args(arguments)).unwrap_or_default();
            output.trim().to_owned()
        };
        let read = |path: &str| std::fs::read_to_string(path).unwrap_or_default();
        let (info, kernel) = (read("/proc/cpuinfo"), said("uname", &["-sr"]));
        let load = read("/proc/loadavg");
        Self {
            day: said("date", &["-u", "+%F"]),
            name: describe(&info, process::cpus(), &kernel),
            load: load.split(' ').next().unwrap_or_default().to_owned(),
        }
    }
}

fn describe(cpuinfo: &str, cpus: usize, kernel: &str) -> String {
    let field = |name: &str| {
        let line = cpuinfo.lines().find(|line| line.starts_with(name))?;
        Some(line.split(": ").nth(1)?.trim().to_owned())
    };
    let model = field("model name").unwrap_or_else(|| "unknown CPU".to_owned());
    let flags = field("flags").unwrap_or_default();
    let guest = flags.split(' ').any(|flag| flag == "hypervisor");
    let guest = if guest { ", virtual machine" } else { "" };
    format!("{model}, {cpus} CPUs, {kernel}{guest}")
}

impl Figure {
    /// The result as JSON.
    pub(crate) fn json(&self, name: &str, machine: &Machine) -> Value {
        json!({
            "benchmark": name,
            "day": machine.day,
            "machine": machine.name,
            "load_before": machine.load,
            "method": self.method,
            "result": self.result,
        })
    }

    /// The head of the table for its [`Figure::row`].
    pub(crate) fn head(&self) -> String {
        let names: Vec<&str> = self.cells.iter().map(|(name, _)| name.as_str()).collect();
        let line = "---|".repeat(names.len() + 2);
        format!(
            "| day | {} | machine, load before |\n|{line}",
            names.join(" | ")
        )
    }

    /// Its row in the table.
    pub(crate) fn row(&self, machine: &Machine) -> String {
        let values: Vec<&str> = self.cells.iter().map(|(_, value)| value.as_str()).collect();
        let Machine { day, name, load } = machine;
        format!("| {day} | {} | {name}, load {load} |", values.join(" | "))
    }
}

/// Cells whose headings are known.
pub(crate) fn cells<const N: usize>(cells: [(&str, String); N]) -> Cells {
    let cells = cells.into_iter();
    cells.map(|(name, it)| (name.to_owned(), it)).collect()
}

/// What a page has before the place of a table and behind it: the line `<!-- name -->`.
pub(crate) fn place_of<'p>(page: &'p str, name: &str) -> Result<(&'p str, &'p str)> {
    let mark = format!("<!-- {name} -->");
    let place = page.split_once(&format!("{mark}\n"));
    place.with_context(|| {
        format!("docs/benchmarks.md has no line `{mark}`; add it where the table is to be, then try again")
    })
}

/// Adds a row to a page: below the last row under `<!-- name -->`, or in a new table where there is none or its columns
/// differ.
pub(crate) fn with_row(page: &str, name: &str, head: &str, row: &str) -> Result<String> {
    let (before, after) = place_of(page, name)?;
    let rows_of_old = after
        .strip_prefix(head)
        .and_then(|rest| rest.strip_prefix('\n'));
    let (old, rest) = match rows_of_old {
        Some(rest) => rest.split_at(length_of_table(rest)),
        None => ("", after),
    };
    let gap = if rows_of_old.is_none() && rest.starts_with('|') {
        "\n"
    } else {
        ""
    };
    Ok(format!(
        "{before}<!-- {name} -->\n{head}\n{old}{row}\n{gap}{rest}"
    ))
}

fn length_of_table(text: &str) -> usize {
    text.split_inclusive('\n')
        .take_while(|line| line.starts_with('|'))
        .map(str::len)
        .sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn figure(value: &str) -> Figure {
        Figure {
            method: String::new(),
            result: Value::Null,
            cells: cells([("ns", value.to_owned())]),
        }
    }

    fn row(value: &str) -> String {
        figure(value).row(&Machine {
            day: "2026-03-01".to_owned(),
            name: "Abacus".to_owned(),
            load: "0.1".to_owned(),
        })
    }

    #[test]
    fn a_machine_says_whether_it_is_real() {
        let info = "model name\t: Abacus 3000\nflags\t\t: fpu hypervisor sse\n";
        assert_eq!(
            describe(info, 2, "Linux 6.1"),
            "Abacus 3000, 2 CPUs, Linux 6.1, virtual machine"
        );
        assert_eq!(
            describe("", 1, "Darwin 24"),
            "unknown CPU, 1 CPUs, Darwin 24"
        );
    }

    #[test]
    fn rows_gather_below_their_head() {
        let page = "# A\n\n<!-- a -->\n\n<!-- b -->\n";
        let head = figure("").head();
        let once = with_row(page, "a", &head, &row("12")).expect("marked");
        let twice = with_row(&once, "a", &head, &row("13")).expect("marked");
        let expected = "# A\n\n<!-- a -->\n\
                        | day | ns | machine, load before |\n|---|---|---|\n\
                        | 2026-03-01 | 12 | Abacus, load 0.1 |\n\
                        | 2026-03-01 | 13 | Abacus, load 0.1 |\n\n<!-- b -->\n";
        assert_eq!(twice, expected);
    }

    #[test]
    fn other_columns_begin_a_table_of_their_own() {
        let page = "<!-- a -->\n| day | old |\n|---|---|\n| x | y |\n";
        let head = figure("").head();
        let page = with_row(page, "a", &head, "| new |").expect("marked");
        assert_eq!(
            page,
            format!("<!-- a -->\n{head}\n| new |\n\n| day | old |\n|---|---|\n| x | y |\n")
        );
    }

    #[test]
    fn a_page_without_the_place_is_an_error() {
        let error = with_row("# A\n", "a", "| h |", "| r |").expect_err("no mark");
        assert!(error.to_string().contains("no line `<!-- a -->`; add it"));
    }
}
