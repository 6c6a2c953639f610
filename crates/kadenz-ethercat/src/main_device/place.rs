//! Matches SubDevices on the wire with configured devices: pure, from identities, aliases and neighbours.

use crate::wire::sii::Identity;

/// A configured device.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ConfiguredDevice {
    pub(crate) identity: Identity,
    /// 0 for none.
    pub(crate) alias: u16,
    pub(crate) position: Option<usize>,
}

/// A SubDevice on the wire, with its identity.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Newcomer {
    pub(crate) position: usize,
    pub(crate) identity: Identity,
    pub(crate) alias: u16,
}

/// Whether serial numbers must be those of the configured devices.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Serials {
    /// A device of the same kind in the same place may replace the former, which a notice reports.
    #[default]
    MayDiffer,
    /// Only the very device is accepted.
    MustMatch,
}

/// Returns the configured device that each newcomer is, in their order.
///
/// First come newcomers whose identity, with a serial number, and alias are those of exactly one absent
/// device, at any position; then those of the right kind at the place of an absent device, between its
/// neighbours. No newcomer gets two places, and no place is given twice.
pub(crate) fn places(
    known: &[ConfiguredDevice],
    newcomers: &[Newcomer],
    serials: Serials,
) -> Vec<Option<usize>> {
    let mut known = known.to_vec();
    let mut found = vec![None; newcomers.len()];
    for (found, newcomer) in found.iter_mut().zip(newcomers) {
        *found = the_very_one(&known, newcomers, *newcomer);
    }
    for (found, newcomer) in found.iter().zip(newcomers) {
        if let Some(device) = *found {
            known[device].position = Some(newcomer.position);
        }
    }
    let mut rest: Vec<_> = (0..newcomers.len())
        .filter(|it| found[*it].is_none())
        .collect();
    rest.sort_by_key(|it| newcomers[*it].position);
    for place in rest {
        let newcomer = newcomers[place];
        found[place] = between_neighbours(&known, newcomer, serials);
        if let Some(device) = found[place] {
            known[device].position = Some(newcomer.position);
        }
    }
    found
}

/// The absent device with the newcomer's serial number, if no other newcomer has the same.
fn the_very_one(
    known: &[ConfiguredDevice],
    newcomers: &[Newcomer],
    newcomer: Newcomer,
) -> Option<usize> {
    let same = |it: &Newcomer| it.identity == newcomer.identity && it.alias == newcomer.alias;
    if newcomer.identity.serial == 0 || newcomers.iter().filter(|it| same(it)).count() > 1 {
        return None;
    }
    let mut fitting = known.iter().enumerate().filter(|(_, it)| {
        it.position.is_none() && it.identity == newcomer.identity && it.alias == newcomer.alias
    });
    let first = fitting.next()?.0;
    fitting.next().is_none().then_some(first)
}

/// The first absent device of the newcomer's kind between its neighbours that are known.
fn between_neighbours(
    known: &[ConfiguredDevice],
    newcomer: Newcomer,
    serials: Serials,
) -> Option<usize> {
    let at = |device: &ConfiguredDevice| device.position;
    let before = known
        .iter()
        .enumerate()
        .filter(|(_, it)| at(it).is_some_and(|it| it < newcomer.position))
        .max_by_key(|(_, it)| at(it));
    let behind = known
        .iter()
        .enumerate()
        .filter(|(_, it)| at(it).is_some_and(|it| it > newcomer.position))
        .min_by_key(|(_, it)| at(it));
    let first = before.map_or(0, |(device, _)| device + 1);
    let end = behind.map_or(known.len(), |(device, _)| device);
    let fits = |it: &ConfiguredDevice| {
        it.position.is_none()
            && it.identity.vendor == newcomer.identity.vendor
            && it.identity.product == newcomer.identity.product
            && it.identity.revision == newcomer.identity.revision
            && it.alias == newcomer.alias
            && (serials == Serials::MayDiffer || it.identity.serial == newcomer.identity.serial)
    };
    (first..end).find(|device| fits(&known[*device]))
}

