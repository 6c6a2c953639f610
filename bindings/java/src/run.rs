//! Finished runs: read as a whole, once, into objects of Java.

use jni::objects::{JClass, JDoubleArray, JLongArray, JObjectArray, JString};
use jni::sys::{jint, jlong};
use jni::{Env, EnvUnowned, jni_mangle};
use kadenz::report::summary::{SeriesSummary, Summary};

use crate::{Answer, error, handles, native, text, texts, whole};

#[jni_mangle("kadenz.Native")]
pub fn version<'local>(env: EnvUnowned<'local>, _: JClass<'local>) -> JString<'local> {
    native(env, |env| Ok(JString::new(env, env!("CARGO_PKG_VERSION"))?))
}

/// Opens a run folder, or a file that `kadenz import` takes.
#[jni_mangle("kadenz.Native")]
pub fn open_run(env: EnvUnowned<'_>, _: JClass<'_>, path: JString<'_>) -> jlong {
    native(env, |env| {
        let summary = kadenz::read(text(env, &path)?).map_err(error)?;
        Ok(handles::keep(summary))
    })
}

/// The differences beyond chance, a sentence each.
#[jni_mangle("kadenz.Native")]
pub fn compare<'local>(
    env: EnvUnowned<'local>,
    _: JClass<'local>,
    baseline: JString<'local>,
    candidate: JString<'local>,
) -> JObjectArray<'local, JString<'local>> {
    native(env, |env| {
        let baseline = kadenz::read(text(env, &baseline)?).map_err(error)?;
        let candidate = kadenz::read(text(env, &candidate)?).map_err(error)?;
        let comparison = kadenz::compare(&baseline, &candidate);
        let changes = comparison.significant().map(|it| it.to_string());
        texts(env, &changes.collect::<Vec<_>>())
    })
}

/// The content of `run.json`, as JSON.
#[jni_mangle("kadenz.Native")]
pub fn run_facts<'local>(
    env: EnvUnowned<'local>,
    _: JClass<'local>,
    run: jlong,
) -> JString<'local> {
    native(env, |env| {
        let run = handles::of::<Summary>(run)?;
        let facts = serde_json::to_string(&run.run).map_err(error)?;
        Ok(JString::new(env, facts)?)
    })
}

#[jni_mangle("kadenz.Native")]
pub fn run_warnings<'local>(
    env: EnvUnowned<'local>,
    _: JClass<'local>,
    run: jlong,
) -> JObjectArray<'local, JString<'local>> {
    native(env, |env| {
        let run = handles::of::<Summary>(run)?;
        let warnings = run.warnings.iter().map(|it| it.text.clone());
        texts(env, &warnings.collect::<Vec<_>>())
    })
}

#[jni_mangle("kadenz.Native")]
pub fn series_names<'local>(
    env: EnvUnowned<'local>,
    _: JClass<'local>,
    run: jlong,
) -> JObjectArray<'local, JString<'local>> {
    native(env, |env| {
        let run = handles::of::<Summary>(run)?;
        let names = run.series.iter().map(|it| it.series.name.clone());
        texts(env, &names.collect::<Vec<_>>())
    })
}

/// Count, extremes, mean, percentiles and verdict of a series, as JSON.
#[jni_mangle("kadenz.Native")]
pub fn series_facts<'local>(
    env: EnvUnowned<'local>,
    _: JClass<'local>,
    run: jlong,
    place: jint,
) -> JString<'local> {
    native(env, |env| {
        let facts = with_series(run, place, |it| serde_json::to_string(it).map_err(error))??;
        Ok(JString::new(env, facts)?)
    })
}

/// Count, smallest, largest, mean and standard deviation of a series; then each percentile that the sample carries and
/// its value. A missing figure is NaN.
#[jni_mangle("kadenz.Native")]
pub fn series_figures<'local>(
    env: EnvUnowned<'local>,
    _: JClass<'local>,
    run: jlong,
    place: jint,
) -> JDoubleArray<'local> {
    native(env, |env| {
        let figures = with_series(run, place, |it| {
            let whole = |value: Option<i64>| value.map_or(f64::NAN, |it| it as f64);
            let mut figures = vec![
                it.count as f64,
                whole(it.min_ns),
                whole(it.max_ns),
                it.mean_ns.unwrap_or(f64::NAN),
                it.stddev_ns.unwrap_or(f64::NAN),
            ];
            for percentile in &it.percentiles {
                figures.push(percentile.percent.percent());
                figures.push(percentile.value_ns as f64);
            }
            figures
        })?;
        let array = JDoubleArray::new(env, figures.len())?;
        array.set_region(env, 0, &figures)?;
        Ok(array)
    })
}

/// Of each non-empty bucket the lowest value, the highest and the count, one after another.
#[jni_mangle("kadenz.Native")]
pub fn series_histogram<'local>(
    env: EnvUnowned<'local>,
    _: JClass<'local>,
    run: jlong,
    place: jint,
) -> JLongArray<'local> {
    native(env, |env| {
        longs(env, run, place, |it| {
            let buckets = it.distribution.iter();
            let rows = buckets.map(|it| [it.low_ns, it.high_ns, whole(it.count)]);
            rows.flatten().collect()
        })
    })
}

/// Of each interval the start in nanoseconds, the count, the misses, the smallest and the largest value, p50 and p99,
/// the smallest number where the interval cannot carry it; one after another.
#[jni_mangle("kadenz.Native")]
pub fn series_intervals<'local>(
    env: EnvUnowned<'local>,
    _: JClass<'local>,
    run: jlong,
    place: jint,
) -> JLongArray<'local> {
    native(env, |env| {
        longs(env, run, place, |it| {
            let rows = it.intervals.iter().map(|it| {
                [
                    (it.start_s * 1e9) as i64,
                    whole(it.count),
                    whole(it.misses),
                    it.min_ns,
                    it.max_ns,
                    it.p50_ns.unwrap_or(i64::MIN),
                    it.p99_ns.unwrap_or(i64::MIN),
                ]
            });
            rows.flatten().collect()
        })
    })
}

fn with_series<T>(run: jlong, place: jint, body: impl FnOnce(&SeriesSummary) -> T) -> Answer<T> {
    let run = handles::of::<Summary>(run)?;
    let place = usize::try_from(place).ok();
    let series = place.and_then(|it| run.series.get(it));
    let series = series.ok_or_else(|| error("the run has no such series"))?;
    Ok(body(series))
}

/// Numbers of a series.
fn longs<'local>(
    env: &mut Env<'local>,
    run: jlong,
    place: jint,
    of: impl FnOnce(&SeriesSummary) -> Vec<jlong>,
) -> Answer<JLongArray<'local>> {
    let numbers = with_series(run, place, of)?;
    let array = JLongArray::new(env, numbers.len())?;
    array.set_region(env, 0, &numbers)?;
    Ok(array)
}
