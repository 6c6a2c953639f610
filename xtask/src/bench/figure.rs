//! The result of a benchmark, with the machine and the day: as JSON, and as a row of a table.

use anyhow::{Result, bail};
use serde_json::{Value, json};

use crate::process;
use crate::repository::Repository;

/// The cells of a row: headings and values.
pub(crate) type Cells = Vec<(String, String)>;

/// The result of a benchmark.
#[derive(Default)]
pub(crate) struct Figure {
    /// The method, in a sentence.
    pub(crate) method: String,
    /// The complete result.
    pub(crate) result: Value,
    /// The cells of the main table.
    pub(crate) cells: Cells,
    /// The cells of further tables, by their names.
    pub(crate) groups: Vec<(&'static str, Cells)>,
}

/// The machine and the day.
#[derive(Debug, PartialEq, Eq)]
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
        let cpus = std::thread::available_parallelism().map_or(0, std::num::NonZero::get);
        Self {
            day: said("date", &["-u", "+%F"]),
            name: describe(&read("/proc/cpuinfo"), cpus, &said("uname", &["-sr"])),
            load: read("/proc/loadavg")
                .split(' ')
                .next()
                .unwrap_or_default()
                .to_owned(),
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

    /// Its tables: each table's mark on the page, and its cells. A table without a value has no row.
    pub(crate) fn tables(&self, name: &str) -> Vec<(String, &Cells)> {
        let groups = self.groups.iter();
        let mut tables: Vec<(String, &Cells)> = groups
            .map(|(group, cells)| (format!("{name} {group}"), cells))
            .collect();
        if tables.is_empty() {
            tables.push((name.to_owned(), &self.cells));
        }
        tables.retain(|(_, cells)| !cells.is_empty());
        tables
    }
}

/// The head of the table for a [`row`].
pub(crate) fn head(cells: &Cells) -> String {
    let names: Vec<&str> = cells.iter().map(|(name, _)| name.as_str()).collect();
    let line = "---|".repeat(names.len() + 2);
    format!(
        "| day | {} | machine, load before |\n|{line}",
        names.join(" | ")
    )
}

/// The row of a table.
pub(crate) fn row(cells: &Cells, machine: &Machine) -> String {
    let values: Vec<&str> = cells.iter().map(|(_, value)| value.as_str()).collect();
    let Machine { day, name, load } = machine;
    format!("| {day} | {} | {name}, load {load} |", values.join(" | "))
}

/// Adds a row to a page: below the last row under `<!-- name -->`, or in a new table where there is none or its columns
/// differ.
pub(crate) fn with_row(page: &str, name: &str, head: &str, row: &str) -> Result<String> {
    let marker = format!("<!-- {name} -->\n");
    let Some((before, after)) = page.split_once(&marker) else {
        bail!("docs/benchmarks.md has no line `{}`", marker.trim());
    };
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
    Ok(format!("{before}{marker}{head}\n{old}{row}\n{gap}{rest}"))
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

    fn cells(value: &str) -> Cells {
        vec![("ns".to_owned(), value.to_owned())]
    }

    fn machine() -> Machine {
        Machine {
            day: "2026-03-01".to_owned(),
            name: "Abacus".to_owned(),
            load: "0.1".to_owned(),
        }
    }

    #[test]
    fn a_group_without_a_figure_has_no_row() {
        let mut figure = Figure {
            groups: vec![("loops", Cells::new()), ("frames", cells("1"))],
            method: String::new(),
            result: Value::Null,
            cells: Cells::new(),
        };
        let marks = |it: &Figure| -> Vec<String> {
            let tables = it.tables("languages");
            tables.into_iter().map(|(mark, _)| mark).collect()
        };
        assert_eq!(marks(&figure), ["languages frames"]);
        figure.groups.clear();
        assert!(marks(&figure).is_empty());
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
        let (head, machine) = (head(&cells("")), machine());
        let once = with_row(page, "a", &head, &row(&cells("12"), &machine)).expect("marked");
        let twice = with_row(&once, "a", &head, &row(&cells("13"), &machine)).expect("marked");
        let expected = "# A\n\n<!-- a -->\n\
                        | day | ns | machine, load before |\n|---|---|---|\n\
                        | 2026-03-01 | 12 | Abacus, load 0.1 |\n\
                        | 2026-03-01 | 13 | Abacus, load 0.1 |\n\n<!-- b -->\n";
        assert_eq!(twice, expected);
    }

    #[test]
    fn groups_have_tables_of_their_own() {
        let one = Figure {
            cells: cells("12"),
            ..Figure::default()
        };
        assert_eq!(one.tables("a"), [("a".to_owned(), &cells("12"))]);
        let groups = Figure {
            groups: vec![("b", cells("1")), ("c", cells("2"))],
            ..Figure::default()
        };
        let marks: Vec<String> = groups.tables("a").into_iter().map(|it| it.0).collect();
        assert_eq!(marks, ["a b", "a c"]);
    }

    #[test]
    fn other_columns_begin_a_table_of_their_own() {
        let page = "<!-- a -->\n| day | old |\n|---|---|\n| x | y |\n";
        let head = head(&cells(""));
        let page = with_row(page, "a", &head, "| new |").expect("marked");
        assert_eq!(
            page,
            format!("<!-- a -->\n{head}\n| new |\n\n| day | old |\n|---|---|\n| x | y |\n")
        );
    }

    #[test]
    fn a_page_without_the_place_is_an_error() {
        assert!(with_row("# A\n", "a", "| h |", "| r |").is_err());
    }
}
