//! Not yet.
pub mod links;
use crate::repository::Repository;
pub fn main(_: &Repository, _: &[String]) -> anyhow::Result<bool> {
    Ok(true)
}
