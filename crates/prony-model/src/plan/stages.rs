//! A rate that changes along the measured part: steps and ramps, one after the other.

use std::str::FromStr as _;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::{End, Load, PlanError, RunPlan};
use crate::{Problem, Rate, parse_duration};

/// One stage of a load: the rate goes in a straight line from its beginning to its end.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Stage {
    /// What it is called in reports and thresholds; its number, from 1, where absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Requests per second (sessions, of a scenario) at its beginning, over all threads; 0, or a [`Rate`].
    pub from_per_s: f64,
    /// The same at its end.
    pub to_per_s: f64,
    /// How long it is, in seconds.
    #[serde(rename = "duration_s", with = "crate::duration")]
    #[cfg_attr(test, schemars(with = "f64"))]
    pub duration: Duration,
}

/// The stages of a load, in their order. Where one ends at another rate than the next begins with, the rate jumps.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(transparent)]
pub struct Stages(pub Vec<Stage>);

impl Stage {
    /// A stage of one rate.
    pub fn steady(per_s: f64, duration: Duration) -> Self {
        Self { name: None, from_per_s: per_s, to_per_s: per_s, duration }
    }

    /// Whether its rate stays the same.
    #[expect(clippy::float_cmp, reason = "both were given, neither was computed")]
    pub fn is_steady(&self) -> bool {
        self.from_per_s == self.to_per_s
    }

    /// Requests that are due in it, as the integral of its rate.
    pub fn requests(&self) -> f64 {
        self.requests_until(self.duration.as_secs_f64())
    }

    /// The rate `at_s` seconds after its beginning.
    pub fn rate_at(&self, at_s: f64) -> f64 {
        let length_s = self.duration.as_secs_f64();
        let part = if length_s > 0.0 { (at_s / length_s).clamp(0.0, 1.0) } else { 0.0 };
        self.from_per_s + (self.to_per_s - self.from_per_s) * part
    }

    /// Requests that are due in its first `at_s` seconds.
    fn requests_until(&self, at_s: f64) -> f64 {
        f64::midpoint(self.from_per_s, self.rate_at(at_s)) * at_s.clamp(0.0, self.duration.as_secs_f64())
    }
}

impl Stages {
    /// Stages that one run can have: each has figures of its own in every result.
    pub const COUNT_MAX: usize = 100;
    /// Bytes of a name.
    pub const NAME_BYTES_MAX: usize = 40;

    /// The sum of their lengths: the length of the measured part.
    pub fn duration(&self) -> Duration {
        self.0.iter().fold(Duration::ZERO, |sum, stage| sum.saturating_add(stage.duration))
    }

    /// The rate of the warm-up: the one that the first stage begins with.
    pub fn first_per_s(&self) -> f64 {
        self.0.first().map_or(0.0, |stage| stage.from_per_s)
    }

    /// The highest rate of all; `None` where no stage has any.
    pub fn highest(&self) -> Option<Rate> {
        let rates = self.0.iter().flat_map(|stage| [stage.from_per_s, stage.to_per_s]);
        Rate::per_second(rates.fold(0.0, f64::max))
    }

    /// Requests that are due in the first `at_s` seconds of the measured part, as the integral of the rate.
    pub fn requests_until(&self, at_s: f64) -> f64 {
        self.spans().map(|(from_s, stage)| stage.requests_until((at_s - from_s).max(0.0))).sum()
    }

    /// The rate `at_s` seconds into the measured part; where it jumps, the one after the jump. 0 after the end.
    pub fn rate_at(&self, at_s: f64) -> f64 {
        let mut spans = self.spans();
        let found = spans.find(|(from_s, stage)| at_s < from_s + stage.duration.as_secs_f64());
        found.map_or(0.0, |(from_s, stage)| stage.rate_at(at_s - from_s))
    }

    /// Each stage and when it begins, in seconds of the measured part.
    pub fn spans(&self) -> impl Iterator<Item = (f64, &Stage)> {
        self.0.iter().scan(Duration::ZERO, |from, stage| {
            let begins = *from;
            *from = from.saturating_add(stage.duration);
            Some((begins.as_secs_f64(), stage))
        })
    }

    /// What stage `index` is called: its name, or its number from 1.
    pub fn name(&self, index: usize) -> String {
        let name = self.0.get(index).and_then(|stage| stage.name.clone());
        name.unwrap_or_else(|| (index + 1).to_string())
    }

    /// Reads `100/s:30s,100..1000/s:60s,spike=1000/s:30s`: a rate, or a ramp between two, for a time; `..1000/s:60s`
    /// begins where the stage before it ends.
    ///
    /// # Errors
    /// What is wrong with which stage. Whether they can be a load is checked with the plan.
    pub fn parse(text: &str) -> Result<Self, Problem> {
        let mut stages: Vec<Stage> = Vec::new();
        for typed in text.split(',') {
            let before = stages.last().map(|stage| stage.to_per_s);
            stages.push(parse_stage(typed.trim(), before)?);
        }
        Ok(Self(stages))
    }

