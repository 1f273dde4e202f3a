//! A build: what was asked for, and how far it is.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::named::named;
use super::{BuildId, BuildState, Definition, LoadAgents, ProjectId, Repeat, TaskId, TaskState, Variant};
use crate::clock::Moment;

/// A longer reference is no branch, tag or commit that anybody named.
const REFERENCE_BYTES_MAX: usize = 200;
/// RFC 5321, 4.5.3.1.3, less the brackets.
const MAIL_BYTES_MAX: usize = 254;

/// Which queue: within one, the oldest comes first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Priority {
    /// After everything else: comparisons that nobody waits for.
    Low,
    /// What people and scripts ask for.
    Normal,
    /// Before everything else.
    High,
}

/// What a build does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum BuildKind {
    /// Checks out one commit, runs its tasks and its study.
    Project,
    /// Checks out two commits and measures them in turn.
    Comparison,
    /// Loads a URL; nothing is built.
    Load,
}

/// What a build of a project is asked to be, as a form or a script says it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct BuildRequest {
    /// Name of the project.
    pub project: String,
    /// A branch, a tag, or 3 to 64 hexadecimal digits of a commit; empty is the project's branch.
    pub reference: String,
    /// For a comparison: what `reference` is compared with. Empty is none.
    pub base: String,
    /// One of the project's variants; empty is the first.
    pub variant: String,
    /// Names of the tasks to run; empty is all. `study` is the study. `tasks` is the same.
    #[serde(alias = "tasks")]
    pub tests: Vec<String>,
    /// Who is notified of the end; empty is nobody.
    pub email: String,
    /// `low`, `normal` or `high`; empty is normal.
    pub priority: String,
}

/// Something wrong with one field of a form.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FieldMistake {
    /// Name of the field.
    pub field: String,
    /// What is wrong, and what to write.
    pub message: String,
}

/// A load on a URL that somebody asks for by itself.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AdHocLoad {
    /// What is loaded; the target policy has the last word.
    pub url: String,
    /// Connections at once.
    pub connections: u32,
    /// Requests per second; absent: a closed loop.
    pub rate_per_s: Option<f64>,
    /// How long, seconds.
    pub duration_s: f64,
    /// Agents that share it: names, or how many; absent: the lab's own machine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agents: Option<LoadAgents>,
}

/// A build that is to be accepted: checked, with every default filled in.
#[derive(Debug, Clone, PartialEq)]
pub struct NewBuild {
    /// What it does.
    pub kind: BuildKind,
    /// Whose; a load by itself has none.
    pub project: Option<ProjectId>,
    /// Branch, tag or commit.
    pub reference: String,
    /// What it is compared with.
    pub base: Option<String>,
    /// Which variant; a load by itself has none.
    pub variant: Option<Variant>,
    /// Its tasks, in the order in which they run.
    pub tasks: Vec<(String, TaskKind, String)>,
    /// The load, for [`BuildKind::Load`].
    pub load: Option<AdHocLoad>,
    /// Who is notified of the end.
    pub email: Option<String>,
    /// Which queue.
    pub priority: Priority,
    /// Who asked.
    pub requested_by: String,
    /// When.
    pub requested_at: Moment,
    /// When it is no longer wanted, if it is queued still.
    pub expires_at: Moment,
}

/// What a task is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum TaskKind {
    /// The lab fetches the files.
    Checkout,
    /// A command of the project.
    Command,
    /// The study.
    Study,
    /// A load by itself.
    Load,
}

/// What a finished build says beside its baseline.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum BuildVerdict {
    /// Nothing to compare with, or nothing was measured.
    NoBaseline,
    /// Better in what was compared first.
    Faster,
    /// Worse.
    Slower,
    /// Shown to be alike.
    NoDifference,
    /// Neither could be shown.
    TooNoisy,
    /// A threshold is missed.
    ThresholdMissed,
    /// The numbers are not to be used.
    Invalid,
}

