//! EtherCAT: a loop in the background, and cached inputs and outputs.

use std::ffi::c_char;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use kadenz_library::ethercat::{
    SharedInput, SharedNetwork, SharedNetworkError, SharedNetworkOptions, SharedOutput, Value,
    ValueType,
};

use crate::periodic::{kadenz_recording, put_text};
use crate::{answer, error_text, free, handle, room, text, text_or_none, timeout, tuning};

/// A segment with its devices. Any number of threads may read and set its values.
#[allow(non_camel_case_types, reason = "its name in C")]
pub struct kadenz_network {
    network: SharedNetwork,
    /// Before the start any thread may add some.
    entries: Mutex<Vec<Entry>>,
    /// From the start on there are these, without a lock.
    started: OnceLock<Box<[Entry]>>,
}

#[derive(Clone)]
enum Entry {
    Input(SharedInput),
    Output(SharedOutput),
}

/// The state of a network.
#[repr(C)]
#[derive(Default)]
#[allow(non_camel_case_types, reason = "its name in C")]
pub struct kadenz_network_state {
    /// Whether its loop runs.
    pub is_running: bool,
    /// Cycles up to now.
    pub cycles: u64,
    /// Frames of process data that did not come back in their cycle.
    pub lost: u64,
    /// Devices that answer and are in OP.
    pub operational: usize,
    /// Devices of the network, answering or not.
    pub devices: usize,
}

const NO_NETWORK: &str = "the network is NULL; the call that opens it failed";

impl kadenz_network {
    /// Uses a value. From the start on this takes no lock.
    fn with<T>(
        &self,
        value: i32,
        work: impl FnOnce(&Entry) -> Result<T, String>,
    ) -> Result<T, String> {
        let find = |entries: &[Entry]| {
            let entry = usize::try_from(value).ok().and_then(|it| entries.get(it));
            work(entry.ok_or_else(|| {
                format!(
                    "{value} is not a value of this network; ask for one by kadenz_network_input"
                )
            })?)
        };
        match self.started.get() {
            Some(entries) => find(entries),
            None => find(&self.entries()),
        }
    }

    fn entries(&self) -> MutexGuard<'_, Vec<Entry>> {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Opens a segment and brings its devices to SAFEOP: "eth1" is an interface, "sim:59" a virtual segment,
/// "sim:robot.toml" a segment that the file describes. `cycle` is a rate as "1kHz", `deadline`, as "400us", may be
/// NULL, `priority` 0 (else `SCHED_FIFO`, 1 to 99), `esi` names a vendor's ESI file or a folder of them, or is NULL.
/// Returns NULL where that fails.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kadenz_network_open(
    segment: *const c_char,
    cycle: *const c_char,
    deadline: *const c_char,
    priority: u8,
    lock_memory: bool,
    esi: *const c_char,
) -> *mut kadenz_network {
    answer(std::ptr::null_mut(), || {
        // SAFETY: the caller passes texts or NULL.
        let (segment, cycle, deadline, esi) = unsafe {
            (
                text(segment, "segment")?,
                text(cycle, "cycle")?,
                text_or_none(deadline, "deadline")?,
                text_or_none(esi, "esi")?,
            )
        };
        let options = SharedNetworkOptions {
            cycle: Some(cycle.to_owned()).filter(|it| !it.is_empty()),
            deadline: deadline.map(str::to_owned),
            tuning: tuning(priority, lock_memory),
            esi: esi.map(Into::into),
        };
        Ok(handle(kadenz_network {
            network: SharedNetwork::open(segment, &options).map_err(error_text)?,
            entries: Mutex::default(),
            started: OnceLock::new(),
        }))
    })
}

