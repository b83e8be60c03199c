//! Mixes: several tests at once over the same nodes, from one file.
//!
//! | file | what it has |
//! |---|---|
//! | `file` | the file as it is written |
//! | `checked` | the whole file, checked: a test for each tenant |
//! | `page` | the tenants beside each other, as an HTML page |
//! | `search` | the search for the highest load that all tenants stand |
//! | `search_request` | the search that the flags ask for |

mod checked;
mod file;
mod page;
mod search;
mod search_request;

pub(crate) use self::checked::{ALONE, CheckedMix, CheckedTenant, TRIALS};
pub(crate) use self::page::page;
pub(crate) use self::search::MixSearch;
