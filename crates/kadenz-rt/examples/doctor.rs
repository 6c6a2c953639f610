//! Prints everything the doctor finds on this machine.

#![allow(clippy::print_stdout)]

fn main() {
    println!("{:#?}", kadenz_rt::host::facts());
    let start = std::time::Instant::now();
    let findings = kadenz_rt::doctor::examine();
    println!("{} findings in {:?}", findings.len(), start.elapsed());
    for finding in findings {
        println!(
            "\n[{:?}] {}: {}",
            finding.severity, finding.id, finding.title
        );
        println!("  cost:     {}", finding.cost);
        println!("  evidence: {}", finding.evidence);
        for line in finding.remedy.iter().flat_map(|remedy| remedy.lines()) {
            println!("  remedy:   {line}");
        }
    }
}
