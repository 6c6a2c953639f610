//! The process image: the loop publishes what it read and wrote in a cycle, and others read it.
//!
//! Assumption: one thread writes, by one `&mut` [`ProcessImageWriter`]. Guarantee: the writer never waits, whatever
//! readers do and wherever they are killed: they change nothing. A reader gets a whole cycle, or an error where the
//! writer overtook it. (The real-time task of \[Yoon2009\] waits for at most one reader, by a mutex with priority
//! inheritance; here it waits for none.)
//!
//! The words of a process image are atomic, in this process's memory or shared with others
//! ([`kadenz_rt::shared`]). A few copies stand side by side; the writer takes the oldest. Each copy has a
//! version before its bytes that is odd while it is written (a sequence lock; Boehm, "Can seqlocks get
//! along with programming language memory models?", 2012), so a reader must be slower than several
//! cycles before it is overtaken at all.

use crate::sync::{AtomicU64, Ordering, fence};

/// `KDNZEC` and the version of the layout.
const MAGIC: u64 = u64::from_le_bytes(*b"KDNZEC\x01\x00");
/// Added to the same word once there will be no more images.
const ENDED: u64 = 1 << 56;
/// Words before the copies: magic, bytes of a copy, copies, images so far.
const HEAD: usize = 4;
const AT_MAGIC: usize = 0;
const AT_BYTES: usize = 1;
const AT_COPIES: usize = 2;
const AT_IMAGES: usize = 3;
/// Copies of a process image: a reader is overtaken by the third cycle that begins while it reads.
const COPIES: usize = 4;
/// How often a reader begins again before it reports that it was overtaken.
const TRIES: u32 = 8;

/// Loads the 64-bit words of a process image one by one.
///
/// # Real-time safety
/// An implementation must neither allocate, lock nor wait.
pub trait LoadWords {
    /// The number of words.
    fn count(&self) -> usize;

    /// Loads the word at a place below [`count`](Self::count).
    fn load(&self, place: usize, order: Ordering) -> u64;
}

impl LoadWords for [AtomicU64] {
    fn count(&self) -> usize {
        self.len()
    }

    fn load(&self, place: usize, order: Ordering) -> u64 {
        self[place].load(order)
    }
}

#[cfg(all(target_os = "linux", not(loom)))]
impl LoadWords for kadenz_rt::shared::Viewer {
    fn count(&self) -> usize {
        self.count()
    }

    fn load(&self, place: usize, order: Ordering) -> u64 {
        self.load(place, order)
    }
}

/// The number of words of a process image of `bytes` bytes.
///
/// # Real-time safety
/// Real-time safe: arithmetic alone.
#[must_use]
pub const fn words_for(bytes: usize) -> usize {
    HEAD + COPIES * (1 + bytes.div_ceil(8))
}

/// The reason why words are not a process image, or cannot be read now.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ProcessImageError {
    /// Another program, or another version of this one, made them.
    #[error(
        "this is not a process image of this version; is its writer another version of Kadenz?"
    )]
    Foreign,
    /// Fewer words than the process image needs.
    #[error("a process image of {0} bytes needs {1} words, there are {2}")]
    TooSmall(usize, usize, usize),
    /// Nothing was published yet.
    #[error("nothing was published yet")]
    Empty,
    /// The writer was faster than the reader, several times in a row.
    #[error("the writer overtook the reader; retry")]
    Overtaken,
    /// The caller's buffer is of another length.
    #[error("a process image has {0} bytes, the memory for it {1}")]
    Length(usize, usize),
}

/// The writer's side.
///
/// # Real-time safety
/// It neither allocates, locks nor waits.
#[derive(Debug)]
pub struct ProcessImageWriter<'w> {
    words: &'w [AtomicU64],
    bytes: usize,
    images: u64,
}

impl<'w> ProcessImageWriter<'w> {
    /// Makes a process image from words that are zero, for `bytes` bytes.
    ///
    /// # Errors
    /// [`ProcessImageError::TooSmall`]; see [`words_for`].
    pub fn begin(words: &'w [AtomicU64], bytes: usize) -> Result<Self, ProcessImageError> {
        if words.len() < words_for(bytes) {
            return Err(ProcessImageError::TooSmall(
                bytes,
                words_for(bytes),
                words.len(),
            ));
        }
        words[AT_BYTES].store(bytes as u64, Ordering::Relaxed);
        words[AT_COPIES].store(COPIES as u64, Ordering::Relaxed);
        words[AT_IMAGES].store(0, Ordering::Relaxed);
        words[AT_MAGIC].store(MAGIC, Ordering::Release);
        Ok(Self {
            words,
            bytes,
            images: 0,
        })
    }

