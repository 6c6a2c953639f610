//! Options that commands share, in one form everywhere.

mod complete;
mod dictionary;
mod json;
mod lists;
mod measure;
mod progress;
mod request;
mod size;
mod units;

pub(crate) use complete::complete;
pub(crate) use dictionary::with_old_words;
pub(crate) use json::{check as check_json, without_json};
pub(crate) use lists::CpuList;
pub(crate) use measure::{
    ClockOption, Defaults, MeasureOptions, POLICIES, command_line, folder_of_now,
};
pub(crate) use progress::{Progress, Steps, waiting};
pub(crate) use request::{keep as keep_request, request};
pub(crate) use size::Size;
pub(crate) use units::{MaxLoss, Span};
