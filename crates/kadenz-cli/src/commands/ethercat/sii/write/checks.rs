//! Objections to an image for a device's memory.

use kadenz::ethercat::main_device::device::SubDevice;
use kadenz::ethercat::wire::sii::{Fixed, Image, doubts};

/// Reasons not to write the image into this device, in words; none where all is well.
pub(super) fn objections(image: &[u8], device: &SubDevice) -> Vec<String> {
    let mut objections: Vec<String> = doubts(image).iter().map(ToString::to_string).collect();
    let (Ok(wanted), Some(has)) = (Image::of(image), device.image()) else {
        return objections;
    };
    let capacity = room(&has.fixed());
    // A memory whose first words have a wrong checksum gives no reliable identity.
    if has.checksum_holds() {
        objections.extend(against(&wanted.fixed(), &has.fixed()));
        if image.len() > capacity {
            objections.push(format!(
                "it has {} bytes, and the device says that its memory has {capacity}",
                image.len()
            ));
        }
    }
    objections
}

/// Bytes of a memory by its own size word.
fn room(fixed: &Fixed) -> usize {
    (usize::from(fixed.size) + 1) * 128
}

/// Differences that give the device another identity.
fn against(wanted: &Fixed, has: &Fixed) -> Vec<String> {
    let (new, old) = (&wanted.identity, &has.identity);
    let numbers = [
        ("vendor", old.vendor, new.vendor),
        ("product", old.product, new.product),
        ("revision", old.revision, new.revision),
        ("serial number", old.serial, new.serial),
    ];
    let changed = numbers.iter().filter(|(_, old, new)| old != new);
    let mut words: Vec<String> = changed
        .map(|(what, old, new)| format!("its {what} is 0x{new:08X}, and the device's 0x{old:08X}"))
        .collect();
    if (wanted.pdi, wanted.pdi_more) != (has.pdi, has.pdi_more) {
        words.push(
            "it says otherwise how the controller is wired to what is behind it (words 0x00 to 0x03, 0x05 and \
             0x06), and a wrong word there can keep the device from starting"
                .to_owned(),
        );
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;
    use kadenz::ethercat::wire::sii::Identity;

    #[test]
    fn whatever_makes_another_device_of_it_is_named() {
        let has = Fixed {
            identity: Identity {
                vendor: 2,
                product: 3,
                revision: 4,
                serial: 5,
            },
            pdi: [0x0C08, 0, 0, 0],
            ..Fixed::default()
        };
        assert!(against(&has, &has).is_empty());
        let alias = Fixed { alias: 7, ..has };
        assert!(against(&alias, &has).is_empty(), "an alias is the user's");
        let other = Fixed {
            identity: Identity {
                revision: 0x10,
                serial: 0,
                ..has.identity
            },
            pdi: [0, 0, 0, 0],
            ..has
        };
        let words = against(&other, &has).join("; ");
        for part in ["revision is 0x00000010", "serial number", "wired"] {
            assert!(words.contains(part), "{words}");
        }
        assert!(!words.contains("vendor"), "{words}");
    }
}
