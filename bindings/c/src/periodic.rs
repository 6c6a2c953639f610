//! Periodic loops, and runs that record them.

use std::ffi::c_char;
use std::sync::Arc;
use std::time::Duration;

use kadenz_library::rt::clock::MonotonicTime;
use kadenz_library::{Durations, Periodic, Recording, Tick, Ticks};

use crate::{
    answer, behind, error_text, free, handle, nanoseconds, room, text, text_or_none, timeout,
    tuning,
};

/// A run that is being written.
#[allow(non_camel_case_types, reason = "its name in C")]
pub struct kadenz_recording(Option<Arc<Recording>>);

/// A series of a run: durations that one thread measures.
#[allow(non_camel_case_types, reason = "its name in C")]
pub struct kadenz_series(Durations);

/// A periodic loop.
#[allow(non_camel_case_types, reason = "its name in C")]
pub struct kadenz_periodic(Ticks<'static>);

/// One tick of a periodic loop.
#[repr(C)]
#[allow(non_camel_case_types, reason = "its name in C")]
pub struct kadenz_tick {
    /// Its number: 1 for the first; skipped ticks count.
    pub index: u64,
    /// Ticks that were skipped before it, because the loop's body took too long.
    pub skipped: u64,
    /// The time step: from the intended time of the tick before to that of this one.
    pub step_ns: u64,
    /// How late the loop woke up.
    pub lateness_ns: u64,
}

impl kadenz_recording {
    pub(crate) fn running(&self) -> Result<&Arc<Recording>, String> {
        self.0.as_ref().ok_or_else(finished)
    }

    /// The run by itself, in place of which nothing stays; an error where a network uses it.
    fn take(&mut self) -> Result<Recording, String> {
        let running = self.0.take().ok_or_else(finished)?;
        Arc::try_unwrap(running).map_err(|shared| {
            self.0 = Some(shared);
            "a network still records into the run; call kadenz_network_stop first".to_owned()
        })
    }
}

fn finished() -> String {
    "the recording is finished; create another one".to_owned()
}

/// Starts a run in a new or empty folder. Returns NULL where that fails.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kadenz_recording_create(folder: *const c_char) -> *mut kadenz_recording {
    answer(std::ptr::null_mut(), || {
        // SAFETY: the caller passes a text.
        let folder = unsafe { text(folder, "folder") }?;
        let recording = Recording::create(folder).map_err(error_text)?;
        Ok(handle(kadenz_recording(Some(Arc::new(recording)))))
    })
}

/// Keeps each sample of the series and loops that are added to the run afterwards, with its time: 32 bytes a sample in
/// memory until it is on disk. `kadenz export`, `kadenz modes` and the chart of a report over time need them;
/// percentiles and misses do not. Returns 0, or -1 where that fails.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kadenz_recording_keep_samples(recording: *mut kadenz_recording) -> i32 {
    answer(-1, || {
        // SAFETY: the caller passes a handle.
        let recording = unsafe { behind(recording) }?;
        let keeping = recording.take()?.keep_samples();
        recording.0 = Some(Arc::new(keeping));
        Ok(0)
    })
}

/// Ends a run. Writes its summary, a few lines that end with a zero, into `summary` where that is not NULL, cut to
/// `room` bytes. Returns 0, or -1 where a part could not be written. The handle must still be freed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kadenz_recording_finish(
    recording: *mut kadenz_recording,
    summary: *mut c_char,
    room: usize,
) -> i32 {
    answer(-1, || {
        // SAFETY: the caller passes a handle.
        let recording = unsafe { behind(recording) }?;
        let recorded = recording.take()?.finish().map_err(error_text)?.to_string();
        // SAFETY: the caller promises so much room.
        unsafe { put_text(&recorded, summary, room) };
        Ok(0)
    })
}

/// Writes a text with its zero, cut to so many bytes, where there is room.
///
/// # Safety
/// `into` must be NULL or have so much room, which does not overlap a text of this library.
pub(crate) unsafe fn put_text(text: &str, into: *mut c_char, room: usize) {
    if into.is_null() || room == 0 {
        return;
    }
    let mut length = text.len().min(room - 1);
    while !text.is_char_boundary(length) {
        length -= 1;
    }
    // SAFETY: the caller's promise.
    unsafe {
        std::ptr::copy_nonoverlapping(text.as_ptr().cast(), into, length);
        into.add(length).write(0);
    }
}

/// Frees a run; an unfinished one is marked as incomplete.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kadenz_recording_free(recording: *mut kadenz_recording) {
    // SAFETY: the caller passes a handle that is not used again.
    unsafe { free(recording) };
}

