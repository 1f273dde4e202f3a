//! The language: what is read, what is refused, and that what is printed is read again.

use proptest::prelude::*;

use super::*;

fn refused(text: &str, expected: &str) {
    let error = text.parse::<Threshold>().unwrap_err();
    assert_eq!(error.located(text).to_string(), expected, "{text}");
    assert!(text.get(error.span.clone()).is_some(), "{text}: {:?}", error.span);
}

#[test]
fn what_is_no_threshold_says_where_and_what_to_try() {
    let example =
        "write a figure, an operator and a value, such as 'response.p99 < 50ms' or 'checks > 99.9%'";
    refused("response.p99", &format!("`response.p99` has no operator: {example}"));
    refused("", &format!("`` has no operator: {example}"));
    refused("respons.p99 < 1ms", "`respons.p99` is not a figure: did you mean `response.p99`?");
    refused(" rsponse.p99 < 1ms", "`rsponse.p99` is not a figure (column 2): did you mean `response.p99`?");
    refused("p9.9 < 1ms", "`p9.9` is not a figure: did you mean `response.p99`?");
    refused("bytes.per-second > 1", "`bytes.per-second` is not a figure: there is bytes.sent, bytes.bodies");
    refused("colour > 1ms", "`colour` is not a figure: `prony explain thresholds` lists all of them");
    refused(
        "status.99 > 1%",
        "`status.99` is not a figure: there is status.1xx, status.2xx, status.3xx, status.4xx, status.5xx",
    );
    refused("< 5ms", "the figure is missing: write its name first, such as 'response.p99 < 50ms'");
    refused(
        "response.p99 <",
        "the value is missing (column 15): write it last, such as 'response.p99 < 50ms'",
    );
    refused("rate = 5", "`=` is not an operator (column 6): write `==`");
    refused("rate => 5", "`=>` is not an operator (column 6): write one of < <= > >= == !=");
    refused("1 < rate < 5", "`1` is not a figure: `prony explain thresholds` lists all of them");
    refused(
        "rate > 1 < 5",
        "`1 < 5` has a second operator (column 8): write each comparison as a threshold of its own",
    );
    refused(
        "response.p99 < 50",
        "`50` has no unit, and a time needs one (column 16): write it as 50ms or 1.5s",
    );
    refused("checks > 99", "`99` has no unit, and a share needs one (column 10): write it as 99.9%");
    refused("checks > 5ms", "`5ms` is not a share (column 10): write it as 99.9%");
    refused("verdict == vald", "`vald` is not a verdict (column 12): did you mean `valid`?");
    refused(
        "verdict > valid",
        "verdict is a word: `>` has no meaning (column 11): write `verdict == valid` or `verdict != valid`",
    );
    refused("verdict == 0", "`0` is not a verdict (column 12): there is valid, doubtful, invalid");
    let long = format!("rate > {}", "1".repeat(300));
    refused(&long, "a threshold is longer than 200 bytes: write one comparison for each threshold");
}

#[test]
fn short_names_and_blanks() {
    let check = |text: &str, expected: &str| {
        let threshold: Threshold = text.parse().unwrap_or_else(|error| panic!("{text}: {error}"));
        assert_eq!(threshold.to_string(), expected);
    };
    check("p99<50ms", "response.p99 < 50ms");
    check("  p99.9  <=  1.5 s ", "response.p99.9 <= 1.5s");
    check("p99-kernel < 1ms", "kernel-response.p99 < 1ms");
    check("cpu-per-request < 300µs", "server.cpu-per-request < 300us");
    check("server-memory < 64MiB", "server.memory < 64MiB");
    check("connect < 1ms", "connect.p50 < 1ms");
    check("errors == 0", "errors == 0");
    check("status.404 == 0", "status.404 == 0");
    check("success >= 99.9%", "success >= 99.9%");
    check("rate > 5k", "rate > 5000");
    check("response.max < 1m30s", "response.max < 90s");
    check("limiter != client", "limiter != client");
    check("wall < 5ms", "wall < 5ms");
}

