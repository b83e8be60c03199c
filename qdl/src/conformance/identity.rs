//! Check of a node's identity: its name, its description, its version.

use std::collections::BTreeSet;

use lon_net::random;
use lon_proto::WIRE_VERSION;
use lon_proto::node_name::NodeName;
use lon_proto::text::printable;
use lon_proto::v1::DescribeResponse;
use tonic::{Code, Status};

use super::caller::Caller;
use super::notes::{Notes, refused, status_text};
use super::rules::{DESCRIBE_SAME, DESCRIBE_VERSION, NAME_FORM, NAME_NONCE, NAME_STABLE};

/// Number of calls that ask for the name.
const NAME_CALLS: usize = 3;

/// Asks for the name some times; the name, printable.
pub(super) async fn names(caller: &Caller, notes: &mut Notes) -> String {
    let mut names = BTreeSet::new();
    for _ in 0..NAME_CALLS {
        // Where the system has no random bytes any other nonce is as good here.
        let nonce = random::u64().unwrap_or(0x5EED);
        match caller.name(nonce).await {
            Ok(answer) => {
                let same = answer.nonce == nonce;
                let wrong = || format!("{:#x} came back for {nonce:#x}", answer.nonce);
                notes.judge(&NAME_NONCE, same.then(|| format!("{NAME_CALLS} calls")).ok_or_else(wrong));
                names.insert(answer.name);
            }
            Err(status) => notes.judge(&NAME_NONCE, Err(format!("GetName failed with {}", status_text(&status)))),
        }
    }
    let Some(name) = names.first() else { return String::new() };
    for name in &names {
        let form = name.parse::<NodeName>().map_err(|error| format!("'{name}': {error}"));
        notes.judge(&NAME_FORM, form.map(|_| format!("'{name}'")));
    }
    let all = || names.iter().map(|name| format!("'{name}'")).collect::<Vec<_>>().join(", then ");
    notes.judge(&NAME_STABLE, if names.len() == 1 { Ok(all()) } else { Err(all()) });
    printable(name)
}

/// Asks for the description twice, and once in a version that does not exist.
///
/// # Errors
/// The status of the first call.
pub(super) async fn described(caller: &Caller, name: &str, notes: &mut Notes) -> Result<DescribeResponse, Status> {
    let first = caller.describe(WIRE_VERSION).await.inspect_err(|status| {
        notes.judge(&DESCRIBE_SAME, Err(format!("Describe failed with {}", status_text(status))));
    })?;
    let same = match caller.describe(WIRE_VERSION).await {
        Ok(second) if lasting(&second) == lasting(&first) => Ok("2 calls".to_owned()),
        Ok(_) => Err("the second description is another".to_owned()),
        Err(status) => Err(format!("the second Describe failed with {}", status_text(&status))),
    };
    let version = first.wire_version;
    let speaks = if version == WIRE_VERSION { same } else { Err(format!("it says wire version {version}")) };
    notes.judge(&DESCRIBE_SAME, speaks);
    if printable(&first.name) != name {
        notes.judge(&NAME_STABLE, Err(format!("GetName says '{name}', Describe '{}'", first.name)));
    }
    let other = caller.describe(WIRE_VERSION + 1).await;
    let what = format!("Describe in version {}", WIRE_VERSION + 1);
    notes.judge(&DESCRIBE_VERSION, refused(&what, Code::FailedPrecondition, other));
    Ok(first)
}

/// Returns the part of a description that stays the same while a node runs. Its machine may change.
fn lasting(description: &DescribeResponse) -> DescribeResponse {
    DescribeResponse { host: None, ..description.clone() }
}
