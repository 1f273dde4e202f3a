//! Targets and services: one for each way of starting it that the axes make.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::time::Duration;

use prony_model::{AgentChoice, TlsChoices};
use toml::de::DeTable;

use super::keys::{AskKeys, OneOrMore, ReadyKeys, SignalKey, StopKeys, TargetKeys};
use super::load::headers;
use super::matrix::{Axis, OWN_NAMES, Point};
use super::mistake::Mistakes;
use super::schema::help;
use super::template::{Placeholder, filled, placeholders, plain};
use super::tree::Section;
use super::{Host, exec, tls};
use crate::study::{Ask, Build, Launch, Ready, Stop, Target, Template};

/// Targets and services of one file: each is a process.
const ENTRIES_MAX: usize = 256;
const BUILD_WITHIN: Duration = Duration::from_mins(10);
const READY_WITHIN: Duration = Duration::from_secs(30);
const STOP_WITHIN: Duration = Duration::from_secs(5);

/// A target or a service of the file.
#[derive(Debug)]
pub(super) struct Entry<'a> {
    pub(super) name: &'a str,
    pub(super) is_service: bool,
    section: Section<'a>,
    placeholders: Vec<Placeholder>,
    /// The services that it needs, by index.
    needs: Vec<usize>,
    /// The axes whose values its texts use, or those of its services.
    axes: BTreeSet<String>,
}

/// Targets and services of the file, in its order, services first.
#[derive(Debug)]
pub(super) struct Entries<'a>(pub(super) Vec<Entry<'a>>);

/// Reads which there are and what they need.
pub(super) fn entries<'a>(root: &Section<'a>, mistakes: &mut Mistakes) -> Entries<'a> {
    let mut entries: Vec<Entry<'a>> = Vec::new();
    for (key, is_service) in [("services", true), ("targets", false)] {
        for (name, section) in root.tables(key, mistakes) {
            if !is_name(name) {
                let help = "use letters, digits, - and _, and begin with a letter";
                mistakes.add(section.at(), format!("`{name}` can't be a name"), help);
            } else if entries.iter().any(|entry| entry.name == name) {
                let help = "give one of them another name";
                mistakes.add(section.at(), format!("a service and a target are both called `{name}`"), help);
            } else if entries.len() == ENTRIES_MAX {
                mistakes.add(
                    section.at(),
                    format!("{ENTRIES_MAX} targets are the most"),
                    "use several studies",
                );
                break;
            } else {
                let placeholders = placeholders(section.table);
                let (needs, axes) = (Vec::new(), BTreeSet::new());
                entries.push(Entry { name, is_service, section, placeholders, needs, axes });
            }
        }
    }
    for at in 0..entries.len() {
        entries[at].needs = needs(&entries, at, mistakes);
    }
    Entries(entries)
}

fn is_name(name: &str) -> bool {
    const LETTERS_MAX: usize = 64;
    name.len() <= LETTERS_MAX
        && name.starts_with(|character: char| character.is_ascii_alphabetic())
        && name.chars().all(|character| character.is_ascii_alphanumeric() || "-_".contains(character))
}

