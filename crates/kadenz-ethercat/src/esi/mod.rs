//! EtherCAT SubDevice information: a vendor's XML file (ETG.2000), as far as a MainDevice or a virtual
//! device needs it: identity, FMMUs, SyncManagers, PDOs, mailbox, clocks, and the objects of CoE.

mod device;
mod dictionary;
mod encoding;
mod start_up;
mod types;
mod xml;

use roxmltree::Node;

use crate::description::Description;
use crate::wire::sii::Identity;

pub use encoding::{EncodingError, decode};
pub use start_up::{InitCommand, StartUp, Transition, Unheeded};

/// Most devices that are read of one file; vendors' own have some hundreds.
pub const MAX_DEVICES: usize = 4096;

/// A file's devices, each as a description from which an SII image and an object dictionary are made.
///
/// ```
/// use kadenz_ethercat::esi::Esi;
///
/// let esi = Esi::read(r##"<EtherCATInfo>
///     <Vendor><Id>#x2</Id></Vendor>
///     <Descriptions><Devices><Device Physics="YK">
///         <Type ProductCode="#x044c2c52" RevisionNo="#x00120000">EK1100</Type>
///         <Name>EK1100 EtherCAT Coupler</Name>
///     </Device></Devices></Descriptions>
/// </EtherCATInfo>"##)?;
/// let coupler = esi.find(0x044C_2C52, None).expect("it was described");
/// assert_eq!((coupler.order.as_str(), coupler.fixed.identity.vendor), ("EK1100", 2));
/// # Ok::<(), kadenz_ethercat::esi::EsiError>(())
/// ```
#[derive(Debug, Clone)]
pub struct Esi {
    /// The devices in their order, but those that are [faulty](Self::faulty).
    pub devices: Vec<Description>,
    /// What is asked of a MainDevice for each of them.
    start_ups: Vec<StartUp>,
    faulty: Vec<Faulty>,
}

/// A device of a file that cannot be read. The others can.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Faulty {
    /// Who it is; `None` where not even that is said.
    pub identity: Option<Identity>,
    /// Its short name.
    pub order: String,
    /// What is wrong with its description.
    pub error: EsiError,
    /// How many devices before it could be read.
    place: usize,
}

impl Esi {
    /// Reads a file's text. Elements that are unknown are passed over, as the standard asks; a device that
    /// cannot be read is [faulty](Self::faulty), and harms no other. Takes time in proportion to the text.
    /// Allocates in proportion to it (less than 32 times the text of many devices, by a test; more where it is
    /// all `<` or `=`), and up to 64 MiB for the objects, which a short text can name many of.
    ///
    /// # Errors
    /// [`EsiError`], where nothing of it can be read.
    pub fn read(text: &str) -> Result<Self, EsiError> {
        Self::read_within(text, Some(&mut Budget::of_a_file()))
    }

    /// The same without the objects of the devices' dictionaries, which a MainDevice asks the devices for.
    ///
    /// # Errors
    /// As [`read`](Self::read).
    pub fn without_objects(text: &str) -> Result<Self, EsiError> {
        Self::read_within(text, None)
    }

