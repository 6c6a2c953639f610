//! Not yet.
use crate::repository::Repository;
pub fn main(_: &Repository, _: &[String]) -> anyhow::Result<bool> {
    Ok(true)
}
