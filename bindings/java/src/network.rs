//! EtherCAT: a loop in the background, and cached inputs and outputs.

use std::sync::{Arc, PoisonError, RwLock};

use jni::objects::{JClass, JLongArray, JString};
use jni::sys::{jboolean, jdouble, jint, jlong};
use jni::{EnvUnowned, jni_mangle};
use kadenz::ethercat::{SharedInput, SharedNetwork, SharedNetworkOptions, SharedOutput, Value};

use crate::periodic::{Recording, tuning};
use crate::{Answer, error, handles, native, optional, span, text, whole};

/// A segment with its devices.
struct Network {
    network: SharedNetwork,
    entries: RwLock<Vec<Entry>>,
}

#[derive(Clone)]
enum Entry {
    Input(SharedInput),
    Output(SharedOutput),
}

impl Network {
    fn entry(network: jlong, value: jint) -> Answer<Entry> {
        let network = handles::of::<Self>(network)?;
        let entries = network.entries.read();
        let entries = entries.unwrap_or_else(PoisonError::into_inner);
        let place = usize::try_from(value).ok();
        let entry = place.and_then(|it| entries.get(it).cloned());
        entry.ok_or_else(|| error("the network has no such value"))
    }
}

/// Opens a segment and brings it up. A priority of 0, no deadline and no ESI file leave these settings out.
#[jni_mangle("kadenz.Native")]
#[allow(clippy::too_many_arguments, reason = "called from one place in Java")]
pub fn open_network(
    env: EnvUnowned<'_>,
    _: JClass<'_>,
    segment: JString<'_>,
    cycle: JString<'_>,
    deadline: JString<'_>,
    priority: jint,
    locks_memory: jboolean,
    esi: JString<'_>,
) -> jlong {
    native(env, |env| {
        let options = SharedNetworkOptions {
            cycle: Some(text(env, &cycle)?).filter(|it| !it.is_empty()),
            deadline: optional(env, &deadline)?,
            tuning: tuning(priority, locks_memory)?,
            esi: optional(env, &esi)?.map(Into::into),
        };
        let network = SharedNetwork::open(&text(env, &segment)?, &options).map_err(error)?;
        Ok(handles::keep(Network {
            network,
            entries: RwLock::default(),
        }))
    })
}

/// The number of an object in the inputs or outputs of a device.
#[jni_mangle("kadenz.Native")]
#[allow(clippy::too_many_arguments, reason = "called from one place in Java")]
pub fn network_value(
    env: EnvUnowned<'_>,
    _: JClass<'_>,
    network: jlong,
    is_output: jboolean,
    device: JString<'_>,
    index: jint,
    subindex: jint,
    value_type: JString<'_>,
) -> jint {
    native(env, |env| {
        let network = handles::of::<Network>(network)?;
        let device = text(env, &device)?;
        let value_type = optional(env, &value_type)?;
        let value_type = value_type.map(|it| it.parse()).transpose().map_err(error)?;
        let no_object = |_| {
            error(format!(
                "{index:#x}:{subindex} is not a valid object; an index has 16 bits, a sub-index 8"
            ))
        };
        let object = (
            u16::try_from(index).map_err(no_object)?,
            u8::try_from(subindex).map_err(no_object)?,
        );
        let segment = &network.network;
        let entry = match is_output {
            true => Entry::Output(segment.output(&device, object, value_type).map_err(error)?),
            false => Entry::Input(segment.input(&device, object, value_type).map_err(error)?),
        };
        let entries = network.entries.write();
        let mut entries = entries.unwrap_or_else(PoisonError::into_inner);
        entries.push(entry);
        jint::try_from(entries.len() - 1).map_err(error)
    })
}

