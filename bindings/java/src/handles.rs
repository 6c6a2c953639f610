//! What Java holds by a number.

use std::any::Any;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};

use jni::objects::JClass;
use jni::sys::jlong;
use jni::{EnvUnowned, jni_mangle};

use crate::{Answer, error, native};

/// All that is open.
static OPEN: RwLock<BTreeMap<jlong, Arc<dyn Any + Send + Sync>>> = RwLock::new(BTreeMap::new());

/// A number that nothing else has had.
pub(crate) fn number() -> jlong {
    static LAST: AtomicI64 = AtomicI64::new(0);
    LAST.fetch_add(1, Ordering::Relaxed) + 1
}

/// Keeps a value until it is closed.
pub(crate) fn keep<T: Any + Send + Sync>(value: T) -> jlong {
    let handle = number();
    let mut open = OPEN.write().unwrap_or_else(PoisonError::into_inner);
    open.insert(handle, Arc::new(value));
    handle
}

/// What stands behind a number. It lives on for as long as it is used here, whoever closes it meanwhile.
pub(crate) fn of<T: Any + Send + Sync>(handle: jlong) -> Answer<Arc<T>> {
    let open = OPEN.read().unwrap_or_else(PoisonError::into_inner);
    let found = open.get(&handle).cloned();
    drop(open);
    found.and_then(|it| it.downcast().ok()).ok_or_else(|| {
        let name = std::any::type_name::<T>().rsplit("::").next();
        let name = name.unwrap_or_default().to_lowercase();
        error(format!("the {name} is closed; open another one"))
    })
}

/// Closes it; nothing where it is closed.
#[jni_mangle("kadenz.Native")]
pub fn close<'local>(env: EnvUnowned<'local>, _: JClass<'local>, handle: jlong) {
    native(env, |_| {
        let mut open = OPEN.write().unwrap_or_else(PoisonError::into_inner);
        let closed = open.remove(&handle);
        // What closing takes, nobody else waits for.
        drop(open);
        drop(closed);
        Ok(())
    });
}

/// A lock that a panic leaves usable.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
