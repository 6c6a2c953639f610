//! What differs between two devices of one model.

/// How one device's controller is out of the ordinary. The default is a good device.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Settings {
    /// How much faster than true its oscillator runs, in parts per million; quartzes are within 100.
    pub drift_ppm: f64,
    /// Its clock's local time when it gets power, in ns.
    pub clock_start: u64,
    /// How long a read of the SII takes, in ns.
    pub sii_read_ns: u64,
    /// How long the controller hands a word to the SII's memory, in ns.
    pub sii_write_ns: u64,
    /// From when it began to, how long the memory stores the word, in ns: so long it acknowledges nothing,
    /// and each command ends at once with an error, as in real devices.
    pub sii_store_ns: u64,
    /// How long the application takes to look at AL control after it was written, in ns. Until then the
    /// controller takes no other value there, and an error that stands goes on standing. Of no effect for a
    /// device without firmware.
    pub firmware_ns: u64,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            drift_ppm: 0.0,
            clock_start: 0,
            sii_read_ns: 50_000,
            sii_write_ns: 300_000,
            sii_store_ns: 3_000_000,
            firmware_ns: 0,
        }
    }
}