/// The services that an entry names under `needs` or in `{name.port}` and `{name.url}`.
fn needs(entries: &[Entry<'_>], at: usize, mistakes: &mut Mistakes) -> Vec<usize> {
    let entry = &entries[at];
    let service = |name: &str| entries.iter().position(|other| other.is_service && other.name == name);
    let mut needs = Vec::new();
    let listed = entry.section.table.get("needs").and_then(|value| value.get_ref().as_array());
    for (item, value) in listed.into_iter().flatten().enumerate() {
        let Some(name) = value.get_ref().as_str() else { continue };
        if let Some(found) = service(name) {
            needs.push(found);
        } else {
            let names: Vec<&str> =
                entries.iter().filter(|entry| entry.is_service).map(|entry| entry.name).collect();
            let span = entry.section.item_span("needs", item);
            mistakes.add(span, format!("there is no service `{name}`"), help(name, &names));
        }
    }
    let named = entry.placeholders.iter().filter_map(|used| used.name.split_once('.'));
    needs.extend(named.filter_map(|(name, _)| service(name)));
    needs.sort_unstable();
    needs.dedup();
    needs
}

impl<'a> Entries<'a> {
    pub(super) fn target_names(&self) -> Vec<&'a str> {
        self.0.iter().filter(|entry| !entry.is_service).map(|entry| entry.name).collect()
    }

    /// Finds out which axes each entry depends on; names that mean nothing, and services that need each other in a
    /// circle, are reported.
    pub(super) fn resolve(&mut self, axes: &[Axis<'_>], mistakes: &mut Mistakes) {
        for at in 0..self.0.len() {
            let entry = &self.0[at];
            let mut own = BTreeSet::new();
            for used in &entry.placeholders {
                if axes.iter().any(|axis| axis.name == used.name) {
                    own.insert(used.name.clone());
                } else if !self.is_known(&used.name, &entry.needs) {
                    unknown(used, axes, &self.services(), mistakes);
                }
            }
            self.0[at].axes = own;
        }
        // Each round carries the axes one step along a chain of needs, and no chain is longer than all entries.
        for _ in 0..self.0.len() {
            let before: usize = self.0.iter().map(|entry| entry.axes.len()).sum();
            for at in 0..self.0.len() {
                let needs = self.0[at].needs.clone();
                let theirs: Vec<String> = needs.iter().flat_map(|need| self.0[*need].axes.clone()).collect();
                self.0[at].axes.extend(theirs);
            }
            if self.0.iter().map(|entry| entry.axes.len()).sum::<usize>() == before {
                break;
            }
        }
        self.refuse_circles(mistakes);
    }

    /// Takes away what needs nothing that is left, until nothing more goes: what is left then goes round.
    fn refuse_circles(&self, mistakes: &mut Mistakes) {
        let mut left: BTreeSet<usize> = (0..self.0.len()).collect();
        loop {
            let free =
                left.iter().copied().find(|at| self.0[*at].needs.iter().all(|need| !left.contains(need)));
            match free {
                Some(at) => left.remove(&at),
                None => break,
            };
        }
        if let Some(first) = left.first() {
            let entry = &self.0[*first];
            mistakes.add(
                entry.section.at(),
                format!("`{}` needs itself", entry.name),
                "services can't go round",
            );
        }
    }

    /// Whether `name` is filled in when an entry with these `needs` is started.
    pub(super) fn is_known(&self, name: &str, needs: &[usize]) -> bool {
        match name.split_once('.') {
            None => OWN_NAMES.contains(&name),
            Some((service, value)) => {
                OWN_NAMES.contains(&value) && needs.iter().any(|need| self.0[*need].name == service)
            }
        }
    }

    pub(super) fn services(&self) -> Vec<&'a str> {
        self.0.iter().filter(|entry| entry.is_service).map(|entry| entry.name).collect()
    }

    pub(super) fn uses(&self, axis: &str) -> bool {
        self.0.iter().any(|entry| entry.axes.contains(axis))
    }

    pub(super) fn find(&self, name: &str) -> Option<(usize, &Entry<'a>)> {
        self.0.iter().enumerate().find(|(_, entry)| !entry.is_service && entry.name == name)
    }

    pub(super) fn needs_of(&self, name: &str) -> &[usize] {
        self.find(name).map_or(&[], |(_, entry)| &entry.needs)
    }
}

