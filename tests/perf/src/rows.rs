//! The rows, as data.

use anyhow::{Result, bail};

use crate::args::Kind;
use crate::row::{Face, Goal, IMAGE, LARGE, Model, Ours, Reference, Row, SMALL, Transport, Unit};

/// All rows that are measured unless others are asked for, and the soak last.
pub(crate) fn all() -> Vec<Row> {
    use Goal::{AtLeast, AtMost, Within};
    use Transport::{Grpc, Quic, Tcp};
    vec![
        single("single-64-grpc", SMALL, Grpc, 1.20),
        single("single-150528-grpc", IMAGE, Grpc, 1.25),
        single("single-602112-grpc", LARGE, Grpc, 1.80),
        single("single-64-tcp", SMALL, Tcp, 1.10),
        single("single-150528-tcp", IMAGE, Tcp, 1.15),
        single("single-602112-tcp", LARGE, Tcp, 1.50),
        Row {
            name: "single-64-busy",
            what: "SingleStream p50, 64 B, gRPC, busy polling at both ends; against blocking TCP ping-pong",
            unit: Unit::Time,
            reference: Reference::Pair { kind: Kind::PingPong, size: SMALL },
            ours: Ours::Single { size: SMALL, transport: Grpc, busy_poll: true },
            goal: AtMost(0.75),
        },
        Row {
            name: "server-rate",
            what: "largest Server rate, 64 B, gRPC (strict VALID, lag p99 < 1 ms, latency p99 <= 10 ms); against tonic \
                   unary, 4 connections, 64 in flight",
            unit: Unit::Rate,
            reference: Reference::Pair { kind: Kind::Unary, size: SMALL },
            ours: Ours::ServerRate,
            goal: AtLeast(4.0),
        },
        offline("offline-grpc", "gRPC; against pipelined tokio TCP", Kind::Pipeline, Grpc, false, 0.55),
        offline("offline-tcp", "tcp; against pipelined tokio TCP", Kind::Pipeline, Tcp, false, 0.85),
        Row {
            name: "offline-grpc-iperf",
            what: "Offline goodput, 602,112 B, gRPC; against iperf3 -l 1M -w 2M",
            unit: Unit::Goodput,
            reference: Reference::Iperf,
            ours: Ours::Offline { transport: Grpc, tls: false },
            goal: AtLeast(0.8),
        },
        offline(
            "offline-grpc-tls",
            "gRPC with TLS; against a bare tonic stream with TLS",
            Kind::StreamTls,
            Grpc,
            true,
            0.9,
        ),
        offline("offline-quic", "QUIC; against bare quinn", Kind::Quic, Quic, true, 0.9),
        lag("lag-1k", 1_000),
        lag("lag-10k", 10_000),
        lag("lag-50k", 50_000),
        Row {
            name: "nodes-4",
            what: "Offline rate with 4 nodes (synthetic:constant=2ms, 8 workers each); against 1 node",
            unit: Unit::Rate,
            reference: Reference::OneNode,
            ours: Ours::Nodes(4),
            goal: AtLeast(3.8),
        },
        Row {
            name: "tenants-2",
            what: "rate of two tenants with 32 users each, 64 B, gRPC, closed loop; against one run with 64 users",
            unit: Unit::Rate,
            reference: Reference::OneTenant,
            ours: Ours::Tenants(2),
            goal: AtLeast(0.95),
        },
        Row {
            name: "due-times",
            what: "due times that the engine generates for the slowest arrival process (goal of its own: 20 M/s); \
                   against the Poisson process",
            unit: Unit::Rate,
            reference: Reference::PoissonDueTimes,
            ours: Ours::DueTimes,
            goal: AtLeast(0.3),
        },
        Row {
            name: "resnet50-bench",
            what: "Offline rate of a network of ResNet50's shape (LON_TEST_MODELS), gRPC, batches of 8; against the \
                   same \
                   backend in process (sut-node bench)",
            unit: Unit::Rate,
            reference: Reference::Bench(Model::Resnet50),
            ours: Ours::Model(Model::Resnet50),
            goal: AtLeast(0.97),
        },
        Row {
            name: "digits-bench",
            what: "Offline rate of the digits model, gRPC, batches of 8; against the same backend in process (sut-node \
                   bench); no goal",
            unit: Unit::Rate,
            reference: Reference::Bench(Model::Digits),
            ours: Ours::Model(Model::Digits),
            goal: AtLeast(0.0),
        },
        Row {
            name: "batching",
            what: "largest Server rate with a p99 of 20 ms at most (synthetic:base=1ms,per_sample=50us, batches up \
                   to 32); \
                   against batches of 1",
            unit: Unit::Rate,
            reference: Reference::BatchOne,
            ours: Ours::Batching(32),
            goal: AtLeast(3.0),
        },
        Row {
            name: "official-server",
            what: "answers per second of the official LoadGen in C++ over our QDL, Server, 64 B, gRPC; against the \
                   same LoadGen with a SUT in its own process (LON_TEST_OFFICIAL)",
            unit: Unit::Rate,
            reference: Reference::InProcess(Face::Cpp),
            ours: Ours::OfficialRate(Face::Cpp),
            goal: AtLeast(0.6),
        },
        Row {
            name: "official-wheel",
            what: "the same in Python, with the wheel; against a SUT in Python in its own process (LON_TEST_OFFICIAL)",
            unit: Unit::Rate,
            reference: Reference::InProcess(Face::Python),
            ours: Ours::OfficialRate(Face::Python),
            goal: AtLeast(0.8),
        },
        Row {
            name: "official-latency",
            what: "Server p50 at 1,000 queries per second, 64 B, gRPC, official LoadGen in C++ over our QDL; against \
                   loadgen-node run (LON_TEST_OFFICIAL)",
            unit: Unit::Time,
            reference: Reference::RunLatency { rate: 1_000 },
            ours: Ours::OfficialLatency { rate: 1_000 },
            goal: AtMost(1.3),
        },
        Row {
            name: "official-offline",
            what: "Offline goodput, 150,528 B, gRPC, official LoadGen in C++ over our QDL; against loadgen-node run \
                   (LON_TEST_OFFICIAL)",
            unit: Unit::Goodput,
            reference: Reference::RunOffline,
            ours: Ours::OfficialOffline,
            goal: AtLeast(0.9),
        },
        Row {
            name: "soak",
            what: "Server rate in the last tenth of 20 million queries, 64 B, gRPC; against the first tenth",
            unit: Unit::Rate,
            reference: Reference::FirstTenth,
            ours: Ours::Soak,
            goal: Within(0.05),
        },
    ]
}

