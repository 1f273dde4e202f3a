//! The fields of a load by itself, as they are typed.

use crate::web::fields::Fields;
use prony_lab_model::{AdHocLoad, FieldMistake, LoadAgents};

/// What was typed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct LoadFields {
    pub(super) url: String,
    pub(super) connections: String,
    pub(super) rate: String,
    pub(super) duration: String,
    pub(super) agents: String,
}

impl Default for LoadFields {
    /// What `prony run` would do with a URL alone.
    fn default() -> Self {
        let [connections, duration] = ["50", "10"].map(str::to_owned);
        Self { url: String::new(), connections, rate: String::new(), duration, agents: String::new() }
    }
}

impl LoadFields {
    /// As a form or an address says it.
    pub(super) fn of(fields: &Fields) -> Self {
        if fields.one("url").is_empty() {
            return Self::default();
        }
        let one = |name| fields.one(name).to_owned();
        Self {
            url: one("url"),
            connections: one("connections"),
            rate: one("rate"),
            duration: one("duration"),
            agents: one("agents"),
        }
    }

    /// The load that is meant; whether it may be had is another question.
    pub(super) fn read(&self) -> Result<AdHocLoad, Vec<FieldMistake>> {
        let mut mistakes = Vec::new();
        let mut wrong = |field: &str, message: &str| {
            mistakes.push(FieldMistake { field: field.to_owned(), message: message.to_owned() });
        };
        if self.url.is_empty() {
            wrong("url", "write the URL that is to be loaded, such as http://127.0.0.1:8080/");
        }
        let is_web =
            |url: &str| url::Url::parse(url).is_ok_and(|url| matches!(url.scheme(), "http" | "https"));
        if !self.url.is_empty() && !is_web(&self.url) {
            wrong("url", "write it as http://HOST:PORT/PATH or https://HOST:PORT/PATH");
        }
        let connections = self.connections.parse().unwrap_or_else(|_| {
            wrong("connections", "write a whole number, such as 50");
            0
        });
        let rate_per_s = match self.rate.as_str() {
            "" => None,
            text => {
                let read = text.parse().ok();
                if read.is_none() {
                    wrong("rate", "write requests per second, such as 200, or nothing");
                }
                read
            }
        };
        let duration_s = self.duration.parse().unwrap_or_else(|_| {
            wrong("duration", "write seconds, such as 10");
            0.0
        });
        let agents = LoadAgents::parse(&self.agents).unwrap_or_else(|problem| {
            wrong("agents", &problem.sentence());
            None
        });
        if mistakes.is_empty() {
            Ok(AdHocLoad { url: self.url.clone(), connections, rate_per_s, duration_s, agents })
        } else {
            Err(mistakes)
        }
    }
}

/// A mistake in a field of the API, beside the field of the page that is it.
pub(super) fn on_page(mistake: FieldMistake) -> FieldMistake {
    let field = match mistake.field.as_str() {
        "rate_per_s" => "rate",
        "duration_s" => "duration",
        "load" => "url",
        other => other,
    };
    FieldMistake { field: field.to_owned(), ..mistake }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(change: impl FnOnce(&mut LoadFields), wrong: &[&str]) {
        let mut fields = LoadFields { url: "http://127.0.0.1/".to_owned(), ..LoadFields::default() };
        change(&mut fields);
        let found = fields.read().err().unwrap_or_default();
        assert_eq!(found.iter().map(|mistake| mistake.field.as_str()).collect::<Vec<_>>(), wrong);
    }

    #[test]
    fn each_mistake_stands_beside_its_field() {
        check(|_| {}, &[]);
        check(|fields| fields.rate = "200".to_owned(), &[]);
        check(|fields| fields.agents = "a, b".to_owned(), &[]);
        check(|fields| fields.agents = "a,a".to_owned(), &["agents"]);
        check(|fields| fields.url.clear(), &["url"]);
        check(|fields| fields.url = "ftp://127.0.0.1/".to_owned(), &["url"]);
        check(|fields| fields.connections = "many".to_owned(), &["connections"]);
        check(|f| (f.rate, f.duration) = ("x".to_owned(), "10s".to_owned()), &["rate", "duration"]);
    }
}
