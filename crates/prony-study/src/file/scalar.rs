//! Quantities in study files: text with a unit, as on the command line, or a number where there can be no doubt.

use std::borrow::Cow;
use std::fmt;
use std::time::Duration;

use prony_model::{
    Arrivals, Backoff, Problem, Rate, RetryOn, Stages, StatusSet, parse_bytes, parse_count, parse_count_u32,
    parse_duration,
};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Deserialize;
use serde::de::{Deserializer, Visitor};

use super::carried::Carried;

/// A value that is neither a list nor a table.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Scalar {
    Whole(i64),
    Real(f64),
    Logical(bool),
    Text(String),
}

impl fmt::Display for Scalar {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Whole(value) => value.fmt(formatter),
            Self::Real(value) => value.fmt(formatter),
            Self::Logical(value) => value.fmt(formatter),
            Self::Text(value) => value.fmt(formatter),
        }
    }
}

impl<'de> Deserialize<'de> for Scalar {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Any;
        impl Visitor<'_> for Any {
            type Value = Scalar;
            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("a text or a number")
            }
            fn visit_i64<E>(self, value: i64) -> Result<Scalar, E> {
                Ok(Scalar::Whole(value))
            }
            fn visit_f64<E>(self, value: f64) -> Result<Scalar, E> {
                Ok(Scalar::Real(value))
            }
            fn visit_bool<E>(self, value: bool) -> Result<Scalar, E> {
                Ok(Scalar::Logical(value))
            }
            fn visit_str<E>(self, value: &str) -> Result<Scalar, E> {
                Ok(Scalar::Text(value.to_owned()))
            }
        }
        deserializer.deserialize_any(Any)
    }
}

impl JsonSchema for Scalar {
    fn schema_name() -> Cow<'static, str> {
        "Scalar".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({"type": ["string", "number", "boolean"]})
    }
}

/// Declares a quantity: what it holds, how it is read from a [`Scalar`], and its types in JSON Schema.
macro_rules! quantity {
    ($(#[$doc:meta])* $name:ident($inner:ty), $types:tt, |$scalar:ident| $read:expr) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Deserialize)]
        #[serde(try_from = "Scalar")]
        pub(super) struct $name(pub(super) $inner);

        impl TryFrom<Scalar> for $name {
            type Error = Carried;
            fn try_from($scalar: Scalar) -> Result<Self, Carried> {
                $read.map(Self).map_err(Carried::from)
            }
        }

        impl JsonSchema for $name {
            fn schema_name() -> Cow<'static, str> {
                stringify!($name).into()
            }
            fn json_schema(_: &mut SchemaGenerator) -> Schema {
                json_schema!({"type": $types})
            }
        }
    };
}

quantity!(
    /// `"10s"`; no bare number but 0, for it says no unit.
    DurationArg(Duration), ["string", "integer"], |scalar| parse_duration(&scalar.to_string())
);
quantity!(
    /// `5000` or `"5k"`.
    Count(u64), ["string", "integer"], |scalar| parse_count(&scalar.to_string())
);
quantity!(
    /// A count that fits 32 bits.
    CountU32(u32), ["string", "integer"], |scalar| parse_count_u32(&scalar.to_string())
);
quantity!(
    /// `500`, `"10k"` or `"600/min"`.
    PerSecond(Rate), ["string", "number"], |scalar| scalar.to_string().parse::<Rate>()
);
quantity!(
    /// `"100/s:30s,100..1000/s:60s"`.
    StagesArg(Stages), ["string"], |scalar| Stages::parse(&scalar.to_string())
);
quantity!(
    /// `"poisson"`, `"bursty:10x,500ms"`.
    ArrivalsArg(Arrivals), ["string"], |scalar| Arrivals::parse(&scalar.to_string())
);
quantity!(
    /// `200` or `"2xx,304"`.
    Statuses(StatusSet), ["string", "integer"], |scalar| StatusSet::parse(&scalar.to_string())
);
quantity!(
    /// `"connect,timeout,503"`, or one status code.
    Failures(RetryOn), ["string", "integer"], |scalar| RetryOn::parse(&scalar.to_string())
);
quantity!(
    /// `"100ms..2s"`.
    BackoffArg(Backoff), ["string", "integer"], |scalar| Backoff::parse(&scalar.to_string())
);
quantity!(
    /// `"2%"`, or a share: `0.02`.
    Share(f64), ["string", "number"], |scalar| share(&scalar)
);
quantity!(
    /// `"0.1%"`, also as a threshold has it, `"< 0.1%"`; or a share: `0.001`.
    ErrorsArg(f64), ["string", "number"], |scalar| share(&without_operator(scalar))
);

