//! Prometheus's protobuf exposition, which alone has native histograms: the messages of
//! `io/prometheus/client/metrics.proto`, as far as they are used here.

use prost::Message;

use super::family::{Family, Kind, Labels, Value};
use super::histogram::Buckets;
use super::native::{SCHEMA, ZERO_THRESHOLD};

/// The name of this format in HTTP.
pub(super) const CONTENT_TYPE: &str =
    "application/vnd.google.protobuf; proto=io.prometheus.client.MetricFamily; encoding=delimited";

/// One metric with all its series.
#[derive(Clone, PartialEq, Message)]
pub(super) struct MetricFamily {
    #[prost(string, optional, tag = "1")]
    pub(super) name: Option<String>,
    #[prost(string, optional, tag = "2")]
    pub(super) help: Option<String>,
    #[prost(enumeration = "MetricType", optional, tag = "3")]
    pub(super) r#type: Option<i32>,
    #[prost(message, repeated, tag = "4")]
    pub(super) metric: Vec<Metric>,
    #[prost(string, optional, tag = "5")]
    pub(super) unit: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, prost::Enumeration)]
#[repr(i32)]
pub(super) enum MetricType {
    Counter = 0,
    Gauge = 1,
    Histogram = 4,
}

/// One series of a metric.
#[derive(Clone, PartialEq, Message)]
pub(super) struct Metric {
    #[prost(message, repeated, tag = "1")]
    pub(super) label: Vec<LabelPair>,
    #[prost(message, optional, tag = "2")]
    pub(super) gauge: Option<Number>,
    #[prost(message, optional, tag = "3")]
    pub(super) counter: Option<Number>,
    #[prost(message, optional, tag = "7")]
    pub(super) histogram: Option<Histogram>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct LabelPair {
    #[prost(string, optional, tag = "1")]
    pub(super) name: Option<String>,
    #[prost(string, optional, tag = "2")]
    pub(super) value: Option<String>,
}

/// The value of a gauge or of a counter.
#[derive(Clone, PartialEq, Message)]
pub(super) struct Number {
    #[prost(double, optional, tag = "1")]
    pub(super) value: Option<f64>,
}

/// In classic buckets, and in native ones where they were counted.
#[derive(Clone, PartialEq, Message)]
pub(super) struct Histogram {
    #[prost(uint64, optional, tag = "1")]
    pub(super) sample_count: Option<u64>,
    #[prost(double, optional, tag = "2")]
    pub(super) sample_sum: Option<f64>,
    #[prost(message, repeated, tag = "3")]
    pub(super) bucket: Vec<Bucket>,
    #[prost(sint32, optional, tag = "5")]
    pub(super) schema: Option<i32>,
    #[prost(double, optional, tag = "6")]
    pub(super) zero_threshold: Option<f64>,
    #[prost(uint64, optional, tag = "7")]
    pub(super) zero_count: Option<u64>,
    #[prost(message, repeated, tag = "12")]
    pub(super) positive_span: Vec<BucketSpan>,
    #[prost(sint64, repeated, tag = "13")]
    pub(super) positive_delta: Vec<i64>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct Bucket {
    #[prost(uint64, optional, tag = "1")]
    pub(super) cumulative_count: Option<u64>,
    #[prost(double, optional, tag = "2")]
    pub(super) upper_bound: Option<f64>,
}

/// So many buckets in a row, so many after the last one of the span before.
#[derive(Clone, PartialEq, Message)]
pub(super) struct BucketSpan {
    #[prost(sint32, optional, tag = "1")]
    pub(super) offset: Option<i32>,
    #[prost(uint32, optional, tag = "2")]
    pub(super) length: Option<u32>,
}

/// Each message after its length.
pub(super) fn delimited(families: &[MetricFamily]) -> Vec<u8> {
    families.iter().flat_map(Message::encode_length_delimited_to_vec).collect()
}

/// The metric without series, under the name that the texts give its series.
pub(super) fn family(of: &Family) -> MetricFamily {
    let unit = if of.unit.is_empty() { String::new() } else { format!("_{}", of.unit) };
    let (kind, suffix) = match of.kind {
        Kind::Counter => (MetricType::Counter, "_total"),
        Kind::Gauge => (MetricType::Gauge, ""),
        Kind::Histogram => (MetricType::Histogram, ""),
        Kind::Info => (MetricType::Gauge, "_info"),
    };
    MetricFamily {
        name: Some(format!("{}{unit}{suffix}", of.name)),
        help: Some(of.help.to_owned()),
        r#type: Some(kind.into()),
        metric: Vec::new(),
        unit: (!of.unit.is_empty()).then(|| of.unit.to_owned()),
    }
}

/// One series; none where the value is not of the kind.
pub(super) fn metric(kind: Kind, all: &[(String, String)], own: Labels<'_>, value: Value<'_>) -> Option<Metric> {
    let all = all.iter().map(|(name, value)| (name.as_str(), value.as_str()));
    let pair = |(name, value): (&str, &str)| LabelPair { name: Some(name.to_owned()), value: Some(value.to_owned()) };
    let mut metric = Metric { label: all.chain(own.iter().copied()).map(pair).collect(), ..Metric::default() };
    let number = match value {
        Value::Number(number) => Some(number as f64),
        Value::Real(number) => Some(number),
        Value::Present => Some(1.0),
        Value::Buckets(_) => None,
    };
    let number = number.map(|value| Number { value: Some(value) });
    match (kind, value) {
        (Kind::Histogram, Value::Buckets(buckets)) => metric.histogram = Some(histogram(buckets)),
        (Kind::Counter, _) => metric.counter = Some(number?),
        (Kind::Gauge | Kind::Info, _) => metric.gauge = Some(number?),
        (Kind::Histogram, _) => return None,
    }
    Some(metric)
}

fn histogram(of: &Buckets) -> Histogram {
    let mut below = 0;
    let bucket = |&(upper_bound, count): &(f64, u64)| {
        below += count;
        Bucket { cumulative_count: Some(below), upper_bound: Some(upper_bound) }
    };
    let mut histogram = Histogram {
        sample_count: Some(of.count()),
        sample_sum: Some(of.sum()),
        bucket: of.ranges().iter().map(bucket).collect(),
        ..Histogram::default()
    };
    let Some(native) = of.native() else { return histogram };
    (histogram.schema, histogram.zero_threshold) = (Some(SCHEMA), Some(ZERO_THRESHOLD));
    histogram.zero_count = Some(native.zeros());
    let (mut next, mut before) = (0, 0);
    for (index, count) in native.counts() {
        match histogram.positive_span.last_mut() {
            Some(span) if index == next => span.length = span.length.map(|length| length + 1),
            _ => histogram.positive_span.push(BucketSpan { offset: Some(index - next), length: Some(1) }),
        }
        histogram.positive_delta.push(count as i64 - before);
        (next, before) = (index + 1, count as i64);
    }
    histogram
}

#[cfg(test)]
mod tests {
    use super::super::histogram::Durations;
    use super::*;

