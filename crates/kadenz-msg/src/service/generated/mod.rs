// Written by `kadenz msg gen --lang rust`: change the .lcm files, and write it again.

//! Messages, a module a package.

#![allow(
    dead_code,
    non_camel_case_types,
    non_snake_case,
    non_upper_case_globals,
    clippy::approx_constant,
    clippy::doc_lazy_continuation,
    clippy::doc_overindented_list_items,
    clippy::enum_variant_names,
    clippy::module_inception,
    clippy::pedantic,
    rustdoc::all,
    unreachable_pub,
    reason = "names, comments and constants are those of the .lcm files"
)]

pub mod kadenz;
