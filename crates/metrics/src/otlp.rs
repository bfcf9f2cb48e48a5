//! Families as OTLP has them: cumulative sums, gauges, and histograms with their own bounds.
//!
//! Names follow from Prometheus' by a rule, the one that receivers apply the other way round: so a family has one name in Prometheus,
//! whichever way it came.

use opentelemetry_proto::tonic::collector::metrics::v1::{
    ExportMetricsServiceRequest, ExportMetricsServiceResponse,
};
use opentelemetry_proto::tonic::common::v1::{AnyValue, InstrumentationScope, KeyValue, any_value};
use opentelemetry_proto::tonic::metrics::v1::{
    AggregationTemporality, Gauge, Histogram, HistogramDataPoint, Metric, NumberDataPoint,
    ResourceMetrics, ScopeMetrics, Sum, metric, number_data_point,
};
use opentelemetry_proto::tonic::resource::v1::Resource;
use prost::Message;

use crate::family::{Durations, Family, Sample, Type, Value};
use crate::open_telemetry;

const CUMULATIVE: i32 = AggregationTemporality::Cumulative as i32;

/// What is said of all families together.
#[derive(Debug, Clone)]
pub struct Push {
    /// Attributes of what is measured: service, pod and so on.
    pub resource: Vec<(String, String)>,
    /// Of the program that measures.
    pub version: &'static str,
    /// Unix time from which counters count.
    pub start_ns: u64,
    /// Unix time of the reading.
    pub now_ns: u64,
}

impl Push {
    /// The body of a request to `/v1/metrics`, in protobuf.
    #[must_use]
    pub fn encoded(&self, families: &[Family]) -> Vec<u8> {
        self.request(families).encode_to_vec()
    }

    fn request(&self, families: &[Family]) -> ExportMetricsServiceRequest {
        let resource = Resource {
            attributes: self.resource.iter().map(|(k, v)| attribute(k, v)).collect(),
            ..Resource::default()
        };
        let there = families.iter().filter(|family| !family.samples.is_empty());
        let scope = ScopeMetrics {
            scope: Some(InstrumentationScope {
                name: "powerband".to_owned(),
                version: self.version.to_owned(),
                ..InstrumentationScope::default()
            }),
            metrics: there.map(|family| self.metric(family)).collect(),
            schema_url: String::new(),
        };
        ExportMetricsServiceRequest {
            resource_metrics: vec![ResourceMetrics {
                resource: Some(resource),
                scope_metrics: vec![scope],
                schema_url: String::new(),
            }],
        }
    }

    fn metric(&self, family: &Family) -> Metric {
        let (name, unit) = instrument(family);
        let numbers = |start_ns| {
            let samples = family.samples.iter();
            samples
                .filter_map(|sample| self.number(sample, start_ns))
                .collect()
        };
        let data = match family.kind {
            // What is true now has no beginning.
            Type::Gauge => metric::Data::Gauge(Gauge {
                data_points: numbers(0),
            }),
            Type::Counter => metric::Data::Sum(Sum {
                data_points: numbers(self.start_ns),
                aggregation_temporality: CUMULATIVE,
                is_monotonic: true,
            }),
            Type::Histogram => metric::Data::Histogram(Histogram {
                data_points: family
                    .samples
                    .iter()
                    .filter_map(|sample| self.histogram(sample))
                    .collect(),
                aggregation_temporality: CUMULATIVE,
            }),
        };
        Metric {
            name,
            description: family.help.clone(),
            unit: unit.to_owned(),
            data: Some(data),
            ..Metric::default()
        }
    }

    fn number(&self, sample: &Sample, start_time_unix_nano: u64) -> Option<NumberDataPoint> {
        let value = match &sample.value {
            Value::Number(number) => {
                number_data_point::Value::AsInt(i64::try_from(*number).unwrap_or(i64::MAX))
            }
            Value::Nanoseconds(ns) => number_data_point::Value::AsDouble(seconds(*ns)),
            Value::Durations(_) => return None,
        };
        Some(NumberDataPoint {
            attributes: attributes(sample),
            start_time_unix_nano,
            time_unix_nano: self.now_ns,
            value: Some(value),
            ..NumberDataPoint::default()
        })
    }

    fn histogram(&self, sample: &Sample) -> Option<HistogramDataPoint> {
        let Value::Durations(of) = &sample.value else {
            return None;
        };
        Some(HistogramDataPoint {
            attributes: attributes(sample),
            start_time_unix_nano: self.start_ns,
            time_unix_nano: self.now_ns,
            count: of.count,
            sum: Some(seconds(of.sum_ns)),
            bucket_counts: each(of),
            explicit_bounds: of.up_to.iter().map(|(bound, _)| seconds(*bound)).collect(),
            ..HistogramDataPoint::default()
        })
    }
}

/// What a receiver says of a push that it took, where it did not take all of it.
#[must_use]
pub fn rejected(answer: &[u8]) -> Option<(i64, String)> {
    let answer = ExportMetricsServiceResponse::decode(answer).ok()?;
    let partial = answer.partial_success?;
    (partial.rejected_data_points > 0)
        .then_some((partial.rejected_data_points, partial.error_message))
}

/// How many there are in each bucket, and above the last bound.
fn each(of: &Durations) -> Vec<u64> {
    let up_to = of.up_to.iter().map(|(_, up_to)| *up_to);
    let mut below = 0;
    up_to
        .chain([of.count])
        .map(|up_to| up_to.saturating_sub(std::mem::replace(&mut below, up_to)))
        .collect()
}

