//! Helpers that the tests with foreign MainDevices share.

/// Reports that a test cannot run here, and why; fails where nothing may be skipped.
pub(crate) fn skip(test: &str, missing: &str) {
    assert!(
        std::env::var_os("KADENZ_SKIP_NOTHING").is_none_or(|value| value != "1"),
        "{test} must not be skipped: {missing}"
    );
    eprintln!("skipped: {test}: {missing}");
}
