//! The ring alone, between two threads, and under every interleaving.

use super::Sample;

fn numbered(n: u64) -> Sample {
    let signed = n.cast_signed();
    Sample {
        sequence: n,
        intended_ns: signed * 10,
        actual_ns: signed * 10 + 1,
        value_ns: -signed,
    }
}

#[cfg(not(loom))]
mod threads {
    use super::super::*;
    use super::numbered;

    #[test]
    fn capacity_is_a_power_of_two_within_bounds() {
        assert_eq!(ring(0).0.capacity(), 2);
        assert_eq!(ring(3).0.capacity(), 4);
        if !cfg!(miri) {
            assert_eq!(ring(16_384).1.capacity(), 16_384);
            assert_eq!(ring(usize::MAX).0.capacity(), MAX_CAPACITY);
        }
    }

    #[test]
    fn full_ring_drops_the_newest_and_counts_it() {
        let (mut producer, mut consumer) = ring(2);
        assert!(producer.push(numbered(0)) && producer.push(numbered(1)));
        assert!(!producer.push(numbered(2)));
        assert_eq!((producer.dropped(), consumer.dropped()), (1, 1));
        assert_eq!(consumer.pop(), Some(numbered(0)));
        assert!(producer.push(numbered(3)));
        let mut rest = Vec::new();
        assert_eq!(consumer.drain_into(&mut rest, usize::MAX), 2);
        assert_eq!(rest, [numbered(1), numbered(3)]);
        assert!(consumer.is_empty() && consumer.pop().is_none());
    }

    #[test]
    fn two_threads_lose_only_what_is_counted() {
        const PUSHES: u64 = if cfg!(miri) { 300 } else { 200_000 };
        let (mut producer, mut consumer) = ring(64);
        let pushing = std::thread::spawn(move || {
            for n in 0..PUSHES {
                producer.push(numbered(n));
            }
        });
        let mut taken = Vec::new();
        while !pushing.is_finished() {
            consumer.drain_into(&mut taken, 16);
        }
        // A flag only reports that the thread has finished; joining it makes its last stores visible.
        pushing.join().expect("pushes");
        consumer.drain_into(&mut taken, usize::MAX);
        assert!(
            taken
                .iter()
                .all(|sample| *sample == numbered(sample.sequence))
        );
        assert!(
            taken
                .windows(2)
                .all(|pair| pair[0].sequence < pair[1].sequence)
        );
        assert_eq!(taken.len() as u64 + consumer.dropped(), PUSHES);
    }
}

#[cfg(loom)]
mod loom_models {
    use super::super::*;
    use super::numbered;

    /// Every interleaving of three pushes into a ring of two, with a consumer beside it.
    #[test]
    fn whole_in_order_and_counted() {
        loom::model(|| {
            let (mut producer, mut consumer) = ring(2);
            let pushing = loom::thread::spawn(move || {
                (0..3)
                    .filter(|&n| producer.push(numbered(n)))
                    .collect::<Vec<_>>()
            });
            let mut taken: Vec<Sample> = consumer.pop().into_iter().collect();
            consumer.drain_into(&mut taken, usize::MAX);
            let pushed = pushing.join().expect("producer");
            consumer.drain_into(&mut taken, usize::MAX);
            let expected: Vec<Sample> = pushed.iter().map(|&n| numbered(n)).collect();
            assert_eq!(taken, expected);
            assert_eq!(taken.len() as u64 + consumer.dropped(), 3);
        });
    }
}