    /// Reads with as many objects as a budget allows for; `None` for none.
    pub(crate) fn read_within(
        text: &str,
        mut budget: Option<&mut Budget>,
    ) -> Result<Self, EsiError> {
        // Some vendors' files begin with a mark of their byte order.
        let text = text.strip_prefix('\u{FEFF}').unwrap_or(text);
        let document = xml::parse(text)?;
        let mut lines = xml::LineCounter::of(text);
        let root = document.root_element();
        if root.tag_name().name() != "EtherCATInfo" {
            return Err(EsiError::Root(root.tag_name().name().to_owned()));
        }
        let vendor = vendor(root).map_err(|error| lines.tell(error))?;
        let descriptions = xml::child(root, "Descriptions");
        let devices = descriptions.and_then(|it| xml::child(it, "Devices"));
        let devices = devices.map(|it| xml::children(it, "Device"));
        let mut esi = Self {
            devices: Vec::new(),
            start_ups: Vec::new(),
            faulty: Vec::new(),
        };
        for node in devices.into_iter().flatten() {
            if esi.devices.len() + esi.faulty.len() == MAX_DEVICES {
                return Err(EsiError::TooMany);
            }
            let identity = device::identity(node, vendor);
            let whole = identity.clone().and_then(|identity| {
                let device = device::read(node, identity, budget.as_deref_mut())?;
                Ok((device, start_up::read(node)?))
            });
            match whole {
                Ok((device, start_up)) => {
                    esi.devices.push(device);
                    esi.start_ups.push(start_up);
                }
                Err(error) => esi.faulty.push(Faulty {
                    identity: identity.ok(),
                    order: xml::name(node, "Type"),
                    error: lines.tell(error),
                    place: esi.devices.len(),
                }),
            }
        }
        Ok(esi)
    }

    /// Each device, with what is asked of a MainDevice for it.
    pub(crate) fn with_start_up(&self) -> impl Iterator<Item = (&Description, &StartUp)> {
        self.devices.iter().zip(&self.start_ups)
    }

    /// All devices in their order, also those that cannot be read.
    pub(crate) fn in_order(
        &self,
    ) -> impl Iterator<Item = Result<(&Description, &StartUp), &Faulty>> {
        let faulty = self.faulty.iter().map(|it| ((it.place, false), Err(it)));
        let whole = self.with_start_up().enumerate();
        let whole = whole.map(|(place, it)| ((place, true), Ok(it)));
        let mut all: Vec<_> = faulty.chain(whole).collect();
        all.sort_by_key(|it| it.0);
        all.into_iter().map(|it| it.1)
    }

    /// The devices that cannot be read, each with the reason, in their order.
    #[must_use]
    pub fn faulty(&self) -> &[Faulty] {
        &self.faulty
    }

    /// The device of that product code: of that revision, or else the last one described. `None` also where
    /// that one is [faulty](Self::faulty).
    #[must_use]
    pub fn find(&self, product: u32, revision: Option<u32>) -> Option<&Description> {
        self.devices.get(self.place(product, revision).ok()?)
    }

    /// The place of that device; where it is faulty, what is wrong with it.
    pub(crate) fn place(
        &self,
        product: u32,
        revision: Option<u32>,
    ) -> Result<usize, Option<&Faulty>> {
        let is_it = |it: &Identity| {
            it.product == product && revision.is_none_or(|wanted| wanted == it.revision)
        };
        let mut devices = self.devices.iter();
        let whole = devices.rposition(|it| is_it(&it.fixed.identity));
        let mut faulty = self.faulty.iter().rev();
        let faulty = faulty.find(|it| it.identity.as_ref().is_some_and(is_it));
        match (whole, faulty) {
            // Whichever stands behind the other.
            (Some(whole), Some(faulty)) if faulty.place > whole => Err(Some(faulty)),
            (Some(whole), _) => Ok(whole),
            (None, faulty) => Err(faulty),
        }
    }
}

fn vendor(root: roxmltree::Node<'_, '_>) -> Result<u32, EsiError> {
    let vendor = xml::child(root, "Vendor").and_then(|it| xml::child(it, "Id"));
    xml::number(vendor.ok_or_else(|| xml::missing(root, "EtherCATInfo", "Vendor/Id"))?)
}

// How much memory objects may take: a short text names a type, and every object of that type has all of
// its entries.

/// Bytes for the objects of a file, or of all files of a segment, and of one device.
const OF_ALL: usize = 64 << 20;
const OF_A_DEVICE: usize = 8 << 20;
/// Bytes for the values of a device.
const VALUES: usize = 1 << 20;
/// What an entry or an object takes besides its name and its value.
const EACH: usize = 96;

/// What is left.
#[derive(Debug)]
pub(crate) struct Budget {
    all: usize,
    device: usize,
    values: usize,
}