/// A build as lists show it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Build {
    /// Its number.
    pub id: BuildId,
    /// What it does.
    pub kind: BuildKind,
    /// Whose.
    pub project: Option<ProjectId>,
    /// Name of the project.
    pub project_name: Option<String>,
    /// What was asked for: branch, tag or commit; the URL of a load.
    pub reference: String,
    /// The whole commit, once it is known.
    pub commit: Option<String>,
    /// Name of the commit's author. Builds of earlier versions have none, nor have files that are no commit.
    pub commit_author: Option<String>,
    /// First line of the commit's message.
    pub commit_subject: Option<String>,
    /// When it was committed.
    pub commit_at: Option<Moment>,
    /// What it is compared with.
    pub base: Option<String>,
    /// Which variant.
    pub variant: Option<String>,
    /// How far it is.
    pub state: BuildState,
    /// Why it is there, where that needs saying.
    pub reason: Option<String>,
    /// What it says beside its baseline.
    pub verdict: Option<BuildVerdict>,
    /// Which queue.
    pub priority: Priority,
    /// Who asked.
    pub requested_by: String,
    /// When.
    pub requested_at: Moment,
    /// When a worker took it, last.
    pub started_at: Option<Moment>,
    /// When it came to its final state.
    pub ended_at: Option<Moment>,
    /// How often a worker took it.
    pub attempt: u32,
}

/// A build, whole but for the outputs of its tasks.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct BuildDetail {
    /// As lists show it.
    pub build: Build,
    /// Its tasks, in the order in which they run.
    pub tasks: Vec<Task>,
    /// The load, where it is one.
    pub load: Option<AdHocLoad>,
    /// Who is notified of the end.
    pub email: Option<String>,
    /// When it is no longer wanted, if it is queued still.
    pub expires_at: Moment,
    /// The build whose results it was compared with.
    pub baseline: Option<BuildId>,
    /// The first build of those that it repeats, and why it was requested.
    #[serde(default)]
    pub repeat_of: Option<Repeat>,
    /// The builds that repeat it, in their order, each with the reason.
    #[serde(default)]
    pub repeats: Vec<Repeat>,
}

/// A task of a build.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Task {
    /// Its number.
    pub id: TaskId,
    /// Its name.
    pub name: String,
    /// What it is.
    pub kind: TaskKind,
    /// What it runs, for people.
    pub command: String,
    /// How far it is.
    pub state: TaskState,
    /// Why, where that needs saying.
    pub reason: Option<String>,
    /// Exit code of its command.
    pub exit_code: Option<i32>,
    /// When it began.
    pub started_at: Option<Moment>,
    /// When it ended.
    pub ended_at: Option<Moment>,
    /// What it has written so far.
    pub output_bytes: u64,
}

/// Why a request is refused, one line for each field.
pub type Contradiction = Vec<FieldMistake>;

/// All of `mistakes` in a line.
pub fn describe_mistakes(mistakes: &[FieldMistake]) -> String {
    let lines: Vec<String> = mistakes.iter().map(|one| format!("{}: {}", one.field, one.message)).collect();
    lines.join("; ")
}

impl BuildRequest {
    /// The build that this asks for, of the project `id` with `definition`.
    pub fn checked(
        &self,
        id: ProjectId,
        definition: &Definition,
        by: &str,
        now: Moment,
    ) -> Result<NewBuild, Contradiction> {
        let mut mistakes = Vec::new();
        let reference = kept(reference(&self.reference, &definition.branch), "reference", &mut mistakes);
        let base = match self.base.trim() {
            "" => None,
            text => kept(self::reference(text, ""), "base", &mut mistakes),
        };
        let variant = kept(self.variant(definition), "variant", &mut mistakes);
        let tasks = kept(self.tasks(definition), "tests", &mut mistakes);
        let email = kept(email(&self.email), "email", &mut mistakes);
        let priority = kept(priority(&self.priority), "priority", &mut mistakes);
        if base.is_some() && definition.study.is_none() {
            mistakes.push(mistake("base", "this project has no study, so there is nothing to compare"));
        } else if base.is_some() && !self.tests.is_empty() && !self.tests.iter().any(|name| name == "study") {
            mistakes
                .push(mistake("tests", "a comparison needs the study: choose it, too, or clear the base"));
        } else if base.is_some() && base == reference {
            mistakes.push(mistake("base", "a commit compared with itself says nothing: choose another"));
        }
        if !mistakes.is_empty() {
            return Err(mistakes);
        }
        let made = "invariant: there is no mistake, so it was made";
        Ok(NewBuild {
            kind: if base.is_some() { BuildKind::Comparison } else { BuildKind::Project },
            project: Some(id),
            reference: reference.expect(made),
            base,
            variant: Some(variant.expect(made)),
            tasks: tasks.expect(made),
            load: None,
            email: email.expect(made),
            priority: priority.expect(made),
            requested_by: by.to_owned(),
            requested_at: now,
            expires_at: now.after(definition.queue),
        })
    }

