//! A periodic loop, and the run that it records.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use jni::objects::{JClass, JLongArray, JObjectArray, JString};
use jni::sys::{jboolean, jint, jlong};
use jni::{EnvUnowned, jni_mangle};
use kadenz::rt::clock::{self, MonotonicTime};
use kadenz::rt::tuning::{CpuSet, Tuning};
use kadenz::rt::units;

use crate::{Answer, Failure, error, handles, native, optional, span, text, texts, whole};

/// A run that is being written; `None` once it is finished.
pub(crate) struct Recording(Mutex<Option<Arc<kadenz::Recording>>>);

impl Recording {
    pub(crate) fn with<T>(
        handle: jlong,
        body: impl FnOnce(&Arc<kadenz::Recording>) -> Answer<T>,
    ) -> Answer<T> {
        let recording = handles::of::<Self>(handle)?;
        let recording = handles::lock(&recording.0);
        body(recording.as_ref().ok_or_else(finished)?)
    }
}

/// Keeps each sample of what is added to the run afterwards; false where a network records into it.
#[jni_mangle("kadenz.Native")]
pub fn keep_samples(env: EnvUnowned<'_>, _: JClass<'_>, recording: jlong) -> jboolean {
    native(env, |_| {
        let recording = handles::of::<Recording>(recording)?;
        let mut recording = handles::lock(&recording.0);
        let shared = recording.take().ok_or_else(finished)?;
        let (running, is_alone) = match Arc::try_unwrap(shared) {
            Ok(running) => (Arc::new(running.keep_samples()), true),
            Err(shared) => (shared, false),
        };
        *recording = Some(running);
        Ok(is_alone)
    })
}

fn finished() -> Failure {
    error("the recording is finished; create another one")
}

/// A series of durations.
struct Durations(Mutex<kadenz::Durations>);

thread_local! {
    /// The loops of this thread: a thread that was tuned must itself restore its settings.
    static LOOPS: RefCell<BTreeMap<jlong, kadenz::Ticks<'static>>> = const { RefCell::new(BTreeMap::new()) };
}

fn of_this_thread<T>(
    handle: jlong,
    body: impl FnOnce(&mut kadenz::Ticks<'static>) -> T,
) -> Answer<T> {
    LOOPS.with_borrow_mut(|loops| {
        let ticks = loops.get_mut(&handle);
        let text = "the loop is closed, or of another thread: the one that called it first; make one for each thread";
        ticks.map(body).ok_or_else(|| error(text))
    })
}

/// The tuning of a loop; a priority of 0 leaves SCHED_FIFO out.
pub(crate) fn tuning(priority: jint, locks_memory: bool) -> Answer<Tuning> {
    let invalid = |_| error(format!("the priority {priority} is not one; state 1 to 99"));
    let mut tuning = match u8::try_from(priority).map_err(invalid)? {
        0 => Tuning::default(),
        priority => Tuning::fifo(priority),
    };
    tuning.lock_memory = locks_memory;
    Ok(tuning)
}

/// The present time of the clock of all time stamps.
#[jni_mangle("kadenz.Native")]
pub fn now_ns(_: EnvUnowned<'_>, _: JClass<'_>) -> jlong {
    whole(clock::now().as_ns())
}

#[jni_mangle("kadenz.Native")]
pub fn create_recording(env: EnvUnowned<'_>, _: JClass<'_>, folder: JString<'_>) -> jlong {
    native(env, |env| {
        let recording = kadenz::Recording::create(text(env, &folder)?).map_err(error)?;
        let recording = Mutex::new(Some(Arc::new(recording)));
        Ok(handles::keep(Recording(recording)))
    })
}

#[jni_mangle("kadenz.Native")]
pub fn durations(
    env: EnvUnowned<'_>,
    _: JClass<'_>,
    recording: jlong,
    name: JString<'_>,
    deadline: JString<'_>,
) -> jlong {
    native(env, |env| {
        let name = text(env, &name)?;
        let deadline = optional(env, &deadline)?.map(|it| units::duration(&it));
        let deadline = deadline.transpose().map_err(error)?;
        let series = Recording::with(recording, |it| {
            let series = match deadline {
                Some(deadline) => it.durations_within(&name, deadline),
                None => it.durations(&name),
            };
            series.map_err(error)
        })?;
        Ok(handles::keep(Durations(Mutex::new(series))))
    })
}

#[jni_mangle("kadenz.Native")]
pub fn record(
    env: EnvUnowned<'_>,
    _: JClass<'_>,
    durations: jlong,
    begin_ns: jlong,
    end_ns: jlong,
) {
    native(env, |_| {
        let durations = handles::of::<Durations>(durations)?;
        let time = |ns: jlong| MonotonicTime::from_ns(ns.try_into().unwrap_or(0));
        handles::lock(&durations.0).record(time(begin_ns), time(end_ns));
        Ok(())
    });
}

/// Ends the run and returns its summary, a few lines. Null where a network still records into it; the run then
/// continues.
#[jni_mangle("kadenz.Native")]
pub fn finish<'local>(
    env: EnvUnowned<'local>,
    _: JClass<'local>,
    recording: jlong,
) -> JString<'local> {
    native(env, |env| {
        let recording = handles::of::<Recording>(recording)?;
        let mut recording = handles::lock(&recording.0);
        let shared = recording.take().ok_or_else(finished)?;
        match Arc::try_unwrap(shared) {
            Ok(running) => {
                let finished = running.finish().map_err(error)?;
                Ok(JString::new(env, finished.to_string())?)
            }
            Err(shared) => {
                *recording = Some(shared);
                Ok(JString::null())
            }
        }
    })
}

