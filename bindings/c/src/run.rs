//! Reading of runs.

use std::ffi::{CString, c_char};

use kadenz_library::report::summary::{SeriesSummary, Summary};

use crate::{answer, error_text, free, handle, text};

/// A finished run, or a file of another program.
#[allow(non_camel_case_types, reason = "its name in C")]
pub struct kadenz_run {
    summary: Summary,
    json: CString,
}

/// A bucket of a histogram.
#[repr(C)]
#[allow(non_camel_case_types, reason = "its name in C")]
pub struct kadenz_bucket {
    /// The lowest value of the bucket.
    pub low_ns: i64,
    /// The highest value of the bucket.
    pub high_ns: i64,
    /// Number of values in it.
    pub count: u64,
}

/// An interval of a run.
#[repr(C)]
#[allow(non_camel_case_types, reason = "its name in C")]
pub struct kadenz_interval {
    /// The start of the interval, counted from that of the run.
    pub start_ns: i64,
    /// Number of values in the interval.
    pub count: u64,
    /// Values above the deadline.
    pub misses: u64,
    /// The smallest value of the interval.
    pub min_ns: i64,
    /// The largest value of the interval.
    pub max_ns: i64,
    /// The median; INT64_MIN where the interval cannot carry it.
    pub p50_ns: i64,
    /// The 99th percentile; INT64_MIN where the interval cannot carry it.
    pub p99_ns: i64,
}

/// Opens a run folder, complete or not, or a file that `kadenz import` takes. Returns NULL where that fails.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kadenz_run_open(path: *const c_char) -> *mut kadenz_run {
    answer(std::ptr::null_mut(), || {
        // SAFETY: the caller passes a text.
        let summary = kadenz_library::read(unsafe { text(path, "path") }?).map_err(error_text)?;
        let series = summary.series.iter().map(|it| {
            let mut facts = serde_json::to_value(it).map_err(error_text)?;
            facts["name"] = it.series.name.as_str().into();
            Ok(facts)
        });
        let series = series.collect::<Result<Vec<_>, String>>()?;
        let json = serde_json::json!({
            "run": &summary.run,
            "warnings": summary.warnings.iter().map(|it| &it.text).collect::<Vec<_>>(),
            "series": series,
        });
        let json = CString::new(json.to_string()).map_err(error_text)?;
        Ok(handle(kadenz_run { summary, json }))
    })
}

/// The content of a run, as JSON: `run` is the content of run.json, `warnings` holds the conditions that spoil it, and
/// each of `series` has the count, the percentiles, the maximum and the misses. It lives as long as the run.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kadenz_run_json(run: *const kadenz_run) -> *const c_char {
    // SAFETY: the caller passes a handle, or NULL.
    unsafe { run.as_ref() }.map_or(std::ptr::null(), |it| it.json.as_ptr())
}

/// Gets the non-empty buckets of a series. Returns their number, and writes as many as there is room for; -1 where that
/// fails.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kadenz_run_histogram(
    run: *const kadenz_run,
    series: *const c_char,
    into: *mut kadenz_bucket,
    room: usize,
) -> i64 {
    // SAFETY: the caller passes a handle, a text and room.
    unsafe {
        write(run, series, into, room, |it| {
            let buckets = it.distribution.iter();
            Box::new(buckets.map(|it| kadenz_bucket {
                low_ns: it.low_ns,
                high_ns: it.high_ns,
                count: it.count,
            }))
        })
    }
}

/// Gets the intervals of a series. Returns their number, and writes as many as there is room for; -1 where that fails.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kadenz_run_intervals(
    run: *const kadenz_run,
    series: *const c_char,
    into: *mut kadenz_interval,
    room: usize,
) -> i64 {
    // SAFETY: the caller passes a handle, a text and room.
    unsafe {
        write(run, series, into, room, |it| {
            let intervals = it.intervals.iter();
            Box::new(intervals.map(|it| kadenz_interval {
                start_ns: (it.start_s * 1e9) as i64,
                count: it.count,
                misses: it.misses,
                min_ns: it.min_ns,
                max_ns: it.max_ns,
                p50_ns: it.p50_ns.unwrap_or(i64::MIN),
                p99_ns: it.p99_ns.unwrap_or(i64::MIN),
            }))
        })
    }
}

/// Writes the values of a series into the caller's room.
///
/// # Safety
/// The handle, the text and the room come from C; the first two may be NULL.
unsafe fn write<T>(
    run: *const kadenz_run,
    series: *const c_char,
    into: *mut T,
    room: usize,
    of: impl for<'s> FnOnce(&'s SeriesSummary) -> Box<dyn ExactSizeIterator<Item = T> + 's>,
) -> i64 {
    answer(-1, || {
        // SAFETY: the caller's promise.
        let (run, name) = unsafe { (run.as_ref(), text(series, "series")?) };
        let all = &run
            .ok_or("the run is NULL; the call that opens it failed")?
            .summary
            .series;
        let found = all.iter().find(|it| it.series.name == name);
        let found = found.ok_or_else(|| {
            let names: Vec<_> = all.iter().map(|it| it.series.name.as_str()).collect();
            let names = names.join(", ");
            format!("the run has no series {name:?}; it has {names}")
        })?;
        let values = of(found);
        let count = i64::try_from(values.len()).map_err(error_text)?;
        let room = if into.is_null() { 0 } else { room };
        for (at, value) in values.take(room).enumerate() {
            // SAFETY: the caller promises room for so many.
            unsafe { into.add(at).write(value) };
        }
        Ok(count)
    })
}

/// Writes the differences between two runs beyond chance, a sentence a line: those where the 95 % intervals of the
/// ratios do not hold 1. `into` gets them with a zero, cut to `room` bytes. Returns the bytes that the full text takes,
/// or -1 where that fails.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kadenz_compare(
    baseline: *const kadenz_run,
    candidate: *const kadenz_run,
    into: *mut c_char,
    room: usize,
) -> i64 {
    answer(-1, || {
        // SAFETY: the caller passes handles.
        let (Some(baseline), Some(candidate)) =
            (unsafe { baseline.as_ref() }, unsafe { candidate.as_ref() })
        else {
            return Err("a run is NULL; the call that opens it failed".to_owned());
        };
        let comparison = kadenz_library::compare(&baseline.summary, &candidate.summary);
        let changes = comparison.significant().map(|it| format!("{it}\n"));
        let text: String = changes.collect();
        // SAFETY: the caller promises so much room.
        unsafe { crate::periodic::put_text(&text, into, room) };
        i64::try_from(text.len() + 1).map_err(error_text)
    })
}

/// Closes a run and frees its memory.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kadenz_run_free(run: *mut kadenz_run) {
    // SAFETY: the caller passes a handle that is not used again.
    unsafe { free(run) };
}
