//! EtherCAT SubDevice information: a vendor's XML file (ETG.2000), as far as a MainDevice or a virtual
//! device needs it: identity, FMMUs, SyncManagers, PDOs, mailbox, clocks, and the objects of CoE.

mod device;
mod dictionary;
mod start_up;
mod xml;

use crate::sim::model::Description;

pub use start_up::{InitCommand, StartUp, Transition};

/// Most devices that are read of one file; vendors' own have some hundreds.
pub const MOST_DEVICES: usize = 4096;

/// Why a file is no ESI.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EsiError {
    /// No XML.
    #[error("it is no XML: {0}")]
    Xml(String),
    /// Another XML.
    #[error("its first element is {0}, not EtherCATInfo; is it an ESI file?")]
    Root(String),
    /// Something is missing.
    #[error("line {line}: {element} has no {missing}")]
    Missing {
        /// Where.
        line: u32,
        /// In which element.
        element: &'static str,
        /// What is missing.
        missing: &'static str,
    },
    /// Something is no number, or one that is too great.
    #[error("line {line}: \"{text}\" is no number that fits; write decimal, or #x and hexadecimal")]
    Number {
        /// Where.
        line: u32,
        /// What stands there.
        text: String,
    },
    /// More than anybody has.
    #[error("it describes more than {MOST_DEVICES} devices")]
    TooMany,
    /// The objects of a device have more bytes of values than any device has memory.
    #[error(
        "line {line}: the device's objects have more than 1 MiB of values up to here, or more than 4096 are \
         to be written; name fewer"
    )]
    TooMuch {
        /// Which object.
        line: u32,
    },
    /// A value that is to be written is no bytes.
    #[error("line {line}: it is no value; write up to 4096 bytes as pairs of hexadecimal digits")]
    Bytes {
        /// Where.
        line: u32,
    },
}

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
    /// The devices in their order.
    pub devices: Vec<Description>,
    /// What is asked of a MainDevice for each of them.
    start_ups: Vec<StartUp>,
}

impl Esi {
    /// Reads a file's text. Elements that are unknown are passed over, as the standard asks. Allocates in
    /// proportion to the text, and for the objects' values up to 1 MiB a device. Its time is not bounded in
    /// proportion: a file that was made to be slow is.
    ///
    /// # Errors
    /// [`EsiError`].
    pub fn read(text: &str) -> Result<Self, EsiError> {
        // Some vendors' files begin with a mark of their byte order.
        let text = text.strip_prefix('\u{FEFF}').unwrap_or(text);
        let document =
            roxmltree::Document::parse(text).map_err(|error| EsiError::Xml(error.to_string()))?;
        let root = document.root_element();
        if root.tag_name().name() != "EtherCATInfo" {
            return Err(EsiError::Root(root.tag_name().name().to_owned()));
        }
        let vendor = xml::child(root, "Vendor").and_then(|it| xml::child(it, "Id"));
        let vendor = vendor.ok_or_else(|| xml::missing(root, "EtherCATInfo", "Vendor/Id"))?;
        let vendor = xml::number(vendor)?;
        let descriptions = xml::child(root, "Descriptions");
        let devices = descriptions.and_then(|it| xml::child(it, "Devices"));
        let devices = devices.map(|it| xml::children(it, "Device"));
        let (mut all, mut start_ups) = (Vec::new(), Vec::new());
        for node in devices.into_iter().flatten() {
            if all.len() == MOST_DEVICES {
                return Err(EsiError::TooMany);
            }
            all.push(device::read(node, vendor)?);
            start_ups.push(start_up::read(node)?);
        }
        Ok(Self {
            devices: all,
            start_ups,
        })
    }

    /// Each device, with what is asked of a MainDevice for it.
    pub fn with_start_up(&self) -> impl Iterator<Item = (&Description, &StartUp)> {
        self.devices.iter().zip(&self.start_ups)
    }

    /// The device of that product code: of that revision, or else the last one described.
    #[must_use]
    pub fn find(&self, product: u32, revision: Option<u32>) -> Option<&Description> {
        self.devices.iter().rev().find(|it| {
            let identity = it.fixed.identity;
            identity.product == product && revision.is_none_or(|wanted| wanted == identity.revision)
        })
    }
}

#[cfg(test)]
mod tests;
