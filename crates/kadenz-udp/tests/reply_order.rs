//! The order of answers over many broadcasts.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use kadenz_udp::controller::{Burst, BurstSlot, DeviceId, OrderSlot, ReplyOrder};
use kadenz_udp::wire::Sequence;
use proptest::prelude::*;

/// Enters the answers of these devices, in this order, out of `devices`.
fn enter(order: &mut ReplyOrder<Vec<OrderSlot>>, devices: usize, answers: &[u16]) {
    let mut burst = Burst::over(vec![BurstSlot::default(); devices]);
    burst.begin(Sequence(0), 0);
    for (after_ns, device) in answers.iter().enumerate() {
        burst
            .answered(Sequence(0), DeviceId(*device), after_ns as u64)
            .unwrap();
    }
    order.enter(&burst);
}

fn of(devices: usize, bursts: &[&[u16]]) -> ReplyOrder<Vec<OrderSlot>> {
    let mut order = ReplyOrder::over(vec![OrderSlot::default(); devices]);
    bursts.iter().for_each(|it| enter(&mut order, devices, it));
    order
}

#[test]
fn opposite_orders_have_nothing_in_common() {
    assert_eq!(of(3, &[&[0, 1, 2], &[2, 1, 0]]).concordance(), Some(0.0));
}

#[test]
fn a_case_by_hand() {
    // Ranks 0 1 2, 0 2 1, 1 0 2: sums 1, 3, 5; mean 3; squares 8; 12 * 8 / (9 * 24).
    let order = of(3, &[&[0, 1, 2], &[0, 2, 1], &[1, 0, 2]]);
    let expected = 96.0 / 216.0;
    assert!((order.concordance().unwrap() - expected).abs() < 1e-12);
}

#[test]
fn an_incomplete_burst_counts_for_the_places_and_not_for_the_order() {
    let order = of(3, &[&[0, 1, 2], &[0, 1, 2], &[2]]);
    assert_eq!((order.bursts(), order.complete()), (3, 2));
    assert_eq!(order.concordance(), Some(1.0));
    let places = order.places(DeviceId(2)).unwrap();
    assert_eq!((places.answers, places.first, places.last), (3, 1, 2));
    assert_eq!((places.lowest, places.highest), (0, 2));
    assert_eq!(places.mean(), Some(4.0 / 3.0));
    assert_eq!(order.places(DeviceId(3)), None);
}

#[test]
fn too_little_says_nothing() {
    assert_eq!(of(3, &[&[0, 1, 2]]).concordance(), None);
    assert_eq!(of(1, &[&[0], &[0]]).concordance(), None);
    assert_eq!(of(3, &[]).places(DeviceId(0)).unwrap().mean(), None);
}

proptest! {
    #[test]
    fn it_is_what_the_ranks_correlate_to(
        orders in (2_u16..8).prop_flat_map(|devices| {
            let shuffled = Just((0..devices).collect::<Vec<u16>>()).prop_shuffle();
            prop::collection::vec(shuffled, 2..20)
        }),
    ) {
        let devices = orders[0].len();
        let slices: Vec<&[u16]> = orders.iter().map(Vec::as_slice).collect();
        let concordance = of(devices, &slices).concordance().unwrap();
        // The other way to compute W: the mean of Spearman's rho over all pairs of orders.
        let rank = |order: &[u16], device: u16| order.iter().position(|it| *it == device).unwrap() as f64;
        let n = devices as f64;
        let mut rhos = Vec::new();
        for (at, a) in orders.iter().enumerate() {
            for b in &orders[at + 1..] {
                let apart = |device| (rank(a, device) - rank(b, device)).powi(2);
                let squares: f64 = (0..devices as u16).map(apart).sum();
                rhos.push(1.0 - 6.0 * squares / (n * (n * n - 1.0)));
            }
        }
        let mean = rhos.iter().sum::<f64>() / rhos.len() as f64;
        let m = orders.len() as f64;
        prop_assert!((concordance - (mean * (m - 1.0) + 1.0) / m).abs() < 1e-9);
    }
}
