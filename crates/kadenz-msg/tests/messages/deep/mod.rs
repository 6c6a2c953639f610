// Written by `kadenz msg gen --lang rust`: change the .lcm files, and write it again.

//! Messages of the package `deep`.

pub mod er;
