//! Small steps through XML.

use roxmltree::Node;

use super::EsiError;

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
pub(super) fn text(node: Node<'_, '_>, name: &'static str) -> String {
    let english = |it: &Node<'_, '_>| it.attribute("LcId").is_none_or(|it| it == "1033");
    let found = children(node, name).find(english);
    let found = found.or_else(|| child(node, name));
    let text = found.and_then(|it| it.text()).unwrap_or_default();
    text.trim().to_owned()
}

pub(super) fn line(node: Node<'_, '_>) -> u32 {
    node.document().text_pos_at(node.range().start).row
}

pub(super) fn missing(
    node: Node<'_, '_>,
    element: &'static str,
    missing: &'static str,
) -> EsiError {
    EsiError::Missing {
        line: line(node),
        element,
        missing,
    }
}

/// A number as ESI files write it.
fn parse(text: &str) -> Option<i64> {
    let text = text.trim();
    let hexadecimal = ["#x", "#X", "0x", "0X"].iter();
    match hexadecimal.filter_map(|it| text.strip_prefix(it)).next() {
        Some(digits) => i64::from_str_radix(digits, 16).ok(),
        None => text.parse().ok(),
    }
}

fn fits<T: TryFrom<i64>>(node: Node<'_, '_>, text: &str) -> Result<T, EsiError> {
    let number = parse(text).and_then(|it| T::try_from(it).ok());
    number.ok_or_else(|| EsiError::Number {
        line: line(node),
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

/// Whether an attribute says yes.
pub(super) fn flag(node: Node<'_, '_>, name: &str) -> bool {
    matches!(node.attribute(name), Some("1" | "true"))
}
