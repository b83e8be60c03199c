//! Tables.
//!
//! - `table`: tables that commands print;
//! - `parquet`: tables for other programs.

pub mod parquet;
pub mod table;
