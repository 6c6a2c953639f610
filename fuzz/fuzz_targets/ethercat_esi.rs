//! A vendor's XML of anybody: an error, or devices whose SII image, where it fits into the memory, says
//! who they are, and whose objects can be listed.
#![no_main]

use kadenz_ethercat::esi::Esi;
use kadenz_ethercat::wire::sii::Image;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let Ok(esi) = Esi::read(text) else { return };
    for device in esi.devices.iter().take(4) {
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
