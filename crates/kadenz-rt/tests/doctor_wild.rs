//! The doctor on files of any content: it never panics.

use kadenz_rt::doctor::{examine_at, fake};
use kadenz_rt::host;
use proptest::prelude::*;

/// Every file that a fake machine has.
fn paths() -> Vec<&'static str> {
    let machines = [
        fake::IDEAL,
        fake::LAPTOP,
        fake::VIRTUAL_MACHINE,
        fake::CONTAINER,
    ];
    let files = machines.iter().flat_map(|files| files.iter());
    let mut paths: Vec<&str> = files
        .map(|(path, _)| *path)
        .filter(|p| !p.ends_with('/'))
        .collect();
    paths.sort_unstable();
    paths.dedup();
    paths
}

/// Bytes that resemble what the kernel writes, and bytes that do not.
fn wild() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        prop::collection::vec(any::<u8>(), 0..200),
        "[-0-9a-z:,.()\\[\\] \t\n=_/]{0,200}".prop_map(String::into_bytes),
        any::<i64>().prop_map(|number| number.to_string().into_bytes()),
        Just(b"9223372036854775807".to_vec()),
        Just(b"-9223372036854775808 -1".to_vec()),
        Just(b"cpu 18446744073709551615 1 1 1 1 1 1 18446744073709551615".to_vec()),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    /// Wild bytes in some files of a machine that is otherwise in order.
    #[test]
    fn wild_bytes_never_panic(
        base in 0_usize..4,
        changes in prop::collection::vec((any::<prop::sample::Index>(), wild()), 1..40),
    ) {
        let folder = tempfile::tempdir().unwrap();
        let bases = [fake::ideal, fake::laptop, fake::virtual_machine, fake::container];
        let root = bases[base](folder.path()).unwrap();
        let paths = paths();
        for (index, bytes) in changes {
            let file = folder.path().join(index.get(&paths).trim_start_matches('/'));
            std::fs::create_dir_all(file.parent().unwrap()).unwrap();
            std::fs::write(file, bytes).unwrap();
        }
        let findings = examine_at(&root);
        for finding in &findings {
            prop_assert!(!finding.title.is_empty() && !finding.cost.is_empty());
            prop_assert!(!finding.evidence.is_empty());
        }
        let _facts = host::facts_at(&root);
    }
}
