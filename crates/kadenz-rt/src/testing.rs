//! How tests name what they leave out.

/// Says that a test was skipped; with `KADENZ_SKIP_NOTHING=1` that is a failure.
pub(crate) fn skip(test: &str, missing: &str) {
    let message = format!("skipped: {test}: {missing}");
    assert!(
        std::env::var_os("KADENZ_SKIP_NOTHING").is_none_or(|value| value != "1"),
        "{message}"
    );
    eprintln!("{message}");
}
