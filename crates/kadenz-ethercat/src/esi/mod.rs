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
pub(crate) use start_up::{InitCommand, StartUp, Transition, UnsupportedMode};

/// Most devices that Kadenz reads of one file; vendors' own files have some hundreds.
pub const MAX_DEVICES: usize = 4096;

/// A file's devices, each as a description that gives an SII image and an object dictionary.
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
    /// The devices in their order, without the [faulty](Self::faulty) ones.
    pub devices: Vec<Description>,
    /// The start-up requirements of each of them.
    start_ups: Vec<StartUp>,
    faulty: Vec<Faulty>,
}

/// A device that cannot be read, in a file whose other devices can.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Faulty {
    /// Its identity; `None` where that cannot be read either.
    pub identity: Option<Identity>,
    /// The text of its `Type` element, such as `EK1100`.
    pub order: String,
    /// The error in its description.
    pub error: EsiError,
    /// How many devices before it could be read.
    place: usize,
}

impl Esi {
    /// Reads a file's text. Skips unknown elements, as the standard requires; a device that cannot be read is
    /// [faulty](Self::faulty) and does not affect the others. The time is proportional to the text, and so is the
    /// memory (less than 32 times the text of many devices, by a test; more for a text of `<` or `=` alone), plus up
    /// to 64 MiB for the objects, which a short text can name many of.
    ///
    /// # Errors
    /// [`EsiError`], where nothing of the text can be read.
    pub fn read(text: &str) -> Result<Self, EsiError> {
        Self::read_within(text, Some(&mut Budget::of_a_file()))
    }

    /// The same without the objects of the devices' dictionaries, which a MainDevice reads from the devices.
    ///
    /// # Errors
    /// As [`read`](Self::read).
    pub fn without_objects(text: &str) -> Result<Self, EsiError> {
        Self::read_within(text, None)
    }

    /// Reads with as many objects as a budget allows; `None` for none.
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
        let vendor = vendor(root).map_err(|error| lines.with_line(error))?;
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
                    error: lines.with_line(error),
                    place: esi.devices.len(),
                }),
            }
        }
        Ok(esi)
    }

    /// Each device with its start-up requirements.
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

    /// The device of a product code and a revision; without a revision, the one that the file describes last. `None`
    /// also where that device is [faulty](Self::faulty).
    #[must_use]
    pub fn find(&self, product: u32, revision: Option<u32>) -> Option<&Description> {
        self.devices.get(self.place(product, revision).ok()?)
    }

    /// The place of that device, or the fault of its description.
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
            // The later of the two counts.
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

// Limits of the memory for objects: a short text can name a type, and every object of that type has all of its
// entries.

/// Bytes for the objects of a file, or of all files of a segment, and of one device.
const OF_ALL: usize = 64 << 20;
const OF_A_DEVICE: usize = 8 << 20;
/// Bytes for the values of a device.
const VALUES: usize = 1 << 20;
/// Bytes of an entry or an object besides its name and its value.
const EACH: usize = 96;

/// The remaining budget.
#[derive(Debug)]
pub(crate) struct Budget {
    all: usize,
    device: usize,
    values: usize,
}

impl Budget {
    /// The budget of a file, or of several that are read together.
    pub(crate) fn of_a_file() -> Self {
        Self {
            all: OF_ALL,
            device: OF_A_DEVICE,
            values: VALUES,
        }
    }

    fn begin(&mut self) {
        (self.device, self.values) = (OF_A_DEVICE, VALUES);
    }

    /// Takes the bytes of an entry; an error names the line of `node`.
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

// Errors of a file.

/// Why a file is not an ESI file, or a device of it cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EsiError {
    /// The text is not XML.
    #[error("it is not valid XML: {0}")]
    Xml(String),
    /// The text is XML of another kind.
    #[error("its first element is {0}, not EtherCATInfo; is it an ESI file?")]
    Root(String),
    /// An element or attribute is missing.
    #[error("line {line}: {element} has no {missing}")]
    Missing {
        /// The line of the file, from 1.
        line: u32,
        /// The name of the element that lacks something.
        element: &'static str,
        /// The missing element or attribute.
        missing: &'static str,
    },
    /// A text is not a number, or the number is too great.
    #[error(
        "line {line}: \"{text}\" is not a number that fits; write decimal, or #x and hexadecimal"
    )]
    Number {
        /// The line of the file, from 1.
        line: u32,
        /// The text that is not a number.
        text: String,
    },
    /// More devices than any real file has.
    #[error("it describes more than {MAX_DEVICES} devices")]
    TooMany,
    /// More elements, texts or attributes than any real file has.
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
        /// The kind of the elements that are too many.
        what: &'static str,
        /// The most that one device may have.
        most: usize,
    },
    /// The objects of all devices take more memory than is given to them.
    #[error(
        "line {line}: the objects of all devices take more than 64 MiB up to here; keep only the devices \
         that are needed"
    )]
    Objects {
        /// The line of the object.
        line: u32,
    },
    /// A value to be written is not hexadecimal bytes.
    #[error(
        "line {line}: it is not a valid value; write up to 4096 bytes as pairs of hexadecimal digits"
    )]
    Bytes {
        /// The line of the file, from 1.
        line: u32,
    },
    /// A SyncManager lies where no controller has memory for it.
    #[error(
        "line {line}: {size} bytes from 0x{start:04X} on are not memory of a controller; write a StartAddress \
         from #x1000 on, of digital outputs #x0F00, that leaves room up to #xFFFF"
    )]
    Area {
        /// The line of the file, from 1.
        line: u32,
        /// The first address of the SyncManager's memory.
        start: u16,
        /// The length of that memory in bytes.
        size: u16,
    },
}

impl EsiError {
    /// The line that the error names.
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
