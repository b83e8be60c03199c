//! Jobs that take long, one after the other: each a command of this program or of another one.
//!
//! Commands `submission` and `campaign` make their runs with this room. Each of them has records of its own that say
//! which jobs need not be made again.
//!
//! | file | what it has |
//! |---|---|
//! | `commands` | starts commands, waits for them, hands signals on |
//! | `guard` | the end of a command whose starter was killed; the lock of a folder with jobs |
//! | `old_folder` | the place of a folder that a new job takes the name of |
//! | `log` | the reason of a command that came to nothing |
//! | `flags` | flags of commands, from the values of a TOML file |

pub(crate) mod commands;
pub(crate) mod flags;
pub(crate) mod guard;
pub(crate) mod log;
pub(crate) mod old_folder;