/// Finds the devices that are at another place relative to the others: the fewest that, taken out, leave
/// the rest in their order. `positions` are of the known devices, in the order in which they were
/// configured.
pub(crate) fn moved(positions: &[Option<usize>]) -> Vec<bool> {
    let there: Vec<_> = (0..positions.len())
        .filter_map(|device| Some((device, positions[device]?)))
        .collect();
    // The longest rising row that ends with each, and the one before it.
    let mut longest: Vec<(usize, Option<usize>)> = Vec::with_capacity(there.len());
    for (place, (_, position)) in there.iter().enumerate() {
        let before = (0..place)
            .filter(|it| there[*it].1 < *position)
            .max_by_key(|it| (longest[*it].0, std::cmp::Reverse(*it)));
        longest.push((before.map_or(1, |it| longest[it].0 + 1), before));
    }
    let mut moved: Vec<_> = positions.iter().map(Option::is_some).collect();
    let mut place = (0..there.len()).max_by_key(|it| (longest[*it].0, std::cmp::Reverse(*it)));
    while let Some(at) = place {
        moved[there[at].0] = false;
        place = longest[at].1;
    }
    moved
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn identity(product: u32, serial: u32) -> Identity {
        Identity {
            vendor: 1,
            product,
            revision: 1,
            serial,
        }
    }

    fn known(product: u32, serial: u32, position: Option<usize>) -> ConfiguredDevice {
        ConfiguredDevice {
            identity: identity(product, serial),
            alias: 0,
            position,
        }
    }

    fn newcomer(position: usize, product: u32, serial: u32) -> Newcomer {
        Newcomer {
            position,
            identity: identity(product, serial),
            alias: 0,
        }
    }

    #[test]
    fn two_that_changed_places_while_off_are_known_by_their_serial_numbers() {
        let devices = [known(5, 1, None), known(5, 2, None), known(6, 3, Some(2))];
        let came = [newcomer(0, 5, 2), newcomer(1, 5, 1)];
        assert_eq!(
            places(&devices, &came, Serials::MayDiffer),
            [Some(1), Some(0)]
        );
    }

    #[test]
    fn without_serial_numbers_neighbours_decide() {
        let devices = [
            known(5, 0, Some(0)),
            known(5, 0, None),
            known(6, 0, Some(2)),
            known(5, 0, None),
        ];
        let came = [newcomer(3, 5, 0), newcomer(1, 5, 0)];
        assert_eq!(
            places(&devices, &came, Serials::MustMatch),
            [Some(3), Some(1)]
        );
        let wrong_kind = [newcomer(1, 7, 0)];
        assert_eq!(places(&devices, &wrong_kind, Serials::MayDiffer), [None]);
    }

    #[test]
    fn a_replacement_is_taken_in_its_place_only_and_only_if_allowed() {
        let devices = [known(5, 1, None), known(6, 2, Some(1))];
        let in_place = [newcomer(0, 5, 77)];
        assert_eq!(places(&devices, &in_place, Serials::MayDiffer), [Some(0)]);
        assert_eq!(places(&devices, &in_place, Serials::MustMatch), [None]);
        assert_eq!(
            places(&devices, &[newcomer(2, 5, 77)], Serials::MayDiffer),
            [None]
        );
    }

    #[test]
    fn an_alias_must_fit() {
        let devices = [ConfiguredDevice {
            alias: 9,
            ..known(5, 1, None)
        }];
        assert_eq!(
            places(&devices, &[newcomer(0, 5, 1)], Serials::MayDiffer),
            [None]
        );
    }

    #[test]
    fn a_gap_moves_no_device_and_one_that_jumps_is_the_one_that_moved() {
        assert_eq!(moved(&[Some(0), None, Some(1), Some(2)]), [false; 4]);
        assert_eq!(
            moved(&[Some(3), Some(0), Some(1), Some(2)]),
            [true, false, false, false]
        );
    }

    proptest! {
        #[test]
        fn no_place_is_given_twice_and_none_that_is_taken(
            devices in prop::collection::vec((0_u32..3, 0_u32..4, any::<bool>()), 0..12),
            came in prop::collection::vec((0_u32..3, 0_u32..4), 0..12)
        ) {
            let devices: Vec<_> = devices.iter().enumerate()
                .map(|(at, (product, serial, there))| known(*product, *serial, there.then_some(at * 2)))
                .collect();
            let came: Vec<_> = came.iter().enumerate()
                .map(|(at, (product, serial))| newcomer(at * 2 + 1, *product, *serial))
                .collect();
            let found = places(&devices, &came, Serials::MayDiffer);
            let mut taken: Vec<_> = found.iter().flatten().collect();
            prop_assert!(taken.iter().all(|it| devices[**it].position.is_none()));
            let all = taken.len();
            taken.sort_unstable();
            taken.dedup();
            prop_assert_eq!(taken.len(), all);
            for (found, newcomer) in found.iter().zip(&came) {
                if let Some(device) = found {
                    prop_assert_eq!(devices[*device].identity.product, newcomer.identity.product);
                }
            }
        }

        #[test]
        fn what_did_not_move_stands_in_order(order in Just((0_usize..12).collect::<Vec<_>>()).prop_shuffle()) {
            let positions: Vec<_> = order.iter().map(|it| Some(*it)).collect();
            let moved = moved(&positions);
            let rest: Vec<_> = positions.iter().zip(&moved).filter(|(_, it)| !**it).map(|(it, _)| *it).collect();
            prop_assert!(rest.is_sorted() && !rest.is_empty());
        }
    }
}