    /// Publishes bytes that belong together; readers see them from now on.
    ///
    /// # Errors
    /// [`ProcessImageError::Length`] for more or fewer bytes than the process image was made for.
    pub fn publish(&mut self, bytes: &[u8]) -> Result<(), ProcessImageError> {
        if bytes.len() != self.bytes {
            return Err(ProcessImageError::Length(self.bytes, bytes.len()));
        }
        let start = copy_at(self.images, self.bytes);
        let version = &self.words[start];
        let odd = version.load(Ordering::Relaxed).wrapping_add(1);
        version.store(odd, Ordering::Relaxed);
        // A reader that sees a word of what follows sees the odd version too.
        fence(Ordering::Release);
        for (word, bytes) in self.words[start + 1..].iter().zip(bytes.chunks(8)) {
            word.store(word_of(bytes), Ordering::Relaxed);
        }
        version.store(odd.wrapping_add(1), Ordering::Release);
        self.images += 1;
        self.words[AT_IMAGES].store(self.images, Ordering::Release);
        Ok(())
    }

    /// Marks the last image as final; it stays readable.
    pub fn end(&mut self) {
        self.words[AT_MAGIC].store(MAGIC | ENDED, Ordering::Release);
    }
}

/// A reader's side.
///
/// # Real-time safety
/// It neither allocates nor locks; it tries a few times and does not wait.
#[derive(Debug)]
pub struct Reader<W> {
    words: W,
    bytes: usize,
}

impl<W: std::ops::Deref<Target: LoadWords>> Reader<W> {
    /// Opens a process image.
    ///
    /// # Errors
    /// [`ProcessImageError::Foreign`] or [`ProcessImageError::TooSmall`] for words that are not a process image.
    pub fn of(words: W) -> Result<Self, ProcessImageError> {
        let count = words.count();
        let head = |place| (place < count).then(|| words.load(place, Ordering::Acquire));
        let magic = head(AT_MAGIC).map(|it| it & !ENDED);
        if magic != Some(MAGIC) || head(AT_COPIES) != Some(COPIES as u64) {
            return Err(ProcessImageError::Foreign);
        }
        let bytes = head(AT_BYTES).and_then(|it| usize::try_from(it).ok());
        let bytes = bytes
            .filter(|it| *it <= count * 8)
            .ok_or(ProcessImageError::Foreign)?;
        if count < words_for(bytes) {
            return Err(ProcessImageError::TooSmall(bytes, words_for(bytes), count));
        }
        Ok(Self { words, bytes })
    }

    /// Bytes of a process image.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// The number of images so far.
    #[must_use]
    pub fn images(&self) -> u64 {
        self.words.load(AT_IMAGES, Ordering::Acquire)
    }

    /// Whether the writer marked the last image as final. A writer that was killed does not.
    #[must_use]
    pub fn has_ended(&self) -> bool {
        self.words.load(AT_MAGIC, Ordering::Acquire) & ENDED != 0
    }

    /// Copies the last image; returns its number, from 1. After an error, the content of `to` is undefined.
    ///
    /// # Errors
    /// [`ProcessImageError`]: nothing published yet, overtaken, or memory of another length.
    pub fn read(&self, to: &mut [u8]) -> Result<u64, ProcessImageError> {
        if to.len() != self.bytes {
            return Err(ProcessImageError::Length(self.bytes, to.len()));
        }
        for _ in 0..TRIES {
            let images = self.images();
            if images == 0 {
                return Err(ProcessImageError::Empty);
            }
            if self.copy(images - 1, to) {
                return Ok(images);
            }
        }
        Err(ProcessImageError::Overtaken)
    }

    /// Copies the process image of a number from 0; returns false when it was overwritten meanwhile.
    fn copy(&self, number: u64, to: &mut [u8]) -> bool {
        let start = copy_at(number, self.bytes);
        // Each turn of the ring adds two to a copy's version.
        let wanted = (number / COPIES as u64).wrapping_add(1).wrapping_mul(2);
        if self.words.load(start, Ordering::Acquire) != wanted {
            return false;
        }
        for (place, bytes) in (start + 1..).zip(to.chunks_mut(8)) {
            let word = self.words.load(place, Ordering::Relaxed).to_le_bytes();
            bytes.copy_from_slice(&word[..bytes.len()]);
        }
        fence(Ordering::Acquire);
        self.words.load(start, Ordering::Relaxed) == wanted
    }
}

/// The index at which the copy of a process image begins, with its version.
fn copy_at(number: u64, bytes: usize) -> usize {
    HEAD + (number % COPIES as u64) as usize * (1 + bytes.div_ceil(8))
}

fn word_of(bytes: &[u8]) -> u64 {
    let mut word = [0; 8];
    word[..bytes.len()].copy_from_slice(bytes);
    u64::from_le_bytes(word)
}

#[cfg(all(test, not(loom)))]
mod tests;

#[cfg(all(test, loom))]
mod loom;