    fn variant(&self, definition: &Definition) -> Result<Variant, String> {
        let wanted = self.variant.trim();
        let found =
            definition.variants.iter().find(|variant| wanted.is_empty() || variant.as_str() == wanted);
        found.cloned().ok_or_else(|| {
            let names: Vec<_> = definition.variants.iter().map(Variant::as_str).collect();
            format!("this project has no such variant: choose {}", names.join(" or "))
        })
    }

    /// Checkout first, then commands in the order of the definition, then the study.
    fn tasks(&self, definition: &Definition) -> Result<Vec<(String, TaskKind, String)>, String> {
        let is_known = |name: &String| {
            definition.task(name).is_some() || (name == "study" && definition.study.is_some())
        };
        if let Some(unknown) = self.tests.iter().find(|name| !is_known(name)) {
            let shown: String = unknown.chars().take(64).collect();
            return Err(format!("this project has no task `{shown}`"));
        }
        let is_wanted = |name: &str| self.tests.is_empty() || self.tests.iter().any(|wanted| wanted == name);
        let mut tasks = vec![("checkout".to_owned(), TaskKind::Checkout, String::new())];
        for task in &definition.tasks {
            if task.is_always_run || is_wanted(task.name.as_str()) {
                tasks.push((task.name.to_string(), TaskKind::Command, task.command.clone()));
            }
        }
        if let Some(study) = definition.study.as_ref().filter(|_| is_wanted("study")) {
            tasks.push(("study".to_owned(), TaskKind::Study, study.display().to_string()));
        }
        Ok(tasks)
    }
}

fn kept<T>(made: Result<T, String>, field: &str, mistakes: &mut Contradiction) -> Option<T> {
    made.map_err(|message| mistakes.push(mistake(field, &message))).ok()
}

fn mistake(field: &str, message: &str) -> FieldMistake {
    FieldMistake { field: field.to_owned(), message: message.to_owned() }
}

/// A branch, tag or commit by the rules of git-check-ref-format(1), or `default` for an empty text.
fn reference(text: &str, default: &str) -> Result<String, String> {
    let text = text.trim();
    if text.is_empty() {
        return Ok(default.to_owned());
    }
    let is_hostile = text.starts_with(['-', '/', '.'])
        || text.ends_with(['/', '.'])
        || ["..", "//", "@{", ".lock"].iter().any(|part| text.contains(part))
        || text.chars().any(|c| c.is_control() || c.is_whitespace() || "~^:?*[\\".contains(c));
    if is_hostile || text.len() > REFERENCE_BYTES_MAX {
        return Err("write a branch, a tag, or 3 to 64 hexadecimal digits of a commit".to_owned());
    }
    let is_hexadecimal = text.bytes().all(|byte| byte.is_ascii_hexdigit());
    if is_hexadecimal && !(3..=64).contains(&text.len()) {
        return Err("a commit has 3 to 64 hexadecimal digits".to_owned());
    }
    Ok(text.to_owned())
}

