//! `irtt client -o`: round trips over UDP, with the server's clock where it tells it.
//!
//! Where the facts come from: `result.go`, `recorder.go` and `time.go` of irtt 0.9.2, its
//! `doc/irtt-client.md` (JSON format 1), and recordings of irtt 0.9.0 (Debian 12) in
//! `conformance/import`. All numbers are nanoseconds. `delay.rtt` is measured on the client's
//! monotonic clock, without the time in the server; `delay.send` and `delay.receive` are
//! differences between the wall clocks of the two, and may be negative. Times that are zero are left
//! out. `lost` is `false`, `true`, `true_up` or `true_down` as a string, a plain boolean in the
//! documentation. `late` says that a packet overtook it: per packet since 0.9.2, else in `stats`
//! alone. Slots that the sender missed have no entry.
//!
//! The file is read as a stream: a day of round trips takes no more memory than a second.

use std::fmt;
use std::io::BufRead;

use serde::Deserializer;
use serde::de::{DeserializeSeed, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};

mod model;
mod reading;

use self::model::RoundTrip;
use self::reading::Reading;
use super::{Importer, ReadError, Sink, json};

/// Reads `irtt client -o`.
pub(super) struct Irtt;

impl Importer for Irtt {
    fn recognises(&self, head: &str) -> bool {
        json::has_keys(head, &["irtt", "json_format"])
    }

    fn read(&self, source: &mut dyn BufRead, sink: &mut dyn Sink) -> Result<(), ReadError> {
        let mut reading = Reading::new(sink);
        let mut json = serde_json::Deserializer::from_reader(source);
        let read = json
            .deserialize_map(File(&mut reading))
            .and_then(|()| json.end());
        if let Some(refused) = reading.refused {
            return Err(refused.into());
        }
        read.map_err(json::error)?;
        reading.finish()
    }
}

/// The outermost object.
struct File<'r, 'a>(&'r mut Reading<'a>);

impl<'de> Visitor<'de> for File<'_, '_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the JSON object of irtt")
    }

    fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<(), M::Error> {
        let reading = self.0;
        while let Some(key) = map.next_key::<String>()? {
            match key.as_str() {
                "version" => reading.version = map.next_value()?,
                "config" => reading.config(&map.next_value()?),
                "stats" => reading.stats = map.next_value()?,
                "round_trips" => map.next_value_seed(RoundTrips(reading))?,
                _ => {
                    map.next_value::<IgnoredAny>()?;
                }
            }
            if reading.version.json_format > 1 {
                let format = reading.version.json_format;
                return Err(M::Error::custom(format!(
                    "JSON format {format} is newer than 1"
                )));
            }
        }
        Ok(())
    }
}

/// The array of round trips, taken one by one.
struct RoundTrips<'r, 'a>(&'r mut Reading<'a>);

impl<'de> DeserializeSeed<'de> for RoundTrips<'_, '_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, json: D) -> Result<(), D::Error> {
        json.deserialize_seq(self)
    }
}

impl<'de> Visitor<'de> for RoundTrips<'_, '_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an array of round trips")
    }

    fn visit_seq<S: SeqAccess<'de>>(self, mut trips: S) -> Result<(), S::Error> {
        while let Some(trip) = trips.next_element::<RoundTrip>()? {
            if let Err(refused) = self.0.take(&trip) {
                self.0.refused = Some(refused);
                return Err(S::Error::custom("not kept"));
            }
        }
        Ok(())
    }
}
