//! The reply to one request. No socket, no clock.

use std::fmt;

use bytes::Bytes;
use http_body_util::Full;
use hyper::header::{ACCEPT, ALLOW, AUTHORIZATION, CONTENT_TYPE, HeaderName, HeaderValue, WWW_AUTHENTICATE};
use hyper::{HeaderMap, Method, Request, Response, StatusCode};
use lon_net::token::Token;

use super::source::Metrics;
use super::wire;

/// Where the metrics are.
pub const PATH: &str = "/metrics";

const PLAIN: &str = "text/plain; charset=utf-8";

/// The forms that metrics can be told in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// OpenMetrics 1.0: what is served unless something else is asked for.
    OpenMetrics,
    /// The older text of Prometheus, which says a little less and which more tools read.
    Prometheus,
    /// Messages of Prometheus, each after its length: these have native histograms.
    Protobuf,
}

impl Format {
    /// The format for a client that accepts this: messages where they are named first, the older text only where that
    /// alone is named.
    pub fn of_headers(headers: &HeaderMap) -> Format {
        let accepts = |what| headers.get_all(ACCEPT).iter().any(|it| it.to_str().is_ok_and(|it| it.contains(what)));
        let first = headers.get(ACCEPT).and_then(|it| it.to_str().ok()?.split(',').next());
        let is_messages = |first: &str| {
            ["application/vnd.google.protobuf", "io.prometheus.client.MetricFamily", "delimited"]
                .iter()
                .all(|part| first.contains(part))
        };
        if first.is_some_and(is_messages) {
            Format::Protobuf
        } else if accepts("text/plain") && !accepts("application/openmetrics-text") {
            Format::Prometheus
        } else {
            Format::OpenMetrics
        }
    }

    /// Returns the name of the format in HTTP.
    pub fn content_type(self) -> &'static str {
        match self {
            Format::OpenMetrics => "application/openmetrics-text; version=1.0.0; charset=utf-8",
            Format::Prometheus => "text/plain; version=0.0.4; charset=utf-8",
            Format::Protobuf => wire::CONTENT_TYPE,
        }
    }

    /// All metrics as they are now.
    ///
    /// # Errors
    /// The source of the metrics fails.
    pub fn encode(self, metrics: &Metrics) -> Result<Bytes, fmt::Error> {
        Ok(match self {
            Format::OpenMetrics => metrics.open_metrics()?.into(),
            Format::Prometheus => metrics.prometheus_text()?.into(),
            Format::Protobuf => metrics.messages()?.into(),
        })
    }
}

/// Answers a request, from a client that has to show `token` if there is one. The body of the request is not read.
pub(super) fn reply<B>(request: &Request<B>, metrics: &Metrics, token: Option<&Token>) -> Response<Full<Bytes>> {
    let authorization = request.headers().get(AUTHORIZATION).map(HeaderValue::as_bytes);
    let get_or_head = [Method::GET, Method::HEAD].contains(request.method());
    if request.uri().path() != PATH {
        refusal(StatusCode::NOT_FOUND, None, "the metrics are at /metrics\n")
    } else if !get_or_head {
        refusal(StatusCode::METHOD_NOT_ALLOWED, Some((ALLOW, "GET, HEAD")), "metrics are only read\n")
    } else if token.is_some_and(|token| !token.is_shown_by(authorization)) {
        let why = "this program wants the token of its --token-file: Authorization: Bearer TOKEN\n";
        refusal(StatusCode::UNAUTHORIZED, Some((WWW_AUTHENTICATE, "Bearer")), why)
    } else {
        let format = Format::of_headers(request.headers());
        match format.encode(metrics) {
            Ok(bytes) => response(StatusCode::OK, format.content_type(), bytes),
            Err(_) => refusal(StatusCode::INTERNAL_SERVER_ERROR, None, "the metrics cannot be read\n"),
        }
    }
}

