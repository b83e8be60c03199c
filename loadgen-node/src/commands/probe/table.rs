//! A probe as one table, for `probe --format csv` and `md`: a row for each number.

use lon_run::network::by_way::ByWay;
use lon_run::outputs::documents::probe::changes::AgainstDocument;
use lon_run::outputs::documents::probe::matrix::MatrixDocument;
use lon_run::outputs::documents::probe::needs::NeedsDocument;
use lon_run::outputs::documents::probe::{CarriedDocument, FabricDocument, ProbeDocument};
use lon_run::outputs::tables::table::Table;

/// Columns of the table: the transport, the node or nodes, the quantity, what the quantity is of, the number, its unit.
const HEADS: [&str; 6] = ["transport", "node", "quantity", "of", "value", "unit"];

const GBIT_S: &str = "Gbit/s";

/// Returns a table of the measurements and of what follows from them. A quantity that was not measured has no row.
pub(super) fn table(document: &ProbeDocument) -> Table {
    let mut table = Table::new(HEADS);
    document.fabrics().for_each(|fabric| measured(&mut table, fabric));
    document.carries.iter().for_each(|carried| carries(&mut table, carried));
    document.needs.iter().for_each(|section| needs(&mut table, section));
    document.matrix.iter().for_each(|section| matrix(&mut table, section));
    document.against.iter().for_each(|section| against(&mut table, section));
    table
}

fn measured(table: &mut Table, fabric: &FabricDocument) {
    let transport = fabric.transport.as_str();
    for node in &fabric.nodes {
        let trips = node.rtt_ns.iter().map(|rtt| (format!("{} bytes", rtt.bytes), [rtt.p50, rtt.p90, rtt.p99]));
        let loaded =
            node.loaded_rtt_ns.map(|at| ("64 bytes, both directions full".to_owned(), [at.p50, at.p90, at.p99]));
        for (of, percentiles) in trips.chain(loaded) {
            for (quantity, ns) in ["round trip p50", "round trip p90", "round trip p99"].into_iter().zip(percentiles) {
                table.row([transport, &node.name, quantity, &of, &ns.to_string(), "ns"]);
            }
        }
        goodput(table, transport, &node.name, node.goodput_gbit_s);
        for at in &node.by_connections {
            let of = format!("{} connections", at.connections);
            for (quantity, gbit_s) in [("goodput up", at.up_gbit_s), ("goodput down", at.down_gbit_s)] {
                number(table, [transport, &node.name, quantity, &of], gbit_s, GBIT_S);
            }
        }
    }
    goodput(table, transport, "all at once", fabric.together.goodput_gbit_s);
}

fn goodput(table: &mut Table, transport: &str, node: &str, rates: ByWay<Option<f64>>) {
    let quantities = ["goodput up", "goodput down", "goodput both ways at once (sum)"];
    for (quantity, gbit_s) in quantities.into_iter().zip(rates.each()) {
        number(table, [transport, node, quantity, ""], gbit_s, GBIT_S);
    }
}

fn carries(table: &mut Table, carried: &CarriedDocument) {
    let dtype = carried.dtype.as_ref().map(|dtype| format!(" as {dtype}")).unwrap_or_default();
    let of = format!("{}{dtype}, codec {}", carried.benchmark, carried.codec);
    number(table, ["", "", "carries", &of], Some(carried.samples_per_s), "samples/s");
}

fn needs(table: &mut Table, document: &NeedsDocument) {
    for need in &document.by_codec {
        let of = format!("codec {}", need.codec);
        let links = [need.links, need.connections].map(|count| count.map(|count| count as f64));
        number(table, ["", "", "needed link rate up", &of], Some(need.link_rate_gbit_s.ingress), GBIT_S);
        number(table, ["", "", "needed link rate down", &of], Some(need.link_rate_gbit_s.egress), GBIT_S);
        number(table, ["", "", "needed links", &of], links[0], "links");
        number(table, ["", "", "needed connections", &of], links[1], "connections to each node");
        table.row(["", "", "is carried", &of, if need.is_carried { "yes" } else { "no" }, ""]);
    }
}

fn matrix(table: &mut Table, document: &MatrixDocument) {
    let transport = document.transport.as_str();
    for direction in &document.ways {
        let nodes = format!("{} -> {}", direction.from, direction.to);
        number(table, [transport, &nodes, "goodput", "matrix"], direction.goodput_gbit_s, GBIT_S);
        number(table, [transport, &nodes, "round trip p50", "matrix"], direction.rtt_ns.map(|ns| ns as f64), "ns");
    }
    for suspect in &document.judgement.suspects {
        let gbit_s = suspect.gbit_s.to_string();
        table.row([transport, &suspect.nodes.join(" -> "), "slow", &suspect.why, &gbit_s, GBIT_S]);
    }
}

fn against(table: &mut Table, document: &AgainstDocument) {
    for change in document.changes.iter().chain(&document.unchanged) {
        let node = change.node.as_deref().unwrap_or("all at once");
        let of = format!("{}: was {}", change.kind.word(), change.before);
        table.row([&change.transport, node, &change.quantity, &of, &change.now, ""]);
    }
    table.row(["", "", "passed", &document.file, if document.passed { "yes" } else { "no" }, ""]);
}

/// A row, where there is a number.
fn number(table: &mut Table, [transport, node, quantity, of]: [&str; 4], value: Option<f64>, unit: &str) {
    if let Some(value) = value {
        table.row([transport, node, quantity, of, &value.to_string(), unit]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lon_run::examples::{judged, matrix};
    use lon_run::network::fabric::{Fabric, Goodput, NodeFabric};

    #[test]
    fn every_number_has_a_row_and_what_is_not_known_has_none() {
        let goodput = Goodput { up: Some(2.5e9), ..Goodput::default() };
        let node = NodeFabric { name: "N1".to_owned(), goodput, ..NodeFabric::default() };
        let fabric = Fabric { transport: "tcp", nodes: vec![node], together: goodput, ..Fabric::default() };
        let carried = CarriedDocument {
            benchmark: "resnet50".to_owned(),
            dtype: Some("uint8".to_owned()),
            codec: "zstd:1".to_owned(),
            ratio: 1.25,
            samples_per_s: 99.5,
            bound: "link".to_owned(),
            last_round: None,
        };
        let document = ProbeDocument {
            fabric: FabricDocument::from(&fabric),
            asked: None,
            other_transports: vec![],
            carries: vec![carried],
            needs: None,
            matrix: vec![judged(&matrix(&[vec![10.0; 2], vec![10.0; 2]]))],
            against: None,
            ended_early: None,
        };
        let csv = table(&document).csv();
        for line in [
            "transport,node,quantity,of,value,unit",
            "tcp,N1,goodput up,,2.5,Gbit/s",
            "tcp,all at once,goodput up,,2.5,Gbit/s",
            ",,carries,\"resnet50 as uint8, codec zstd:1\",99.5,samples/s",
        ] {
            assert!(csv.lines().any(|row| row == line), "no '{line}' in:\n{csv}");
        }
        assert!(csv.contains("n1 -> n2,goodput,matrix,10,Gbit/s") && !csv.contains("goodput down"), "{csv}");
    }
}
