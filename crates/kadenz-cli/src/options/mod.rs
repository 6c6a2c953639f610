//! Options that commands share, in one form everywhere.

mod dictionary;
mod json;
mod measure;
mod progress;
mod request;
mod values;

pub(crate) use dictionary::with_old_words;
pub(crate) use json::{check as check_json, without_json};
pub(crate) use kadenz::rt::units::{ByteSize as Size, Span};
pub(crate) use measure::{
    ClockOption, Defaults, MeasureOptions, POLICIES, StdinOption, beats, command_line,
    folder_of_now,
};
pub(crate) use progress::{Progress, Steps, waiting};
pub(crate) use request::{keep as keep_request, request};
pub(crate) use values::{CommandWords, CpuList, MaxLoss, complete, pace};