    #[test]
    fn a_histogram_has_both_kinds_of_buckets() {
        let durations = Durations::default();
        for ns in [0, 1_000_000_000, 1_000_000_000, 1_050_000_000, 4_000_000_000] {
            durations.add(ns);
        }
        let message = histogram(&durations.buckets());
        assert_eq!((message.sample_count, message.sample_sum), (Some(5), Some(7.05)));
        assert_eq!(message.bucket.last().unwrap().cumulative_count, Some(5));
        assert_eq!((message.schema, message.zero_count), (Some(SCHEMA), Some(1)));
        // 1 s ends bucket 0, 1.05 s is in the next; 4 s ends bucket 16.
        let span = |offset, length| BucketSpan { offset: Some(offset), length: Some(length) };
        assert_eq!(message.positive_span, [span(0, 2), span(14, 1)]);
        assert_eq!(message.positive_delta, [2, -1, 0]);
    }

    #[test]
    fn what_was_written_is_read_back() {
        let family = |kind| Family { name: "a", kind, unit: "bytes", help: "What it is." };
        let mut counter = super::family(&family(Kind::Counter));
        let labels = [("node".to_owned(), "N".to_owned())];
        counter.metric.extend(metric(Kind::Counter, &labels, &[("way", "in")], Value::Number(7)));
        assert_eq!(metric(Kind::Histogram, &labels, &[], Value::Number(7)), None);
        let info = super::family(&family(Kind::Info));
        let bytes = delimited(&[counter.clone(), info.clone()]);
        let mut input = &bytes[..];
        let messages = [(); 2].map(|()| MetricFamily::decode_length_delimited(&mut input).unwrap());
        assert_eq!((messages, input.len()), ([counter.clone(), info], 0));
        assert_eq!((counter.name.as_deref(), counter.unit.as_deref()), (Some("a_bytes_total"), Some("bytes")));
        assert_eq!(counter.metric[0].label.len(), 2);
    }
}
