//! A load that runs: started as one, watched once a second, ended as one.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use kadenz_rt::clock;

use super::rates::{Counter, Meter};
use super::workers::{Site, Workers};
use super::{LoadGenerator, LoadKind, LoadOptions, LoadRates, StartLoadError, open};
use crate::stop::Stop;

/// Time between two readings of the counters.
const READ_EVERY: Duration = Duration::from_secs(1);
/// A sleeping reader notices the end within this time.
const STEP: Duration = Duration::from_millis(50);

/// Load that goes on until this is dropped; then everything it made is gone: files, threads,
/// processes and sockets.
pub struct RunningLoad {
    site: Site,
    watched: Arc<Mutex<Vec<Part>>>,
    reader: Workers,
}

/// One kind of load, with what it counted so far.
struct Part {
    kind: LoadKind,
    asked: String,
    workers: Workers,
    counters: Vec<(Counter, Meter)>,
}

/// Starts load of these kinds; they begin together, and one that is named twice is started once.
///
/// Blocks until every thread is there. The threads run at ordinary priority, on the CPUs that the
/// caller may use.
///
/// # Errors
/// [`StartLoadError`]; nothing has been started then.
pub fn start(kinds: &[LoadKind], options: &LoadOptions) -> Result<RunningLoad, StartLoadError> {
    options.check()?;
    let kinds = super::parts_of(kinds);
    let first = *kinds.first().ok_or(StartLoadError::Nothing)?;
    let site = Site::default();
    let parts = kinds
        .into_iter()
        .map(|kind| Part::open(kind, options, &site))
        .collect::<Result<Vec<_>, _>>()?;
    let watched = Arc::new(Mutex::new(parts));
    let mut reader = Workers::new(first, &site);
    let seen = watched.clone();
    reader.spawn("load-rates", move |stop| read_every_second(&seen, stop))?;
    site.gate.open();
    Ok(RunningLoad {
        site,
        watched,
        reader,
    })
}

impl Part {
    fn open(kind: LoadKind, options: &LoadOptions, site: &Site) -> Result<Self, StartLoadError> {
        let LoadGenerator {
            asked,
            counters,
            workers,
        } = open(kind, options, site)?;
        let now = clock::now();
        let counters = counters.into_iter();
        let counters = counters
            .map(|counter| {
                let meter = Meter::new(now, counter.read());
                (counter, meter)
            })
            .collect();
        Ok(Self {
            kind,
            asked,
            workers,
            counters,
        })
    }

    fn begin(&mut self) {
        for (counter, meter) in &mut self.counters {
            *meter = Meter::new(clock::now(), counter.read());
        }
    }

    fn read(&mut self) {
        for (counter, meter) in &mut self.counters {
            meter.read(clock::now(), counter.read());
        }
    }

    fn rates(&self) -> LoadRates {
        let counters = self.counters.iter();
        LoadRates {
            kind: self.kind,
            asked: self.asked.clone(),
            rates: counters
                .map(|(counter, meter)| counter.rate(meter))
                .collect(),
            trouble: self.workers.first_error(),
        }
    }
}

fn locked(parts: &Mutex<Vec<Part>>) -> MutexGuard<'_, Vec<Part>> {
    parts.lock().unwrap_or_else(PoisonError::into_inner)
}

fn read_every_second(parts: &Mutex<Vec<Part>>, stop: &Stop) {
    locked(parts).iter_mut().for_each(Part::begin);
    let mut next = clock::now() + READ_EVERY;
    while !stop.requested() {
        let left = next.remaining(clock::now());
        if left.is_zero() {
            locked(parts).iter_mut().for_each(Part::read);
            next = clock::now() + READ_EVERY;
        } else {
            std::thread::sleep(left.min(STEP));
        }
    }
    // The rest of a second, before the generators wind down.
    locked(parts).iter_mut().for_each(Part::read);
}

impl RunningLoad {
    /// What was measured up to the second just past, in the order in which the kinds were named.
    ///
    /// Locks and allocates.
    #[must_use]
    pub fn rates(&self) -> Vec<LoadRates> {
        locked(&self.watched).iter().map(Part::rates).collect()
    }

    /// Ends the load, removes all it made, and returns the measured rates.
    #[must_use]
    pub fn stop(mut self) -> Vec<LoadRates> {
        self.reader.end();
        self.rates()
    }
}

impl fmt::Debug for RunningLoad {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let parts = locked(&self.watched);
        f.debug_list()
            .entries(parts.iter().map(|part| part.kind))
            .finish()
    }
}

impl Drop for RunningLoad {
    fn drop(&mut self) {
        // All generators notice the end at once; then this waits for each.
        self.site.stop.request();
        self.reader.end();
        locked(&self.watched).clear();
    }
}
