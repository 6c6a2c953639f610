//! Messages as bytes.

use std::ffi::{CString, c_char};
use std::sync::{Mutex, PoisonError};

use kadenz_library::msg::bus::{Aggregator, Background, SubscriptionOptions};
use kadenz_library::{Bus, Tuning};

use crate::{answer, behind, error_text, free, handle, room, text, text_or_none, timeout};

/// A bus, which any number of threads may use.
#[allow(non_camel_case_types, reason = "its name in C")]
pub struct kadenz_bus {
    bus: Bus,
    background: Mutex<Option<Background>>,
}

/// A subscription to one or more channels.
#[allow(non_camel_case_types, reason = "its name in C")]
pub struct kadenz_subscription {
    aggregator: Aggregator,
    /// The channel of the last message, with a zero behind it.
    channel: CString,
}

const NO_BUS: &str = "the bus is NULL; the call that opens it failed";

/// A message, valid until the next call for its subscription.
#[repr(C)]
#[allow(non_camel_case_types, reason = "its name in C")]
pub struct kadenz_message {
    /// The channel, as a text that ends with a zero.
    pub channel: *const c_char,
    /// The encoded message; its length is beside it.
    pub payload: *const u8,
    /// Its length in bytes.
    pub length: usize,
    /// When it was complete in this process.
    pub taken_ns: u64,
    /// When the kernel received it; 0 where unknown.
    pub kernel_ns: u64,
}

/// Opens the bus of a URL, as "udpm://239.255.76.67:7667?ttl=0"; NULL takes the URL of LCM_DEFAULT_URL. Returns NULL
/// where that fails.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kadenz_bus_open(url: *const c_char) -> *mut kadenz_bus {
    answer(std::ptr::null_mut(), || {
        // SAFETY: the caller passes a text or NULL.
        let bus = match unsafe { text_or_none(url, "url") }? {
            Some(url) => Bus::open(url),
            None => Bus::open_default(),
        };
        Ok(handle(kadenz_bus {
            bus: bus.map_err(error_text)?,
            background: Mutex::default(),
        }))
    })
}

/// Receives on a thread of the library from now on, until the bus is closed: messages then wait in the queues of their
/// subscriptions while no thread calls `kadenz_receive`. Without it a thread that waits for a message receives for all
/// subscriptions, which costs one wake-up less; meanwhile messages wait in the small buffers of the system or of the
/// transport, which drop messages. Returns 0, also where it receives already, or -1 where that fails.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kadenz_bus_receive_in_background(bus: *const kadenz_bus) -> i32 {
    answer(-1, || {
        // SAFETY: the caller passes a handle.
        let bus = unsafe { bus.as_ref() }.ok_or(NO_BUS)?;
        let background = bus.background.lock();
        let mut background = background.unwrap_or_else(PoisonError::into_inner);
        if background.is_none() {
            let started = bus.bus.receive_in_background(Tuning::default());
            *background = Some(started.map_err(error_text)?);
        }
        Ok(0)
    })
}

/// Returns the number of messages that were lost on the way to this bus, of all channels, or -1 where the bus is NULL.
/// They are known by the numbers that senders give their messages, as over udpm://, shm:// and dds://, also those of
/// unmodified LCM programs; 0 where they give none. It interrupts the thread that receives: not for a loop.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kadenz_bus_lost(bus: *const kadenz_bus) -> i64 {
    answer(-1, || {
        // SAFETY: the caller passes a handle.
        let bus = unsafe { bus.as_ref() }.ok_or(NO_BUS)?;
        i64::try_from(bus.bus.lost()).map_err(error_text)
    })
}

/// Closes a bus; its subscriptions stay open.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kadenz_bus_free(bus: *mut kadenz_bus) {
    // SAFETY: the caller passes a handle that is not used again.
    unsafe { free(bus) };
}

/// Publishes bytes. Returns 0, or -1 where that fails. After the first message to a channel it allocates nothing; it
/// takes a priority-inheriting lock.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kadenz_publish(
    bus: *const kadenz_bus,
    channel: *const c_char,
    payload: *const u8,
    length: usize,
) -> i32 {
    answer(-1, || {
        // SAFETY: the caller passes a handle and a text.
        let (bus, channel) = unsafe { (bus.as_ref(), text(channel, "channel")?) };
        let bus = bus.ok_or(NO_BUS)?;
        // SAFETY: the caller promises so many bytes there.
        let payload = unsafe { bytes(payload, length) }?;
        let published = bus.bus.publish_bytes(channel, payload);
        published.map(|()| 0).map_err(error_text)
    })
}

/// Subscribes to the channels whose whole name a regular expression matches. At most `queue` messages wait, 30 for 0;
/// then a new one displaces the oldest. They come into the queue while a thread of this process waits for a message of
/// the bus, or after `kadenz_bus_receive_in_background`. Returns NULL where that fails.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kadenz_subscribe(
    bus: *const kadenz_bus,
    pattern: *const c_char,
    queue: usize,
) -> *mut kadenz_subscription {
    answer(std::ptr::null_mut(), || {
        // SAFETY: the caller passes a handle and a text.
        let (bus, pattern) = unsafe { (bus.as_ref(), text(pattern, "pattern")?) };
        let bus = bus.ok_or(NO_BUS)?;
        let mut options = SubscriptionOptions::default();
        if queue > 0 {
            options.queue = queue;
        }
        let aggregator = bus.bus.aggregator_with(pattern, &options);
        Ok(handle(kadenz_subscription {
            aggregator: aggregator.map_err(error_text)?,
            channel: CString::default(),
        }))
    })
}

/// Waits so many nanoseconds for a message, without limit where they are negative; 0 does not wait. Returns 1 with a
/// message, which is valid until the next call, 0 without one, -1 where that fails.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kadenz_receive(
    subscription: *mut kadenz_subscription,
    timeout_ns: i64,
    message: *mut kadenz_message,
) -> i32 {
    answer(-1, || {
        // SAFETY: the caller passes a handle and room for a message.
        let (subscription, into) = unsafe { (behind(subscription)?, room(message)?) };
        let kadenz_subscription {
            aggregator,
            channel,
        } = subscription;
        let raw = aggregator.next_message(timeout(timeout_ns));
        let Some(raw) = raw.map_err(error_text)? else {
            return Ok(0);
        };
        if channel.to_bytes() != raw.channel.as_str().as_bytes() {
            *channel = CString::new(raw.channel.as_str()).map_err(error_text)?;
        }
        let stamps = raw.stamps();
        into.write(kadenz_message {
            channel: channel.as_ptr(),
            payload: raw.payload.as_ptr(),
            length: raw.payload.len(),
            taken_ns: stamps.taken.as_ns(),
            kernel_ns: stamps.kernel.map_or(0, |it| it.as_ns()),
        });
        Ok(1)
    })
}

/// Frees a subscription, and its last message.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kadenz_subscription_free(subscription: *mut kadenz_subscription) {
    // SAFETY: the caller passes a handle that is not used again.
    unsafe { free(subscription) };
}

/// A slice of memory of C.
///
/// # Safety
/// The memory must have that length, and stay unchanged for as long as the slice lives.
pub(crate) unsafe fn bytes<'a>(payload: *const u8, length: usize) -> Result<&'a [u8], String> {
    match length {
        0 => Ok(&[]),
        _ if payload.is_null() => {
            Err("the payload is NULL; pass bytes, or the length 0".to_owned())
        }
        // SAFETY: the caller's promise.
        _ => Ok(unsafe { std::slice::from_raw_parts(payload, length) }),
    }
}
