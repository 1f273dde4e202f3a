//! A measured number in words.

use prony_model::Figure;

/// What was measured of the figure of a threshold, in its unit: `1.5 ms`, `18,006 /s`, `98.996 %`. A figure that another
/// version of Prony stored has none.
pub fn of_figure(figure: &str, value: f64) -> String {
    match Figure::parse(figure) {
        Ok(figure) => prony_report::threshold_amount(figure, value),
        Err(_) => prony_report::rate(value),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_measured_number_has_the_unit_of_its_figure() {
        let check = |figure, value, expected: &str| assert_eq!(of_figure(figure, value), expected);
        check("response.p99", 1.5, "1.5 ms");
        check("p99", 1.5, "1.5 ms");
        check("rate", 18_006.0, "18,006 /s");
        check("success", 0.989_96, "98.996 %");
        check("of another prony", 2.0, "2.00");
    }
}
