//! The objects that Java refers to by numbers.

use std::any::Any;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};

use jni::objects::JClass;
use jni::sys::jlong;
use jni::{EnvUnowned, jni_mangle};

use crate::{Answer, error, native};

/// All open objects.
static OPEN: RwLock<BTreeMap<jlong, Arc<dyn Any + Send + Sync>>> = RwLock::new(BTreeMap::new());

/// A number that no other object has had.
pub(crate) fn number() -> jlong {
    static LAST: AtomicI64 = AtomicI64::new(0);
    LAST.fetch_add(1, Ordering::Relaxed) + 1
}

/// Keeps a value until Java closes it.
pub(crate) fn keep<T: Any + Send + Sync>(value: T) -> jlong {
    let handle = number();
    let mut open = OPEN.write().unwrap_or_else(PoisonError::into_inner);
    open.insert(handle, Arc::new(value));
    handle
}

/// The object of a number. It lives for as long as the caller uses it, also where another thread closes it meanwhile.
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

/// Closes an object; does nothing where it is closed already.
#[jni_mangle("kadenz.Native")]
pub fn close(env: EnvUnowned<'_>, _: JClass<'_>, handle: jlong) {
    native(env, |_| {
        let mut open = OPEN.write().unwrap_or_else(PoisonError::into_inner);
        let closed = open.remove(&handle);
        // The lock is released first, so that no other thread waits for the end of the object.
        drop(open);
        drop(closed);
        Ok(())
    });
}

/// Takes a lock, also one that a panic poisoned.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