/// Tunes this thread, and starts a loop on it. A priority of 0, no CPUs and a recording of 0 leave these settings out.
#[jni_mangle("kadenz.Native")]
#[allow(clippy::too_many_arguments, reason = "called from one place in Java")]
pub fn start_loop(
    env: EnvUnowned<'_>,
    _: JClass<'_>,
    rate: JString<'_>,
    deadline: JString<'_>,
    priority: jint,
    locks_memory: jboolean,
    cpus: JString<'_>,
    recording: jlong,
    series: JString<'_>,
) -> jlong {
    native(env, |env| {
        let mut tuning = tuning(priority, locks_memory)?;
        let cpus = optional(env, &cpus)?.map(|it| it.parse::<CpuSet>());
        tuning.cpus = cpus.transpose().map_err(error)?;
        let rate = text(env, &rate)?;
        let mut periodic = kadenz::Periodic::new(&rate).map_err(error)?.tuned(tuning);
        if let Some(deadline) = optional(env, &deadline)? {
            periodic = periodic.deadline(&deadline).map_err(error)?;
        }
        let ticks = if recording == 0 {
            periodic.start().map_err(error)?
        } else {
            let series = text(env, &series)?;
            Recording::with(recording, |run| {
                let ticks = periodic.record(run, &series).map_err(error)?;
                Ok(ticks.beyond_the_run())
            })?
        };
        let handle = handles::number();
        LOOPS.with_borrow_mut(|loops| loops.insert(handle, ticks));
        Ok(handle)
    })
}

/// Sleeps until the next tick; false where it is not due by then. `into` gets its index, the number of ticks skipped
/// before it, the time step and the lateness in nanoseconds.
#[jni_mangle("kadenz.Native")]
pub fn tick(
    env: EnvUnowned<'_>,
    _: JClass<'_>,
    handle: jlong,
    wait_ns: jlong,
    into: JLongArray<'_>,
) -> jboolean {
    native(env, |env| {
        let tick = of_this_thread(handle, |ticks| ticks.next_within(span(wait_ns)))?;
        let Some(tick) = tick else {
            return Ok(false);
        };
        let ns = |it: std::time::Duration| it.as_nanos().try_into().unwrap_or(jlong::MAX);
        let facts = [
            whole(tick.index()),
            whole(tick.skipped()),
            ns(tick.step()),
            ns(tick.lateness()),
        ];
        into.set_region(env, 0, &facts)?;
        Ok(true)
    })
}

/// The settings that the machine refused a loop, with the remedy.
#[jni_mangle("kadenz.Native")]
pub fn refused<'local>(
    env: EnvUnowned<'local>,
    _: JClass<'local>,
    handle: jlong,
) -> JObjectArray<'local, JString<'local>> {
    native(env, |env| {
        let refusals = of_this_thread(handle, |ticks| {
            let refused = ticks.measures().filter(|it| !it.ok);
            let refusals = refused.map(|it| {
                let reason = it.reason.as_deref().unwrap_or("refused");
                let remedy = it.remedy.as_deref();
                let remedy = remedy.map_or_else(String::new, |remedy| format!("; {remedy}"));
                format!("{} {}: {reason}{remedy}", it.name, it.requested)
            });
            refusals.collect::<Vec<_>>()
        })?;
        texts(env, &refusals)
    })
}

/// Ends a loop and restores its thread, where that is the calling thread; else returns false.
#[jni_mangle("kadenz.Native")]
pub fn close_loop(env: EnvUnowned<'_>, _: JClass<'_>, handle: jlong) -> jboolean {
    native(env, |_| {
        let ended = LOOPS.with_borrow_mut(|loops| loops.remove(&handle));
        Ok(ended.is_some())
    })
}
