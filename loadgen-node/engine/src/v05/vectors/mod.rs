//! Cases that the LoadGen of round v0.5 recorded, and the first difference of this engine from one.
//!
//! A case is a JSON document: settings, library and scripted SUT, and the results of that LoadGen. The results never
//! take part in computing: `form` takes the document apart, the kinds below make facts of settings, library and SUT,
//! and `facts` compares them with the statements of the document. A document may state a part of the facts, and long
//! lists by their beginning, end and digest.
//!
//! | file | what it has |
//! |---|---|
//! | `form` | the text of a case -> its input, and its statements |
//! | `facts` | computed values, and the first difference of statements from them |
//! | `scripted_run` | a test that was run with a scripted SUT |
//! | `lists` | long lists: beginnings, digests |
//! | `traffic`, `intervals`, `judging`, `search`, `config`, `accuracy_log`, `official` | the facts of each kind |
//! | `check` | one case: input -> facts -> the first difference |

mod accuracy_log;
mod check;
mod config;
mod facts;
mod form;
mod intervals;
mod judging;
mod lists;
mod official;
mod scripted_run;
mod search;
mod traffic;

pub use check::check;
pub use facts::Difference;
pub use form::VectorError;