/// `"0.1%"` for `"< 0.1%"`.
fn without_operator(scalar: Scalar) -> Scalar {
    let Scalar::Text(text) = scalar else { return scalar };
    let bare = text.trim_start().trim_start_matches("<=").trim_start_matches('<');
    Scalar::Text(bare.trim().to_owned())
}

/// A value that is no amount of what is asked for.
fn no_amount(scalar: &Scalar, what: &str, example: &str) -> Problem {
    Problem::new(format!("`{scalar}` is not {what}"), format!("write {example}"))
}

fn share(scalar: &Scalar) -> Result<f64, Problem> {
    let value = match scalar {
        Scalar::Text(text) => percent(text),
        // A bare 2 may be 2 or 2 %.
        Scalar::Real(value) => Some(*value).filter(|share| *share <= 1.0),
        Scalar::Whole(value) => (*value == 0).then_some(0.0),
        Scalar::Logical(_) => None,
    };
    value
        .filter(|share| (0.0..=SHARE_MAX).contains(share))
        .ok_or_else(|| no_amount(scalar, "a share", "it as percent in quotes, such as \"2%\", or as 0.02"))
}

/// A change that is taken for none is hardly ever ten times as much.
const SHARE_MAX: f64 = 10.0;

fn percent(text: &str) -> Option<f64> {
    let number: f64 = text.trim().strip_suffix('%')?.trim().parse().ok()?;
    Some(number / 100.0)
}

/// `scalar` as an amount in `unit`, one of those of [`prony_model::StudyMetric::unit`]; a bare number is in it already.
pub(super) fn amount(scalar: &Scalar, unit: &str) -> Result<f64, Problem> {
    const MIB: f64 = 1024.0 * 1024.0;
    let number = match scalar {
        Scalar::Real(value) => Some(*value),
        Scalar::Whole(_) => scalar.to_string().parse().ok(),
        Scalar::Logical(_) => None,
        Scalar::Text(text) => match unit {
            "ms" => parse_duration(text).ok().map(|value| value.as_nanos() as f64 / 1e6),
            "µs" => parse_duration(text).ok().map(|value| value.as_nanos() as f64 / 1e3),
            "s" => parse_duration(text).ok().map(|value| value.as_secs_f64()),
            "per_s" => text.parse::<Rate>().ok().map(Rate::as_per_second),
            "MiB" => parse_bytes(text).ok().map(|bytes| bytes as f64 / MIB),
            _ => percent(text),
        },
    };
    let (what, example) = match unit {
        "ms" => ("a time", "\"50ms\", or 50 for milliseconds"),
        "µs" => ("a time", "\"80us\", or 80 for microseconds"),
        "s" => ("a time", "\"30s\", or 30 for seconds"),
        "per_s" => ("a rate", "5000 or \"5k\""),
        "MiB" => ("a size", "\"64MiB\", or 64 for MiB"),
        _ => ("a share", "\"99.9%\" or 0.999"),
    };
    let good = number.filter(|value| value.is_finite() && *value >= 0.0);
    good.ok_or_else(|| no_amount(scalar, what, example))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(scalar: &Scalar, unit: &str, expected: Option<f64>) {
        assert_eq!(amount(scalar, unit).ok(), expected, "{scalar} {unit}");
    }

    #[test]
    fn amounts_have_the_unit_of_their_metric() {
        let text = |text: &str| Scalar::Text(text.to_owned());
        check(&text("50ms"), "ms", Some(50.0));
        check(&text("1ns"), "ms", Some(0.000_001));
        check(&text("1.5s"), "ms", Some(1500.0));
        check(&text("1.5ms"), "µs", Some(1500.0));
        check(&Scalar::Whole(7), "ms", Some(7.0));
        check(&text("1m"), "s", Some(60.0));
        check(&text("5k"), "per_s", Some(5000.0));
        check(&Scalar::Real(443.78), "per_s", Some(443.78));
        check(&text("99.5%"), "share", Some(0.995));
        check(&text("64MiB"), "MiB", Some(64.0));
        check(&text("50"), "ms", None);
        check(&Scalar::Real(f64::NAN), "ms", None);
        check(&Scalar::Whole(-1), "ms", None);
        check(&Scalar::Logical(true), "ms", None);
    }
}