    /// Finds stages that can't be a load.
    pub(super) fn check(&self) -> Result<(), PlanError> {
        if self.0.is_empty() || self.0.len() > Self::COUNT_MAX {
            return Err(PlanError::Stages { asked: self.0.len(), max: Self::COUNT_MAX });
        }
        for (index, stage) in self.0.iter().enumerate() {
            if stage.duration.is_zero() {
                return Err(PlanError::StageWithoutDuration { stage: self.name(index) });
            }
            let is_rate = |per_s: f64| per_s == 0.0 || Rate::per_second(per_s).is_some();
            if let Some(per_s) = [stage.from_per_s, stage.to_per_s].into_iter().find(|rate| !is_rate(*rate)) {
                return Err(PlanError::StageRate { stage: self.name(index), rate: per_s.to_string() });
            }
            let Some(name) = &stage.name else { continue };
            if !is_name(name) {
                return Err(PlanError::StageName { name: name.clone(), max: Self::NAME_BYTES_MAX });
            }
            if self.0[..index].iter().any(|other| other.name.as_ref() == Some(name)) {
                return Err(PlanError::StageNamedTwice { name: name.clone() });
            }
        }
        if self.highest().is_none() {
            return Err(PlanError::StagesWithoutRate);
        }
        Ok(())
    }
}

impl RunPlan {
    /// Requests per second that were asked for over the first `measured_s` seconds of the measured part, of this share
    /// of the load. None of a scenario: its rate is one of sessions, whose later requests follow from answers.
    pub fn asked_per_s(&self, measured_s: f64) -> Option<f64> {
        self.mean_rate(measured_s).filter(|_| self.scenario.is_none())
    }

    /// The same of whatever the clock begins: requests, or sessions of a scenario.
    pub fn mean_rate(&self, measured_s: f64) -> Option<f64> {
        let highest = self.own_load().rate()?.as_per_second();
        let Some(stages) = self.stages.as_ref().filter(|_| measured_s > 0.0) else { return Some(highest) };
        let share = f64::from(self.threads) / f64::from(self.share().of.max(1));
        let measured_s = measured_s.min(stages.duration().as_secs_f64());
        Some(stages.requests_until(measured_s) / measured_s * share)
    }

    /// Finds stages that contradict the rest of the plan.
    pub(super) fn check_stages(&self) -> Result<(), PlanError> {
        let Some(stages) = &self.stages else { return Ok(()) };
        stages.check()?;
        let highest = match self.load {
            Load::Closed { .. } => return Err(PlanError::StagesInClosedLoop),
            Load::Open { rate_per_s, .. } => rate_per_s,
        };
        if self.end != End::Duration(stages.duration()) || stages.highest() != Some(highest) {
            return Err(PlanError::StagesContradicted);
        }
        Ok(())
    }
}

/// Whether `name` can be written in a threshold and on a command line.
fn is_name(name: &str) -> bool {
    let begins = name.bytes().next().is_some_and(|byte| byte.is_ascii_alphabetic());
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
    begins && name.len() <= Stages::NAME_BYTES_MAX && name.bytes().all(is_plain)
}

/// One stage; the one before it ends at `before` requests per second.
fn parse_stage(typed: &str, before: Option<f64>) -> Result<Stage, Problem> {
    const FORM: &str =
        "write a rate and a time, 100/s:30s, or a ramp, 100..1000/s:60s, with commas between stages";
    let wrong = |why: &str| Problem::new(format!("`{typed}` is not a stage{why}"), FORM);
    let (name, rest) = match typed.split_once('=') {
        Some((name, rest)) => (Some(name.trim().to_owned()), rest),
        None => (None, typed),
    };
    let Some((rates, time)) = rest.rsplit_once(':') else { return Err(wrong("")) };
    let (rates, time) = (rates.trim(), time.trim());
    let duration = parse_duration(time).map_err(|_| match parse_duration(rates) {
        Ok(_) => Problem::new(
            format!("`{typed}` has its time first"),
            format!("write the rate first: {time}:{rates} stays at it, ..{time}:{rates} ramps up to it"),
        ),
        Err(_) => wrong(&format!(": `{time}` is not a duration")),
    })?;
    let (from, to) = rates.split_once("..").unwrap_or((rates, rates));
    let to_per_s = rate(to).ok_or_else(|| wrong(&format!(": `{to}` is not a rate")))?;
    let from_per_s = match from {
        "" => before.ok_or_else(|| wrong(": no stage is before it, from whose rate it could go on"))?,
        // `100..1000/min` is about minutes on both sides.
        from if !from.contains('/') => {
            let unit = to.split_once('/').map(|(_, unit)| format!("/{unit}")).unwrap_or_default();
            rate(&format!("{from}{unit}")).ok_or_else(|| wrong(&format!(": `{from}` is not a rate")))?
        }
        from => rate(from).ok_or_else(|| wrong(&format!(": `{from}` is not a rate")))?,
    };
    Ok(Stage { name, from_per_s, to_per_s, duration })
}

