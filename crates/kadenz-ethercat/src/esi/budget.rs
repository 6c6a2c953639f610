//! How much memory objects may take: a short text names a type, and every object of that type has all of
//! its entries.

use roxmltree::Node;

use super::{EsiError, xml};

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
    pub(super) fn begin(&mut self) {
        (self.device, self.values) = (OF_A_DEVICE, VALUES);
    }

    /// Takes an entry's part; `node` is to blame.
    pub(super) fn take(
        &mut self,
        node: Node<'_, '_>,
        name: usize,
        value: usize,
    ) -> Result<(), EsiError> {
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
