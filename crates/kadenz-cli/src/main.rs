//! The program `kadenz`.
fn main() {}
