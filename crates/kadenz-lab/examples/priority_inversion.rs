//! Which tasks a real-time task waits for at a shared lock: with priority inheritance, and without.
//!
//!     cargo run -p kadenz-lab --example priority_inversion
#![allow(clippy::print_stdout, reason = "an example shows what it does")]

use kadenz_lab::inversion::{self, Event, InversionError, Lock};

fn main() -> Result<(), InversionError> {
    for (lock, name) in [
        (Lock::PriorityInheriting, "kadenz_rt::pi_mutex::PiMutex"),
        (Lock::Ordinary, "std::sync::Mutex"),
    ] {
        println!("{name}:");
        for event in inversion::stage(lock)? {
            println!("  {}", words(event));
        }
    }
    Ok(())
}

fn words(event: Event) -> &'static str {
    match event {
        Event::HolderDone => "B, ordinary, which held the lock, gives it back",
        Event::WaiterIn => "C, ordinary, which waited before D came, has the lock",
        Event::RealTimeIn => "D, the real-time task, has the lock",
        Event::MiddleDone => "the task of middle priority, which wants no lock, has done its work",
    }
}
