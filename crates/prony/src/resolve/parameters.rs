//! `{VAR}` in commands: every combination of the values of lists and scans.

use std::collections::BTreeMap;

use prony_model::ExecPlan;

use crate::args::ExecArgs;
use crate::cli_error::CliError;

/// Digits of a number to scan with, decimals included: so many fit 64 bits.
const DIGITS_MAX: usize = 18;

/// One parameter and its values, in the order typed.
struct Parameter {
    name: String,
    values: Vec<String>,
}

/// Every combination of the parameters of `args`; one empty one if there are none. The first parameter changes last.
pub(super) fn combinations(args: &ExecArgs) -> Result<Vec<BTreeMap<String, String>>, CliError> {
    let parameters = parameters(args)?;
    let number = parameters.iter().map(|parameter| parameter.values.len()).product::<usize>();
    if number.saturating_mul(args.commands.len()) > ExecPlan::COMMANDS_MAX {
        return Err(CliError::usage(format!("the parameters make {number} combinations of each command"))
            .hint(format!("use shorter lists: {} commands are the most", ExecPlan::COMMANDS_MAX)));
    }
    let mut combinations = vec![BTreeMap::new()];
    for Parameter { name, values } in parameters {
        combinations = combinations
            .iter()
            .flat_map(|combination| values.iter().map(move |value| (combination, value)))
            .map(|(combination, value)| {
                let mut longer = combination.clone();
                longer.insert(name.clone(), value.clone());
                longer
            })
            .collect();
    }
    Ok(combinations)
}

/// `template` with every `{VAR}` replaced; what stands in for one is not looked at again.
pub(super) fn filled(template: &str, combination: &BTreeMap<String, String>) -> String {
    let mut filled = String::new();
    let mut rest = template;
    while let Some(open) = rest.find('{') {
        let (before, after) = rest.split_at(open);
        filled.push_str(before);
        let known = combination.iter().find(|(name, _)| {
            after[1..].strip_prefix(name.as_str()).is_some_and(|after| after.starts_with('}'))
        });
        if let Some((name, value)) = known {
            filled.push_str(value);
            rest = &after[name.len() + 2..];
        } else {
            filled.push('{');
            rest = &after[1..];
        }
    }
    filled.push_str(rest);
    filled
}

fn parameters(args: &ExecArgs) -> Result<Vec<Parameter>, CliError> {
    let mut parameters = Vec::new();
    for list in args.parameter_list.chunks(2) {
        if let [name, values] = list {
            parameters.push(Parameter { name: name.clone(), values: split(values) });
        }
    }
    for scan in args.parameter_scan.chunks(3) {
        if let [name, low, high] = scan {
            let values = scanned(low, high, args.parameter_step_size.as_deref())?;
            parameters.push(Parameter { name: name.clone(), values });
        }
    }
    for (at, parameter) in parameters.iter().enumerate() {
        if parameters[..at].iter().any(|other| other.name == parameter.name) {
            return Err(CliError::usage(format!("the parameter {} is named twice", parameter.name))
                .hint("give each its own name"));
        }
    }
    Ok(parameters)
}

/// The values of a list; a comma after a backslash belongs to a value.
fn split(values: &str) -> Vec<String> {
    let mut split = vec![String::new()];
    let mut characters = values.chars().peekable();
    while let Some(character) = characters.next() {
        let last = split.last_mut().expect("invariant: it never becomes empty");
        match character {
            ',' => split.push(String::new()),
            '\\' if characters.peek() == Some(&',') => last.extend(characters.next()),
            _ => last.push(character),
        }
    }
    split
}

/// The numbers from `low` to `high` by `step`, exact to the last decimal typed.
fn scanned(low: &str, high: &str, step: Option<&str>) -> Result<Vec<String>, CliError> {
    let step = step.unwrap_or("1");
    let typed = [low, high, step];
    let decimals = typed.iter().map(|number| number.split_once('.').map_or(0, |(_, part)| part.len())).max();
    let decimals = decimals.unwrap_or_default();
    let mut units = [0_i64; 3];
    for (unit, number) in units.iter_mut().zip(typed) {
        *unit = scaled(number, decimals).ok_or_else(|| {
            CliError::usage(format!("`{number}` is not a number to scan with"))
                .hint("write a decimal number: -P delay 0.3 0.7 -D 0.2")
        })?;
    }
    let [low_units, high_units, step_units] = units;
    if step_units <= 0 || low_units > high_units {
        return Err(CliError::usage(format!("no number leads from {low} to {high} by steps of {step}"))
            .hint("write the smaller one first, and a step above 0"));
    }
    let steps = (high_units - low_units) / step_units;
    if usize::try_from(steps).ok().is_none_or(|steps| steps >= ExecPlan::COMMANDS_MAX) {
        return Err(CliError::usage(format!("there are {} numbers from {low} to {high}", steps + 1))
            .hint(format!("use a larger step: {} commands are the most", ExecPlan::COMMANDS_MAX)));
    }
    // Decimals as typed for the bounds, or the step: 1 and 0.5 make 1.0, 1.5, …
    Ok((0..=steps).map(|step| shown(low_units + step * step_units, decimals)).collect())
}

