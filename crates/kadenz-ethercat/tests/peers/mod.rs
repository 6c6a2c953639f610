//! What the tests by software of others share.

/// Says that a test could not run here, and why; where nothing may be skipped that is a failure.
pub(crate) fn skip(test: &str, missing: &str) {
    assert!(
        std::env::var_os("KADENZ_SKIP_NOTHING").is_none_or(|value| value != "1"),
        "{test} must not be skipped: {missing}"
    );
    eprintln!("skipped: {test}: {missing}");
}
