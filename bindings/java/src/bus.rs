//! Messages as bytes; Java code encodes and decodes types.

use std::sync::Mutex;

use jni::objects::{JByteArray, JByteBuffer, JClass, JLongArray, JObject, JString, JValue};
use jni::sys::{jboolean, jint, jlong};
use jni::{Env, EnvUnowned, jni_mangle, jni_sig, jni_str};
use kadenz::Tuning;
use kadenz::msg::bus::{Aggregator, SubscriptionOptions, WhenFull};
use kadenz::msg::channel::Channel;

use crate::{Answer, error, handles, native, optional, span, text, whole};

/// The limit of a queue, whose places are allocated at once.
const MAX_QUEUE: usize = 100_000;

/// A subscription, and the channel of its last message.
struct Subscription(Mutex<(Aggregator, Option<Channel>)>);

#[jni_mangle("kadenz.Native")]
pub fn open_bus(env: EnvUnowned<'_>, _: JClass<'_>, url: JString<'_>) -> jlong {
    native(env, |env| {
        let bus = match optional(env, &url)? {
            Some(url) => kadenz::Bus::open(&url),
            None => kadenz::Bus::open_default(),
        };
        bus.map(handles::keep).map_err(error)
    })
}

#[jni_mangle("kadenz.Native")]
pub fn bus_url<'local>(env: EnvUnowned<'local>, _: JClass<'local>, bus: jlong) -> JString<'local> {
    native(env, |env| {
        let bus = handles::of::<kadenz::Bus>(bus)?;
        Ok(JString::new(env, bus.url())?)
    })
}

/// The messages that were lost on the way to this bus, by the senders' numbers.
#[jni_mangle("kadenz.Native")]
pub fn lost(env: EnvUnowned<'_>, _: JClass<'_>, bus: jlong) -> jlong {
    native(env, |_| {
        let bus = handles::of::<kadenz::Bus>(bus)?;
        Ok(whole(bus.lost()))
    })
}

/// Receives on a thread of its own until the returned handle is closed.
#[jni_mangle("kadenz.Native")]
pub fn receive_in_background(env: EnvUnowned<'_>, _: JClass<'_>, bus: jlong) -> jlong {
    native(env, |_| {
        let bus = handles::of::<kadenz::Bus>(bus)?;
        let background = bus.receive_in_background(Tuning::default());
        background
            .map(|it| handles::keep(Mutex::new(it)))
            .map_err(error)
    })
}

#[jni_mangle("kadenz.Native")]
pub fn publish(
    env: EnvUnowned<'_>,
    _: JClass<'_>,
    bus: jlong,
    channel: JString<'_>,
    payload: JByteArray<'_>,
) {
    native(env, |env| {
        let payload = env.convert_byte_array(&payload)?;
        let bus = handles::of::<kadenz::Bus>(bus)?;
        bus.publish_bytes(&text(env, &channel)?, &payload)
            .map_err(error)
    });
}

/// Publishes the first bytes of a direct buffer.
#[jni_mangle("kadenz.Native")]
pub fn publish_buffer(
    env: EnvUnowned<'_>,
    _: JClass<'_>,
    bus: jlong,
    channel: JString<'_>,
    buffer: JByteBuffer<'_>,
    length: jint,
) {
    native(env, |env| {
        let channel = text(env, &channel)?;
        let bus = handles::of::<kadenz::Bus>(bus)?;
        let length = length.try_into().unwrap_or(0);
        let address = direct(env, &buffer, length)?;
        // SAFETY: the memory is as long as that, initialised, and lives for as long as this frame refers to the buffer.
        // `Bus` holds its lock, and a `Message` may not keep the buffer: no other code writes there meanwhile.
        #[allow(unsafe_code, reason = "memory of Java is an address")]
        let payload = unsafe { std::slice::from_raw_parts(address, length) };
        bus.publish_bytes(&channel, payload).map_err(error)
    });
}

#[jni_mangle("kadenz.Native")]
pub fn subscribe(
    env: EnvUnowned<'_>,
    _: JClass<'_>,
    bus: jlong,
    pattern: JString<'_>,
    queue: jint,
    keeps_newest: jboolean,
) -> jlong {
    native(env, |env| {
        let queue = usize::try_from(queue).unwrap_or(0);
        if !(1..=MAX_QUEUE).contains(&queue) {
            return Err(error(format!(
                "a queue is of 1 to {MAX_QUEUE} messages; state another length"
            )));
        }
        let when_full = match keeps_newest {
            true => WhenFull::DropOldest,
            false => WhenFull::DropNewest,
        };
        let options = SubscriptionOptions {
            queue,
            when_full,
            ..SubscriptionOptions::default()
        };
        let pattern = text(env, &pattern)?;
        let bus = handles::of::<kadenz::Bus>(bus)?;
        let aggregator = bus.aggregator_with(&pattern, &options).map_err(error)?;
        Ok(handles::keep(Subscription(Mutex::new((aggregator, None)))))
    })
}

