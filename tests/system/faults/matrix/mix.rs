//! Mixes of the matrix: their tenants, and the check that each tenant ends as its row says.

use std::fmt::Write as _;
use std::path::Path;

use lon_run::documents::mix_result::{MixResult, TenantResult};
use lon_run::documents::result_summary::Validity;
use lon_tests::folder_check::FolderCheck;
use serde_json::json;

use super::table::Expect;

/// A tenant, and its end: that of its row unless it goes well. The row's end is VALID where the program ends with 0,
/// else INVALID for all the reasons that the row has.
pub(super) struct Tenant {
    pub(super) name: &'static str,
    /// The backend of its model, in place of that of the row.
    pub(super) backend: Option<&'static str>,
    /// Keys that it has in the file, in TOML.
    pub(super) keys: &'static str,
    /// The number of its only node; absent: it has all of them.
    pub(super) node: Option<usize>,
    /// It is VALID, whatever happens to the others.
    pub(super) goes_well: bool,
}

/// Tenants of two models over both nodes, one at a rate and one that waits for each answer: a fault of a node, of the
/// network or of the LoadGen node meets both.
pub(super) static ALIKE: [Tenant; 2] = [
    Tenant { name: "rate", ..Tenant::with("scenario = \"Server\"") },
    Tenant { name: "chain", ..Tenant::with("scenario = \"SingleStream\"") },
];

impl Tenant {
    /// A tenant with these keys that ends as its row.
    pub(super) const fn with(keys: &'static str) -> Tenant {
        Tenant { name: "", backend: None, keys, node: None, goes_well: false }
    }

    /// The model of this tenant, as `--backend` of a node has it.
    pub(super) fn model(&self, backend: &str) -> String {
        format!("{}={}", self.name, self.backend.unwrap_or(backend))
    }
}

/// The file of a mix. `addresses` are those of the nodes by number.
pub(super) fn file(tenants: &[Tenant], addresses: &[String]) -> String {
    let mut file = String::new();
    for Tenant { name, keys, node, .. } in tenants {
        let _ = writeln!(file, "[[tenant]]\nname = \"{name}\"\nmodel = \"{name}\"\n{keys}");
        if let Some(number) = node {
            let _ = writeln!(file, "nodes = [\"{}\"]", addresses[*number]);
        }
    }
    file
}

/// Holds the folder of a mix against itself and against the ends of its tenants. `code` is that of the program.
pub(super) fn check(tenants: &[Tenant], expect: &Expect, folder: &Path, code: Option<i32>) -> FolderCheck {
    let mut whole = FolderCheck::default();
    let result = read(folder, &mut whole.faults);
    let is_ended = matches!(code, Some(0 | 3..=5)) && folder.exists();
    if is_ended && result.is_none() {
        whole.faults.push(format!("exit code {code:?} without a result of the mix"));
    }
    let (mut reasons, mut marks) = (Vec::new(), Vec::new());
    for tenant in tenants {
        let own = result.as_ref().map(|result| result.tenants.iter().find(|own| own.name == tenant.name));
        let is_valid = own.flatten().is_some_and(|own| own.result == Validity::Valid);
        // One tenant may be VALID though another ended the program with its own code.
        let check = FolderCheck::of(&folder.join(tenant.name), if is_valid { Some(0) } else { code });
        let verdict_text = check.verdict_text();
        reasons.push(verdict_text.clone());
        marks.extend(check.result["marks"].as_array().into_iter().flatten().cloned());
        let named = |fault| format!("tenant {}: {fault}", tenant.name);
        whole.faults.extend(check.faults.into_iter().map(named));
        match own {
            Some(Some(own)) => {
                whole.faults.extend(faults(tenant, own, expect, code, &verdict_text).into_iter().map(named));
            }
            Some(None) => whole.faults.push(named("the result of the mix does not have it".to_owned())),
            None => {}
        }
    }
    if let Some(result) = result {
        whole.faults.extend(contradictions(&result, code));
        whole.result = json!({ "result": result.result, "reasons": reasons, "marks": marks });
    }
    whole
}

fn read(folder: &Path, faults: &mut Vec<String>) -> Option<MixResult> {
    let text = std::fs::read_to_string(folder.join("mix_result.json")).ok()?;
    let result = serde_json::from_str(&text);
    result.map_err(|error| faults.push(format!("mix_result.json: {error}"))).ok()
}

/// Faults of a tenant that the result of the mix has. `verdict_text` is that of its run folder.
fn faults(tenant: &Tenant, own: &TenantResult, expect: &Expect, code: Option<i32>, verdict_text: &str) -> Vec<String> {
    let is_valid = tenant.goes_well || code == Some(0);
    let says = if is_valid { &[][..] } else { expect.says };
    let mut faults = Vec::new();
    if (own.result == Validity::Valid) != is_valid {
        faults.push(format!("it is {:?}: {:?}", own.result, own.reasons));
    }
    let has = |part: &str, end: &str| own.reasons.iter().any(|why| why.contains(part) && why.contains(end));
    if has("SUT node b,", "allowed (--max-lag)") && has("node b was lost", "") {
        faults.push(format!("the loss of a node is reported as a stall, too: {:?}", own.reasons));
    }
    let silent = says.iter().filter(|part| !own.reasons.iter().any(|reason| reason.contains(**part)));
    faults.extend(silent.map(|part| format!("no reason has '{part}': {:?}", own.reasons)));
    let absent = own.reasons.iter().filter(|reason| !verdict_text.contains(reason.as_str()));
    faults.extend(absent.map(|reason| format!("its run folder does not have the reason '{reason}': {verdict_text}")));
    faults
}

/// Contradictions in the result of a mix: it is VALID exactly where every tenant is, and the program ends with 0 then.
fn contradictions(result: &MixResult, code: Option<i32>) -> Vec<String> {
    let is_valid = result.result == Validity::Valid;
    let are_valid = result.tenants.iter().all(|tenant| tenant.result == Validity::Valid && !tenant.left_early);
    let agree = [are_valid, result.reasons.is_empty(), code == Some(0)].iter().all(|says| *says == is_valid);
    if agree { Vec::new() } else { vec![format!("exit code {code:?}, and the result of the mix is {result:?}")] }
}
