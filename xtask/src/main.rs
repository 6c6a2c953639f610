//! Chores of the house: `cargo xtask test | tidy | bench | docs`.
fn main() {}
