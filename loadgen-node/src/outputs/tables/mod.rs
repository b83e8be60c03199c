//! Tables.
//!
//! - `table`: tables that commands print;
//! - `parquet`: tables for other programs.

pub(crate) mod parquet;
pub(crate) mod table;
