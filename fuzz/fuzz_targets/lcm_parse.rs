//! Any text as a type description: an error text, or a description that can be printed and reads the same again, and
//! becomes Rust code or an error about a name that is taken.
#![no_main]

use kadenz_msg::generate::rust;
use kadenz_msg::types::Types;
use kadenz_msg::types::change::changes;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let types = match Types::from_text(text) {
        Ok(types) => types,
        Err(error) => {
            assert!(error.to_string().starts_with("the text:"));
            return;
        }
    };
    let printed = types.to_text();
    let again = Types::from_text(&printed).expect("our own");
    assert_eq!(again.to_text(), printed);
    assert!(changes(&types, &again).is_empty());
    for definition in types.iter().take(8) {
        let name = definition.name().to_string();
        let closure = types.text_of(&name).expect("it is there");
        let closure = Types::from_text(&closure).expect("our own");
        assert_eq!(closure.fingerprint(&name), types.fingerprint(&name));
    }
    if let Ok(files) = rust::generate(&types, &rust::RustOptions::default()) {
        assert!(!files.is_empty());
    }
});
