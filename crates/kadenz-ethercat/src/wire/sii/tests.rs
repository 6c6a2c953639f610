use super::*;
use proptest::prelude::*;

fn golden(name: &str) -> Vec<u8> {
    let root = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../conformance/ethercat/sii/"
    );
    std::fs::read(format!("{root}{name}")).unwrap()
}

fn text(image: &Image<'_>, number: u8) -> String {
    image
        .string(number)
        .map_or_else(String::new, |it| it.to_string())
}

#[test]
fn a_coupler_states_its_identity() {
    let bytes = golden("ek1100.bin");
    let image = Image::of(&bytes).unwrap();
    assert!(image.checksum_holds());
    let fixed = image.fixed();
    assert_eq!(
        (
            fixed.identity.vendor,
            fixed.identity.product,
            fixed.identity.revision
        ),
        (2, 0x044C_2C52, 0x0012_0000)
    );
    assert_eq!((fixed.size, fixed.version), (15, 1));
    let general = image.general().unwrap();
    assert_eq!((general.ebus_milliamperes, general.ports), (-2000, 0x0131));
    assert_eq!(text(&image, general.order), "EK1100");
    assert_eq!(
        text(&image, general.name),
        "EK1100 EtherCAT-Koppler (2A E-Bus)"
    );
    assert_eq!(image.sync_managers().count(), 0);
}

#[test]
fn a_terminal_of_sixteen_outputs_lists_them() {
    let bytes = golden("el2889.bin");
    let image = Image::of(&bytes).unwrap();
    assert_eq!(image.name().unwrap().to_string(), "EL2889");
    let managers: Vec<_> = image.sync_managers().collect();
    assert_eq!(managers.len(), 2);
    assert_eq!(
        managers[1].area,
        Area {
            start: 0x0F01,
            size: 1
        }
    );
    assert_eq!(managers[1].usage, SyncManagerUse::Outputs);
    assert_eq!(image.fmmus().next(), Some(FmmuUse::Outputs));
    let pdos: Vec<_> = image.pdos(Direction::Outputs).collect();
    assert_eq!(pdos.len(), 16);
    assert_eq!(pdos.iter().map(SiiPdo::bits).sum::<u32>(), 16);
    assert_eq!(pdos[15].header.sync_manager, 1);
    assert_eq!(pdos[15].entries.clone().next().unwrap().index, 0x70F0);
    assert_eq!(image.pdos(Direction::Inputs).count(), 0);
}

#[test]
fn a_drive_lists_mailboxes_clocks_and_pdos_behind_its_vendor_s_categories() {
    let bytes = golden("akd.bin");
    let image = Image::of(&bytes).unwrap();
    let fixed = image.fixed();
    assert!(fixed.protocols.has(Protocols::COE.and(Protocols::FOE)));
    assert!(!fixed.protocols.has(Protocols::SOE));
    assert_eq!(
        fixed.mailboxes.send,
        Area {
            start: 0x1C00,
            size: 1024
        }
    );
    let modes: Vec<_> = image.clock_modes().collect();
    assert_eq!(modes.len(), 2);
    assert_eq!(
        (text(&image, modes[0].name), modes[0].activate),
        ("DcSync".to_owned(), 0x0300)
    );
    let default = image
        .pdos(Direction::Outputs)
        .find(|it| it.header.sync_manager == 2)
        .unwrap();
    assert_eq!((default.header.index, default.bits()), (0x1701, 48));
}

#[test]
fn a_name_of_other_letters_and_zeros_is_shown() {
    let bytes = golden("el2262.bin");
    let image = Image::of(&bytes).unwrap();
    assert_eq!(
        text(&image, 4),
        "EL2262 2K. Dig. Ausgang 24V, 1\u{B5}s, DC Oversample"
    );
    assert_eq!(
        text(&Image::of(&golden("akd-null-strings.bin")).unwrap(), 10),
        "Statu"
    );
    // A Windows bitmap among the texts; the name stands behind it.
    let bytes = golden("clipx.bin");
    assert_eq!(
        Image::of(&bytes).unwrap().name().unwrap().to_string(),
        "ClipX"
    );
}

#[test]
fn a_category_over_the_end_is_an_error() {
    let mut bytes = golden("ek1100.bin");
    bytes[130] = 0xFF;
    bytes[131] = 0xFF;
    let image = Image::of(&bytes).unwrap();
    let error = image.categories().next().unwrap().unwrap_err();
    assert_eq!(
        error,
        SiiError::Overrun {
            number: 10,
            word: 0x40
        }
    );
    assert!(image.name().is_none());
    assert_eq!(
        Image::of(&bytes[..127]).unwrap_err(),
        SiiError::CutShort { have: 127 }
    );
}

