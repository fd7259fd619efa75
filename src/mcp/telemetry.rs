//! Reads where to send traces and metrics, from the standard variables of OpenTelemetry.

use std::time::Duration;

use http::{HeaderMap, HeaderName, HeaderValue};
use mcpkg_base::error::{Code, Error, Result};
use mcpkg_base::http::Url;
use percent_encoding::percent_decode_str;

const ENDPOINT: &str = "OTEL_EXPORTER_OTLP_ENDPOINT";
const HEADERS: &str = "OTEL_EXPORTER_OTLP_HEADERS";
const PROTOCOL: &str = "OTEL_EXPORTER_OTLP_PROTOCOL";
const RESOURCE: &str = "OTEL_RESOURCE_ATTRIBUTES";

/// Where traces and metrics are sent.
#[derive(Clone, Debug)]
pub struct Telemetry {
    pub(super) traces: Url,
    pub(super) metrics: Url,
    /// The headers of each request. Their values may be secrets, so mcpkg never shows them.
    pub(super) headers: HeaderMap,
    /// The attributes that describe this server.
    pub(super) resource: Vec<(String, String)>,
    /// How long to collect spans before they are sent.
    pub(super) delay: Duration,
    /// How often metrics are sent.
    pub(super) interval: Duration,
}

impl Telemetry {
    /// Reads the variables. Returns `None` if they turn telemetry off.
    ///
    /// # Errors
    /// `E_INVALID_ARGUMENT` if a variable is invalid or missing. The error names the variable, but never its value.
    pub fn read(variable: impl Fn(&str) -> Option<String>) -> Result<Option<Self>> {
        let variable =
            |name: &str| variable(name).map(|value| value.trim().to_owned()).filter(|value| !value.is_empty());
        let is_disabled = variable("OTEL_SDK_DISABLED").is_some_and(|value| value.eq_ignore_ascii_case("true"));
        if is_disabled {
            return Ok(None);
        }
        if cfg!(not(feature = "otlp")) {
            return Err(Error::new(Code::InvalidArgument, "This build of mcpkg cannot send traces and metrics")
                .hint("build it with the cargo feature `otlp`"));
        }
        let Some(endpoint) = variable(ENDPOINT) else {
            return Err(Error::new(Code::InvalidArgument, format!("{ENDPOINT} is not set"))
                .hint(format!("set it to the receiver: {ENDPOINT}=http://127.0.0.1:4318")));
        };
        let Some(base) = Url::parse(&endpoint) else {
            let why = "it must be an http or https URL without a user name, such as http://127.0.0.1:4318";
            return Err(invalid(ENDPOINT, why));
        };
        if variable(PROTOCOL).is_some_and(|protocol| protocol == "grpc") {
            return Err(invalid(PROTOCOL, "mcpkg sends OTLP over HTTP (http/json), not over gRPC"));
        }
        let mut headers = HeaderMap::new();
        for (name, value) in pairs(HEADERS, variable(HEADERS))? {
            let name =
                HeaderName::try_from(name).map_err(|_| invalid(HEADERS, "it contains an invalid header name"))?;
            let mut value =
                HeaderValue::try_from(value).map_err(|_| invalid(HEADERS, "it contains an invalid header value"))?;
            value.set_sensitive(true);
            headers.insert(name, value);
        }
        let mut resource = pairs(RESOURCE, variable(RESOURCE))?;
        let named = variable("OTEL_SERVICE_NAME");
        if named.is_some() || !resource.iter().any(|(key, _)| key == "service.name") {
            resource.retain(|(key, _)| key != "service.name");
            resource.push(("service.name".to_owned(), named.unwrap_or_else(|| "mcpkg".to_owned())));
        }
        let millis = |name: &str, otherwise: u64| {
            let given = variable(name).and_then(|value| value.parse().ok());
            Duration::from_millis(given.unwrap_or(otherwise).clamp(50, 3_600_000))
        };
        Ok(Some(Self {
            traces: base.below("v1/traces", &[]),
            metrics: base.below("v1/metrics", &[]),
            headers,
            resource,
            delay: millis("OTEL_BSP_SCHEDULE_DELAY", 5_000),
            interval: millis("OTEL_METRIC_EXPORT_INTERVAL", 60_000),
        }))
    }
}