/// Adds a channel to a subscription.
#[jni_mangle("kadenz.Native")]
pub fn add_channel(env: EnvUnowned<'_>, _: JClass<'_>, subscription: jlong, pattern: JString<'_>) {
    native(env, |env| {
        let pattern = text(env, &pattern)?;
        let subscription = handles::of::<Subscription>(subscription)?;
        let (aggregator, _) = &mut *handles::lock(&subscription.0);
        aggregator.add(&pattern).map_err(error)
    });
}

/// Waits for the next message, copies it into the direct buffer, and returns its length; -1 where none came. `about`
/// gets its sequence number, the times when the kernel and this process received it (-1 where unknown), and 1 where its
/// channel differs from that of the message before. Where the buffer is too short, `owner.grow` gives a longer one.
#[jni_mangle("kadenz.Native")]
pub fn receive(
    env: EnvUnowned<'_>,
    _: JClass<'_>,
    subscription: jlong,
    wait_ns: jlong,
    owner: JObject<'_>,
    buffer: JByteBuffer<'_>,
    about: JLongArray<'_>,
) -> jint {
    native(env, |env| {
        let subscription = handles::of::<Subscription>(subscription)?;
        let (aggregator, channel) = &mut *handles::lock(&subscription.0);
        let Some(raw) = aggregator.next_message(span(wait_ns)).map_err(error)? else {
            return Ok(-1);
        };
        let length = jint::try_from(raw.payload.len())
            .map_err(|_| error("the message is longer than Java can hold; send it in parts"))?;
        if raw.payload.len() > env.get_direct_buffer_capacity(&buffer)? {
            let arguments = [JValue::Int(length)];
            let (name, signature) = (jni_str!("grow"), jni_sig!("(I)Ljava/nio/ByteBuffer;"));
            let grown = env.call_method(&owner, name, signature, &arguments)?.l()?;
            let grown = env.cast_local::<JByteBuffer>(grown)?;
            fill(env, &grown, raw.payload)?;
        } else {
            fill(env, &buffer, raw.payload)?;
        }
        let stamps = raw.stamps();
        let is_new = channel.replace(raw.channel) != Some(raw.channel);
        let sequence = raw.delivery.info.source.sequence;
        let facts = [
            sequence.map_or(-1, |it| it.number.into()),
            stamps.kernel.map_or(-1, |it| whole(it.as_ns())),
            whole(stamps.taken.as_ns()),
            is_new.into(),
        ];
        about.set_region(env, 0, &facts)?;
        Ok(length)
    })
}

/// The channel of the last message.
#[jni_mangle("kadenz.Native")]
pub fn channel<'local>(
    env: EnvUnowned<'local>,
    _: JClass<'local>,
    subscription: jlong,
) -> JString<'local> {
    native(env, |env| {
        let subscription = handles::of::<Subscription>(subscription)?;
        let (_, channel) = &*handles::lock(&subscription.0);
        let name = channel.as_ref().map_or("", |it| it.as_str());
        Ok(JString::new(env, name)?)
    })
}

/// Numbers of received messages, and of those that were dropped because the queue was full.
#[jni_mangle("kadenz.Native")]
pub fn counts(env: EnvUnowned<'_>, _: JClass<'_>, subscription: jlong, into: JLongArray<'_>) {
    native(env, |env| {
        let subscription = handles::of::<Subscription>(subscription)?;
        let (aggregator, _) = &*handles::lock(&subscription.0);
        let counters = aggregator.counters();
        let dropped = counters.dropped_oldest + counters.dropped_newest;
        into.set_region(env, 0, &[whole(counters.received), whole(dropped)])?;
        Ok(())
    });
}

fn fill(env: &Env<'_>, buffer: &JByteBuffer<'_>, payload: &[u8]) -> Answer<()> {
    let address = direct(env, buffer, payload.len())?;
    // SAFETY: there is so much room, which lives for as long as this frame refers to the buffer, and no memory of Rust
    // lies there.
    #[allow(unsafe_code, reason = "memory of Java is an address")]
    unsafe {
        std::ptr::copy_nonoverlapping(payload.as_ptr(), address, payload.len());
    }
    Ok(())
}

/// The address of a direct buffer of at least so many bytes.
fn direct(env: &Env<'_>, buffer: &JByteBuffer<'_>, length: usize) -> Answer<*mut u8> {
    if length > env.get_direct_buffer_capacity(buffer)? {
        return Err(error("the buffer is shorter than its message"));
    }
    Ok(env.get_direct_buffer_address(buffer)?)
}
