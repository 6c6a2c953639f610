//! The process image that the loop publishes in each cycle for other programs.

use std::time::Duration;

use kadenz_ethercat::control::catalogue::Catalogue;
use kadenz_ethercat::control::cyclic::{
    CycleReport, LockedPublisher, Observer, SeqlockPublisher, image_bytes,
};
use kadenz_ethercat::control::locked::Locked;
use kadenz_ethercat::main_device::layout::Layout;
use kadenz_rt::pi_mutex::CreatePiMutexError;

use super::bring_up::Mapped;

/// How other programs read the inputs and outputs of each cycle.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Readers {
    /// In shared memory, checked by a sequence lock: the loop never waits for a reader. Linux.
    #[default]
    Seqlock,
    /// Behind a mutex that inherits priority, as in \[Yoon2009\]: the loop waits for at most one reader. Other programs
    /// request the image at the control socket.
    PiMutex,
}

/// The memory that a process image is published in.
enum ImageMemory {
    /// No memory, since no reader could reach it.
    Nowhere,
    #[cfg(target_os = "linux")]
    Shared {
        name: String,
        owner: kadenz_rt::shared::Owner,
    },
    Locked(Locked),
}

/// The process image: its memory and its layout.
pub(super) struct ProcessImage {
    place: ImageMemory,
    layout: Layout,
    #[cfg_attr(
        not(target_os = "linux"),
        expect(
            dead_code,
            reason = "only the control socket reads it, which exists on Linux"
        )
    )]
    catalogue: Catalogue,
    #[cfg_attr(
        not(target_os = "linux"),
        expect(
            dead_code,
            reason = "only the control socket reads it, which exists on Linux"
        )
    )]
    interval: Duration,
    has_axes: bool,
}

impl ProcessImage {
    /// Makes the image, before the loop runs; shared memory gets the loop's name. Where it cannot be made, `refused`
    /// gets the reason.
    pub(super) fn open(
        readers: Readers,
        name: Option<&str>,
        layout: &Layout,
        mapped: &[Mapped],
        axes: &[usize],
        interval: Duration,
        refused: impl FnOnce(&str),
    ) -> Result<Self, CreatePiMutexError> {
        let place = match (readers, name) {
            (Readers::PiMutex, _) => ImageMemory::Locked(Locked::new(image_bytes(layout))?),
            (Readers::Seqlock, None) => ImageMemory::Nowhere,
            (Readers::Seqlock, Some(name)) => shared(name, layout).unwrap_or_else(|error| {
                refused(&format!(
                    "other programs will not see what this loop reads: {error}"
                ));
                ImageMemory::Nowhere
            }),
        };
        Ok(Self {
            place,
            layout: layout.clone(),
            catalogue: Catalogue::of(layout, mapped, axes),
            interval,
            has_axes: !axes.is_empty(),
        })
    }

    /// Whether the loop moves anything.
    pub(super) const fn has_axes(&self) -> bool {
        self.has_axes
    }

    /// The publisher that publishes each cycle. Allocates.
    pub(super) fn publisher(&self) -> Publisher<'_> {
        match &self.place {
            ImageMemory::Nowhere => Publisher::Nothing,
            #[cfg(target_os = "linux")]
            ImageMemory::Shared { owner, .. } => {
                SeqlockPublisher::begin(owner.words(), &self.layout)
                    .map_or(Publisher::Nothing, Publisher::Shared)
            }
            ImageMemory::Locked(image) => {
                Publisher::Locked(LockedPublisher::begin(image, &self.layout))
            }
        }
    }

    /// How often publishing waited for a reader; `None` where the loop never waits.
    pub(super) fn waits(&self) -> Option<u64> {
        match &self.place {
            ImageMemory::Locked(image) => Some(image.waits()),
            _ => None,
        }
    }

    /// What the control socket needs to show it.
    #[cfg(target_os = "linux")]
    pub(super) fn shown(
        &self,
    ) -> Option<kadenz_ethercat::running_loop::control_socket::PublishedImage<'_>> {
        use kadenz_ethercat::running_loop::control_socket::{
            ProcessImage as Place, PublishedImage,
        };

        let image = match &self.place {
            ImageMemory::Nowhere => return None,
            ImageMemory::Shared { name, owner } => Place::Shared {
                name,
                words: owner.words(),
            },
            ImageMemory::Locked(image) => Place::Locked(image),
        };
        Some(PublishedImage {
            image,
            catalogue: &self.catalogue,
            interval: self.interval,
        })
    }
}

type OpenResult = Result<ImageMemory, Box<dyn std::error::Error>>;

#[cfg(target_os = "linux")]
fn shared(name: &str, layout: &Layout) -> OpenResult {
    use kadenz_ethercat::running_loop::control_socket;
    use kadenz_rt::shared::{self, Owner};

    shared::sweep(control_socket::MEMORY);
    let name = control_socket::memory_name(name)?;
    let owner = Owner::create(&name, SeqlockPublisher::words(layout))?;
    Ok(ImageMemory::Shared { name, owner })
}

/// Shared memory exists on Linux only.
#[cfg(not(target_os = "linux"))]
fn shared(_: &str, _: &Layout) -> OpenResult {
    Ok(ImageMemory::Nowhere)
}

/// Publishes each cycle.
///
/// # Real-time safety
/// Real-time safe: it never waits, or for one reader as [`Locked`] says.
pub(super) enum Publisher<'b> {
    Nothing,
    #[cfg_attr(
        not(target_os = "linux"),
        expect(dead_code, reason = "shared memory is of Linux")
    )]
    Shared(SeqlockPublisher<'b>),
    Locked(LockedPublisher<'b>),
}

impl Observer for Publisher<'_> {
    fn cycle(&mut self, report: &CycleReport<'_>) {
        match self {
            Self::Nothing => {}
            Self::Shared(publisher) => publisher.cycle(report),
            Self::Locked(publisher) => publisher.cycle(report),
        }
    }
}