/// Starts the loop; a recording of 0 means none.
#[jni_mangle("kadenz.Native")]
pub fn start_network(env: EnvUnowned<'_>, _: JClass<'_>, network: jlong, recording: jlong) {
    native(env, |_| {
        let run = match recording {
            0 => None,
            recording => Some(Recording::with(recording, |it| Ok(Arc::clone(it)))?),
        };
        let network = handles::of::<Network>(network)?;
        network.network.start(run).map_err(error)
    });
}

fn get(network: jlong, value: jint) -> Answer<Value> {
    Ok(match Network::entry(network, value)? {
        Entry::Input(input) => input.get(),
        Entry::Output(output) => output.get(),
    })
}

#[jni_mangle("kadenz.Native")]
pub fn get_value(env: EnvUnowned<'_>, _: JClass<'_>, network: jlong, value: jint) -> jdouble {
    native(env, |_| {
        Ok(match get(network, value)? {
            Value::Bool(it) => it.into(),
            Value::Integer(it) => it as jdouble,
            Value::Float(it) => it,
        })
    })
}

/// The value as an integer: a float loses its fraction, a 64-bit unsigned one above the largest `long` becomes
/// negative.
#[jni_mangle("kadenz.Native")]
pub fn get_integer(env: EnvUnowned<'_>, _: JClass<'_>, network: jlong, value: jint) -> jlong {
    native(env, |_| {
        Ok(match get(network, value)? {
            Value::Bool(it) => it.into(),
            Value::Integer(it) => it as jlong,
            Value::Float(it) => it as jlong,
        })
    })
}

fn set(network: jlong, value: jint, to: Value) -> Answer<()> {
    match Network::entry(network, value)? {
        Entry::Output(output) => output.set(to).map_err(error),
        Entry::Input(_) => Err(error("an input cannot be set; ask for an output")),
    }
}

#[jni_mangle("kadenz.Native")]
pub fn set_value(env: EnvUnowned<'_>, _: JClass<'_>, network: jlong, value: jint, to: jdouble) {
    native(env, |_| set(network, value, Value::Float(to)));
}

#[jni_mangle("kadenz.Native")]
pub fn set_integer(env: EnvUnowned<'_>, _: JClass<'_>, network: jlong, value: jint, to: jlong) {
    native(env, |_| set(network, value, Value::Integer(to.into())));
}

/// Waits for a cycle after that one and returns its number; 0 where none came in time.
#[jni_mangle("kadenz.Native")]
pub fn wait_cycle(
    env: EnvUnowned<'_>,
    _: JClass<'_>,
    network: jlong,
    after: jlong,
    wait_ns: jlong,
) -> jlong {
    native(env, |_| {
        let network = handles::of::<Network>(network)?;
        let running = network.network.running().map_err(error)?;
        let cycle = running.wait_cycle(after.try_into().unwrap_or(0), span(wait_ns));
        if cycle.is_none() && !running.state().is_running {
            return Err(error("the loop has ended; stop() says why"));
        }
        Ok(cycle.map_or(0, whole))
    })
}

/// Whether the loop runs, the number of cycles, of lost frames, of devices in OP, of devices.
#[jni_mangle("kadenz.Native")]
pub fn network_state(env: EnvUnowned<'_>, _: JClass<'_>, network: jlong, into: JLongArray<'_>) {
    native(env, |env| {
        let network = handles::of::<Network>(network)?;
        let state = network.network.running().map_err(error)?.state();
        let facts = [
            state.is_running.into(),
            whole(state.cycles),
            whole(state.lost),
            whole(state.operational as u64),
            whole(state.devices as u64),
        ];
        Ok(into.set_region(env, 0, &facts)?)
    });
}

/// Ends the loop; returns its report, a line.
#[jni_mangle("kadenz.Native")]
pub fn stop_network<'local>(
    env: EnvUnowned<'local>,
    _: JClass<'local>,
    network: jlong,
) -> JString<'local> {
    native(env, |env| {
        let network = handles::of::<Network>(network)?;
        let report = network.network.stop().map_err(error)?;
        Ok(JString::new(env, report.to_string())?)
    })
}
