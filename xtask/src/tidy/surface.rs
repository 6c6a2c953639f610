//! The public surface in each language: docs/languages.md describes it in one table, which every package is compared
//! with.

use std::collections::BTreeSet;

use super::Finding;
use crate::repository::{SourceFile, text_of};
use crate::scan;

const PAGE: &str = "docs/languages.md";

/// A language: the head of its column, the files with its public names, and the function that finds them.
struct Language {
    column: &'static str,
    folder: &'static str,
    ending: &'static str,
    names: fn(&SourceFile) -> Vec<String>,
}

const LANGUAGES: [Language; 5] = [
    Language {
        column: "C",
        folder: "bindings/c/include/",
        ending: ".h",
        names: functions_of_c,
    },
    Language {
        column: "C++",
        folder: "bindings/c/include/",
        ending: ".hpp",
        names: classes_of_cpp,
    },
    Language {
        column: "Python",
        folder: "bindings/python/python/kadenz/",
        ending: ".py",
        names: exports_of_python,
    },
    Language {
        column: "Java",
        folder: "bindings/java/java/kadenz/",
        ending: ".java",
        names: classes_of_java,
    },
    Language {
        column: "MATLAB",
        folder: "bindings/matlab/+kadenz/",
        ending: ".m",
        names: files_of_matlab,
    },
];

/// Rule `surface`: the table and the packages name the same items.
pub(crate) fn check(files: &[SourceFile]) -> Vec<Finding> {
    let Some(page) = text_of(files, PAGE) else {
        return Vec::new();
    };
    let rows = page.lines().filter(|it| it.starts_with('|'));
    let rows: Vec<Vec<&str>> = rows.map(cells).collect();
    let Some((head, rows)) = rows.split_first() else {
        return vec![Finding::error(PAGE, "there is no table of the languages")];
    };
    let mut findings = Vec::new();
    for language in &LANGUAGES {
        let Some(column) = head.iter().position(|it| *it == language.column) else {
            let text = format!("no column {}", language.column);
            findings.push(Finding::error(PAGE, text));
            continue;
        };
        let entries = rows.iter().filter_map(|row| row.get(column).copied());
        findings.extend(compare(language, &entries.collect::<Vec<_>>(), files));
    }
    findings
}

fn cells(row: &str) -> Vec<&str> {
    row.trim_matches('|').split('|').map(str::trim).collect()
}

fn compare(language: &Language, entries: &[&str], files: &[SourceFile]) -> Vec<Finding> {
    let Language {
        column,
        folder,
        ending,
        names,
    } = language;
    let is_own = |it: &&SourceFile| it.path.starts_with(folder) && it.path.ends_with(ending);
    let own: Vec<&SourceFile> = files.iter().filter(is_own).collect();
    let words = entries
        .iter()
        .flat_map(|it| it.split('`').skip(1).step_by(2));
    let named: BTreeSet<&str> = words.collect();
    let has = |name: &str| {
        let mut own = own.iter();
        own.any(|file| scan::has_word(&file.text, last(name)))
    };
    let missing = named.iter().filter(|name| !has(name));
    let missing = missing.map(|name| format!("`{name}` is not in {folder}*{ending}"));
    let is_silent = |it: &&&str| !it.contains('`') && it.len() < 3 && !it.starts_with("--");
    let silent = entries.iter().filter(is_silent).map(|_| {
        format!("an empty cell for {column}; name what there is, or say why there is none")
    });
    let public: BTreeSet<String> = own.iter().flat_map(|file| names(file)).collect();
    let unnamed = public.iter().filter(|name| !named.contains(name.as_str()));
    let unnamed =
        unnamed.map(|name| format!("{column} has `{name}`, which the table does not name"));
    let texts = missing.chain(silent).chain(unnamed);
    texts.map(|text| Finding::error(PAGE, text)).collect()
}

/// The name as in a file: `latest` of `Camera.latest`.
fn last(name: &str) -> &str {
    name.rsplit(['.', ':']).next().unwrap_or(name)
}