#[test]
fn a_condition_to_fail_is_a_threshold_turned_round() {
    for (condition, threshold) in [
        ("p99 > 50ms", "response.p99 <= 50ms"),
        ("p99 >= 50ms", "response.p99 < 50ms"),
        ("rate < 5k", "rate >= 5000"),
        ("rate <= 5k", "rate > 5000"),
        ("verdict == invalid", "verdict != invalid"),
        ("errors != 0", "errors == 0"),
    ] {
        let inverted = condition.parse::<Threshold>().expect(condition).inverted();
        assert_eq!(inverted.to_string(), threshold, "{condition}");
        assert_eq!(inverted.inverted(), condition.parse().expect(condition));
    }
}

/// Every figure has a name of its own that is read again, a unit and a meaning.
#[test]
fn names_are_read_as_they_are_printed() {
    let mut seen = std::collections::BTreeSet::new();
    for figure in Figure::all().chain([Figure::Status(404)]) {
        let name = figure.to_string();
        assert_eq!(Figure::parse(&name), Ok(figure), "{name}");
        assert_eq!(serde_json::from_value::<Figure>(serde_json::json!(name)).expect("a figure"), figure);
        assert!(!figure.description().is_empty());
        assert!(seen.insert(name));
    }
    for metric in crate::StudyMetric::ALL {
        let figure = Figure::of_metric(metric);
        assert_eq!((figure.unit().name(), figure.kind()), (metric.unit(), metric.kind()), "{metric:?}");
        assert_eq!(figure.metric(), Some(metric));
        assert_eq!(Figure::parse(metric.name()), Ok(figure));
    }
}

fn figures() -> impl Strategy<Value = Figure> {
    let all: Vec<Figure> = Figure::all().collect();
    prop_oneof![prop::sample::select(all), (100_u16..600).prop_map(Figure::Status)]
}

/// A value that fits the unit of a figure, as people write it.
fn written(unit: Unit, number: f64, choice: usize) -> String {
    let suffixes: &[&str] = match unit {
        Unit::Milliseconds | Unit::Microseconds | Unit::Seconds => {
            &["ns", "us", "µs", "ms", "s", "min", "m", "h"]
        }
        Unit::PerSecond => &["", "/s", "k", "k/s", "M", "/min", "/h"],
        Unit::Share => &["%", " %"],
        Unit::Mebibytes => &["B", "KB", "MB", "GB", "KiB", "MiB", "GiB"],
        Unit::Count => &["", "k", "M"],
        Unit::Word => &[""],
    };
    format!("{number}{}", suffixes[choice % suffixes.len()])
}

proptest! {
    #[test]
    fn what_is_printed_is_read_again(
        figure in figures(),
        operator in prop::sample::select(Operator::ALL.to_vec()),
        number in prop_oneof![0.0..1e6_f64, (0_u32..10_000).prop_map(f64::from)],
        choice in 0_usize..100,
    ) {
        let words = figure.words();
        let text = if words.is_empty() {
            format!("{figure}{}{}", operator.sign(), written(figure.unit(), number, choice))
        } else {
            format!("{figure} == {}", words[choice % words.len()])
        };
        let threshold: Threshold = text.parse().unwrap_or_else(|error| panic!("{text}: {error}"));
        let printed = threshold.to_string();
        prop_assert_eq!(printed.parse::<Threshold>(), Ok(threshold), "{}", printed);
        prop_assert_eq!(threshold.inverted().inverted(), threshold);
    }

    /// Nothing panics, and a mistake stands within the text.
    #[test]
    fn any_text_is_read_or_refused(text in any::<String>()) {
        if let Err(error) = text.parse::<Threshold>() {
            prop_assert!(text.get(error.span.clone()).is_some());
        }
    }

    /// The same length in another unit is the same bound, to the last digits.
    #[test]
    fn units_agree(nanos in 1_u64..10_000_000_000_000) {
        let of = |text: String| text.parse::<Threshold>().expect("a threshold").bound_in_unit().expect("a number");
        let expected = of(format!("response.p50 < {nanos}ns"));
        let seconds = of(format!("response.p50 < {}.{:09}s", nanos / 1_000_000_000, nanos % 1_000_000_000));
        prop_assert_eq!(seconds.to_bits(), expected.to_bits());
        let milliseconds = of(format!("response.p50 < {}.{:06}ms", nanos / 1_000_000, nanos % 1_000_000));
        prop_assert_eq!(milliseconds.to_bits(), expected.to_bits());
    }
}
