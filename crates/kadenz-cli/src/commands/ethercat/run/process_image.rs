//! Where the loop posts what it read and wrote, so that other programs see it.

use clap::ValueEnum;
use kadenz_ethercat::control::catalogue::Catalogue;
use kadenz_ethercat::control::cyclic::{
    CycleReport, LockedPublisher, Observer, SeqlockPublisher, post_bytes,
};
use kadenz_ethercat::control::locked::Locked;
use kadenz_ethercat::main_device::layout::Layout;

use super::control_socket::ControlServer;
use super::ready::Mapped;

/// How others come by what the loop posts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum ReadersOption {
    /// In shared memory, checked by a sequence: the loop waits for nobody (Linux)
    Sequence,
    /// Behind a mutex that inherits priority, as Yoon et al.: the loop waits for at most one reader;
    /// other programs ask for it
    PiMutex,
}

impl ReadersOption {
    pub(super) const fn word(self) -> &'static str {
        match self {
            Self::Sequence => "sequence",
            Self::PiMutex => "pi-mutex",
        }
    }
}

enum Place {
    /// Where nobody could read it.
    Nowhere,
    #[cfg(target_os = "linux")]
    Shared {
        name: String,
        owner: kadenz_rt::shared::Owner,
    },
    Locked(Locked),
}

/// Where it is posted, and what lies where.
pub(super) struct ProcessImage {
    place: Place,
    layout: Layout,
    #[cfg_attr(
        not(target_os = "linux"),
        expect(
            dead_code,
            reason = "who asks for it needs a server, which is of Linux"
        )
    )]
    catalogue: Catalogue,
    has_axes: bool,
}

impl ProcessImage {
    /// Makes it, before the loop runs.
    pub(super) fn open(
        readers: ReadersOption,
        server: &ControlServer,
        layout: &Layout,
        mapped: &[Mapped],
        axes: &[usize],
    ) -> anyhow::Result<Self> {
        let place = match readers {
            ReadersOption::Sequence => shared(server, layout),
            ReadersOption::PiMutex => Place::Locked(Locked::new(post_bytes(layout))?),
        };
        Ok(Self {
            place,
            layout: layout.clone(),
            catalogue: Catalogue::of(layout, mapped, axes),
            has_axes: !axes.is_empty(),
        })
    }

    /// Whether the loop moves anything.
    pub(super) const fn has_axes(&self) -> bool {
        self.has_axes
    }

    /// What posts each cycle. Allocates.
    pub(super) fn posting(&self) -> Posting<'_> {
        match &self.place {
            Place::Nowhere => Posting::Nothing,
            #[cfg(target_os = "linux")]
            Place::Shared { owner, .. } => SeqlockPublisher::begin(owner.words(), &self.layout)
                .map_or(Posting::Nothing, Posting::Shared),
            Place::Locked(image) => Posting::Locked(LockedPublisher::begin(image, &self.layout)),
        }
    }

    /// How many posts waited for a reader; `None` where none ever does.
    pub(super) fn waits(&self) -> Option<u64> {
        match &self.place {
            Place::Locked(image) => Some(image.waits()),
            _ => None,
        }
    }
}

#[cfg(target_os = "linux")]
fn shared(server: &ControlServer, layout: &Layout) -> Place {
    use kadenz_ethercat::control::control_socket;
    use kadenz_rt::shared::{self, Owner};

    let Some(name) = server.name() else {
        return Place::Nowhere;
    };
    shared::sweep(control_socket::MEMORY);
    let opened = control_socket::memory_name(name).map_err(anyhow::Error::new);
    let opened = opened.and_then(|name| {
        let owner = Owner::create(&name, SeqlockPublisher::words(layout))?;
        Ok(Place::Shared { name, owner })
    });
    opened.unwrap_or_else(|error| {
        crate::output::note(&format!(
            "other programs will not see what this loop reads: {error}"
        ));
        Place::Nowhere
    })
}

/// Shared memory is of Linux.
#[cfg(not(target_os = "linux"))]
fn shared(server: &ControlServer, layout: &Layout) -> Place {
    let _ = (server, layout);
    Place::Nowhere
}

#[cfg(target_os = "linux")]
impl ProcessImage {
    /// What the control socket shows of it.
    pub(super) fn shown(
        &self,
        interval: std::time::Duration,
    ) -> Option<kadenz_ethercat::control::control_socket::Shown<'_>> {
        use kadenz_ethercat::control::control_socket::{ProcessImage as Posted, Shown};

        let image = match &self.place {
            Place::Nowhere => return None,
            Place::Shared { name, owner } => Posted::Shared {
                name,
                words: owner.words(),
            },
            Place::Locked(image) => Posted::Locked(image),
        };
        Some(Shown {
            image,
            catalogue: &self.catalogue,
            interval,
        })
    }
}

/// Posts each cycle. Real-time safe: it waits for nobody, or for one reader as [`Locked`] says.
pub(super) enum Posting<'b> {
    Nothing,
    #[cfg_attr(
        not(target_os = "linux"),
        expect(dead_code, reason = "shared memory is of Linux")
    )]
    Shared(SeqlockPublisher<'b>),
    Locked(LockedPublisher<'b>),
}

impl Observer for Posting<'_> {
    fn cycle(&mut self, report: &CycleReport<'_>) {
        match self {
            Self::Nothing => {}
            Self::Shared(publisher) => publisher.cycle(report),
            Self::Locked(publisher) => publisher.cycle(report),
        }
    }
}