/// Shares an object in the inputs of a device, by the device's name or position: 0x6064 and sub-index 0 as `index` and
/// `subindex`. `type` is "bool", "u8" to "u64", "i8" to "i64", "f32", "f64", or NULL for that of the device's
/// dictionary or description. Returns the number of the value, or -1 where that fails. Call it before
/// `kadenz_network_start`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kadenz_network_input(
    network: *mut kadenz_network,
    device: *const c_char,
    index: u16,
    subindex: u8,
    r#type: *const c_char,
) -> i32 {
    // SAFETY: the caller keeps the same promises.
    unsafe {
        value(network, device, r#type, |net, device, value_type| {
            net.input(device, (index, subindex), value_type)
                .map(Entry::Input)
        })
    }
}

/// Shares an object in the outputs of a device, as `kadenz_network_input`. It is zero until a value is set.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kadenz_network_output(
    network: *mut kadenz_network,
    device: *const c_char,
    index: u16,
    subindex: u8,
    r#type: *const c_char,
) -> i32 {
    // SAFETY: the caller keeps the same promises.
    unsafe {
        value(network, device, r#type, |net, device, value_type| {
            net.output(device, (index, subindex), value_type)
                .map(Entry::Output)
        })
    }
}

/// # Safety
/// The handle and the texts come from C, or are NULL.
unsafe fn value(
    network: *mut kadenz_network,
    device: *const c_char,
    type_name: *const c_char,
    ask: impl FnOnce(&SharedNetwork, &str, Option<ValueType>) -> Result<Entry, SharedNetworkError>,
) -> i32 {
    answer(-1, || {
        // SAFETY: the caller's promise.
        let (network, device, type_name) = unsafe {
            (
                network.as_ref().ok_or(NO_NETWORK)?,
                text(device, "device")?,
                text_or_none(type_name, "type")?,
            )
        };
        let value_type = type_name.map(str::parse).transpose().map_err(error_text)?;
        // Held meanwhile, so that the start has this one, too.
        let mut entries = network.entries();
        entries.push(ask(&network.network, device, value_type).map_err(error_text)?);
        i32::try_from(entries.len() - 1).map_err(error_text)
    })
}

/// Starts the loop on a thread of its own; devices go to OP. With a `recording` the series of the loop go there: stop
/// the network before the recording is finished. Returns 0, or -1 where that fails.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kadenz_network_start(
    network: *mut kadenz_network,
    recording: *const kadenz_recording,
) -> i32 {
    answer(-1, || {
        // SAFETY: the caller passes a handle, and one or NULL.
        let (network, recording) =
            unsafe { (network.as_ref().ok_or(NO_NETWORK)?, recording.as_ref()) };
        let run = recording.map(kadenz_recording::running).transpose()?;
        let entries = network.entries();
        let started = network.network.start(run.map(Arc::clone));
        started.map_err(error_text)?;
        let _ = network.started.set(entries.clone().into_boxed_slice());
        Ok(0)
    })
}

/// Gets the last value that a device sent, zero before it sent one; of an output the last value that was set. Real-time
/// safe after the start where it succeeds. Returns 0, or -1 where that fails.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kadenz_network_get(
    network: *const kadenz_network,
    value: i32,
    into: *mut f64,
) -> i32 {
    // SAFETY: the caller passes a handle and room.
    unsafe {
        get(network, value, into, |it| match it {
            Value::Bool(it) => it.into(),
            Value::Integer(it) => it as f64,
            Value::Float(it) => it,
        })
    }
}

/// As `kadenz_network_get`, as an integer: a float loses its fraction, a 64-bit unsigned one above INT64_MAX becomes negative.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kadenz_network_get_integer(
    network: *const kadenz_network,
    value: i32,
    into: *mut i64,
) -> i32 {
    // SAFETY: the caller passes a handle and room.
    unsafe {
        get(network, value, into, |it| match it {
            Value::Bool(it) => it.into(),
            Value::Integer(it) => it as i64,
            Value::Float(it) => it as i64,
        })
    }
}

