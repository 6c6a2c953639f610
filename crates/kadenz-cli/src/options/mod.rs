//! Options that several commands share, with the same form everywhere.

mod dictionary;
mod formats;
mod measure;
mod progress;
mod request;
mod values;

pub(crate) use dictionary::with_old_words;
pub(crate) use formats::{check as check_formats, chosen, without_formats};
pub(crate) use kadenz::rt::units::{ByteSize as Size, Span};
pub(crate) use measure::{
    ClockOption, Defaults, MeasureOptions, POLICIES, StdinOption, beats, folder_or_now,
    remove_empty_folders, session_plan, timer_slack,
};
pub(crate) use progress::{Progress, Steps, bar, waiting};
pub(crate) use request::keep as keep_request;
pub(crate) use values::{CommandWords, complete, folder, pace, word};
