//! What a run answers, in words: whether it keeps its deadlines, where the time goes, how late its testbed was.

pub mod broadcasts;
pub mod budget;
mod headline;
pub mod testbed;
mod words;

pub use headline::{Headline, HeadlineAnswer, machine};
pub use words::answer;
