//! EtherCAT SubDevice information: a vendor's XML file (ETG.2000), as far as a MainDevice or a virtual
//! device needs it: identity, FMMUs, SyncManagers, PDOs, mailbox, clocks, and the objects of CoE.

mod budget;
mod device;
mod dictionary;
mod encoding;
mod error;
mod start_up;
mod types;
mod xml;

use crate::sim::model::Description;
use crate::wire::sii::Identity;

pub(crate) use budget::Budget;
pub use encoding::{EncodingError, decode};
pub use error::EsiError;
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
    /// Why.
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
        let mut lines = xml::Lines::of(text);
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
    pub fn with_start_up(&self) -> impl Iterator<Item = (&Description, &StartUp)> {
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

#[cfg(test)]
mod tests;