/// Tells that a placeholder means nothing.
pub(super) fn unknown(used: &Placeholder, axes: &[Axis<'_>], services: &[&str], mistakes: &mut Mistakes) {
    let of_services = services.iter().flat_map(|name| OWN_NAMES.map(|value| format!("{name}.{value}")));
    let own = OWN_NAMES.map(str::to_owned).into_iter();
    let names: Vec<String> =
        axes.iter().map(|axis| axis.name.clone()).chain(own).chain(of_services).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let mut help = help(&used.name, &names);
    if !help.starts_with("did you") {
        help = format!("{help}; braces that are meant as such are doubled: {{{{{}}}}}", used.name);
    }
    mistakes.add(used.span.clone(), format!("nothing is called {{{}}}", used.name), help);
}

/// The targets that cells use, as they are found; none is made twice.
#[derive(Debug, Default)]
pub(super) struct Made {
    pub(super) targets: Vec<Target>,
    known: BTreeMap<(usize, BTreeMap<String, String>), Option<usize>>,
}

impl Made {
    /// The target that entry `at` is at `point`, by index; `None` where that can't be, which is reported.
    pub(super) fn target(
        &mut self,
        entries: &Entries<'_>,
        at: usize,
        point: &Point<'_>,
        context: &Context<'_>,
        mistakes: &mut Mistakes,
    ) -> Option<usize> {
        let entry = &entries.0[at];
        let mut key = BTreeMap::new();
        for axis in &entry.axes {
            let Some(text) = point.text(axis) else {
                let message = format!("`{}` uses {{{axis}}}, and this point has no value for it", entry.name);
                mistakes.add(point.span.clone(), message, format!("add {axis} = … to it"));
                return None;
            };
            key.insert(axis.clone(), text.to_owned());
        }
        if let Some(known) = self.known.get(&(at, key.clone())) {
            return *known;
        }
        let needs = entry.needs.iter().map(|need| self.target(entries, *need, point, context, mistakes));
        let needs: Option<Vec<usize>> = needs.collect();
        let table = filled(entry.section.table, &point.key());
        let made = needs.and_then(|needs| target(entry, &table, key.clone(), needs, context, mistakes));
        let index = made.map(|target| {
            self.targets.push(target);
            self.targets.len() - 1
        });
        self.known.insert((at, key), index);
        index
    }
}

/// What targets are checked against.
#[derive(Debug, Clone, Copy)]
pub(super) struct Context<'a> {
    /// The folder of the study file.
    pub(super) folder: &'a Path,
    pub(super) host: &'a Host,
    /// Those that share loads which name none.
    pub(super) agents: Option<&'a AgentChoice>,
    /// The agent that measures the server beside them.
    pub(super) server_agent: Option<&'a str>,
}

fn target(
    entry: &Entry<'_>,
    table: &DeTable<'_>,
    key: BTreeMap<String, String>,
    needs: Vec<usize>,
    context: &Context<'_>,
    mistakes: &mut Mistakes,
) -> Option<Target> {
    let section = Section::new(table, &entry.section.at());
    let keys: TargetKeys = section.read(mistakes)?;
    let words = keys.serve.as_deref().map(plain).unwrap_or_default();
    let is_tls = words.split_whitespace().any(|word| word == "--tls" || word.starts_with("--tls-cert"));
    let tls = keys.tls.as_ref().map(|keys| tls::choices(keys, context.folder)).transpose();
    let tls = match tls {
        Ok(tls) => tls.unwrap_or_default(),
        Err(problem) => {
            mistakes.add_problem(section.span("tls"), problem);
            return None;
        }
    };
    let default = if is_tls { "https://127.0.0.1:{port}" } else { "http://127.0.0.1:{port}" };
    let address = Address { typed: keys.url.as_deref(), default, is_service: entry.is_service, tls: &tls };
    let url = url(&section, &address, mistakes)?;
    if keys.port == Some(0) {
        mistakes.add(section.span("port"), "port 0 is nobody's", "leave it out for a free one");
        return None;
    }
    Some(Target {
        name: entry.name.to_owned(),
        key,
        url,
        tls,
        port: keys.port,
        needs,
        ready: ready(keys.ready.as_ref()),
        stop: stop(keys.stop.as_ref()),
        prepare: keys.prepare.iter().map(ask).collect(),
        commit: keys.commit.as_deref().map(plain),
        launch: launch(&section, &keys, context, mistakes)?,
    })
}

fn launch(
    section: &Section<'_>,
    keys: &TargetKeys,
    context: &Context<'_>,
    mistakes: &mut Mistakes,
) -> Option<Launch> {
    let launch = match (&keys.serve, &keys.command, &keys.url) {
        (Some(_), Some(_), _) => {
            mistakes.add(
                section.span("command"),
                "`serve` and `command` both start it",
                "leave out one of them",
            );
            return None;
        }
        (None, None, None) => {
            let help = "write serve = \"null\", command = \"…\", or the url of one that runs already";
            mistakes.add(section.at(), "nothing says how this is started", help);
            return None;
        }
        (Some(line), None, _) => {
            let words = exec::split(section, "serve", line, mistakes)?;
            if let Err(problem) = (context.host.serve)(&words) {
                mistakes.add_problem(section.span("serve"), problem);
                return None;
            }
            Launch::Serve(words.into_iter().map(Template).collect())
        }
        (None, Some(line), _) => command(section, line, keys, context, mistakes)?,
        (None, None, Some(_)) => Launch::Running,
    };
    if !matches!(launch, Launch::Command { .. }) {
        for key in ["build", "build-within", "folder", "environment"] {
            if section.table.contains_key(key) {
                let message = format!("`{key}` is of no use without `command`");
                mistakes.add(section.span(key), message, "leave it out");
                return None;
            }
        }
    }
    Some(launch)
}

