//! What a project is: what an administrator wrote down on the lab's side. A form never decides what is run.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Component, Path, PathBuf};
use std::time::Duration;

use prony_model::{parse_bytes, parse_duration};
use serde::{Deserialize, Deserializer};

use super::cache::{self, CacheFile};
use super::environment;
use super::forge::{StatusFile, StatusTarget};
use super::trigger::{EVERY_MAX, EVERY_MIN, POLL_MIN};
use super::{CacheDefinition, Name, SecretName, Triggers, Variant};

/// A definition is written by hand: what is larger is none.
const DEFINITION_BYTES_MAX: usize = 64 << 10;
/// More tasks make no page that anybody reads.
const TASKS_MAX: usize = 64;
/// A build that takes longer has gone wrong; a day's endurance run fits.
const LONGEST: Duration = Duration::from_hours(48);

/// How often a gate repeats a result that is neither for nor against a commit, where nothing else is written.
const GATE_REPEATS: u32 = 2;
/// A machine that is too noisy ten times stays so.
pub const GATE_REPEATS_MAX: u32 = 10;

/// A project as defined, with every default filled in.
#[derive(Debug, Clone, PartialEq)]
pub struct Definition {
    /// For people.
    pub title: String,
    /// Where its files come from.
    pub origin: Origin,
    /// The branch whose good builds are the baseline.
    pub branch: String,
    /// The study file that measures it, inside its files; without one it is built and tested only.
    pub study: Option<PathBuf>,
    /// What a request may choose from; tasks and study see the choice as `PRONY_VARIANT`. Never empty.
    pub variants: Vec<Variant>,
    /// What is done before the study, in this order; each ends the build where it fails.
    pub tasks: Vec<TaskDefinition>,
    /// What one build may use.
    pub limits: Limits,
    /// How long builds wait for their turn.
    pub queue: Duration,
    /// What is kept of old builds.
    pub retention: Retention,
    /// What its builds see of this machine beside the system, read-only: toolchains.
    pub expose: Vec<PathBuf>,
    /// The secret of the lab by which the repository is fetched: a password, or `user:password`.
    pub credential: Option<SecretName>,
    /// What has it built without anybody's asking.
    pub triggers: Triggers,
    /// Where the status of a built commit is sent.
    pub status: Option<StatusTarget>,
    /// What its commands find in their environment, beside what all builds do; by name.
    pub environment: Vec<(String, String)>,
    /// Folders that are kept between its builds.
    pub caches: Vec<CacheDefinition>,
    /// How often `prony lab gate` repeats a result that is neither for nor against a commit.
    pub gate_repeats: u32,
}

/// Where the files of a project come from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Origin {
    /// A repository that git can clone.
    Repository(String),
    /// A folder of this machine, copied for every build.
    Folder(PathBuf),
}

/// A named command of every build.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskDefinition {
    /// Its name.
    pub name: Name,
    /// What `/bin/sh -c` runs in the folder of the files.
    pub command: String,
    /// How long it may take.
    pub time: Duration,
    /// Whether it also runs where a request names other tasks: what the study cannot do without.
    pub is_always_run: bool,
    /// Whether it reaches what this machine reaches; without that, it reaches nothing but itself.
    pub has_network: bool,
    /// Secrets of the lab that it finds in its environment.
    pub secrets: Vec<SecretName>,
}

/// What one build may use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// All of it.
    pub time: Duration,
    /// Resident memory of all its processes together.
    pub memory_bytes: u64,
    /// Everything in its folder.
    pub disk_bytes: u64,
    /// What one task may write to its output.
    pub output_bytes: u64,
    /// Processes at once.
    pub processes: u32,
}

/// What is kept of old builds: outputs and files go first, figures and verdicts stay.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Retention {
    /// Outputs and files of builds that ended longer ago are removed.
    pub files: Duration,
    /// So many of the newest builds keep theirs whatever their age.
    pub builds: u32,
}

