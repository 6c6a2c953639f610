//! Any XML as a vendor's ESI file: an error, or devices whose SII image, where it fits into the memory, gives their
//! identity, whose objects can be listed, and which a MainDevice could configure.
#![no_main]

use kadenz_ethercat::esi::{Esi, decode};
use kadenz_ethercat::main_device::from_esi::Descriptions;
use kadenz_ethercat::wire::sii::Image;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let Ok(text) = decode(bytes.to_vec()) else {
        return;
    };
    let Ok(esi) = Esi::read(&text) else { return };
    let mut descriptions = Descriptions::default();
    descriptions.add(&esi);
    for device in esi.devices.iter().take(4) {
        let identity = device.fixed.identity;
        let Some(described) = descriptions.find(&identity) else {
            // Another device of the same identity behind it cannot be read.
            let mut faulty = esi.faulty().iter().filter_map(|it| it.identity);
            assert!(
                faulty.any(|it| (it.product, it.revision) == (identity.product, identity.revision))
            );
            continue;
        };
        let carried: Vec<u16> = described.pdos().map(|it| it.index).collect();
        let _ = (described.process_data(), described.pulse(1_000_000));
        let _ = (*described).clone().with_pdos(&carried);
        described.name_entries(&mut Vec::new());
        if let Ok(sii) = device.sii() {
            let image = Image::of(&sii).expect("it is whole");
            assert!(image.checksum_holds());
            assert_eq!(image.fixed().identity, device.fixed.identity);
            assert!(image.categories().all(|it| it.is_ok()));
        }
        let dictionary = device.dictionary();
        assert!(dictionary.object(0x1018).is_some());
    }
});