fn command(
    section: &Section<'_>,
    line: &str,
    keys: &TargetKeys,
    context: &Context<'_>,
    mistakes: &mut Mistakes,
) -> Option<Launch> {
    let words = exec::split(section, "command", line, mistakes)?;
    let folder = context.folder.join(keys.folder.as_deref().map(plain).unwrap_or_default());
    if !folder.is_dir() {
        let help = "it begins at the study file";
        mistakes.add(section.span("folder"), format!("there is no folder {}", folder.display()), help);
        return None;
    }
    let lines = keys.build.clone().map(OneOrMore::into_list).unwrap_or_default();
    let lines = lines.iter().map(|line| exec::split(section, "build", &plain(line), mistakes));
    let build = Build {
        lines: lines.collect::<Option<_>>()?,
        within: keys.build_within.as_ref().map_or(BUILD_WITHIN, |length| length.0),
    };
    let program = folder.join(plain(&words[0]));
    // What is built may not be there yet.
    if words[0].contains('/') && !words[0].contains('{') && build.lines.is_empty() && !program.is_file() {
        let help = "it begins at the target's folder; what must be built first goes to `build`";
        mistakes.add(section.span("command"), format!("there is no program {}", program.display()), help);
        return None;
    }
    let environment = keys.environment.iter();
    Some(Launch::Command {
        line: words.into_iter().map(Template).collect(),
        build,
        folder,
        environment: environment.map(|(name, value)| (name.clone(), Template(value.to_string()))).collect(),
    })
}

/// Where a target answers, as its keys say.
struct Address<'a> {
    typed: Option<&'a str>,
    default: &'a str,
    is_service: bool,
    tls: &'a TlsChoices,
}

/// Where it answers; that of a service need not be HTTP.
fn url(section: &Section<'_>, address: &Address<'_>, mistakes: &mut Mistakes) -> Option<Template> {
    const ANY_PORT: &str = "1";
    let typed = address.typed.unwrap_or(address.default).trim_end_matches('/');
    let somewhere = typed.replace("{port}", ANY_PORT);
    if !address.is_service && !somewhere.contains('{') {
        let checked = match prony_model::Target::parse(&somewhere) {
            Err(error) => Err(("url", error.problem())),
            Ok(target) => tls::check(address.tls, target).map_err(|problem| ("tls", problem)),
        };
        if let Err((key, problem)) = checked {
            mistakes.add_problem(section.span(key), problem);
            return None;
        }
    }
    Some(Template(typed.to_owned()))
}

fn ready(keys: Option<&ReadyKeys>) -> Ready {
    Ready {
        path: keys.and_then(|keys| keys.path.as_deref()).map(plain),
        status: keys.and_then(|keys| keys.status.clone()).map(|statuses| statuses.0).unwrap_or_default(),
        within: keys.and_then(|keys| keys.within.as_ref()).map_or(READY_WITHIN, |length| length.0),
    }
}

/// Numbers as on every architecture that Prony runs on (signal(7)).
fn stop(keys: Option<&StopKeys>) -> Stop {
    let signal = keys.and_then(|keys| keys.signal).unwrap_or(SignalKey::Terminate);
    Stop {
        signal: match signal {
            SignalKey::HangUp => 1,
            SignalKey::Interrupt => 2,
            SignalKey::Quit => 3,
            SignalKey::Kill => 9,
            SignalKey::First => 10,
            SignalKey::Second => 12,
            SignalKey::Terminate => 15,
        },
        within: keys.and_then(|keys| keys.within.as_ref()).map_or(STOP_WITHIN, |length| length.0),
    }
}

fn ask(keys: &AskKeys) -> Ask {
    let method = if keys.body.is_some() { "POST" } else { "GET" };
    Ask {
        method: keys.method.as_deref().unwrap_or(method).to_owned(),
        path: plain(keys.path.as_deref().unwrap_or("/")),
        headers: headers(keys.headers.clone()),
        body: keys.body.as_deref().map(plain).unwrap_or_default(),
        status: keys.status.clone().map(|statuses| statuses.0).unwrap_or_default(),
    }
}