impl Budget {
    /// Of a file, or of several that are read together.
    pub(crate) fn of_a_file() -> Self {
        Self {
            all: OF_ALL,
            device: OF_A_DEVICE,
            values: VALUES,
        }
    }

    /// Another device comes.
    fn begin(&mut self) {
        (self.device, self.values) = (OF_A_DEVICE, VALUES);
    }

    /// Takes an entry's part; `node` is to blame.
    fn take(&mut self, node: Node<'_, '_>, name: usize, value: usize) -> Result<(), EsiError> {
        let bytes = EACH + name + value;
        let values = self.values.checked_sub(value);
        self.values =
            values.ok_or_else(|| xml::too_much(node, "bytes of its objects' values", VALUES))?;
        let device = self.device.checked_sub(bytes);
        self.device = device.ok_or_else(|| xml::too_much(node, "bytes of objects", OF_A_DEVICE))?;
        let all = self.all.checked_sub(bytes);
        let line = xml::place(node);
        self.all = all.ok_or(EsiError::Objects { line })?;
        Ok(())
    }
}

// What is wrong with a file.

/// Why a file is no ESI, or a device of it cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EsiError {
    /// No XML.
    #[error("it is not valid XML: {0}")]
    Xml(String),
    /// Another XML.
    #[error("its first element is {0}, not EtherCATInfo; is it an ESI file?")]
    Root(String),
    /// Something is missing.
    #[error("line {line}: {element} has no {missing}")]
    Missing {
        /// The line of the file, from 1.
        line: u32,
        /// In which element.
        element: &'static str,
        /// What is missing.
        missing: &'static str,
    },
    /// Something is no number, or one that is too great.
    #[error(
        "line {line}: \"{text}\" is not a number that fits; write decimal, or #x and hexadecimal"
    )]
    Number {
        /// The line of the file, from 1.
        line: u32,
        /// What stands there.
        text: String,
    },
    /// More devices than anybody has.
    #[error("it describes more than {MAX_DEVICES} devices")]
    TooMany,
    /// More elements, texts or attributes than anybody writes.
    #[error(
        "it has more than 4 million elements and texts, or as many attributes, 256 attributes of one element, or \
         64 spaces of names; keep only the devices that are needed"
    )]
    Long,
    /// A device has more of something than any real one.
    #[error("line {line}: the device has more than {most} {what} up to here; name fewer")]
    TooMuch {
        /// The line of the file, from 1.
        line: u32,
        /// What there are too many of.
        what: &'static str,
        /// Most of them.
        most: usize,
    },
    /// The objects of all devices take more memory than is given to them.
    #[error(
        "line {line}: the objects of all devices take more than 64 MiB up to here; keep only the devices \
         that are needed"
    )]
    Objects {
        /// Which object.
        line: u32,
    },
    /// A value that is to be written is no bytes.
    #[error(
        "line {line}: it is not a valid value; write up to 4096 bytes as pairs of hexadecimal digits"
    )]
    Bytes {
        /// The line of the file, from 1.
        line: u32,
    },
    /// A SyncManager lies where no controller has memory for it.
    #[error(
        "line {line}: {size} bytes from 0x{start:04X} on are no memory of a controller; write a StartAddress \
         from #x1000 on, of digital outputs #x0F00, that leaves room up to #xFFFF"
    )]
    Area {
        /// The line of the file, from 1.
        line: u32,
        /// Its first byte.
        start: u16,
        /// How many.
        size: u16,
    },
}

impl EsiError {
    /// The line that it names.
    fn line_mut(&mut self) -> Option<&mut u32> {
        match self {
            Self::Missing { line, .. }
            | Self::Number { line, .. }
            | Self::TooMuch { line, .. }
            | Self::Objects { line }
            | Self::Bytes { line }
            | Self::Area { line, .. } => Some(line),
            Self::Xml(_) | Self::Root(_) | Self::TooMany | Self::Long => None,
        }
    }
}

#[cfg(test)]
mod tests;
