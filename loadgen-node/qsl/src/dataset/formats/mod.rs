//! How samples are stored: a file for each format.

pub(crate) mod arrays;
pub mod digits;
pub(crate) mod images;
mod labels;
pub(crate) mod lines;
pub(crate) mod manifest;
mod npy;
pub(crate) mod squad;
pub(crate) mod synthetic;
