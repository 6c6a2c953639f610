//! Damage to a file, as by a disk, a careless script or an attacker.

/// Values that parsers often fail on: limits of integers, signs, texts that are not numbers.
const NUMBERS: [&str; 14] = [
    "0",
    "-1",
    "1",
    "127",
    "255",
    "65536",
    "2147483648",
    "4294967295",
    "9223372036854775807",
    "18446744073709551616",
    "1e308",
    "-1e-308",
    "NaN",
    "null",
];

/// A damaged copy: one to eight changes.
pub(crate) fn mutated(original: &[u8], random: &mut Random) -> Vec<u8> {
    let mut bytes = original.to_vec();
    for _ in 0..=random.below(8) {
        change(&mut bytes, random);
    }
    bytes
}

fn change(bytes: &mut Vec<u8>, random: &mut Random) {
    match random.below(9) {
        0 => flip_a_bit(bytes, random),
        1 => overwrite(bytes, random),
        2 => bytes.truncate(random.below(bytes.len() + 1)),
        3 => insert(bytes, random),
        4 => remove(bytes, random),
        5 => repeat(bytes, random),
        6 => replace_a_number(bytes, random),
        7 => write_a_length(bytes, random),
        _ => swap_two_pieces(bytes, random),
    }
}

fn flip_a_bit(bytes: &mut [u8], random: &mut Random) {
    let at = random.below(bytes.len());
    if let Some(byte) = bytes.get_mut(at) {
        *byte ^= 1 << random.below(8);
    }
}

fn overwrite(bytes: &mut [u8], random: &mut Random) {
    for at in piece(bytes.len(), 16, random) {
        bytes[at] = random.next().to_le_bytes()[0];
    }
}

fn insert(bytes: &mut Vec<u8>, random: &mut Random) {
    let at = random.below(bytes.len() + 1);
    let length = random.below(64) + 1;
    let same = random.below(2) == 0;
    let first = random.next().to_le_bytes()[0];
    let new = (0..length).map(|_| match same {
        true => first,
        false => random.next().to_le_bytes()[0],
    });
    let new: Vec<u8> = new.collect();
    bytes.splice(at..at, new);
}

fn remove(bytes: &mut Vec<u8>, random: &mut Random) {
    let gone = piece(bytes.len(), 256, random);
    bytes.drain(gone);
}

/// Repeats a piece many times: a loop in a parser then runs often.
fn repeat(bytes: &mut Vec<u8>, random: &mut Random) {
    let from = piece(bytes.len(), 512, random);
    let at = from.end;
    let times = 1 << random.below(7);
    let piece = bytes[from].repeat(times);
    bytes.splice(at..at, piece);
}

/// Replaces a number in a text by another one.
fn replace_a_number(bytes: &mut Vec<u8>, random: &mut Random) {
    let start = random.below(bytes.len());
    let Some(first) = (start..bytes.len()).find(|at| bytes[*at].is_ascii_digit()) else {
        return;
    };
    let rest = bytes[first..].iter();
    let end = first + rest.take_while(|byte| byte.is_ascii_digit()).count();
    let number = *random.one_of(&NUMBERS);
    bytes.splice(first..end, number.bytes());
}

/// Overwrites a possible length of a binary format by a limit value, or by zero.
fn write_a_length(bytes: &mut [u8], random: &mut Random) {
    let value: u64 = *random.one_of(&[0, 1, 0x7FFF_FFFF, 0xFFFF_FFFF, 1 << 36, u64::MAX, 1 << 20]);
    let width = *random.one_of(&[2, 4, 8]);
    let at = random.below(bytes.len());
    let value = match random.below(2) {
        0 => value.to_le_bytes(),
        _ => (value << (64 - 8 * width)).to_be_bytes(),
    };
    for (to, from) in bytes[at..].iter_mut().take(width).zip(value) {
        *to = from;
    }
}

fn swap_two_pieces(bytes: &mut [u8], random: &mut Random) {
    let first = piece(bytes.len(), 64, random);
    let second = random.below(bytes.len());
    for (step, at) in first.enumerate() {
        let other = second + step;
        if other < bytes.len() {
            bytes.swap(at, other);
        }
    }
}

/// A random piece of at most `longest` bytes.
fn piece(length: usize, longest: usize, random: &mut Random) -> std::ops::Range<usize> {
    let start = random.below(length);
    let end = start + random.below(longest.min(length - start) + 1);
    start..end
}

// Random numbers that are the same for the same seed, so that a finding can be repeated.

/// SplitMix64 (Steele, Lea, Flood: "Fast Splittable Pseudorandom Number Generators", 2014).
#[derive(Clone, Debug)]
pub(crate) struct Random(u64);

impl Random {
    /// The stream of this seed and number: each case has a stream of its own.
    pub(crate) fn of(seed: u64, case: u64) -> Self {
        let mut it = Self(seed ^ case.wrapping_mul(0xA076_1D64_78BD_642F));
        it.next();
        it
    }

    /// The next 64 bits.
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// A number below `end`; 0 where `end` is 0.
    pub(crate) fn below(&mut self, end: usize) -> usize {
        match end {
            0 => 0,
            end => usize::try_from(self.next() % end as u64).unwrap_or_default(),
        }
    }

    /// One of these; there must be one.
    pub(crate) fn one_of<'a, T>(&mut self, all: &'a [T]) -> &'a T {
        &all[self.below(all.len())]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn damage_is_repeatable_bounded_and_takes_the_empty_file() {
        for case in 0..2000 {
            for original in [&b""[..], b"7", b"{\"count\": 12, \"of\": [1, 2]}"] {
                let damage = || mutated(original, &mut Random::of(7, case));
                assert_eq!(damage(), damage());
                assert!(damage().len() < 1 << 24, "case {case}");
            }
        }
    }

    #[test]
    fn most_damage_is_visible() {
        let original = b"a file of a hundred bytes, in which numbers such as 12 and 400 stand, and a few words";
        let same = (0..500).filter(|case| mutated(original, &mut Random::of(1, *case)) == original);
        assert!(same.count() < 50);
    }
}

#[cfg(test)]
mod random_tests {
    use super::*;

    #[test]
    fn a_seed_repeats_and_cases_differ() {
        let first = |seed, case| Random::of(seed, case).next();
        assert_eq!(first(1, 2), first(1, 2));
        assert_ne!(first(1, 2), first(1, 3));
        assert_ne!(first(1, 2), first(2, 2));
    }
}