/// # Safety
/// The handle and the room come from C, or are NULL.
unsafe fn get<T>(
    network: *const kadenz_network,
    value: i32,
    into: *mut T,
    of: impl FnOnce(Value) -> T,
) -> i32 {
    answer(-1, || {
        // SAFETY: the caller's promise.
        let (network, into) = unsafe { (network.as_ref(), room(into)?) };
        let got = network.ok_or(NO_NETWORK)?.with(value, |it| match it {
            Entry::Input(input) => Ok(input.get()),
            Entry::Output(output) => Ok(output.get()),
        })?;
        into.write(of(got));
        Ok(0)
    })
}

/// Sets the value that the loop sends to a device from the next cycle on. Real-time safe after the start where it
/// succeeds. Returns 0, or -1 where the object's type cannot hold the value, as 300 or 1.5 in an unsigned byte, or the object is an input.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kadenz_network_set(
    network: *const kadenz_network,
    value: i32,
    to: f64,
) -> i32 {
    // SAFETY: the caller passes a handle.
    unsafe { set(network, value, Value::Float(to)) }
}

/// As `kadenz_network_set`, for integers beyond 2^53.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kadenz_network_set_integer(
    network: *const kadenz_network,
    value: i32,
    to: i64,
) -> i32 {
    // SAFETY: the caller passes a handle.
    unsafe { set(network, value, Value::Integer(to.into())) }
}

/// # Safety
/// The handle comes from C, or is NULL.
unsafe fn set(network: *const kadenz_network, value: i32, to: Value) -> i32 {
    answer(-1, || {
        // SAFETY: the caller's promise.
        let network = unsafe { network.as_ref() }.ok_or(NO_NETWORK)?;
        network.with(value, |it| match it {
            Entry::Output(output) => output.set(to).map_err(error_text),
            Entry::Input(_) => Err(format!("value {value} is an input; outputs can be set")),
        })?;
        Ok(0)
    })
}

/// Waits for a cycle after that of this number. Returns the number of the last cycle; 0 where none came in time or the
/// loop has ended, -1 where it does not run. The loop makes no system call for it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kadenz_network_wait(
    network: *const kadenz_network,
    after: u64,
    timeout_ns: i64,
) -> i64 {
    answer(-1, || {
        // SAFETY: the caller passes a handle.
        let network = unsafe { network.as_ref() }.ok_or(NO_NETWORK)?;
        let running = network.network.running().map_err(error_text)?;
        let cycle = running.wait_cycle(after, timeout(timeout_ns));
        i64::try_from(cycle.unwrap_or(0)).map_err(error_text)
    })
}

/// Gets the state of the network. Returns 0, or -1 where its loop does not run.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kadenz_network_get_state(
    network: *const kadenz_network,
    state: *mut kadenz_network_state,
) -> i32 {
    answer(-1, || {
        // SAFETY: the caller passes a handle and room.
        let (network, into) = unsafe { (network.as_ref().ok_or(NO_NETWORK)?, room(state)?) };
        let state = network.network.running().map_err(error_text)?.state();
        into.write(kadenz_network_state {
            is_running: state.is_running,
            cycles: state.cycles,
            lost: state.lost,
            operational: state.operational,
            devices: state.devices,
        });
        Ok(0)
    })
}

/// Ends the loop after its shutdown cycles, and leaves devices in PREOP. Writes its report, a line, into `summary`
/// where that is not NULL, cut to `room` bytes with its zero. Returns 0, or -1 where the loop did not run, or ended by
/// itself because a cycle was not done in time.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kadenz_network_stop(
    network: *mut kadenz_network,
    summary: *mut c_char,
    room: usize,
) -> i32 {
    answer(-1, || {
        // SAFETY: the caller passes a handle.
        let network = unsafe { network.as_ref() }.ok_or(NO_NETWORK)?;
        let report = network.network.stop();
        // SAFETY: the caller promises so much room.
        unsafe { put_text(&report.map_err(error_text)?.to_string(), summary, room) };
        Ok(0)
    })
}

/// Ends the loop where it runs, and frees the network.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kadenz_network_free(network: *mut kadenz_network) {
    // SAFETY: the caller passes a handle that is not used again.
    unsafe { free(network) };
}
