//! `memq://`.

use std::sync::Arc;

use kadenz_msg::provider::{Provider, memq::Memq};

use crate::ends::a_new_subscription_gets_no_old_messages;
use crate::promises::{Open, promises};

#[test]
fn one_process_keeps_its_promises() {
    promises(|| {
        let bus = Arc::new(Memq::default());
        let open: Open = Box::new(move || Arc::clone(&bus) as Arc<dyn Provider>);
        open
    });
}

#[test]
fn a_new_subscription_gets_no_message_of_before() {
    a_new_subscription_gets_no_old_messages(&Memq::default());
}