/// Name and unit.
fn instrument(family: &Family) -> (String, &'static str) {
    if family.name == open_telemetry::NAME {
        return ("http.server.request.duration".to_owned(), "s");
    }
    let whole = family.name.as_str();
    let name = whole.strip_prefix("powerband_").unwrap_or(whole);
    let name = match family.kind {
        Type::Counter => name.strip_suffix("_total").unwrap_or(name),
        _ => name,
    };
    let units = [("_seconds", "s"), ("_bytes", "By")];
    let found = units
        .iter()
        .find_map(|(suffix, unit)| Some((name.strip_suffix(suffix)?, *unit)));
    let (name, unit) = found.unwrap_or((name, ""));
    (format!("powerband.{name}"), unit)
}

fn attributes(sample: &Sample) -> Vec<KeyValue> {
    let labels = sample.labels.iter();
    labels
        .map(|(name, value)| attribute(open_telemetry::attribute(name), value))
        .collect()
}

fn attribute(key: &str, value: &str) -> KeyValue {
    KeyValue {
        key: key.to_owned(),
        value: Some(AnyValue {
            value: Some(any_value::Value::StringValue(value.to_owned())),
        }),
        ..KeyValue::default()
    }
}

fn seconds(ns: u64) -> f64 {
    ns as f64 / 1e9
}

#[cfg(test)]
mod tests {
    use super::*;

    fn family(name: &str, kind: Type) -> Family {
        Family {
            name: name.to_owned(),
            help: "x".to_owned(),
            kind,
            samples: Vec::new(),
        }
    }

    #[test]
    fn names_have_no_unit_and_no_suffix() {
        use Type::{Counter, Gauge, Histogram};
        for (name, kind, expected, unit) in [
            ("powerband_requests_total", Counter, "requests", ""),
            ("powerband_request_seconds_total", Counter, "request", "s"),
            (
                "powerband_request_queue_seconds",
                Histogram,
                "request_queue",
                "s",
            ),
            (
                "powerband_resident_memory_bytes",
                Gauge,
                "resident_memory",
                "By",
            ),
            ("powerband_server_info", Gauge, "server_info", ""),
        ] {
            let (is, of) = instrument(&family(name, kind));
            assert_eq!((is, of), (format!("powerband.{expected}"), unit));
        }
        let of_others = instrument(&family(open_telemetry::NAME, Histogram));
        assert_eq!(of_others, ("http.server.request.duration".to_owned(), "s"));
    }

    #[test]
    fn counters_and_buckets_are_exact_and_begin_when_the_files_did() {
        let push = Push {
            resource: vec![("service.name".to_owned(), "shop".to_owned())],
            version: "1",
            start_ns: 5,
            now_ns: 9,
        };
        let mut counter = family("powerband_requests_total", Type::Counter);
        counter.number(vec![("http_route", "/a".to_owned())], 7);
        let mut histogram = family("powerband_request_duration_seconds", Type::Histogram);
        let durations = Durations {
            up_to: vec![(256_000, 2), (512_000, 2), (1_024_000, 5)],
            count: 6,
            sum_ns: 1_500_000_000,
        };
        histogram.durations(Vec::new(), durations);
        let mut gauge = family("powerband_processes", Type::Gauge);
        gauge.number(Vec::new(), 1);
        let empty = family("powerband_jobs_total", Type::Counter);
        let bytes = push.encoded(&[counter, histogram, gauge, empty]);
        let mut request = ExportMetricsServiceRequest::decode(bytes.as_slice()).unwrap();
        let of = request.resource_metrics.remove(0);
        assert_eq!(of.resource.unwrap().attributes[0].key, "service.name");
        let mut metrics = of.scope_metrics[0].metrics.clone().into_iter();
        let Some(metric::Data::Sum(sum)) = metrics.next().unwrap().data else {
            panic!("no sum");
        };
        let point = &sum.data_points[0];
        assert!(sum.is_monotonic && sum.aggregation_temporality == CUMULATIVE);
        assert_eq!(point.attributes[0].key, "http.route");
        assert_eq!((point.start_time_unix_nano, point.time_unix_nano), (5, 9));
        assert_eq!(point.value, Some(number_data_point::Value::AsInt(7)));
        let Some(metric::Data::Histogram(histogram)) = metrics.next().unwrap().data else {
            panic!("no histogram");
        };
        let point = &histogram.data_points[0];
        assert_eq!(point.explicit_bounds, [0.000_256, 0.000_512, 0.001_024]);
        assert_eq!(point.bucket_counts, [2, 0, 3, 1]);
        assert_eq!((point.count, point.sum), (6, Some(1.5)));
        assert_eq!(point.start_time_unix_nano, 5);
        let Some(metric::Data::Gauge(gauge)) = metrics.next().unwrap().data else {
            panic!("no gauge");
        };
        assert_eq!(gauge.data_points[0].start_time_unix_nano, 0);
        assert_eq!(metrics.next(), None);
    }

    #[test]
    fn what_a_receiver_refuses_is_known() {
        use opentelemetry_proto::tonic::collector::metrics::v1::ExportMetricsPartialSuccess;
        let answer = |rejected_data_points, error_message: &str| {
            let partial_success = Some(ExportMetricsPartialSuccess {
                rejected_data_points,
                error_message: error_message.to_owned(),
            });
            ExportMetricsServiceResponse { partial_success }.encode_to_vec()
        };
        assert_eq!(rejected(b""), None);
        assert_eq!(rejected(b"<html>"), None);
        assert_eq!(rejected(&answer(0, "deprecated")), None);
        assert_eq!(rejected(&answer(2, "old")), Some((2, "old".to_owned())));
    }
}