fn refusal(
    status: StatusCode,
    header: Option<(HeaderName, &'static str)>,
    text: &'static str,
) -> Response<Full<Bytes>> {
    let mut response = response(status, PLAIN, text);
    if let Some((name, value)) = header {
        response.headers_mut().insert(name, HeaderValue::from_static(value));
    }
    response
}

fn response(status: StatusCode, content_type: &'static str, text: impl Into<Bytes>) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::new(text.into()));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
    response
}

#[cfg(test)]
mod tests {
    use super::super::family::{Family, Kind, Value};
    use super::super::histogram::Durations;
    use super::super::source::{Source, Teller};
    use super::*;

    /// One metric of each kind.
    #[derive(Debug)]
    struct Some4;

    impl Source for Some4 {
        fn tell(&self, teller: &mut Teller<'_>) -> fmt::Result {
            let family = |name, kind, unit| Family { name, kind, unit, help: "What it is." };
            let durations = Durations::default();
            durations.add(1_500);
            let labels = |direction| [("way", direction)];
            let (there, back) = (labels("in"), labels("out"));
            let bytes = [(&there[..], Value::Number(7)), (&back[..], Value::Number(9))];
            family("moved", Kind::Counter, "bytes").encode(teller, bytes)?;
            family("level", Kind::Gauge, "").encode_one(teller, Value::Real(0.5))?;
            let took = family("took", Kind::Histogram, "seconds");
            took.encode_one(teller, Value::Buckets(&durations.buckets()))?;
            let build = [("version", "0.1")];
            family("build", Kind::Info, "").encode(teller, [(&build[..], Value::Present)])
        }
    }

    fn metrics() -> Metrics {
        Metrics::new([("node", "a\"b")], Some4)
    }

    #[test]
    fn both_formats_say_the_same() {
        let open = metrics().open_metrics().unwrap();
        for line in [
            "# TYPE moved_bytes counter",
            "# UNIT moved_bytes bytes",
            "# HELP moved_bytes What it is.",
            r#"moved_bytes_total{node="a\"b",way="in"} 7"#,
            r#"moved_bytes_total{node="a\"b",way="out"} 9"#,
            r#"level{node="a\"b"} 0.5"#,
            r#"took_seconds_bucket{node="a\"b",le="0.000001"} 0"#,
            r#"took_seconds_bucket{node="a\"b",le="0.000002"} 1"#,
            r#"took_seconds_bucket{node="a\"b",le="+Inf"} 1"#,
            r#"took_seconds_count{node="a\"b"} 1"#,
            r#"build_info{node="a\"b",version="0.1"} 1"#,
        ] {
            assert!(open.lines().any(|other| other == line), "no '{line}' in:\n{open}");
        }
        assert!(open.ends_with("# EOF\n"), "{open}");
        let classic = metrics().prometheus_text().unwrap();
        for line in ["# TYPE moved_bytes_total counter", r#"moved_bytes_total{node="a\"b",way="in"} 7"#] {
            assert!(classic.lines().any(|other| other == line), "no '{line}' in:\n{classic}");
        }
    }

    #[test]
    fn the_older_format_is_for_those_who_name_that_alone() {
        let format_of = |accepts: &[&'static str]| {
            let mut headers = HeaderMap::new();
            for accept in accepts {
                headers.append(ACCEPT, HeaderValue::from_static(accept));
            }
            Format::of_headers(&headers)
        };
        let prometheus = "application/openmetrics-text;version=1.0.0,text/plain;version=0.0.4;q=0.5,*/*;q=0.1";
        for accepts in [&[][..], &["*/*"], &[prometheus], &["text/plain", "application/openmetrics-text"]] {
            assert_eq!(format_of(accepts), Format::OpenMetrics, "{accepts:?}");
        }
        assert_eq!(format_of(&["text/plain;version=0.0.4, */*;q=0.1"]), Format::Prometheus);
        const MESSAGES: &str = "application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;encoding=";
        let delimited = format!("{MESSAGES}delimited,application/openmetrics-text;q=0.8,*/*;q=0.1").leak();
        assert_eq!(format_of(&[delimited]), Format::Protobuf);
        assert_eq!(format_of(&[format!("{MESSAGES}text,*/*;q=0.1").leak()]), Format::OpenMetrics);
        assert_eq!(format_of(&[format!("text/plain,{MESSAGES}delimited").leak()]), Format::Prometheus);
    }

    #[test]
    fn other_requests_are_told_what_to_do() {
        let status = |method: Method, path: &str| {
            let request = Request::builder().method(method).uri(path).body(()).unwrap();
            reply(&request, &metrics(), None).status().as_u16()
        };
        assert_eq!(status(Method::GET, "/metrics"), 200);
        assert_eq!(status(Method::GET, "/metrics?a=b"), 200);
        assert_eq!(status(Method::HEAD, "/metrics"), 200);
        assert_eq!(status(Method::POST, "/metrics"), 405);
        assert_eq!(status(Method::GET, "/"), 404);
    }

    #[test]
    fn a_token_must_be_shown_if_there_is_one() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("token");
        std::fs::write(&file, "0123456789abcdef\n").unwrap();
        let token = Token::read(&file, true).unwrap();
        let status = |authorization: Option<&str>| {
            let mut request = Request::builder().uri("/metrics");
            if let Some(authorization) = authorization {
                request = request.header(AUTHORIZATION, authorization);
            }
            let reply = reply(&request.body(()).unwrap(), &metrics(), Some(&token));
            (reply.status().as_u16(), reply.headers().contains_key(WWW_AUTHENTICATE))
        };
        assert_eq!(status(None), (401, true));
        assert_eq!(status(Some("Bearer 0123456789abcdeX")), (401, true));
        assert_eq!(status(Some("Bearer 0123456789abcdef")), (200, false));
    }
}
