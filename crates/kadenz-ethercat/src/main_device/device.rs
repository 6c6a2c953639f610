//! The MainDevice's record of a SubDevice.

use crate::wire::coe::Emergency;
use crate::wire::register::{SYNC_MANAGER, SYNC_MANAGER_SIZE, features};
use crate::wire::sii::{Direction, Identity, Image, Mailboxes, Protocols, SyncManagerDefault};
use crate::wire::sync_manager::SyncManagerControl;
use crate::wire::{Configured, DlStatus, Fmmu, Position, SyncManager};

use super::exchange::Target;
use super::layout::Demand;
use super::mailbox::{Mail, MailError, Numbering};

/// A SubDevice that was found.
#[derive(Debug, Clone)]
pub struct SubDevice {
    /// Its position, in the order in which frames are processed.
    pub position: Position,
    /// The station address that the MainDevice gave it.
    pub station: Configured,
    /// Its alias; 0 for none.
    pub alias: u16,
    /// Its name by its SII; empty where the SII has none.
    pub name: String,
    /// Vendor, product, revision and serial number.
    pub identity: Identity,
    /// The protocols of its mailbox.
    pub protocols: Protocols,
    /// Its mailboxes; sizes 0 for none.
    pub mailboxes: Mailboxes,
    /// The features of its controller, see [`features`]; no clock where the
    /// clock's registers do not answer.
    pub features: u16,
    /// The number of its FMMUs.
    pub fmmus: u8,
    /// The number of its SyncManagers.
    pub sync_managers: u8,
    /// Its links when it was found.
    pub links: DlStatus,
    /// The content of its SII, as it was read when it was found.
    pub sii: Vec<u8>,
    /// Its process data as configured.
    pub process_data: ProcessData,
    /// The numbers of its mailbox messages, and the last message that came.
    pub counter: Numbering,
    /// Emergencies that it sent.
    pub emergencies: Vec<Emergency>,
}

/// A piece of process data behind one SyncManager.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Piece {
    /// The SyncManager's number.
    pub number: u8,
    /// The SyncManager's settings.
    pub manager: SyncManager,
}

impl Piece {
    /// The address of its SyncManager's registers.
    #[must_use]
    pub(crate) const fn register(&self) -> u16 {
        SYNC_MANAGER + self.number as u16 * SYNC_MANAGER_SIZE
    }
}

/// The process data of a SubDevice.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ProcessData {
    /// Process data from the MainDevice.
    pub outputs: Vec<Piece>,
    /// Process data to the MainDevice.
    pub inputs: Vec<Piece>,
    /// The FMMUs that map it, in the order of their numbers.
    pub fmmus: Vec<Fmmu>,
}

impl ProcessData {
    /// Adds a SyncManager of a length by its default in the SII or an ESI file.
    pub(super) fn add(
        &mut self,
        number: u8,
        direction: Direction,
        default: &SyncManagerDefault,
        length: u16,
    ) {
        let (pieces, usual) = match direction {
            Direction::Outputs => (&mut self.outputs, SyncManagerControl::OUTPUTS),
            Direction::Inputs => (&mut self.inputs, SyncManagerControl::INPUTS),
        };
        let control = match default.control {
            0 => usual,
            own => SyncManagerControl(own),
        };
        let manager = SyncManager::new(default.area.start, length, control);
        pieces.push(Piece { number, manager });
    }

    /// Bytes of the process data.
    #[must_use]
    pub fn demand(&self) -> Demand {
        let bytes = |pieces: &[Piece]| {
            let lengths = pieces.iter().map(|it| it.manager.length);
            // More than a frame carries is an error of the layout, however much more it is.
            lengths.fold(0_u16, u16::saturating_add)
        };
        Demand {
            outputs: bytes(&self.outputs),
            inputs: bytes(&self.inputs),
        }
    }
}

impl SubDevice {
    /// A SubDevice of which only the SII is known: no links, no FMMUs, no features. Allocates.
    #[must_use]
    pub fn of_memory(position: Position, station: Configured, sii: Vec<u8>) -> Self {
        let image = Image::of(&sii).ok();
        let fixed = image.map(|it| it.fixed());
        Self {
            position,
            station,
            alias: 0,
            name: image
                .and_then(|it| it.name())
                .map(|it| it.to_string())
                .unwrap_or_default(),
            identity: fixed.map(|it| it.identity).unwrap_or_default(),
            protocols: fixed.map(|it| it.protocols).unwrap_or_default(),
            mailboxes: fixed.map(|it| it.mailboxes).unwrap_or_default(),
            features: 0,
            fmmus: 0,
            sync_managers: 0,
            links: DlStatus(0),
            sii,
            process_data: ProcessData::default(),
            counter: Numbering::default(),
            emergencies: Vec::new(),
        }
    }

    /// Its address as a target.
    #[must_use]
    pub fn target(&self) -> Target {
        Target::Of(self.station)
    }

    /// Its SII, parsed; `None` where it was too short.
    #[must_use]
    pub fn image(&self) -> Option<Image<'_>> {
        Image::of(&self.sii).ok()
    }

    /// Its long name by its SII; empty where the SII has none. Allocates.
    #[must_use]
    pub fn long_name(&self) -> String {
        let text = self.image().and_then(|image| {
            let general = image.general()?;
            Some(image.string(general.name)?.to_string())
        });
        text.unwrap_or_default()
    }

    /// Its name for people: its long name, else its short one; empty where the SII has neither. Allocates.
    #[must_use]
    pub fn called(&self) -> String {
        let long = self.long_name();
        if long.is_empty() {
            return self.name.clone();
        }
        long
    }

    /// Its name and position, as `left knee (position 8, address 0x1009)`. Allocates.
    #[must_use]
    pub fn label(&self) -> String {
        let called = match self.called() {
            name if name.is_empty() => "a device without a name".to_owned(),
            name => name,
        };
        let (position, station) = (self.position.0, self.station.0);
        format!("{called} (position {position}, address 0x{station:04X})")
    }

    /// Whether its controller does not support LRW. The flag of its SII is the vendor's statement, and no fact.
    #[must_use]
    pub(crate) fn lacks_lrw(&self) -> bool {
        self.features & features::NO_LRW != 0
    }

    /// Whether it has mailboxes.
    #[must_use]
    pub(crate) fn has_mailbox(&self) -> bool {
        self.mailboxes.receive.size > 0 && self.mailboxes.send.size > 0
    }

    /// Its mailboxes, for access to objects.
    ///
    /// # Errors
    /// [`MailError`] for a SubDevice without mailboxes, or with invalid ones.
    pub fn mail(&mut self) -> Result<Mail<'_>, MailError> {
        let (target, mailboxes) = (self.target(), self.mailboxes);
        Mail::of(target, mailboxes, &mut self.counter, &mut self.emergencies)
    }

    /// The SyncManagers of its mailboxes, for before PREOP; none without mailboxes.
    pub(crate) fn mailbox_managers(&self) -> impl Iterator<Item = Piece> + use<> {
        let (receive, send) = (self.mailboxes.receive, self.mailboxes.send);
        let both = [
            (0, receive, SyncManagerControl::MAILBOX_OUT),
            (1, send, SyncManagerControl::MAILBOX_IN),
        ];
        let both = both.map(|(number, area, control)| Piece {
            number,
            manager: SyncManager::new(area.start, area.size, control),
        });
        let count = if self.has_mailbox() { 2 } else { 0 };
        both.into_iter().take(count)
    }

    /// Whether it has CoE.
    #[must_use]
    pub fn has_coe(&self) -> bool {
        self.has_mailbox() && self.protocols.has(Protocols::COE)
    }
}
