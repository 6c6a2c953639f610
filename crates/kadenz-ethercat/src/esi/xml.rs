//! Helpers to read XML.

use roxmltree::{Document, Node, ParsingOptions};

use super::EsiError;

/// Most nodes (elements and texts), and most attributes of a file.
pub(super) const MAX_NODES: u32 = 4 << 20;
/// Most `<` and `=` signs, which may begin a node or an attribute: the parser reserves room for each before it looks
/// at any, also in comments. An element may have two.
const MAX_TAGS: usize = 2 * MAX_NODES as usize;
/// Most attributes of an element: the parser compares each with all, since no two may have the same name.
const MAX_ATTRIBUTES: usize = 256;
/// Most XML namespaces: an element has those of all elements around it.
const MAX_SPACES: usize = 64;
/// Most letters of a name that is kept.
const MAX_NAME: usize = 255;

/// Reads a text as a tree, in time and memory that are proportional to it.
pub(super) fn parse(text: &str) -> Result<Document<'_>, EsiError> {
    ensure_plain(text)?;
    let options = ParsingOptions {
        nodes_limit: MAX_NODES,
        ..ParsingOptions::default()
    };
    Document::parse_with_options(text, options).map_err(|error| match error {
        roxmltree::Error::NodesLimitReached => EsiError::Long,
        error => EsiError::Xml(error.to_string()),
    })
}

/// Refuses a text for which the parser would need much time or memory: the parser reserves room for every possible
/// node and attribute, compares an element's attributes with each other, and gives each element the namespaces of all
/// elements around it.
fn ensure_plain(text: &str) -> Result<(), EsiError> {
    let bytes = text.as_bytes();
    let has_too_many = |sign: u8| {
        bytes
            .iter()
            .filter(|it| **it == sign)
            .nth(MAX_TAGS)
            .is_some()
    };
    if has_too_many(b'<') || has_too_many(b'=') {
        return Err(EsiError::Long);
    }
    let (mut all, mut together) = (0_usize, 0_usize);
    for (at, byte) in bytes.iter().enumerate() {
        match byte {
            b'<' => together = 0,
            b'=' if is_quoted(&bytes[at + 1..]) => {
                (all, together) = (all + 1, together + 1);
                if together > MAX_ATTRIBUTES || all > MAX_NODES as usize {
                    return Err(EsiError::Long);
                }
            }
            _ => {}
        }
    }
    match text.matches("xmlns").nth(MAX_SPACES) {
        Some(_) => Err(EsiError::Long),
        None => Ok(()),
    }
}

/// Whether a quote may follow behind blanks. Looks at 64 of them at most, to keep the time proportional to the text.
fn is_quoted(behind: &[u8]) -> bool {
    let mut few = behind.iter().take(64);
    match few.find(|it| !it.is_ascii_whitespace()) {
        Some(byte) => matches!(byte, b'"' | b'\''),
        None => true,
    }
}

pub(super) fn children<'a, 'i>(
    node: Node<'a, 'i>,
    name: &'static str,
) -> impl Iterator<Item = Node<'a, 'i>> {
    node.children()
        .filter(move |it| it.tag_name().name() == name)
}

pub(super) fn child<'a, 'i>(node: Node<'a, 'i>, name: &'static str) -> Option<Node<'a, 'i>> {
    children(node, name).next()
}

/// A child's text, the English one where there are several languages; empty where there is none.
pub(super) fn text<'a>(node: Node<'a, '_>, name: &'static str) -> &'a str {
    let english = |it: &Node<'_, '_>| it.attribute("LcId").is_none_or(|it| it == "1033");
    let found = children(node, name).find(english);
    let found = found.or_else(|| child(node, name));
    let text = found.and_then(|it| it.text()).unwrap_or_default();
    text.trim()
}

/// The same as a name, cut to the letters that are kept.
pub(super) fn name(node: Node<'_, '_>, name: &'static str) -> String {
    text(node, name).chars().take(MAX_NAME).collect()
}

/// The text of an element itself.
pub(super) fn own<'a>(node: Node<'a, '_>) -> &'a str {
    node.text().unwrap_or_default().trim()
}

/// The place of an element: its first byte in the text. [`LineCounter`] turns it into a line before the user sees it.
pub(super) fn place(node: Node<'_, '_>) -> u32 {
    u32::try_from(node.range().start).unwrap_or(u32::MAX)
}

/// Which line a byte is in. Counts on from the last one, so that a file with many errors is read once.
pub(super) struct LineCounter<'t> {
    text: &'t [u8],
    at: usize,
    line: u32,
}

impl<'t> LineCounter<'t> {
    pub(super) fn of(text: &'t str) -> Self {
        Self {
            text: text.as_bytes(),
            at: 0,
            line: 1,
        }
    }

    fn line(&mut self, place: u32) -> u32 {
        let place = (place as usize).min(self.text.len());
        if place < self.at {
            (self.at, self.line) = (0, 1);
        }
        let between = self.text[self.at..place].iter();
        let lines = between.filter(|it| **it == b'\n').count();
        self.line = self.line.saturating_add(lines as u32);
        self.at = place;
        self.line
    }

    /// Replaces the place in an error by its line.
    pub(super) fn with_line(&mut self, mut error: EsiError) -> EsiError {
        if let Some(line) = error.line_mut() {
            *line = self.line(*line);
        }
        error
    }
}

pub(super) fn missing(
    node: Node<'_, '_>,
    element: &'static str,
    missing: &'static str,
) -> EsiError {
    EsiError::Missing {
        line: place(node),
        element,
        missing,
    }
}

/// The error of too many elements of a kind, up to this one.
pub(super) fn too_much(node: Node<'_, '_>, what: &'static str, most: usize) -> EsiError {
    EsiError::TooMuch {
        line: place(node),
        what,
        most,
    }
}

/// A number as ESI files write it.
pub(super) fn integer(text: &str) -> Option<i64> {
    let text = text.trim();
    let hexadecimal = ["#x", "#X", "0x", "0X"].iter();
    match hexadecimal.filter_map(|it| text.strip_prefix(it)).next() {
        Some(digits) => i64::from_str_radix(digits, 16).ok(),
        None => text.parse().ok(),
    }
}

fn fits<T: TryFrom<i64>>(node: Node<'_, '_>, text: &str) -> Result<T, EsiError> {
    let number = integer(text).and_then(|it| T::try_from(it).ok());
    number.ok_or_else(|| EsiError::Number {
        line: place(node),
        text: text.trim().chars().take(40).collect(),
    })
}

/// The number that an element holds.
pub(super) fn number<T: TryFrom<i64>>(node: Node<'_, '_>) -> Result<T, EsiError> {
    fits(node, node.text().unwrap_or_default())
}

/// The number of an attribute, if there is one.
pub(super) fn attribute<T: TryFrom<i64>>(
    node: Node<'_, '_>,
    name: &str,
) -> Result<Option<T>, EsiError> {
    node.attribute(name).map(|it| fits(node, it)).transpose()
}

/// The number of a child, if there is one.
pub(super) fn number_of<T: TryFrom<i64>>(
    node: Node<'_, '_>,
    name: &'static str,
) -> Result<Option<T>, EsiError> {
    child(node, name).map(number).transpose()
}

/// Whether an attribute is true.
pub(super) fn flag(node: Node<'_, '_>, name: &str) -> bool {
    matches!(node.attribute(name), Some("1" | "true"))
}
