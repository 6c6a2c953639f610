//! The content security policy: what stands in the page may run, and nothing else.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use sha2::{Digest as _, Sha256};

/// The policy of a page with these scripts and this style, each told by its hash: whatever a name from
/// a run might smuggle in neither runs nor styles, and nothing is loaded.
///
/// Source: W3C, "Content Security Policy Level 3", 2.3.1 and 8.4.
pub(super) fn of(scripts: &[&str], style: &str) -> String {
    let hashes: Vec<String> = scripts.iter().map(|it| hash(it)).collect();
    format!(
        "default-src 'none'; script-src {}; style-src {}; img-src data:; base-uri 'none'; form-action 'none'",
        hashes.join(" "),
        hash(style)
    )
}

fn hash(text: &str) -> String {
    format!("'sha256-{}'", STANDARD.encode(Sha256::digest(text)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::html::render;
    use crate::summary::Summary;

    /// The example of the specification's section 8.4.
    #[test]
    fn a_hash_is_that_of_the_specification() {
        assert_eq!(
            hash("alert('Hello, world.');"),
            "'sha256-qznLcsROx4GACP2dm0UCKCzCG+HiZ1guq6ZZDob/Tng='"
        );
    }

    #[test]
    fn a_page_allows_what_stands_in_it_and_nothing_inline_besides() {
        let page = render(&[Summary::default()]);
        let head = page.split("<title>").next().unwrap_or_default();
        assert!(!head.contains("unsafe"), "{head}");
        for (open, close) in [("<script>", "</script>"), ("<style>", "</style>")] {
            for part in page.split(open).skip(1) {
                let content = part.split(close).next().unwrap_or_default();
                let hash = hash(content).replace('\'', "&#39;");
                assert!(head.contains(&hash), "{open} without its hash {hash}");
            }
        }
        let written = page.split("<script").next().unwrap_or_default();
        for inline in [" style=", " onclick=", "javascript:"] {
            assert!(
                !written.contains(inline),
                "the policy would refuse {inline}"
            );
        }
    }
}