/// Why a text is no definition.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DefinitionError {
    /// It is no TOML, or has a key that nobody knows.
    #[error("{message} (line {line})")]
    Syntax {
        /// What is wrong.
        message: String,
        /// Counted from 1.
        line: usize,
    },
    /// A value can't be meant.
    #[error("`{key}`: {message}")]
    Value {
        /// Which.
        key: String,
        /// What is wrong, and what to write.
        message: String,
    },
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct DefinitionFile {
    title: Option<String>,
    repository: Option<String>,
    folder: Option<PathBuf>,
    branch: Option<String>,
    study: Option<PathBuf>,
    #[serde(default)]
    variants: Vec<Variant>,
    #[serde(default, rename = "task")]
    tasks: Vec<TaskFile>,
    #[serde(default)]
    limits: LimitsFile,
    #[serde(default, deserialize_with = "time")]
    queue: Option<Duration>,
    #[serde(default)]
    keep: RetentionFile,
    #[serde(default)]
    expose: Vec<PathBuf>,
    credential: Option<SecretName>,
    #[serde(default)]
    trigger: TriggerFile,
    status: Option<StatusFile>,
    #[serde(default)]
    environment: BTreeMap<String, String>,
    #[serde(default, rename = "cache")]
    caches: Vec<CacheFile>,
    #[serde(default)]
    gate: GateFile,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct GateFile {
    repeats: Option<u32>,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct TriggerFile {
    push: Option<SecretName>,
    #[serde(default)]
    branches: Vec<String>,
    #[serde(default, deserialize_with = "time")]
    every: Option<Duration>,
    #[serde(default, deserialize_with = "time")]
    poll: Option<Duration>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct TaskFile {
    name: Name,
    command: String,
    #[serde(default, deserialize_with = "time")]
    time: Option<Duration>,
    #[serde(default)]
    always: bool,
    #[serde(default)]
    network: bool,
    #[serde(default)]
    secrets: Vec<SecretName>,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct LimitsFile {
    #[serde(default, deserialize_with = "time")]
    time: Option<Duration>,
    #[serde(default, deserialize_with = "size")]
    memory: Option<u64>,
    #[serde(default, deserialize_with = "size")]
    disk: Option<u64>,
    #[serde(default, deserialize_with = "size")]
    output: Option<u64>,
    processes: Option<u32>,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct RetentionFile {
    #[serde(default, deserialize_with = "time")]
    files: Option<Duration>,
    builds: Option<u32>,
}

fn time<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Duration>, D::Error> {
    let text = String::deserialize(deserializer)?;
    parse_duration(&text).map(Some).map_err(serde::de::Error::custom)
}

pub(crate) fn size<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u64>, D::Error> {
    let text = String::deserialize(deserializer)?;
    parse_bytes(&text).map(Some).map_err(serde::de::Error::custom)
}

impl Definition {
    /// Reads the TOML of a definition.
    pub fn read(text: &str) -> Result<Self, DefinitionError> {
        if text.len() > DEFINITION_BYTES_MAX {
            return Err(DefinitionError::Syntax {
                message: format!("a definition has at most {} KiB", DEFINITION_BYTES_MAX >> 10),
                line: 1,
            });
        }
        let file: DefinitionFile = toml::from_str(text).map_err(|error| DefinitionError::Syntax {
            message: error.message().to_owned(),
            line: error.span().map_or(1, |span| 1 + text[..span.start].matches('\n').count()),
        })?;
        file.checked()
    }

    /// Reads the TOML of a definition that is new to the lab. What older ones may hold, though it should not be there, is
    /// refused: passwords.
    pub fn read_new(text: &str) -> Result<Self, DefinitionError> {
        let definition = Self::read(text)?;
        if let Origin::Repository(address) = &definition.origin
            && has_password(address)
        {
            return Err(wrong(
                "repository",
                "leave name and password out of the address, where many would see them: store them with `prony lab \
                 secret set REPOSITORY`, as user:password, and write credential = \"REPOSITORY\"",
            ));
        }
        if definition.credential.is_some() && !is_by_https(&definition.origin) {
            return Err(wrong("credential", "only a repository at an https address is fetched with one"));
        }
        Ok(definition)
    }

    /// Every secret that its builds could see.
    pub fn secrets(&self) -> Vec<SecretName> {
        let of_tasks = self.tasks.iter().flat_map(|task| &task.secrets);
        let mut all: Vec<SecretName> = of_tasks.chain(&self.credential).cloned().collect();
        all.sort_unstable();
        all.dedup();
        all
    }

    /// The task of that name.
    pub fn task(&self, name: &str) -> Option<&TaskDefinition> {
        self.tasks.iter().find(|task| task.name.as_str() == name)
    }
}

impl DefinitionFile {
    fn checked(self) -> Result<Definition, DefinitionError> {
        let origin = self.origin()?;
        let limits = self.limits.checked()?;
        let triggers = self.trigger.checked(&origin)?;
        let status = self.status.map(|file| file.checked(&origin)).transpose()?;
        let tasks = checked_tasks(self.tasks, limits.time)?;
        if tasks.is_empty() && self.study.is_none() {
            return Err(wrong("study", "there is nothing to do: name a study file or at least one [[task]]"));
        }
        if let Some(study) = &self.study {
            check_inside("study", study)?;
        }
        if self.expose.iter().any(|path| !path.is_absolute() || path.parent().is_none()) {
            return Err(wrong("expose", "write whole paths, from / on, of folders that hold no secrets"));
        }
        let branch = self.branch.unwrap_or_else(|| "main".to_owned());
        if branch.is_empty() || branch.starts_with('-') || branch.chars().any(char::is_control) {
            return Err(wrong("branch", "write the name of a branch, such as main"));
        }
        let mut variants = self.variants;
        if variants.is_empty() {
            variants.push("default".parse().expect("invariant: it is a name"));
        }
        if variants.iter().collect::<BTreeSet<_>>().len() < variants.len() {
            return Err(wrong("variants", "each may stand there once"));
        }
        let secrets = tasks.iter().flat_map(|task| &task.secrets);
        let environment = environment::checked(self.environment, &secrets)?;
        let caches = cache::checked(self.caches, limits.disk_bytes, self.study.as_deref())?;
        let gate_repeats = self.gate.repeats.unwrap_or(GATE_REPEATS);
        if gate_repeats > GATE_REPEATS_MAX {
            return Err(wrong("gate.repeats", &format!("at most {GATE_REPEATS_MAX}; 0 is none")));
        }
        Ok(Definition {
            title: self.title.unwrap_or_default(),
            origin,
            branch,
            study: self.study,
            variants,
            tasks,
            limits,
            queue: self.queue.unwrap_or(Duration::from_hours(24)),
            retention: Retention {
                files: self.keep.files.unwrap_or(Duration::from_hours(180 * 24)),
                builds: self.keep.builds.unwrap_or(100),
            },
            expose: self.expose,
            credential: self.credential,
            triggers,
            status,
            environment,
            caches,
            gate_repeats,
        })
    }

    fn origin(&self) -> Result<Origin, DefinitionError> {
        match (&self.repository, &self.folder) {
            (Some(repository), None) => {
                let is_plain = !repository.is_empty() && !repository.starts_with('-');
                if !is_plain || repository.chars().any(char::is_control) {
                    return Err(wrong(
                        "repository",
                        "write an address that git can clone, or an absolute path",
                    ));
                }
                Ok(Origin::Repository(repository.clone()))
            }
            (None, Some(folder)) if folder.is_absolute() => Ok(Origin::Folder(folder.clone())),
            (None, Some(_)) => Err(wrong("folder", "write the whole path, from / on")),
            (None, None) => {
                Err(wrong("repository", "say where the files are: `repository = …` or `folder = …`"))
            }
            (Some(_), Some(_)) => Err(wrong("folder", "either `repository` or `folder`, not both")),
        }
    }
}

impl TriggerFile {
    fn checked(self, origin: &Origin) -> Result<Triggers, DefinitionError> {
        let Self { push, branches, every, poll } = self;
        if every.is_some_and(|every| !(EVERY_MIN..=EVERY_MAX).contains(&every)) {
            return Err(wrong("trigger.every", "at least 10m and at most 366 days"));
        }
        if poll.is_some_and(|poll| poll < POLL_MIN) {
            return Err(wrong("trigger.poll", "at least 1m: each look asks the repository's server"));
        }
        if poll.is_some() && !matches!(origin, Origin::Repository(_)) {
            return Err(wrong(
                "trigger.poll",
                "only a repository has new commits: take `every` for a folder",
            ));
        }
        if !branches.is_empty() && push.is_none() {
            return Err(wrong(
                "trigger.branches",
                "they say which pushes count: name the secret of `push`, too",
            ));
        }
        Ok(Triggers { push, branches, every, poll })
    }
}

impl LimitsFile {
    fn checked(&self) -> Result<Limits, DefinitionError> {
        let limits = Limits {
            time: self.time.unwrap_or(Duration::from_hours(2)),
            memory_bytes: self.memory.unwrap_or(4 << 30),
            disk_bytes: self.disk.unwrap_or(8 << 30),
            output_bytes: self.output.unwrap_or(8 << 20),
            processes: self.processes.unwrap_or(1024),
        };
        if limits.time.is_zero() || limits.time > LONGEST {
            return Err(wrong("limits.time", "more than 0 and at most 48h"));
        }
        if limits.memory_bytes == 0
            || limits.disk_bytes == 0
            || limits.output_bytes == 0
            || limits.processes == 0
        {
            return Err(wrong("limits", "nothing runs with 0 of something"));
        }
        Ok(limits)
    }
}

fn checked_tasks(files: Vec<TaskFile>, longest: Duration) -> Result<Vec<TaskDefinition>, DefinitionError> {
    if files.len() > TASKS_MAX {
        return Err(wrong("task", &format!("at most {TASKS_MAX} of them")));
    }
    let mut names = BTreeSet::new();
    for file in &files {
        // The lab's own tasks stand beside them on the page of a build.
        if ["checkout", "study", "load"].contains(&file.name.as_str()) {
            return Err(wrong(
                "task.name",
                &format!("`{}` is a task of the lab's own: take another", file.name),
            ));
        }
        if !names.insert(file.name.clone()) {
            return Err(wrong("task.name", &format!("there are two tasks `{}`", file.name)));
        }
        if file.command.trim().is_empty() || file.command.contains('\0') {
            return Err(wrong("task.command", &format!("say what `{}` runs", file.name)));
        }
    }
    let made = |file: TaskFile| TaskDefinition {
        name: file.name,
        command: file.command,
        time: file.time.unwrap_or(longest).min(longest),
        is_always_run: file.always,
        has_network: file.network,
        secrets: file.secrets,
    };
    Ok(files.into_iter().map(made).collect())
}

/// Whether somebody could get in with what `address` holds: with a name alone only by https, where that is a token.
fn has_password(address: &str) -> bool {
    url::Url::parse(address).is_ok_and(|url| {
        url.password().is_some() || (url.scheme().starts_with("http") && !url.username().is_empty())
    })
}

fn is_by_https(origin: &Origin) -> bool {
    matches!(origin, Origin::Repository(address) if address.starts_with("https://"))
}

/// A path that does not lead out of the folder it is relative to.
fn check_inside(key: &str, path: &Path) -> Result<(), DefinitionError> {
    let is_inside = path.components().all(|part| matches!(part, Component::Normal(_) | Component::CurDir));
    if is_inside && path.file_name().is_some() {
        Ok(())
    } else {
        Err(wrong(key, "write a path inside the project's files, such as bench/prony.toml"))
    }
}

pub(crate) fn wrong(key: &str, message: &str) -> DefinitionError {
    DefinitionError::Value { key: key.to_owned(), message: message.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_short_definition_has_every_default() {
        let read = Definition::read("repository = \"https://example.org/a.git\"\nstudy = \"prony.toml\"")
            .expect("read");
        assert_eq!(read.branch, "main");
        assert_eq!(read.variants.iter().map(Name::as_str).collect::<Vec<_>>(), ["default"]);
        assert_eq!(read.limits.output_bytes, 8 << 20);
        assert!(read.environment.is_empty() && read.caches.is_empty());
        assert_eq!(read.gate_repeats, GATE_REPEATS);
    }

    #[test]
    fn everything_can_be_set() {
        let read = Definition::read(
            "title = \"A\"\nfolder = \"/srv/a\"\nvariants = [\"x\", \"y\"]\nqueue = \"1h\"\n\
             [[task]]\nname = \"compile\"\ncommand = \"make\"\ntime = \"5m\"\nalways = true\nnetwork = true\n\
             [limits]\ntime = \"1h\"\nmemory = \"1GiB\"\n[keep]\nfiles = \"24h\"\nbuilds = 3\n\
             [gate]\nrepeats = 0\n[environment]\nA = \"b\"\n[[cache]]\nname = \"c\"\npath = \"~/c\"\n",
        )
        .expect("read");
        let task = read.task("compile").expect("there");
        assert!(task.is_always_run && task.has_network);
        assert_eq!(task.time, Duration::from_mins(5));
        assert_eq!(read.limits.memory_bytes, 1 << 30);
        assert_eq!((read.retention.builds, read.gate_repeats), (3, 0));
        assert_eq!((read.environment.len(), read.caches.len()), (1, 1));
    }

    #[test]
    fn passwords_in_addresses_are_refused_where_they_are_new() {
        let text = |address: &str| format!("repository = \"{address}\"\nstudy = \"x\"");
        for bad in ["https://kim:pa55@h/a.git", "https://token@h/a.git", "ssh://git:pa55@h/a.git"] {
            let error = Definition::read_new(&text(bad)).expect_err(bad).to_string();
            assert!(error.contains("prony lab secret set") && !error.contains("pa55"), "{error}");
            assert!(Definition::read(&text(bad)).is_ok(), "old ones go on");
        }
        for good in ["https://h/a.git", "ssh://git@h/a.git", "git@h:a.git", "/srv/a"] {
            assert!(Definition::read_new(&text(good)).is_ok(), "{good}");
        }
        let with = format!("{}\ncredential = \"REPO\"", text("https://h/a.git"));
        let task = "[[task]]\nname = \"a\"\ncommand = \"x\"\nsecrets = [\"B\", \"A\", \"REPO\"]";
        let read = Definition::read_new(&format!("{with}\n{task}")).expect("read");
        assert_eq!(read.secrets().iter().map(SecretName::as_str).collect::<Vec<_>>(), ["A", "B", "REPO"]);
        assert!(Definition::read_new(&with.replace("https://h/", "git@h:")).is_err());
        assert!(Definition::read(&with.replace("REPO", "path")).is_err(), "no name of a secret");
    }

    #[test]
    fn mistakes_say_where_they_are() {
        for (text, where_to_look) in [
            ("", "`repository`"),
            ("folder = \"a\"\nstudy = \"x\"", "`folder`"),
            ("folder = \"/a\"", "`study`"),
            ("folder = \"/a\"\nstudy = \"../x\"", "`study`"),
            ("folder = \"/a\"\nstudy = \"/etc/passwd\"", "`study`"),
            ("folder = \"/a\"\nstudie = \"x\"", "line 2"),
            ("repository = \"--upload-pack=x\"\nstudy = \"x\"", "`repository`"),
            ("folder = \"/a\"\n[[task]]\nname = \"study\"\ncommand = \"x\"", "`task.name`"),
            ("folder = \"/a\"\n[[task]]\nname = \"a\"\ncommand = \" \"", "`task.command`"),
            ("folder = \"/a\"\nstudy = \"x\"\nexpose = [\"/\"]", "`expose`"),
            ("folder = \"/a\"\nstudy = \"x\"\nexpose = [\"tools\"]", "`expose`"),
            ("folder = \"/a\"\nstudy = \"x\"\nvariants = [\"a\", \"a\"]", "`variants`"),
            ("folder = \"/a\"\nstudy = \"x\"\n[trigger]\npoll = \"5m\"", "`trigger.poll`"),
            ("repository = \"/a\"\nstudy = \"x\"\n[trigger]\npoll = \"5s\"", "`trigger.poll`"),
            ("folder = \"/a\"\nstudy = \"x\"\n[trigger]\nevery = \"1m\"", "`trigger.every`"),
            ("folder = \"/a\"\nstudy = \"x\"\n[trigger]\nbranches = [\"a\"]", "`trigger.branches`"),
            ("folder = \"/a\"\nstudy = \"x\"\n[gate]\nrepeats = 11", "`gate.repeats`"),
        ] {
            let error = Definition::read(text).expect_err(text).to_string();
            assert!(error.contains(where_to_look), "{text}: {error}");
        }
    }
}