/// Functions, without those that only free a handle.
fn functions_of_c(file: &SourceFile) -> Vec<String> {
    let lines = file.text.lines();
    let code = lines.filter(|it| !it.starts_with("//") && !it.starts_with(' '));
    let names = code.filter_map(|line| {
        let (before, _) = line.split_once('(')?;
        let name = before.rsplit([' ', '*']).next()?;
        (name.starts_with("kadenz_") && !name.ends_with("_free")).then(|| name.to_owned())
    });
    names.collect()
}

fn classes_of_cpp(file: &SourceFile) -> Vec<String> {
    // The namespace `detail` is not public.
    let code = file.text.split("namespace detail {");
    let code = code.filter_map(|it| it.rsplit("} // namespace detail").next());
    let names = code.flat_map(str::lines).filter_map(|line| {
        let class = line.strip_prefix("class ");
        let rest = class.or_else(|| line.strip_prefix("struct "))?;
        rest.split([' ', ':']).next().map(str::to_owned)
    });
    names.collect()
}

/// The names that the package exports.
fn exports_of_python(file: &SourceFile) -> Vec<String> {
    if !file.path.ends_with("/__init__.py") {
        return Vec::new();
    }
    let list = file.text.split("__all__ = [").nth(1).unwrap_or_default();
    let list = list.split(']').next().unwrap_or_default();
    let names = list.split('"').skip(1).step_by(2);
    let names = names.filter(|it| !it.starts_with("__"));
    names.map(str::to_owned).collect()
}

fn classes_of_java(file: &SourceFile) -> Vec<String> {
    let is_public = |line: &str| line.starts_with("public ");
    let public = file.text.lines().any(is_public);
    public.then(|| name_of(file)).into_iter().collect()
}

/// Functions and classes of the package itself.
fn files_of_matlab(file: &SourceFile) -> Vec<String> {
    let is_public = !file.path.contains("/+internal/");
    is_public.then(|| name_of(file)).into_iter().collect()
}

fn name_of(file: &SourceFile) -> String {
    let name = file.path.rsplit('/').next().unwrap_or_default();
    name.split('.').next().unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::samples::{file, places};

    const TABLE: &str = "| | C | C++ | Python | Java | MATLAB |\n|---|---|---|---|---|---|\n\
                         | clock | `kadenz_now_ns` | of C | `Error` | none: not yet | `now` |\n";

    fn tree(table: &str, header: &str) -> Vec<SourceFile> {
        vec![
            file(PAGE, table),
            file("bindings/c/include/kadenz.h", header),
            file(
                "bindings/python/python/kadenz/__init__.py",
                "__all__ = [\"Error\"]\nError = 1\n",
            ),
            file("bindings/matlab/+kadenz/now.m", "function ns = now()\n"),
        ]
    }

    #[test]
    fn a_table_that_says_what_there_is_is_held() {
        let header = "uint64_t kadenz_now_ns(void);\nvoid kadenz_bus_free(kadenz_bus *bus);\n";
        assert_eq!(places(&check(&tree(TABLE, header))), Vec::<String>::new());
    }

    #[test]
    fn what_is_missing_on_either_side_is_found() {
        let found = |table: &str, header: &str| {
            let found = check(&tree(table, header));
            found
                .iter()
                .map(|it| it.text.clone())
                .collect::<Vec<_>>()
                .join("; ")
        };
        let header = "uint64_t kadenz_now_ns(void);
";
        let both = found(
            TABLE,
            "uint64_t kadenz_later_ns(void);
",
        );
        assert!(
            both.contains("`kadenz_now_ns` is not in") && both.contains("C has `kadenz_later_ns`"),
            "{both}"
        );
        assert!(
            found(&TABLE.replace("none: not yet", ""), header).contains("an empty cell for Java")
        );
        assert!(found(&TABLE.replace("| Java ", "| "), header).contains("no column Java"));
    }
}