/// The address in `text`; nothing where it is empty. It is given to a mail command as a word of its own.
pub fn email(text: &str) -> Result<Option<String>, String> {
    let text = text.trim();
    if text.is_empty() {
        return Ok(None);
    }
    let parts = text.split_once('@').filter(|(name, host)| !name.is_empty() && !host.is_empty());
    let is_plain = text.bytes().all(|byte| byte.is_ascii_graphic() && !b",;<>\"()[]\\:".contains(&byte));
    // A leading `-` could be read as a flag by what sends it.
    if parts.is_some_and(|(_, host)| !host.contains('@'))
        && is_plain
        && text.len() <= MAIL_BYTES_MAX
        && !text.starts_with('-')
    {
        return Ok(Some(text.to_owned()));
    }
    Err("write one address, such as kim@example.org".to_owned())
}

fn priority(text: &str) -> Result<Priority, String> {
    match text.trim() {
        "" => Ok(Priority::Normal),
        text => text.parse(),
    }
}

named!(Priority, "priority", Low = "low", Normal = "normal", High = "high");
named!(BuildKind, "kind of build", Project = "project", Comparison = "comparison", Load = "load");
named!(TaskKind, "kind of task", Checkout = "checkout", Command = "command", Study = "study", Load = "load");
named!(
    BuildVerdict,
    "verdict",
    NoBaseline = "no-baseline",
    Faster = "faster",
    Slower = "slower",
    NoDifference = "no-difference",
    TooNoisy = "too-noisy",
    ThresholdMissed = "threshold-missed",
    Invalid = "invalid"
);

#[cfg(test)]
mod tests {
    use super::*;

    fn definition() -> Definition {
        Definition::read(
            "folder = \"/srv/a\"\nstudy = \"prony.toml\"\nvariants = [\"fast\", \"small\"]\n\
             [[task]]\nname = \"compile\"\ncommand = \"make\"\nalways = true\n\
             [[task]]\nname = \"lint\"\ncommand = \"make lint\"\n",
        )
        .expect("a definition")
    }

    fn checked(change: impl FnOnce(&mut BuildRequest)) -> Result<NewBuild, Vec<String>> {
        let mut request = BuildRequest { project: "a".to_owned(), ..BuildRequest::default() };
        change(&mut request);
        let fields = |mistakes: Contradiction| mistakes.into_iter().map(|mistake| mistake.field).collect();
        request.checked(ProjectId(1), &definition(), "kim", Moment(0)).map_err(fields)
    }

    fn names(build: &NewBuild) -> Vec<&str> {
        build.tasks.iter().map(|task| task.0.as_str()).collect()
    }

    #[test]
    fn defaults_are_filled_in() {
        let build = checked(|_| ()).expect("good");
        assert_eq!((build.reference.as_str(), build.kind), ("main", BuildKind::Project));
        assert_eq!(build.variant.as_ref().map(Name::as_str), Some("fast"));
        assert_eq!(names(&build), ["checkout", "compile", "lint", "study"]);
    }

    #[test]
    fn the_study_can_be_had_alone_with_what_it_needs() {
        let build = checked(|request| request.tests = vec!["study".to_owned()]).expect("good");
        assert_eq!(names(&build), ["checkout", "compile", "study"]);
    }

    #[test]
    fn contradictions_stand_beside_their_fields() {
        type Change = fn(&mut BuildRequest);
        let cases: [(Change, &[&str]); 9] = [
            (|r| r.reference = "--help".to_owned(), &["reference"]),
            (|r| r.reference = "ab".to_owned(), &["reference"]),
            (|r| r.reference = "a..b".to_owned(), &["reference"]),
            (|r| r.variant = "large".to_owned(), &["variant"]),
            (|r| r.tests = vec!["deploy".to_owned()], &["tests"]),
            (|r| r.email = "a@b@c".to_owned(), &["email"]),
            (|r| (r.email, r.priority) = ("-x@y".to_owned(), "urgent".to_owned()), &["email", "priority"]),
            (|r| r.base = "main".to_owned(), &["base"]),
            (|r| (r.base, r.tests) = ("v1".to_owned(), vec!["lint".to_owned()]), &["tests"]),
        ];
        for (change, fields) in cases {
            assert_eq!(checked(change).expect_err("refused"), fields);
        }
    }

    use super::super::Name;
}