/// `number` times 10^`decimals`, if it is a plain decimal number that fits.
fn scaled(number: &str, decimals: usize) -> Option<i64> {
    let (whole, part) = number.split_once('.').unwrap_or((number, ""));
    let digits = whole.strip_prefix('-').unwrap_or(whole);
    let plain = !digits.is_empty() && digits.chars().chain(part.chars()).all(|digit| digit.is_ascii_digit());
    let text = format!("{whole}{part}{}", "0".repeat(decimals.checked_sub(part.len())?));
    (plain && text.len() <= DIGITS_MAX).then(|| text.parse().ok()).flatten()
}

fn shown(units: i64, decimals: usize) -> String {
    if decimals == 0 {
        return units.to_string();
    }
    let sign = if units < 0 { "-" } else { "" };
    let digits = format!("{:0>width$}", units.unsigned_abs(), width = decimals + 1);
    let (whole, part) = digits.split_at(digits.len() - decimals);
    format!("{sign}{whole}.{part}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn args(lists: &[&str], scan: &[&str], step: Option<&str>) -> ExecArgs {
        let owned = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect();
        ExecArgs {
            commands: vec!["true".to_owned()],
            parameter_list: owned(lists),
            parameter_scan: owned(scan),
            parameter_step_size: step.map(str::to_owned),
            ..ExecArgs::default()
        }
    }

    fn check(lists: &[&str], scan: &[&str], step: Option<&str>, expected: &[&str]) {
        let found = combinations(&args(lists, scan, step)).expect("they fit");
        let found: Vec<String> =
            found.iter().map(|all| all.values().cloned().collect::<Vec<_>>().join(" ")).collect();
        assert_eq!(found, expected, "{lists:?} {scan:?}");
    }

    #[test]
    fn every_combination() {
        check(&[], &[], None, &[""]);
        check(&["a", "1,2"], &[], None, &["1", "2"]);
        check(&["a", "1,2", "b", "x,y"], &[], None, &["1 x", "1 y", "2 x", "2 y"]);
        check(&["a", "1\\,2,3"], &[], None, &["1,2", "3"]);
        check(&["a", "x,"], &[], None, &["x", ""]);
        check(&["a", "x,y"], &["b", "1", "2"], None, &["x 1", "x 2", "y 1", "y 2"]);
    }

    #[test]
    fn scans() {
        check(&[], &["n", "1", "3"], None, &["1", "2", "3"]);
        check(&[], &["n", "0.3", "0.7"], Some("0.2"), &["0.3", "0.5", "0.7"]);
        check(&[], &["n", "-1", "1"], Some("0.5"), &["-1.0", "-0.5", "0.0", "0.5", "1.0"]);
        check(&[], &["n", "1", "6"], Some("2"), &["1", "3", "5"]);
        for (scan, step) in [
            (["n", "3", "1"], None),
            (["n", "a", "1"], None),
            (["n", "1", "2"], Some("0")),
            (["n", "1", "1000"], None),
            (["n", "1", "9999999999999999999"], None),
        ] {
            assert!(combinations(&args(&[], &scan, step)).is_err(), "{scan:?}");
        }
        assert!(combinations(&args(&["a", "1", "a", "2"], &[], None)).is_err(), "twice the same");
    }

    #[test]
    fn filling_in() {
        let values = BTreeMap::from([("a".to_owned(), "{b}".to_owned()), ("b".to_owned(), "2".to_owned())]);
        let check = |template: &str, expected: &str| assert_eq!(filled(template, &values), expected);
        check("x {a} {b}{b} {c} {", "x {b} 22 {c} {");
        check("{{a}}", "{{b}}");
        check("none", "none");
    }
}
