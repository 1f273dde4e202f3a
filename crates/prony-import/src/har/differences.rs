//! Values that differ between two recordings of the same visit, and where they come from.

use percent_encoding::percent_decode_str;

use super::places::{self, Place};
use super::recording::Exchange;
use crate::LeftOut;
use crate::scenario::left_out;

/// A value that is another one in each visit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Dynamic {
    /// What it is called where it is sent.
    pub(super) label: String,
    /// As the first recording has it.
    pub(super) value: String,
    /// The step whose response has it,
    pub(super) step: usize,
    /// and where.
    pub(super) place: Place,
}

/// The values of `first` that differ from those of `second` and that an earlier response has. Others are listed.
pub(super) fn dynamic(first: &[Exchange], second: &[Exchange], lost: &mut Vec<LeftOut>) -> Vec<Dynamic> {
    let pairs = aligned(first, second);
    let mut found: Vec<Dynamic> = Vec::new();
    for (step, exchange) in first.iter().enumerate() {
        let Some(other) = pairs[step].map(|at| &second[at]) else {
            lost.push(left_out(
                exchange.line,
                "a request that the other recording lacks",
                "its values are kept as they were recorded",
            ));
            continue;
        };
        let others = values(other);
        for (label, value) in values(exchange) {
            let Some((_, changed)) = others.iter().find(|(own, _)| *own == label) else { continue };
            let is_known = found.iter().any(|one| one.value == value && one.step < step);
            if *changed == value || value.is_empty() || is_known {
                continue;
            }
            let source = (0..step).rev().find_map(|earlier| {
                let theirs = places::places(&second[pairs[earlier]?]);
                let mut own = places::places(&first[earlier]).into_iter();
                own.find(|(place, own)| {
                    *own == value && theirs.iter().any(|(at, it)| at == place && it == changed)
                })
                .map(|(place, _)| (earlier, place))
            });
            let name = label.rsplit(' ').next().unwrap_or_default().to_owned();
            match source {
                Some((step, place)) => found.push(Dynamic { label: name, value, step, place }),
                None => lost.push(left_out(
                    exchange.line,
                    format!("{label}, which differs between the recordings"),
                    "no earlier response has it: it is kept as it was recorded",
                )),
            }
        }
    }
    found
}

/// For each exchange of `first` the one of `second` that is the same request, in order.
fn aligned(first: &[Exchange], second: &[Exchange]) -> Vec<Option<usize>> {
    let mut next = 0;
    first
        .iter()
        .map(|exchange| {
            let at = (next..second.len()).find(|at| is_same(exchange, &second[*at]))?;
            next = at + 1;
            Some(at)
        })
        .collect()
}

/// Whether two requests have the same method and path, but for some of its segments.
fn is_same(one: &Exchange, other: &Exchange) -> bool {
    let segments = |exchange: &Exchange| -> Vec<String> {
        exchange.target.split('?').next().unwrap_or_default().split('/').map(str::to_owned).collect()
    };
    let (own, theirs) = (segments(one), segments(other));
    let differing = own.iter().zip(&theirs).filter(|(one, other)| one != other).count();
    one.method == other.method && own.len() == theirs.len() && 2 * differing < own.len().max(2)
}

/// The values that a request sends, each with a label whose last word is its name.
fn values(exchange: &Exchange) -> Vec<(String, String)> {
    let decoded = |text: &str| percent_decode_str(&text.replace('+', " ")).decode_utf8_lossy().into_owned();
    let (path, query) = exchange.target.split_once('?').unwrap_or((&exchange.target, ""));
    let mut values = Vec::new();
    let segments: Vec<&str> = path.split('/').collect();
    for (at, segment) in segments.iter().enumerate().skip(1) {
        // `/orders/17` is called after `orders`.
        let before = segments.get(at - 1).filter(|before| !before.is_empty()).copied().unwrap_or("path");
        let value = percent_decode_str(segment).decode_utf8_lossy().into_owned();
        values.push((format!("segment {at} of the path {before}_id"), value));
    }
    let mut pairs = |kind: &str, text: &str| {
        for (name, value) in text.split('&').filter_map(|pair| pair.split_once('=')) {
            values.push((format!("{kind} {}", decoded(name)), decoded(value)));
        }
    };
    pairs("query", query);
    if let Some(body) = &exchange.body {
        if body.is_form() {
            pairs("field", &body.text);
        } else if body.is_json()
            && let Ok(value) = serde_json::from_str(&body.text)
        {
            places::leaves(&value, &mut String::new(), &mut |pointer, value| {
                let name = pointer.rsplit('/').next().unwrap_or_default();
                values.push((format!("JSON {pointer} {name}"), value));
            });
        }
    }
    for (name, value) in &exchange.headers {
        // `Bearer …`: what follows the scheme.
        let value = match value.split_once(' ') {
            Some((_, rest)) if !rest.contains(' ') => rest,
            _ => value,
        };
        values.push((format!("header {name}"), value.to_owned()));
    }
    values
}
