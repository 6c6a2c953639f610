//! What was lost, doubled or overtaken, by sender, from sequence numbers alone.
