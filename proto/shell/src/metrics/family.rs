//! One metric: its name, kind, unit and help, and how its values are told.

use std::fmt;

use prometheus_client::encoding::{MetricEncoder, NoLabelSet};
use prometheus_client::metrics::MetricType;
use prometheus_client::registry::Unit;

use super::histogram::Buckets;

/// One metric as it is told to those who ask.
#[derive(Clone, Copy, Debug)]
pub struct Family {
    /// The name, without the unit and without `_total` or `_info`: these are added where they belong.
    pub name: &'static str,
    /// The kind of metric.
    pub kind: Kind,
    /// The unit, in the plural; empty for numbers of things.
    pub unit: &'static str,
    /// The description of the counted things: one sentence.
    pub help: &'static str,
}

/// The kinds of metrics that there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A number that only grows while the program runs.
    Counter,
    /// A number that goes up and down.
    Gauge,
    /// The number of values in each range.
    Histogram,
    /// Labels that say something of the program; the value is always 1.
    Info,
}

/// A metric that is a counter.
pub const fn counter(name: &'static str, unit: &'static str, help: &'static str) -> Family {
    Family { name, kind: Kind::Counter, unit, help }
}

/// A metric that is a gauge.
pub const fn gauge(name: &'static str, unit: &'static str, help: &'static str) -> Family {
    Family { name, kind: Kind::Gauge, unit, help }
}

/// A metric that is a histogram.
pub const fn histogram(name: &'static str, unit: &'static str, help: &'static str) -> Family {
    Family { name, kind: Kind::Histogram, unit, help }
}

/// Labels that say something of the program.
pub const fn info(name: &'static str, help: &'static str) -> Family {
    Family { name, kind: Kind::Info, unit: "", help }
}

/// The value of one series.
#[derive(Clone, Copy, Debug)]
pub enum Value<'a> {
    /// A whole number, for counters and gauges.
    Number(u64),
    /// A number with a fraction, for counters and gauges.
    Real(f64),
    /// The content of a histogram.
    Buckets(&'a Buckets),
    /// For kind [`Kind::Info`].
    Present,
}

/// Labels by name.
pub type Labels<'a> = &'a [(&'a str, &'a str)];

impl Family {
    /// The unit as the encoder of texts has it.
    pub(super) fn unit(&self) -> Option<Unit> {
        match self.unit {
            "" => None,
            "bytes" => Some(Unit::Bytes),
            "seconds" => Some(Unit::Seconds),
            other => Some(Unit::Other(other.to_owned())),
        }
    }
}

impl Kind {
    pub(super) fn of_client(self) -> MetricType {
        match self {
            Kind::Counter => MetricType::Counter,
            Kind::Gauge => MetricType::Gauge,
            Kind::Histogram => MetricType::Histogram,
            Kind::Info => MetricType::Info,
        }
    }

    pub(super) fn encode(self, metric: &mut MetricEncoder<'_>, value: Value<'_>) -> fmt::Result {
        match (self, value) {
            (Kind::Counter, Value::Number(number)) => metric.encode_counter::<NoLabelSet, _, u64>(&number, None),
            (Kind::Counter, Value::Real(number)) => metric.encode_counter::<NoLabelSet, _, u64>(&number, None),
            (Kind::Gauge, Value::Number(number)) => metric.encode_gauge(&number),
            (Kind::Gauge, Value::Real(number)) => metric.encode_gauge(&number),
            (Kind::Histogram, Value::Buckets(buckets)) => {
                metric.encode_histogram::<NoLabelSet>(buckets.sum(), buckets.count(), buckets.ranges(), None)
            }
            _ => Err(fmt::Error),
        }
    }
}
