//! Where the metrics of a program are read, and how they are told: as text, or as messages.

use std::fmt;
use std::sync::Arc;

use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, prometheus_text, text};
use prometheus_client::registry::Registry;

use super::family::{Family, Kind, Labels, Value};
use super::histogram::Buckets;
use super::wire::{self, MetricFamily};

/// The counters of a program.
pub trait Source: fmt::Debug + Send + Sync + 'static {
    /// Tells all metrics as they are now, one [`Family`] after the other.
    ///
    /// # Errors
    /// Those of the teller.
    fn tell(&self, teller: &mut Teller<'_>) -> fmt::Result;
}

/// Takes metrics, and makes of them what was asked for.
#[derive(Debug)]
pub struct Teller<'a>(How<'a>);

/// The output of a teller.
#[derive(Debug)]
enum How<'a> {
    /// Lines of text.
    Text(DescriptorEncoder<'a>),
    /// Messages, every series with these labels.
    Messages(&'a mut Vec<MetricFamily>, &'a [(String, String)]),
    /// Series that are told later, beside those of other sources.
    Parts(&'a mut Vec<(Family, Vec<Series>)>, &'a (&'static str, String)),
}

/// A series that owns its labels and its value.
#[derive(Debug)]
struct Series {
    labels: Vec<(String, String)>,
    value: OwnValue,
}

/// A value that is told later.
#[derive(Debug)]
enum OwnValue {
    Number(u64),
    Real(f64),
    Buckets(Box<Buckets>),
    Present,
}

impl Series {
    fn new(of_part: &(&'static str, String), labels: Labels<'_>, value: Value<'_>) -> Series {
        let own = labels.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        let labels = std::iter::once((of_part.0.to_owned(), of_part.1.clone())).chain(own).collect();
        let value = match value {
            Value::Number(number) => OwnValue::Number(number),
            Value::Real(number) => OwnValue::Real(number),
            Value::Buckets(buckets) => OwnValue::Buckets(Box::new(buckets.clone())),
            Value::Present => OwnValue::Present,
        };
        Series { labels, value }
    }

    fn labels(&self) -> Vec<(&str, &str)> {
        self.labels.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect()
    }

    fn value(&self) -> Value<'_> {
        match &self.value {
            OwnValue::Number(number) => Value::Number(*number),
            OwnValue::Real(number) => Value::Real(*number),
            OwnValue::Buckets(buckets) => Value::Buckets(buckets),
            OwnValue::Present => Value::Present,
        }
    }
}

/// Several sources of the same families, told as one. A label says which of them a series is of.
#[derive(Debug)]
pub struct Parts(Vec<Part>);

/// A source, and the label that its series have.
#[derive(Debug)]
struct Part {
    label: (&'static str, String),
    source: Arc<dyn Source>,
}

impl Parts {
    /// These sources, each with its value of the label.
    pub fn new<S: Source>(label: &'static str, sources: impl IntoIterator<Item = (String, S)>) -> Parts {
        let part = |(value, source)| Part { label: (label, value), source: Arc::new(source) };
        Parts(sources.into_iter().map(part).collect())
    }
}

impl Source for Parts {
    fn tell(&self, teller: &mut Teller<'_>) -> fmt::Result {
        let mut families = Vec::new();
        for Part { label, source } in &self.0 {
            source.tell(&mut Teller(How::Parts(&mut families, label)))?;
        }
        for (family, series) in &families {
            let labels: Vec<_> = series.iter().map(Series::labels).collect();
            family.encode(teller, labels.iter().map(Vec::as_slice).zip(series.iter().map(Series::value)))?;
        }
        Ok(())
    }
}

impl Family {
    /// Tells the metric with all its series.
    ///
    /// # Errors
    /// Those of the teller; a value that is not of the metric's kind.
    pub fn encode<'a>(
        &self,
        teller: &mut Teller<'_>,
        series: impl IntoIterator<Item = (Labels<'a>, Value<'a>)>,
    ) -> fmt::Result {
        let encoder = match &mut teller.0 {
            How::Text(encoder) => encoder,
            How::Messages(families, all) => {
                let metric = |(own, value)| wire::metric(self.kind, all, own, value).ok_or(fmt::Error);
                let metric = series.into_iter().map(metric).collect::<Result<_, _>>()?;
                families.push(wire::MetricFamily { metric, ..wire::family(self) });
                return Ok(());
            }
            How::Parts(families, part) => {
                let own = series.into_iter().map(|(labels, value)| Series::new(part, labels, value));
                let other = families.iter_mut().find(|(other, _)| (other.name, other.unit) == (self.name, self.unit));
                match other {
                    Some((_, series)) => series.extend(own),
                    None => families.push((*self, own.collect())),
                }
                return Ok(());
            }
        };
        let (unit, kind) = (self.unit(), self.kind.of_client());
        let mut metric = encoder.encode_descriptor(self.name, self.help, unit.as_ref(), kind)?;
        for (labels, value) in series {
            if self.kind == Kind::Info {
                metric.encode_info(&labels)?;
            } else {
                self.kind.encode(&mut metric.encode_family(&labels)?, value)?;
            }
        }
        Ok(())
    }

    /// The same for a metric of one series without labels.
    ///
    /// # Errors
    /// As [`Family::encode`].
    pub fn encode_one(&self, teller: &mut Teller<'_>, value: Value<'_>) -> fmt::Result {
        self.encode(teller, [(&[][..], value)])
    }
}

/// All metrics of a program.
#[derive(Debug)]
pub struct Metrics {
    labels: Vec<(String, String)>,
    source: Arc<dyn Source>,
    registry: Registry,
}

impl Metrics {
    /// Those of `source`, every series with these labels.
    pub fn new<const N: usize>(labels: [(&str, &str); N], source: impl Source) -> Metrics {
        let labels = labels.map(|(name, value)| (name.to_owned(), value.to_owned())).to_vec();
        let source: Arc<dyn Source> = Arc::new(source);
        let of_registry = labels.iter().cloned().map(|(name, value)| (name.into(), value.into()));
        let mut registry = Registry::with_labels(of_registry);
        registry.register_collector(Box::new(InRegistry(Arc::clone(&source))));
        Metrics { labels, source, registry }
    }

    /// As OpenMetrics text.
    ///
    /// # Errors
    /// The source fails.
    pub fn open_metrics(&self) -> Result<String, fmt::Error> {
        let mut page = String::new();
        text::encode(&mut page, &self.registry)?;
        Ok(page)
    }

    /// As the older text of Prometheus.
    ///
    /// # Errors
    /// The source fails.
    pub fn prometheus_text(&self) -> Result<String, fmt::Error> {
        let mut page = String::new();
        prometheus_text::encode(&mut page, &self.registry)?;
        Ok(page)
    }

    /// As messages, each after its length.
    ///
    /// # Errors
    /// The source fails.
    pub fn messages(&self) -> Result<Vec<u8>, fmt::Error> {
        let mut families = Vec::new();
        self.source.tell(&mut Teller(How::Messages(&mut families, &self.labels)))?;
        Ok(wire::delimited(&families))
    }
}

/// A source as the encoder of texts takes it.
#[derive(Debug)]
struct InRegistry(Arc<dyn Source>);

impl Collector for InRegistry {
    fn encode(&self, encoder: DescriptorEncoder<'_>) -> fmt::Result {
        self.0.tell(&mut Teller(How::Text(encoder)))
    }
}
