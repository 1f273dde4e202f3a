//! What comes out of a file with several requests: a scenario, and what of the file is not in it.

use std::collections::BTreeMap;

use prony_model::{Generated, Problem, Scenario};

use crate::{LeftOut, toml};

/// A file is held in memory, several times over.
pub const FILE_BYTES_MAX: usize = 16 << 20;

/// A scenario in the words of another tool.
#[derive(Debug, Clone, PartialEq)]
pub struct ImportedScenario {
    /// What sessions do. Files that it names are not read: their content is empty.
    pub scenario: Scenario,
    /// The server, if the file names it.
    pub base: Option<String>,
    /// Variables to which the file gives no value; the scenario has an empty one.
    pub unset: Vec<String>,
    /// What is not in it, in the order of the text.
    pub left_out: Vec<LeftOut>,
}

/// What is known beside the text of a file.
#[derive(Debug, Clone, Copy)]
pub struct Context<'a> {
    /// The file's name without its ending: what the scenario is called.
    pub name: &'a str,
    /// Values of variables, which replace those of the file.
    pub variables: &'a [(String, String)],
}

impl ImportedScenario {
    /// The scenario as a file, with what was left out in comments.
    pub fn to_toml(&self) -> String {
        toml::write(self)
    }

    /// The same, unless it could not be run.
    ///
    /// # Errors
    /// What the format can't have, such as more steps than a scenario may have.
    pub(crate) fn checked(mut self) -> Result<Self, Problem> {
        self.left_out.sort_by_key(|part| part.line);
        match self.scenario.problems().into_iter().next() {
            Some(misplaced) => Err(misplaced.problem),
            None => Ok(self),
        }
    }
}

/// A problem in line `line`.
pub(crate) fn at(line: usize, problem: Problem) -> Problem {
    problem.after(&format!("line {line}: "))
}

/// What is left out of line `line`.
pub(crate) fn left_out(line: usize, what: impl Into<String>, instead: &'static str) -> LeftOut {
    LeftOut { line, what: what.into(), instead }
}

/// Refuses a text that is too large.
pub(crate) fn check_size(text: &str) -> Result<(), Problem> {
    if text.len() > FILE_BYTES_MAX {
        return Err(Problem::new("this file is larger than 16 MiB", "import a part of it"));
    }
    Ok(())
}

/// Gives every variable of another tool a name that a scenario can have.
#[derive(Debug, Default)]
pub(crate) struct Names {
    own: BTreeMap<String, String>,
    taken: Taken,
}

impl Names {
    /// The name that stands for `original` in the scenario.
    pub(crate) fn of(&mut self, original: &str) -> String {
        if let Some(own) = self.own.get(original) {
            return own.clone();
        }
        let mut wanted = slug(original, '_', "value");
        if Generated::NAMES.contains(&wanted.as_str()) {
            wanted.push_str("_value");
        }
        let own = self.taken.unique(&wanted, '_');
        self.own.insert(original.to_owned(), own.clone());
        own
    }
}

/// `text` as a name: letters, digits, `-` and `_`, beginning with a letter; `otherwise` if none is left.
pub(crate) fn slug(text: &str, joint: char, otherwise: &str) -> String {
    /// So that a number fits behind it.
    const BYTES_MAX: usize = Scenario::NAME_BYTES_MAX - 8;
    let mut name = String::new();
    for character in text.chars() {
        let is_part = character.is_ascii_alphanumeric() || "_-".contains(character);
        if is_part {
            name.push(character);
        } else if !name.ends_with(joint) {
            name.push(joint);
        }
    }
    let name = name.trim_matches(|character: char| "_-".contains(character));
    let name = &name[..name.len().min(BYTES_MAX)];
    let begins = name.starts_with(|first: char| first.is_ascii_alphabetic());
    match (begins, name.is_empty()) {
        (_, true) => otherwise.to_owned(),
        (true, _) => name.to_owned(),
        (false, _) => format!("{}{joint}{name}", otherwise.chars().next().unwrap_or('v')),
    }
}

/// Names that are taken, each with the number that was put behind it last.
#[derive(Debug, Default)]
pub(crate) struct Taken(BTreeMap<String, u32>);

impl Taken {
    /// `wanted`, with a number behind it where it is taken. Numbers go on where they ended: a file may have the same name
    /// for each of many requests.
    pub(crate) fn unique(&mut self, wanted: &str, joint: char) -> String {
        let Some(last) = self.0.get(wanted).copied() else {
            self.0.insert(wanted.to_owned(), 1);
            return wanted.to_owned();
        };
        let mut numbers = last + 1..;
        let free = numbers.find_map(|number| {
            let name = format!("{wanted}{joint}{number}");
            (!self.0.contains_key(&name)).then_some((number, name))
        });
        let (number, name) = free.expect("invariant: numbers don't end");
        self.0.insert(wanted.to_owned(), number);
        self.0.insert(name.clone(), 1);
        name
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names() {
        let check = |text: &str, expected: &str| assert_eq!(slug(text, '-', "step"), expected, "{text}");
        check("GET /users/{id}", "GET-users-id");
        check("", "step");
        check("Grüße", "Gr-e");
        check("404", "s-404");
        check(&"x".repeat(500), &"x".repeat(56));
        let mut names = Names::default();
        let own: Vec<String> = ["a b", "a.b", "time", "a b"].iter().map(|name| names.of(name)).collect();
        assert_eq!(own, ["a_b", "a_b_2", "time_value", "a_b"]);
    }

    #[test]
    fn a_name_that_comes_often_is_numbered_on() {
        let mut taken = Taken::default();
        let names: Vec<String> = ["a", "a-3", "a", "a", "a"].map(|name| taken.unique(name, '-')).into();
        assert_eq!(names, ["a", "a-3", "a-2", "a-4", "a-5"]);
        // With a search from 2 on each time, this would take hours.
        for _ in 0..100_000 {
            taken.unique("b", '-');
        }
        assert_eq!(taken.unique("b", '-'), "b-100001");
    }
}