fn single(name: &'static str, size: usize, transport: Transport, goal: f64) -> Row {
    Row {
        name,
        what: "SingleStream p50, processes pinned to separate cores; against blocking TCP ping-pong",
        unit: Unit::Time,
        reference: Reference::Pair { kind: Kind::PingPong, size },
        ours: Ours::Single { size, transport, busy_poll: false },
        goal: Goal::AtMost(goal),
    }
}

fn offline(name: &'static str, what: &'static str, kind: Kind, transport: Transport, tls: bool, goal: f64) -> Row {
    Row {
        name,
        what,
        unit: Unit::Goodput,
        reference: Reference::Pair { kind, size: LARGE },
        ours: Ours::Offline { transport, tls },
        goal: Goal::AtLeast(goal),
    }
}

fn lag(name: &'static str, rate: u32) -> Row {
    Row {
        name,
        what: "Server schedule lag p99, Poisson, issuer pinned alone, busy polling at both ends; against a \
                   clock_nanosleep \
               loop",
        unit: Unit::Time,
        reference: Reference::Sleeper { rate },
        ours: Ours::Lag { rate },
        goal: Goal::AtMost(0.25),
    }
}

/// Those named, in the table's order; without names all but the soak, or the soak alone.
pub(crate) fn selected(names: &[String], soak: bool) -> Result<Vec<Row>> {
    let rows = all();
    if let Some(name) = names.iter().find(|name| rows.iter().all(|row| row.name != name.as_str())) {
        bail!("there is no row '{name}'; --list names them");
    }
    let is_wanted = |row: &Row| match names {
        [] => matches!(row.ours, Ours::Soak) == soak,
        names => names.iter().any(|name| name == row.name),
    };
    Ok(rows.into_iter().filter(is_wanted).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(names: &[&str], soak: bool) -> Vec<&'static str> {
        let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        selected(&names, soak).unwrap().iter().map(|row| row.name).collect()
    }

    #[test]
    fn rows_are_selected_by_name() {
        assert_eq!(names(&["lag-1k", "single-64-tcp"], false), ["single-64-tcp", "lag-1k"]);
        assert_eq!(names(&[], true), ["soak"]);
        assert_eq!(names(&[], false).len(), all().len() - 1);
        assert!(selected(&["no-such".to_owned()], false).unwrap_err().to_string().contains("no-such"));
    }

    #[test]
    fn names_are_unique() {
        let rows = all();
        for (i, row) in rows.iter().enumerate() {
            assert!(rows[..i].iter().all(|other| other.name != row.name), "{}", row.name);
        }
    }
}
