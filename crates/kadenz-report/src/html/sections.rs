//! The sections of a page that are documents of its runs.

use super::blocks::write;
use super::markup::Markup;
use super::page::Page;
use crate::compare::network::rows;
use crate::document::Document;
use crate::sections;
use crate::sections::{packets, round_trips};
use crate::summary::Summary;

/// A section: nothing where no run of the page has content for it.
pub(super) struct Section {
    /// Its link in the page's navigation.
    pub(super) link: &'static str,
    open: &'static str,
    /// Whether runs stand side by side.
    is_side: bool,
    of: fn(&Summary) -> Vec<Document>,
    /// The comparison of the runs, before each of them.
    compared: fn(&Page<'_>) -> Document,
    hint: &'static str,
}

/// All of them, in their order.
const ALL: [Section; 4] = [
    Section {
        link: "<a href=\"#budget\">Budget</a>",
        open: "<section id=\"budget\"><h2>Budget</h2>",
        is_side: true,
        of: sections::budgets,
        compared: |_| Document::new(),
        hint: "A bar's whole width is the deadline. Dark is the median, light what 99.9 % take. The layers' \
               percentiles do not add up: the slowest wake-up and the slowest answer are seldom of one \
               packet. The response is measured, not summed.",
    },
    Section {
        link: "<a href=\"#packets\">Packets</a>",
        open: "<section id=\"packets\"><h2>Packets</h2>",
        is_side: false,
        of: packets::of,
        compared: |page| {
            let rows = rows(page.runs.iter().map(|run| run.summary));
            round_trips::of(&rows, |run| &page.runs[run].label)
        },
        hint: "",
    },
    Section {
        link: "<a href=\"#messages\">Messages</a>",
        open: "<section id=\"messages\"><h2>Messages</h2>",
        is_side: false,
        of: sections::messages,
        compared: |_| Document::new(),
        hint: "",
    },
    Section {
        link: "<a href=\"#testbed\">Testbed</a>",
        open: "<section id=\"testbed\"><h2>Testbed</h2>",
        is_side: false,
        of: sections::testbed,
        compared: |_| Document::new(),
        hint: "A testbed is networks of one machine, joined by switches that are a program. What a round trip \
               takes beyond the model, hosts and testbed have added.",
    },
];

/// A section with its documents and the labels of their runs.
pub(super) type SectionDocuments<'p> = (Section, Vec<(&'p str, Document)>);

/// The sections for which a run of the page has content.
pub(super) fn of<'p>(page: &'p Page<'_>) -> Vec<SectionDocuments<'p>> {
    let with_documents = |section: Section| {
        let runs = page.runs.iter();
        let documents = runs.flat_map(|run| {
            let all = (section.of)(run.summary).into_iter();
            all.map(|document| (run.label.as_str(), document))
        });
        let documents: Vec<_> = documents.collect();
        (!documents.is_empty()).then_some((section, documents))
    };
    ALL.into_iter().filter_map(with_documents).collect()
}

/// Writes them.
pub(super) fn all(out: &mut Markup, page: &Page<'_>, contents: &[SectionDocuments<'_>]) {
    for (section, documents) in contents {
        let [side, item, end] = match section.is_side {
            true => ["<div class=\"side\">", "<div>", "</div>"],
            false => [""; 3],
        };
        out.tag(section.open).tag(side);
        write(out, &(section.compared)(page));
        for (label, document) in documents {
            out.tag(item);
            if page.compares() {
                out.element("h3", label);
            }
            write(out, document);
            out.tag(end);
        }
        out.tag(end);
        if !section.hint.is_empty() {
            write(out, &Document::new().hint(section.hint));
        }
        out.tag("</section>");
    }
}