/// Adds a series of durations of that name; values above `deadline_ns` count as missed, where it is not 0. Returns NULL
/// where that fails.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kadenz_series_create(
    recording: *mut kadenz_recording,
    name: *const c_char,
    deadline_ns: u64,
) -> *mut kadenz_series {
    answer(std::ptr::null_mut(), || {
        // SAFETY: the caller passes a handle and a text.
        let (recording, name) = unsafe { (behind(recording)?, text(name, "name")?) };
        let running = recording.running()?;
        let series = match deadline_ns {
            0 => running.durations(name),
            ns => running.durations_within(name, Duration::from_nanos(ns)),
        };
        Ok(handle(kadenz_series(series.map_err(error_text)?)))
    })
}

/// Records the span between two times of `kadenz_now_ns`. Real-time safe: it neither allocates, locks nor calls the
/// system. Returns 0, or -1 where the handle is NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kadenz_series_record(
    series: *mut kadenz_series,
    begin_ns: u64,
    end_ns: u64,
) -> i32 {
    // SAFETY: the caller passes a handle.
    let Some(series) = (unsafe { series.as_mut() }) else {
        return -1;
    };
    let [begin, end] = [begin_ns, end_ns].map(MonotonicTime::from_ns);
    series.0.record(begin, end);
    0
}

/// Frees a series. Its samples stay in the run.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kadenz_series_free(series: *mut kadenz_series) {
    // SAFETY: the caller passes a handle that is not used again.
    unsafe { free(series) };
}

/// Starts a periodic loop on the calling thread, at a rate as "1kHz". `deadline`, as "400us", and `cpus`, as "2-3", may
/// be NULL, `priority` 0 (else `SCHED_FIFO`, 1 to 99). With a `recording` the lateness of each tick becomes a series
/// named `series`. Where the machine refuses a setting, the loop runs without it, and the run has a warning with the
/// remedy. Returns NULL where that fails.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kadenz_periodic_start(
    rate: *const c_char,
    deadline: *const c_char,
    priority: u8,
    lock_memory: bool,
    cpus: *const c_char,
    recording: *mut kadenz_recording,
    series: *const c_char,
) -> *mut kadenz_periodic {
    answer(std::ptr::null_mut(), || {
        // SAFETY: the caller passes texts or NULL.
        let (rate, deadline, cpus, series) = unsafe {
            (
                text(rate, "rate")?,
                text_or_none(deadline, "deadline")?,
                text_or_none(cpus, "cpus")?,
                text_or_none(series, "series")?,
            )
        };
        let mut tuning = tuning(priority, lock_memory);
        tuning.cpus = cpus.map(str::parse).transpose().map_err(error_text)?;
        let mut periodic = Periodic::new(rate).map_err(error_text)?.tuned(tuning);
        if let Some(deadline) = deadline {
            periodic = periodic.deadline(deadline).map_err(error_text)?;
        }
        // SAFETY: the caller passes a handle or NULL.
        let ticks = match unsafe { recording.as_ref() } {
            Some(recording) => {
                let name = series.unwrap_or("lateness");
                let ticks = periodic.record(recording.running()?, name);
                ticks.map_err(error_text)?.beyond_the_run()
            }
            None => periodic.start().map_err(error_text)?,
        };
        Ok(handle(kadenz_periodic(ticks)))
    })
}

/// Sleeps until the next tick. Real-time safe: no system call except the sleep. Returns 0, or -1 where a pointer is
/// NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kadenz_periodic_next(
    periodic: *mut kadenz_periodic,
    tick: *mut kadenz_tick,
) -> i32 {
    answer(-1, || {
        // SAFETY: the caller passes a handle and room for a tick.
        let (periodic, into) = unsafe { (behind(periodic)?, room(tick)?) };
        let tick = periodic.0.next().ok_or("the loop has ended")?;
        into.write(describe(&tick));
        Ok(0)
    })
}

/// As `kadenz_periodic_next`, for a caller that must also check something else: sleeps for at most so many nanoseconds.
/// Returns 1 with a tick, 0 where it is not due by then, and the next call waits for it, -1 where a pointer is NULL.
/// Real-time safe.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kadenz_periodic_next_within(
    periodic: *mut kadenz_periodic,
    longest_ns: i64,
    tick: *mut kadenz_tick,
) -> i32 {
    answer(-1, || {
        // SAFETY: the caller passes a handle and room for a tick.
        let (periodic, into) = unsafe { (behind(periodic)?, room(tick)?) };
        let Some(tick) = periodic.0.next_within(timeout(longest_ns)) else {
            return Ok(0);
        };
        into.write(describe(&tick));
        Ok(1)
    })
}

fn describe(tick: &Tick) -> kadenz_tick {
    kadenz_tick {
        index: tick.index(),
        skipped: tick.skipped(),
        step_ns: nanoseconds(tick.step()),
        lateness_ns: nanoseconds(tick.lateness()),
    }
}

/// Ends a loop, and restores its thread; call it on that thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kadenz_periodic_free(periodic: *mut kadenz_periodic) {
    // SAFETY: the caller passes a handle that is not used again.
    unsafe { free(periodic) };
}
