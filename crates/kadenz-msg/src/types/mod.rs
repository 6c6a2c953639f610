//! The `.lcm` language: its text, what it describes, fingerprints, and messages known only at run time.
