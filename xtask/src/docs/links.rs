//! Links between the pages of the repository.

use crate::repository::SourceFile;

/// A link that leads nowhere.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Dead {
    /// `docs/a.md:12`.
    pub(crate) place: String,
    /// The target of the link.
    pub(crate) link: String,
}

/// Every dead link in the Markdown files. Links to other sites are not checked.
pub(crate) fn dead(files: &[SourceFile]) -> Vec<Dead> {
    let pages = files.iter().filter(|file| file.is("md"));
    pages.flat_map(|page| dead_in(files, page)).collect()
}

/// The files of the repository that a page links to: its line, and the file's path from the root.
pub(crate) fn targets(page: &SourceFile) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    for (at, line) in prose(&page.text) {
        let own = links_in(&line).into_iter().filter(|link| !is_outside(link));
        let paths = own.map(|link| link.split('#').next().unwrap_or_default());
        let paths = paths.filter(|path| !path.is_empty());
        found.extend(paths.filter_map(|path| Some((at, resolve(&page.path, path)?))));
    }
    found
}

fn dead_in(files: &[SourceFile], page: &SourceFile) -> Vec<Dead> {
    let mut found = Vec::new();
    for (at, line) in prose(&page.text) {
        for link in links_in(&line) {
            if !leads_somewhere(files, page, link) {
                found.push(Dead {
                    place: format!("{}:{at}", page.path),
                    link: link.to_owned(),
                });
            }
        }
    }
    found
}

/// Lines outside of code, numbered from 1, with inline code taken out.
pub(crate) fn prose(text: &str) -> Vec<(usize, String)> {
    let mut in_code = false;
    let mut lines = Vec::new();
    for (at, line) in text.lines().enumerate() {
        if line.trim_start().starts_with("```") {
            in_code = !in_code;
        } else if !in_code {
            let outside: String = line.split('`').step_by(2).collect();
            lines.push((at + 1, outside));
        }
    }
    lines
}

/// The targets of `[text](target)` and of `[name]: target`.
fn links_in(line: &str) -> Vec<&str> {
    let mut links: Vec<&str> = line
        .split("](")
        .skip(1)
        .filter_map(|rest| rest.split(')').next())
        .filter_map(|target| target.split_whitespace().next())
        .collect();
    if line.starts_with('[') {
        links.extend(
            line.split("]: ")
                .nth(1)
                .and_then(|it| it.split_whitespace().next()),
        );
    }
    links
}

/// A line as a reader sees it: `[text](target)` without the target.
pub(crate) fn without_targets(line: &str) -> String {
    let mut parts = line.split("](");
    let first = parts.next().unwrap_or_default().to_owned();
    let behind = parts.map(|part| part.split_once(')').map_or("", |(_, rest)| rest));
    std::iter::once(first.as_str()).chain(behind).collect()
}

fn leads_somewhere(files: &[SourceFile], page: &SourceFile, link: &str) -> bool {
    if is_outside(link) {
        return true;
    }
    let (path, anchor) = link.split_once('#').unwrap_or((link, ""));
    let target = if path.is_empty() {
        Some(page.path.clone())
    } else {
        resolve(&page.path, path)
    };
    let Some(target) = target else { return false };
    if target.is_empty() {
        return true;
    }
    let folder = format!("{target}/");
    if files.iter().any(|it| it.path.starts_with(&folder)) {
        return anchor.is_empty();
    }
    let file = files.iter().find(|it| it.path == target);
    file.is_some_and(|it| anchor.is_empty() || !it.is("md") || has_anchor(&it.text, anchor))
}

/// Whether a link leads to another site.
fn is_outside(link: &str) -> bool {
    link.contains("://") || link.starts_with("mailto:")
}

/// A path relative to a page, from the root; `None` when it leads out of the repository.
fn resolve(page: &str, link: &str) -> Option<String> {
    let mut parts: Vec<&str> = page.split('/').collect();
    parts.pop();
    for part in link.trim_end_matches('/').split('/') {
        match part {
            "." => {}
            ".." => {
                parts.pop()?;
            }
            name => parts.push(name),
        }
    }
    Some(parts.join("/"))
}

fn has_anchor(text: &str, anchor: &str) -> bool {
    let headings = text.lines().filter(|line| line.starts_with('#'));
    headings
        .map(|line| slug(line.trim_start_matches('#').trim()))
        .any(|slug| slug == anchor)
}

/// The anchor that a heading gets: lower case, hyphens for spaces, no punctuation.
fn slug(heading: &str) -> String {
    let keep = |c: &char| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_');
    let kept = heading.chars().filter(keep);
    kept.flat_map(char::to_lowercase)
        .map(|c| if c == ' ' { '-' } else { c })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::samples::file;

    fn dead_links(text: &str) -> Vec<String> {
        let files = [
            file("docs/page.md", text),
            file("docs/other.md", "# Other\n## What it does, and why\n"),
            file("docs/pictures/plot.png", ""),
            file("README.md", ""),
        ];
        dead(&files).into_iter().map(|it| it.link).collect()
    }

    #[test]
    fn links_to_what_is_there_live() {
        let text = "[a](other.md) [b](other.md#what-it-does-and-why) ![c](pictures/plot.png)\n\
                    [d](../README.md) [e](pictures/) [f](https://example.org/x) [g](#here)\n\
                    [name]: ../README.md\n# Here\n";
        assert_eq!(dead_links(text), Vec::<String>::new());
    }

    #[test]
    fn links_to_nothing_are_dead() {
        let text = "[a](gone.md) [b](other.md#gone) [c](../../out.md) [d](#nowhere)\n\
                    [name]: missing.md\n";
        let expected = [
            "gone.md",
            "other.md#gone",
            "../../out.md",
            "#nowhere",
            "missing.md",
        ];
        assert_eq!(dead_links(text), expected);
    }

    #[test]
    fn targets_are_files_of_the_repository() {
        let text = "[a](other.md#part) [b](#here)\n[c](../README.md) [d](https://example.org/)\n";
        let expected = [(1, "docs/other.md".to_owned()), (2, "README.md".to_owned())];
        assert_eq!(targets(&file("docs/page.md", text)), expected);
    }

    #[test]
    fn code_holds_no_links() {
        assert!(dead_links("`a[i](gone.md)`\n```\n[b](gone.md)\n```\n").is_empty());
    }
}
