/// Returns facts about this machine, for later readers of the log
/// ([`RecordOptions::facts`](super::RecordOptions::facts)).
#[must_use]
pub fn host_facts() -> Vec<(String, Vec<(String, String)>)> {
    let facts = kadenz_rt::host::facts();
    let values = [
        ("os", Some(facts.os)),
        ("os_release", facts.os_release),
        ("kernel", facts.kernel),
        ("preemption", facts.preemption),
        ("cpu", facts.cpu),
        ("cpus", Some(facts.cpus.to_string())),
        ("clock_source", facts.clock_source),
        ("virtualisation", facts.virtualisation),
    ];
    let values = values.into_iter();
    let pairs = values.filter_map(|(name, value)| Some((name.to_owned(), value?)));
    vec![("kadenz.host".to_owned(), pairs.collect())]
}
