//! The folder that holds all files of a bus, which this user alone may enter.
//!
//! iceoryx2's own services put names that can be guessed into `/dev/shm` and `/tmp/iceoryx2`, where another
//! user may have made them before: a truncated file that every program waits for, or a link by which root
//! makes files in a foreign folder. So [`FileService`] is `ipc_threadsafe` with files in place of POSIX
//! shared memory, and [`config`] has all of them in `/dev/shm/kadenz-msg-USER`, whose owner and mode are
//! checked first. The files are in the same kind of memory (tmpfs).

use std::fmt::Debug;
use std::path::{Path, PathBuf};

use iceoryx2::config::Config;
use iceoryx2::prelude::{SemanticString as _, ZeroCopySend};
use iceoryx2::service::ipc_threadsafe::Service as Ipc;
use iceoryx2::service::{Service, internal::ServiceInternal};
use iceoryx2_bb_elementary_traits::testing::abandonable::Abandonable;
use iceoryx2_bb_lock_free::mpmc::counting_bit_set::RelocatableCountingBitSet;
use iceoryx2_cal::event::trigger::{State, unix_datagram_socket::GenericUnixDatagramSocketTrigger};
use iceoryx2_cal::shm_allocator::bump_allocator::BumpAllocator;
use iceoryx2_cal::shm_allocator::pool_allocator::PoolAllocator;
use iceoryx2_cal::{dynamic_storage, resizable_shared_memory, shared_memory, zero_copy_connection};
use kadenz_rt::own_file::{self, OwnFileError};

/// The folder of named memory on Linux.
const MEMORY: &str = "/dev/shm";

/// The folder of this user's buses.
pub(super) fn folder() -> PathBuf {
    Path::new(MEMORY).join(format!("kadenz-msg-{}", own_file::user()))
}

/// Makes the folder if it does not exist, and sets iceoryx2 to use it alone.
pub(super) fn config(folder: &Path) -> Result<Config, OwnFileError> {
    own_file::folder(folder)?;
    let mut config = Config::default();
    let path = folder.as_os_str().as_encoded_bytes();
    let path = iceoryx2::prelude::Path::new(path)
        .map_err(|error| std::io::Error::other(format!("{error:?}")))
        .map_err(own_file::refused("name", folder))?;
    config.global.set_root_path(&path);
    Ok(config)
}

/// `ipc_threadsafe`, in files.
#[derive(Clone, Debug)]
pub(super) struct FileService;

type Stored<T> = dynamic_storage::file::Storage<T>;

impl Service for FileService {
    type StaticStorage = <Ipc as Service>::StaticStorage;
    type ConfigSerializer = <Ipc as Service>::ConfigSerializer;
    type PersistentDynamicStorage<T: Debug + Send + Sync + ZeroCopySend + 'static> = Stored<T>;
    type Bag = <Ipc as Service>::Bag;
    type DynamicStorage<T: Debug + Send + Sync + ZeroCopySend + 'static> = Stored<T>;
    type ServiceNameHasher = <Ipc as Service>::ServiceNameHasher;
    type SharedMemory = shared_memory::file::Memory<PoolAllocator>;
    type ResizableSharedMemory =
        resizable_shared_memory::dynamic::DynamicMemory<PoolAllocator, Self::SharedMemory>;
    type Connection = zero_copy_connection::file::Connection;
    type Event = GenericUnixDatagramSocketTrigger<
        RelocatableCountingBitSet,
        Stored<State<RelocatableCountingBitSet, ()>>,
    >;
    type Monitoring = <Ipc as Service>::Monitoring;
    type Reactor = <Ipc as Service>::Reactor;
    type ArcThreadSafetyPolicy<T: Send + Debug + Abandonable> =
        <Ipc as Service>::ArcThreadSafetyPolicy<T>;
    type BlackboardMgmt<T: Send + Sync + Debug + ZeroCopySend + 'static> = Stored<T>;
    type BlackboardPayload = shared_memory::file::Memory<BumpAllocator>;
    type UniqueId = <Ipc as Service>::UniqueId;
}

impl ServiceInternal<Self> for FileService {}

#[cfg(test)]
mod tests {
    use super::super::{Shm, open_in, settings};
    use super::*;
    use crate::provider::parameters::Address;
    use crate::provider::{Provider as _, ProviderError};

    fn open(folder: &Path) -> Result<Shm, ProviderError> {
        let address = Address::parse("shm://private?inlets=2&outlets=2").unwrap();
        let settings = settings(&address).unwrap();
        open_in(folder, address, settings)
    }

    /// Names in `/dev/shm` that iceoryx2 would choose by itself.
    fn loose() -> Vec<std::ffi::OsString> {
        let entries = std::fs::read_dir(MEMORY).unwrap().flatten();
        let names = entries.map(|it| it.file_name());
        names
            .filter(|it| it.to_string_lossy().starts_with("iox2_"))
            .collect()
    }

    #[test]
    fn all_of_a_bus_lies_in_its_folder_which_is_its_users_alone() {
        use std::os::unix::fs::MetadataExt as _;
        let place = tempfile::tempdir_in(MEMORY).unwrap();
        let folder = place.path().join("bus");
        let before = loose();
        let bus = open(&folder).unwrap();
        let _ends = (bus.outlet().unwrap(), bus.inlet().unwrap());
        let about = std::fs::metadata(&folder).unwrap();
        assert_eq!(about.mode() & 0o777, 0o700);
        assert!(std::fs::read_dir(&folder).unwrap().count() > 4);
        let after = loose();
        let new: Vec<_> = after.iter().filter(|it| !before.contains(it)).collect();
        assert!(new.is_empty(), "{new:?}");
    }

    #[test]
    fn a_folder_that_others_prepared_is_refused() {
        let place = tempfile::tempdir_in(MEMORY).unwrap();
        let elsewhere = tempfile::tempdir_in(MEMORY).unwrap();
        let link = place.path().join("link");
        std::os::unix::fs::symlink(elsewhere.path(), &link).unwrap();
        let error = open(&link).unwrap_err().to_string();
        assert!(
            error.contains("is a symbolic link, not a folder") && error.contains("remove it"),
            "{error}"
        );
        assert_eq!(std::fs::read_dir(elsewhere.path()).unwrap().count(), 0);
    }
}
