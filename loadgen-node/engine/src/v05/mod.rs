//! Round v0.5: other rules for the same machine.
//!
//! Random numbers, loaded sets, queries with due times, logged samples and the view of the world are those of all
//! rounds.
//! This room has the rest: the rules by which LoadGen of that round differs. Source of all facts: LoadGen of MLPerf
//! Inference v0.5, branch r0.5 of mlcommons/inference.
//!
//! | file | what it has | otherwise than in later rounds |
//! |---|---|---|
//! | [`scenario`] | the five scenarios as plain values | MultiStream at a fixed interval, and free-running |
//! | [`settings`] | the record of the requested settings | MultiStream has a rate and a number of queries in flight |
//! | [`conf`] | config files -> settings | keys and units; one bad line voids the file |
//! | `assign` | `KEY=VALUE` -> settings | its keys |
//! | [`origin`] | settings, each with where it comes from | every file may set everything |
//! | [`effective`] | requested settings -> values in force | Offline counts in 32 bits |
//! | [`traffic`] | values in force -> loaded sets and phases | picks follow one shuffle; twice the duration |
//! | [`issuer`] | when a query is issued, and when a series stops | skipped ticks; a minimum that is exceeded |
//! | [`record`] | what happened to the queries of a series | intervals before a query |
//! | [`series`] | one series over a world: issuing, waiting, recording | - |
//! | [`judge`] | what was measured -> the rules that it keeps | intervals caused; scheduled rate of Server |
//! | [`summary`] | that -> the lines of the summary | its own lines |
//! | [`logs`] | a test -> the texts of its summary and detail files | its own form |
//! | [`search`] | results in, the next value to try out | no upper bound, samples per query too |
//! | [`trial`] | the outcome of one value | - |
//! | [`mod@test`] | a whole test over a world, of any mode | sets and seeds of each series |
//! | [`later_records`] | a test -> settings and plan by the names of later rounds | - |
//! | [`adapter`] | a test that is run for a caller of later rounds: its outcome in their records | - |
//! | [`script`] | a world with virtual time and scripted latencies | - |
//! | [`vectors`] | recorded cases of that LoadGen, and where this engine differs | - |

pub mod adapter;
mod assign;
pub mod conf;
pub mod effective;
pub mod issuer;
pub mod judge;
pub mod later_records;
pub mod logs;
pub mod origin;
pub mod record;
pub mod scenario;
pub mod script;
pub mod search;
pub mod series;
pub mod settings;
pub mod summary;
pub mod test;
pub mod traffic;
pub mod trial;
pub mod vectors;
