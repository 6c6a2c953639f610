//! The name by which programs load the library: another one once what it exports has changed.

fn main() {
    if std::env::var("CARGO_CFG_TARGET_OS").as_deref() == Ok("linux") {
        println!("cargo:rustc-cdylib-link-arg=-Wl,-soname,libkadenz.so.0");
    }
    println!("cargo:rerun-if-changed=build.rs");
}