/// Requests per second; a stage may have none.
fn rate(text: &str) -> Option<f64> {
    let number = text.split('/').next().unwrap_or_default().trim();
    let is_unit = |unit: &str| Rate::from_str(&format!("1/{unit}")).is_ok();
    if number == "0" && text.split_once('/').is_none_or(|(_, unit)| is_unit(unit)) {
        return Some(0.0);
    }
    Rate::from_str(text).ok().map(Rate::as_per_second)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn stages(text: &str) -> Stages {
        Stages::parse(text).expect("stages")
    }

    #[test]
    fn what_people_write_is_read() {
        let read = stages("100/s:30s, up=100..1k/s:1m ,..50:500ms,0:1s,600..1200/min:2s");
        let parts: Vec<_> = read
            .0
            .iter()
            .map(|stage| (stage.from_per_s, stage.to_per_s, stage.duration.as_secs_f64()))
            .collect();
        assert_eq!(
            parts,
            [
                (100.0, 100.0, 30.0),
                (100.0, 1000.0, 60.0),
                (1000.0, 50.0, 0.5),
                (0.0, 0.0, 1.0),
                (10.0, 20.0, 2.0)
            ]
        );
        assert_eq!((read.name(0), read.name(1)), ("1".to_owned(), "up".to_owned()));
        assert_eq!(read.highest().map(Rate::as_per_second), Some(1000.0));
        assert_eq!(read.duration(), Duration::from_millis(93_500));
        assert_eq!(read.check(), Ok(()));
    }

    #[test]
    fn what_is_no_stage_is_refused_with_the_way_to_write_it() {
        let check = |text: &str, what: &str| {
            let problem = Stages::parse(text).expect_err(text);
            assert_eq!(problem.what, what);
            assert!(problem.advice.is_some_and(|advice| advice.starts_with("write ")));
        };
        check("", "`` is not a stage");
        check("100", "`100` is not a stage");
        check("100/s:30s,", "`` is not a stage");
        check("100/s:30", "`100/s:30` is not a stage: `30` is not a duration");
        check("30s:100", "`30s:100` has its time first");
        check("..100:3s", "`..100:3s` is not a stage: no stage is before it, from whose rate it could go on");
        check("-1:3s", "`-1:3s` is not a stage: `-1` is not a rate");
        check("5..x:3s", "`5..x:3s` is not a stage: `x` is not a rate");
        check("0/parsec:3s", "`0/parsec:3s` is not a stage: `0/parsec` is not a rate");
    }

    #[test]
    fn what_can_be_no_load_is_refused() {
        let check =
            |text: &str, expected: PlanError| assert_eq!(stages(text).check(), Err(expected), "{text}");
        check("0:1s,0..0:1s", PlanError::StagesWithoutRate);
        check("1:1s,5:0", PlanError::StageWithoutDuration { stage: "2".to_owned() });
        check("a=1:1s,a=2:1s", PlanError::StageNamedTwice { name: "a".to_owned() });
        check("1.5=1:1s", PlanError::StageName { name: "1.5".to_owned(), max: 40 });
        let many = vec!["1:1s"; 101].join(",");
        check(&many, PlanError::Stages { asked: 101, max: 100 });
        let mut broken = stages("1:1s");
        broken.0[0].to_per_s = f64::NAN;
        assert!(matches!(broken.check(), Err(PlanError::StageRate { .. })));
    }

    #[test]
    fn rates_and_integrals_follow_the_stages() {
        let stages = stages("100:10s,100..300:10s,50:10s");
        for (at_s, rate, requests) in [
            (0.0, 100.0, 0.0),
            (5.0, 100.0, 500.0),
            (10.0, 100.0, 1000.0),
            (15.0, 200.0, 1750.0),
            (20.0, 50.0, 3000.0),
            (30.0, 0.0, 3500.0),
            (99.0, 0.0, 3500.0),
        ] {
            assert!((stages.rate_at(at_s) - rate).abs() < 1e-9, "{at_s}");
            assert!((stages.requests_until(at_s) - requests).abs() < 1e-9, "{at_s}");
        }
    }

    proptest! {
        #[test]
        fn no_text_panics(text in ".{0,40}") {
            let _ = Stages::parse(&text);
        }

        #[test]
        fn what_is_stored_comes_back(rates in prop::collection::vec((0_u32..1000, 0_u32..1000, 1_u64..100_000), 1..9)) {
            let stages = Stages(rates.into_iter().map(|(from, to, ms)| Stage {
                name: None, from_per_s: from.into(), to_per_s: to.into(), duration: Duration::from_millis(ms),
            }).collect());
            let stored = serde_json::to_string(&stages).expect("JSON");
            prop_assert_eq!(serde_json::from_str::<Stages>(&stored).expect("stages"), stages);
        }
    }
}