/// Reads a list of the form `name=value,name=value`, with percent-encoded values.
fn pairs(variable: &str, list: Option<String>) -> Result<Vec<(String, String)>> {
    let list = list.unwrap_or_default();
    let pairs = list.split(',').map(str::trim).filter(|pair| !pair.is_empty()).map(|pair| {
        let (name, value) = pair.split_once('=')?;
        let value = percent_decode_str(value.trim()).decode_utf8().ok()?;
        Some((name.trim().to_owned(), value.into_owned())).filter(|(name, _)| !name.is_empty())
    });
    pairs.collect::<Option<_>>().ok_or_else(|| invalid(variable, "it must have the form name=value,name=value"))
}

fn invalid(variable: &str, why: &str) -> Error {
    Error::new(Code::InvalidArgument, format!("{variable} is invalid: {why}"))
}

#[cfg(test)]
#[cfg(feature = "otlp")]
mod tests {
    use super::*;

    fn read(set: &[(&str, &str)]) -> Result<Option<Telemetry>> {
        let value = |name: &str| set.iter().find(|(key, _)| *key == name).map(|(_, value)| (*value).to_owned());
        Telemetry::read(value)
    }

    #[test]
    fn the_standard_variables_say_where_and_as_what() {
        for missing in [&[][..], &[(ENDPOINT, " ")], &[(HEADERS, "a=b")]] {
            assert_eq!(read(missing).unwrap_err().message(), "OTEL_EXPORTER_OTLP_ENDPOINT is not set", "{missing:?}");
        }
        assert!(read(&[(ENDPOINT, "http://127.0.0.1:4318"), ("OTEL_SDK_DISABLED", "True")]).unwrap().is_none());
        let given = read(&[
            (ENDPOINT, "http://127.0.0.1:4318/otel/"),
            (HEADERS, "authorization=Bearer%20hunter2, x-scope = a=b "),
            (RESOURCE, "service.name=other,deployment.environment.name=a%2Cb"),
            ("OTEL_SERVICE_NAME", "prompts"),
            ("OTEL_BSP_SCHEDULE_DELAY", "soon"),
            ("OTEL_METRIC_EXPORT_INTERVAL", "1000"),
        ]);
        let given = given.unwrap().unwrap();
        assert_eq!(given.traces.as_str(), "http://127.0.0.1:4318/otel/v1/traces");
        assert_eq!(given.metrics.as_str(), "http://127.0.0.1:4318/otel/v1/metrics");
        assert_eq!(
            (&given.headers["authorization"], &given.headers["x-scope"]),
            (&"Bearer hunter2".parse().unwrap(), &"a=b".parse().unwrap())
        );
        let resource: Vec<_> = given.resource.iter().map(|(key, value)| (key.as_str(), value.as_str())).collect();
        assert_eq!(resource, [("deployment.environment.name", "a,b"), ("service.name", "prompts")]);
        assert_eq!((given.delay.as_millis(), given.interval.as_millis()), (5000, 1000));
        assert!(!format!("{given:?}").contains("hunter2"));
    }

    #[test]
    fn what_is_wrong_is_named_without_its_value() {
        let endpoint = (ENDPOINT, "http://127.0.0.1:4318");
        for (wrong, variable) in [
            (&[(ENDPOINT, "https://u:hunter2@host")][..], ENDPOINT),
            (&[(ENDPOINT, "hunter2:4317")], ENDPOINT),
            (&[endpoint, (PROTOCOL, "grpc")], PROTOCOL),
            (&[endpoint, (HEADERS, "hunter2")], HEADERS),
            (&[endpoint, (HEADERS, "a b=hunter2")], HEADERS),
            (&[endpoint, (HEADERS, "a=hunter2%0A")], HEADERS),
            (&[endpoint, (RESOURCE, "=hunter2")], RESOURCE),
        ] {
            let error = read(wrong).unwrap_err();
            assert!(error.message().starts_with(&format!("{variable} is invalid: ")), "{error}");
            assert!(!error.message().contains("hunter2"), "{error}");
        }
    }
}
