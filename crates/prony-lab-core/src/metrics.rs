//! The lab's metrics for Prometheus, in its text format (OpenMetrics 1.0).

use std::time::Duration;

use prometheus_client::encoding::text::encode;
use prometheus_client::encoding::{EncodeLabelSet, EncodeLabelValue, LabelValueEncoder};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::metrics::info::Info;
use prometheus_client::registry::Registry;

use crate::health::{Condition, Health};
use prony_lab_model::clock;
use prony_lab_store::{Store, StoreError, counts, times};

/// Methods that have a name of their own; whatever else somebody sends is one.
const METHODS: [&str; 6] = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"];

/// The counters of a lab.
pub struct Metrics {
    registry: Registry,
    requests: Family<Request, Counter>,
    request_seconds: Family<Route, Histogram, fn() -> Histogram>,
    builds: Family<State, Gauge>,
    open_alerts: Gauge,
    deliveries: Gauge,
    oldest_queued: Gauge,
    disk_free: Gauge,
    conditions: Family<ConditionName, Gauge>,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Request {
    method: &'static str,
    route: String,
    status: u16,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Route {
    route: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct State {
    state: StateName,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ConditionName {
    condition: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct StateName(String);

impl EncodeLabelValue for StateName {
    fn encode(&self, encoder: &mut LabelValueEncoder<'_>) -> Result<(), std::fmt::Error> {
        self.0.as_str().encode(encoder)
    }
}

impl Metrics {
    /// Those of a lab with this store.
    pub fn new(store: &Store) -> Self {
        let mut registry = Registry::with_prefix("prony_lab");
        let new = Self {
            requests: Family::default(),
            request_seconds: Family::new_with_constructor(times as fn() -> Histogram),
            builds: Family::default(),
            open_alerts: Gauge::default(),
            deliveries: Gauge::default(),
            oldest_queued: Gauge::default(),
            disk_free: Gauge::default(),
            conditions: Family::default(),
            registry: Registry::default(),
        };
        let version = Info::new(vec![("version", env!("CARGO_PKG_VERSION"))]);
        registry.register("build", "The version of prony", version);
        registry.register("requests", "Answers by method, route and status", new.requests.clone());
        registry.register(
            "request_seconds",
            "Times from a request's head to the head of its answer, by route",
            new.request_seconds.clone(),
        );
        registry.register(
            "store_write_seconds",
            "Times from asking for a write to its being durable",
            store.write_times(),
        );
        registry.register("builds", "Builds by state", new.builds.clone());
        registry.register("alerts_open", "Alerts that are open", new.open_alerts.clone());
        registry.register("deliveries_waiting", "Notifications waiting to be sent", new.deliveries.clone());
        registry.register(
            "queue_oldest_seconds",
            "How long the oldest build of the queue has waited",
            new.oldest_queued.clone(),
        );
        registry.register(
            "disk_free_bytes",
            "What is left of the lab's disk; -1 where it is not known",
            new.disk_free.clone(),
        );
        registry.register(
            "condition",
            "Whether the lab needs an operator: low disk, stuck queue, ended worker, lost database",
            new.conditions.clone(),
        );
        Self { registry, ..new }
    }

    /// Counts an answer. `route` is the pattern of the path, of which there are few.
    pub fn answered(&self, method: &str, route: &str, status: u16, took: Duration) {
        let method = METHODS.into_iter().find(|known| *known == method).unwrap_or("OTHER");
        let route = route.to_owned();
        self.requests.get_or_create(&Request { method, route: route.clone(), status }).inc();
        self.request_seconds.get_or_create(&Route { route }).observe(took.as_secs_f64());
    }

    /// All of it, with the store's current counts and the lab's current conditions.
    pub async fn text(&self, store: &Store, health: &Health) -> Result<String, StoreError> {
        let counts = store.read(counts::all).await?;
        for (state, count) in counts.builds {
            self.builds.get_or_create(&State { state: StateName(state) }).set(count);
        }
        self.open_alerts.set(counts.open_alerts);
        self.deliveries.set(counts.deliveries);
        let waited = counts.oldest_queued.map_or(Duration::ZERO, |at| clock::wall().since(at));
        self.oldest_queued.set(i64::try_from(waited.as_secs()).unwrap_or(i64::MAX));
        let free = health.free_bytes().and_then(|bytes| i64::try_from(bytes).ok());
        self.disk_free.set(free.unwrap_or(-1));
        let active = health.active();
        for condition in Condition::ALL {
            let is_active = active.iter().any(|(found, _)| *found == condition);
            let name = ConditionName { condition: condition.name() };
            self.conditions.get_or_create(&name).set(is_active.into());
        }
        let mut text = String::new();
        encode(&mut text, &self.registry).expect("invariant: a text can be written to");
        Ok(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use prony_lab_store::fixture::on_both;
    use prony_lab_store::past::{Measured, Past};

    #[test]
    fn what_happened_is_counted() {
        let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
        on_both(|store| {
            let past = Past::new(store);
            past.build("main", "abc", Measured::default());
            let metrics = Metrics::new(store);
            metrics.answered("GET", "/build/{id}", 200, Duration::from_micros(900));
            metrics.answered("BREW", "/", 405, Duration::ZERO);
            let limits = crate::health::HealthLimits { disk_bytes: 0, has_worker: true };
            let health = Health::new(limits);
            let text = runtime.block_on(metrics.text(store, &health)).expect("text");
            for line in [
                "prony_lab_requests_total{method=\"GET\",route=\"/build/{id}\",status=\"200\"} 1",
                "prony_lab_requests_total{method=\"OTHER\",route=\"/\",status=\"405\"} 1",
                "prony_lab_request_seconds_bucket{le=\"0.001\",route=\"/build/{id}\"} 1",
                "prony_lab_builds{state=\"completed\"} 1",
                "prony_lab_builds{state=\"queued\"} 0",
                "prony_lab_alerts_open 0",
                "prony_lab_condition{condition=\"disk\"} 0",
                "prony_lab_condition{condition=\"database\"} 0",
                "prony_lab_disk_free_bytes -1",
                // The project and the build.
                "prony_lab_store_write_seconds_count 2",
            ] {
                assert!(text.lines().any(|found| found == line), "{line} is not in\n{text}");
            }
            assert!(text.ends_with("# EOF\n"));
        });
    }
}