fn read_everything(image: &Image<'_>) -> usize {
    image.categories().count()
        + image
            .strings()
            .map(|it| it.to_string().len())
            .sum::<usize>()
        + image.fmmus().count()
        + image.sync_managers().count()
        + image.clock_modes().count()
        + [Direction::Inputs, Direction::Outputs]
            .into_iter()
            .flat_map(|it| image.pdos(it))
            .map(|it| it.bits() as usize)
            .sum::<usize>()
        + usize::from(image.general().is_some())
}

proptest! {
    #[test]
    fn hostile_bytes_are_read_to_an_end(flips in prop::collection::vec((any::<u16>(), any::<u8>()), 0..40), length in 0_usize..2048) {
        let mut bytes = golden("akd.bin");
        for (at, value) in flips {
            let at = usize::from(at) % bytes.len();
            bytes[at] = value;
        }
        bytes.truncate(length);
        if let Ok(image) = Image::of(&bytes) {
            read_everything(&image);
        }
    }

    #[test]
    fn what_was_built_is_read(
        alias in any::<u16>(),
        vendor in any::<u32>(),
        texts in prop::collection::vec("[ -~]{0,40}", 0..20),
        uses in prop::collection::vec(0_u8..4, 0..9),
        managers in prop::collection::vec((any::<u16>(), any::<u16>(), any::<u8>()), 0..9),
        entries in prop::collection::vec((any::<u16>(), any::<u8>(), any::<u8>()), 0..30),
        shift in any::<i32>(),
    ) {
        let fixed = Fixed { alias, identity: Identity { vendor, product: 1, revision: 2, serial: 3 }, size: 31, version: 1,
                            mailboxes: Mailboxes { receive: Area { start: 1, size: 2 }, send: Area { start: 3, size: 4 } },
                            ..Fixed::default() };
        let general = General { name: 1, ebus_milliamperes: -5, ports: 0x1133, coe: 0x23, ..General::default() };
        let uses: Vec<_> = uses.into_iter().map(FmmuUse::from_number).collect();
        let managers: Vec<_> = managers.into_iter()
            .map(|(start, size, control)| SyncManagerDefault { area: Area { start, size }, control, status: 0, enable: 1, usage: SyncManagerUse::Inputs })
            .collect();
        let entries: Vec<_> = entries.into_iter()
            .map(|(index, sub, bits)| SiiPdoEntry { index, sub, name: 0, data_type: 5, bits, flags: 0 })
            .collect();
        let header = PdoHeader { index: 0x1A00, sync_manager: 3, synchronization: 0, name: 2, flags: 0x11 };
        let clock = ClockMode { shift0_ns: shift, activate: 0x0300, name: 4, ..ClockMode::default() };
        let mut bytes = vec![0; 4096];
        let mut writer = ImageWriter::new(&mut bytes, &fixed).unwrap();
        writer.strings(&texts, 10).unwrap();
        writer.general(&general).unwrap();
        writer.fmmus(&uses).unwrap();
        writer.sync_managers(&managers).unwrap();
        writer.pdos(Direction::Inputs, &[(header, &entries), (header, &[])]).unwrap();
        writer.clock_modes(&[clock]).unwrap();
        let length = writer.finish().unwrap();
        let image = Image::of(&bytes[..length]).unwrap();
        prop_assert!(image.checksum_holds());
        prop_assert_eq!(image.fixed(), fixed);
        prop_assert_eq!(image.general(), Some(general));
        prop_assert_eq!(image.strings().map(|it| it.to_string()).collect::<Vec<_>>(), texts);
        prop_assert_eq!(image.fmmus().take(uses.len()).collect::<Vec<_>>(), uses);
        prop_assert_eq!(image.sync_managers().collect::<Vec<_>>(), managers);
        let pdos: Vec<_> = image.pdos(Direction::Inputs).collect();
        prop_assert_eq!(pdos.len(), 2);
        prop_assert_eq!(pdos[0].header, header);
        prop_assert_eq!(pdos[0].entries.clone().collect::<Vec<_>>(), entries);
        prop_assert_eq!(image.clock_modes().collect::<Vec<_>>(), [clock]);
    }
}

#[test]
fn what_does_not_fit_is_said() {
    let mut bytes = [0; 140];
    let mut writer = ImageWriter::new(&mut bytes, &Fixed::default()).unwrap();
    let error = writer.strings(&["a long enough text"], 0).unwrap_err();
    assert_eq!(
        error,
        SiiError::NoRoom {
            need: 152,
            room: 140
        }
    );
    let many = vec!["x"; 256];
    let mut bytes = vec![0; 4096];
    let mut writer = ImageWriter::new(&mut bytes, &Fixed::default()).unwrap();
    assert!(matches!(
        writer.strings(&many, 0),
        Err(SiiError::TooMany { .. })
    ));
}
