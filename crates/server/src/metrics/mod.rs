//! Metrics for Prometheus: what the server and the instance count, in the OpenMetrics text format,
//! over HTTP at an address of their own. Guarantees: it costs nothing while nobody asks; a client
//! that stalls holds up no other.

mod http;
mod list;

use std::fmt;
use std::sync::{Arc, Weak};

use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, text};
use prometheus_client::registry::Registry;

use crate::hub::Hub;

pub use http::MetricsServer;

/// Makes the metrics of a server that may have ended.
pub struct MetricSource(Weak<Hub>);

impl fmt::Debug for MetricSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Source")
    }
}

impl Collector for MetricSource {
    fn encode(&self, encoder: DescriptorEncoder<'_>) -> fmt::Result {
        match self.0.upgrade() {
            Some(hub) => list::encode(&hub, encoder),
            None => Ok(()),
        }
    }
}

/// The registry of a server's metrics, all with the prefix `ringwood_`.
pub fn registry(hub: &Arc<Hub>) -> Registry {
    let mut registry = Registry::with_prefix("ringwood");
    registry.register_collector(Box::new(MetricSource(Arc::downgrade(hub))));
    registry
}

/// All metrics as text.
fn text_of(registry: &Registry) -> Result<String, fmt::Error> {
    let mut out = String::new();
    text::encode(&mut out, registry)?;
    Ok(out)
}
