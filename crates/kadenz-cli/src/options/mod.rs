//! Options that commands share, in one form everywhere.

mod complete;
mod dictionary;
mod json;
mod lists;
mod max_loss;
mod measure;
mod progress;
mod request;

pub(crate) use complete::complete;
pub(crate) use dictionary::with_old_words;
pub(crate) use json::{check as check_json, without_json};
pub(crate) use kadenz_rt::units::{ByteSize as Size, Span};
pub(crate) use lists::CpuList;
pub(crate) use max_loss::MaxLoss;
pub(crate) use measure::{
    ClockOption, Defaults, MeasureOptions, POLICIES, command_line, folder_of_now,
};
pub(crate) use progress::{Progress, Steps, waiting};
pub(crate) use request::{keep as keep_request, request};
