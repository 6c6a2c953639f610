//! The sections of a page that are documents of its runs.

use super::blocks::section;
use super::markup::Markup;
use super::page::{Page, RunOnPage};
use super::{compared, modes, tried};
use crate::compare::network::rows;
use crate::document::Document;
use crate::sections;
use crate::sections::{packets, round_trips};

/// The id of a section, and its name in the navigation.
pub(super) type Link = (&'static str, &'static str);

/// A section: nothing where no run of the page has content for it.
pub(super) struct Section {
    pub(super) id: &'static str,
    /// Its name in the page's navigation.
    pub(super) name: &'static str,
    title: &'static str,
    lead: &'static str,
    /// The comparison of the runs, before each of them.
    compared: fn(&Page<'_>) -> Document,
    of: fn(&Page<'_>, &RunOnPage<'_>) -> Vec<Document>,
    /// Whether runs stand side by side.
    is_side: bool,
    hint: &'static str,
}

impl Section {
    const fn new(
        id: &'static str,
        title: &'static str,
        of: fn(&Page<'_>, &RunOnPage<'_>) -> Vec<Document>,
    ) -> Self {
        Self {
            id,
            name: title,
            title,
            lead: "",
            compared: |_| Document::new(),
            of,
            is_side: false,
            hint: "",
        }
    }
}

/// What recurs.
pub(super) const MODES: Section = Section {
    name: "Modes",
    lead: modes::LEAD,
    hint: modes::HINT,
    ..Section::new("modes", "Recurring modes", |_, run| modes::of(run.summary))
};

/// All of them, in their order.
pub(super) const ALL: [Section; 7] = [
    Section::new("tried", "Cheapest tuning", tried::of),
    Section {
        lead: "From run to run, in the order in which they were named. The scale of each line starts at zero.",
        compared: compared::trend,
        ..Section::new("trend", "Trend", |_, _| Vec::new())
    },
    Section {
        is_side: true,
        hint: "A bar's whole width is the deadline. Dark is the median, light what 99.9 % take. The layers' \
               percentiles do not add up: the slowest wake-up and the slowest answer are seldom of one \
               packet. The response is measured, not summed.",
        ..Section::new("budget", "Budget", |_, run| sections::budgets(run.summary))
    },
    Section {
        compared: |page| {
            let rows = rows(page.runs.iter().map(|run| run.summary));
            round_trips::of(&rows, |run| &page.runs[run].label)
        },
        ..Section::new("packets", "Packets", |_, run| packets::of(run.summary))
    },
    Section::new("messages", "Messages", |_, run| {
        sections::messages(run.summary)
    }),
    Section {
        hint: "A testbed is networks of one machine, joined by switches that are a program. What a round trip \
               takes beyond the model, hosts and testbed have added.",
        ..Section::new("testbed", "Testbed", |_, run| {
            sections::testbed(run.summary)
        })
    },
    MODES,
];

/// A section and its content.
pub(super) struct SectionContents {
    pub(super) section: Section,
    document: Document,
}

/// Those of the sections for which a run of the page has content.
pub(super) fn of(
    page: &Page<'_>,
    sections: impl IntoIterator<Item = Section>,
) -> Vec<SectionContents> {
    let contents = sections.into_iter().filter_map(|section| {
        let document = section.document(page)?;
        Some(SectionContents { section, document })
    });
    contents.collect()
}

impl Section {
    /// The comparison of the runs, then each of them; absent where there is neither.
    fn document(&self, page: &Page<'_>) -> Option<Document> {
        let compared = (self.compared)(page);
        let runs = page.runs.iter().flat_map(|run| {
            let all = (self.of)(page, run).into_iter();
            all.map(|it| match page.compares() {
                true => Document::new().heading(&run.label).and(it),
                false => it,
            })
        });
        let runs: Vec<Document> = runs.collect();
        if compared.is_empty() && runs.is_empty() {
            return None;
        }
        let document = match self.lead {
            "" => compared,
            lead => Document::new().lead(lead).and(compared),
        };
        let document = match self.is_side {
            true => document.columns("side", runs),
            false => runs.into_iter().fold(document, Document::and),
        };
        Some(match self.hint {
            "" => document,
            hint => document.hint(hint),
        })
    }
}

/// Writes them.
pub(super) fn all(out: &mut Markup, contents: &[SectionContents]) {
    for it in contents {
        section(out, it.section.id, it.section.title, &it.document);
    }
}
