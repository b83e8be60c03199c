//! A mix as an HTML page: its tenants beside each other. It opens without a network, and links to the page of each.

use std::path::Path;

use maud::{Markup, html};

use crate::comparison::{over_each_other, table};
use lon_proto::figures::{bytes, length_ns, number};
use lon_run::outputs::documents::mix_result::{MixResult, TenantResult};
use lon_run::outputs::documents::mix_search::MixSearched;
use lon_run::outputs::documents::result_summary::Validity;
use lon_run::outputs::report::{FILE, Series, Source, framed};
use lon_run::outputs::tables::table::Table;

/// Caption of the charts.
const ABOUT: &str = "Each tenant from its own start on.";

/// The whole page of the mix in `folder`, which has the run folders of the tenants.
pub(crate) fn page(result: &MixResult, folder: &Path) -> String {
    let names: Vec<&str> = result.tenants.iter().map(|tenant| tenant.name.as_str()).collect();
    let title = format!("Mix of {}: {}", names.join(", "), result.result.word());
    let is_valid = result.result == Validity::Valid;
    let header = html! {
        h1 { (title) }
        @for reason in &result.reasons { p class=[(!is_valid).then_some("bad")] { (reason) } }
        @if let Some(fairness) = result.fairness {
            p { "Fairness " (format!("{fairness:.3}")) " (Jain's index over achieved / target rate; 1: all alike)" }
        }
    };
    let series: Vec<(&TenantResult, Option<Series>)> = result
        .tenants
        .iter()
        .map(|tenant| (tenant, Source::read(&folder.join(&tenant.folder)).ok().and_then(|source| source.series)))
        .collect();
    let curves: Vec<(&str, &Series)> =
        series.iter().filter_map(|(tenant, series)| Some((tenant.name.as_str(), series.as_ref()?))).collect();
    let main = html! {
        (table("tenants", "Tenants", result.table()))
        (table("parts", "Latency at p99 by part", parts(result)))
        (table("network", "Network", network(result)))
        @if let Some(searched) = &result.search { (table("search", "Search", runs(searched))) }
        (details(&result.tenants))
        @for (tenant, series) in &series {
            @if series.is_none() { p { "The curves of " (tenant.name) " are not there." } }
        }
        div class="charts" { @for chart in over_each_other(&curves, ABOUT) { (chart.markup()) } }
    };
    framed(&title, &header, &main, "Unverified: no official MLPerf results.")
}

/// The parts of the latency of each tenant at the 99th percentile.
fn parts(result: &MixResult) -> Table {
    let tenants = || result.tenants.iter().filter(|tenant| tenant.samples > 0);
    let names = tenants().map(|tenant| tenant.name.clone());
    let heads = std::iter::once("part of the latency".to_owned()).chain(names).collect();
    let mut rows: Vec<Vec<String>> = Vec::new();
    for tenant in tenants() {
        for (number, (part, time)) in tenant.latency_split_ns.parts(false).into_iter().enumerate() {
            if rows.len() == number {
                rows.push(vec![part.to_owned()]);
            }
            rows[number].push(length_ns(time.p99));
        }
    }
    Table { heads, rows }
}

/// Bytes of each tenant.
fn network(result: &MixResult) -> Table {
    let mut table = Table::new(["tenant", "nodes", "samples", "to SUT", "from SUT"]);
    for tenant in &result.tenants {
        let [to, from] = tenant.socket_bytes.map(bytes);
        table.row([&tenant.name, &tenant.nodes.join(", "), &tenant.samples.to_string(), &to, &from]);
    }
    table
}

/// The runs of a search.
fn runs(searched: &MixSearched) -> Table {
    let mut table = Table::new([searched.setting.as_str(), "kind", "outcome", "reasons"]);
    for trial in &searched.trials {
        let kind = if trial.is_verification { "whole run" } else { "trial" };
        let outcome = if trial.passed { "passed" } else { "failed" };
        table.row([&number(trial.load), kind, outcome, &trial.reasons.join("; ")]);
    }
    table
}

/// Links to the pages of the tenants, and why one is INVALID.
fn details(tenants: &[TenantResult]) -> Markup {
    html! {
        section id="reports" {
            h2 { "Reports" }
            ul {
                @for tenant in tenants {
                    li {
                        a href=(format!("{}/{FILE}", tenant.folder)) { (tenant.name) }
                        @for reason in &tenant.reasons { " " span class="bad" { (reason) } }
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_names_every_tenant_and_what_is_missing() {
        let folder = tempfile::tempdir().unwrap();
        let tenant = |name: &str, result| TenantResult {
            name: name.to_owned(),
            folder: format!("trials/01/{name}"),
            result,
            reasons: vec!["a < b".to_owned()],
            ..TenantResult::default()
        };
        let result = MixResult {
            reasons: vec!["tenant chat is INVALID".to_owned()],
            tenants: vec![tenant("vision", Validity::Valid), tenant("chat", Validity::Invalid)],
            ..MixResult::default()
        };
        let page = page(&result, folder.path());
        for text in [
            "Mix of vision, chat: INVALID",
            "tenant chat is INVALID",
            "href=\"trials/01/chat/report.html\"",
            "a &lt; b",
            "The curves of vision are not there.",
        ] {
            assert!(page.contains(text), "{text}: {page}");
        }
    }
}
