use super::cause::Cause;

/// What the group is doing.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Stage {
    /// Waits until all axes are enabled; one that still moves comes to rest before.
    Enabling,
    /// Brings them to where their programs begin; so many seconds of that have passed.
    Approaching(f64),
    /// Plays the programs; so many seconds of them have passed.
    Playing(f64),
    /// All are stopped until somebody resets that.
    Stopped(Cause),
    /// Brings all to rest, and ends the loop.
    Ending,
}

impl Stage {
    pub(super) const fn moves(self) -> bool {
        matches!(self, Self::Approaching(_) | Self::Playing(_))
    }
}
