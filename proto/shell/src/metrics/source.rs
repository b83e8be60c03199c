//! Where the metrics of a program are read, and how they are told: as text, or as messages.

use std::fmt;
use std::sync::Arc;

use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, prometheus_text, text};
use prometheus_client::registry::Registry;

use super::family::{Family, Kind, Labels, Value};
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
