//! Two commits against each other: a study of both at once, in turn, made out of that of the project.

use std::io;
use std::path::{Path, PathBuf};

use prony_supervisor::ConfinedFolder;

use toml::{Table, Value};

use super::build::{Done, Job, Source};
use super::study;
use super::task::Log;
use super::verdict;

/// More than `prony study` takes: a file is not read further than that.
const FILE_BYTES_MAX: u64 = 2 << 20;
/// Runs of each cell, if the study has less: enough to resolve differences that single builds hint at.
const LEAST_REPEATS: i64 = 10;
/// What targets are called after their name, as of which commit they are.
const SIDES: [&str; 2] = ["-before", "-after"];
/// Keys of the project's study that don't apply to two commits.
const LEFT_OUT: [&str; 10] =
    ["name", "title", "source", "intro", "short", "compare", "threshold", "thresholds", "published", "text"];

/// Writes the study of both commits, runs it, and reads its result.
pub(super) fn run(job: &mut Job<'_>, log: &mut Log<'_>) -> Done {
    let Some(file) = job.definition.and_then(|definition| definition.study.clone()) else {
        return Done::failed("the project has no study any more: name one in its definition");
    };
    let [base, commit] = job.sources.as_slice() else { return Done::failed("nothing was checked out") };
    let commit = commit.clone();
    let workspace = match job.workspace.open() {
        Ok(workspace) => workspace,
        Err(error) => return Done::failed(format!("failed to open the files of the build ({error})")),
    };
    let written = match write(&workspace, &file, [base, &commit], job.detail.build.id) {
        Ok(written) => written,
        Err(words) => {
            log.line(&words);
            return Done::failed(words);
        }
    };
    let (done, found) = study::measure(job, &commit, &written, log);
    let Some((mut study, result)) = found else { return done };
    let (verdict, words) = verdict::of_comparison(&result);
    study.verdict = Some(verdict);
    study.words = words.or(study.words.take());
    job.study = Some(study);
    done
}

/// Writes the study of both commits beside that of the second, and returns where. A build may have put links in the place of
/// any of it.
fn write(
    workspace: &ConfinedFolder,
    file: &Path,
    sources: [&Source; 2],
    build: prony_lab_model::BuildId,
) -> Result<PathBuf, String> {
    let mut texts = Vec::new();
    let mut folders = Vec::new();
    for source in sources {
        let failed =
            |error: io::Error| format!("failed to read {} of {} ({error})", file.display(), source.commit);
        let name = source.folder.file_name().unwrap_or_default();
        let bytes = workspace.read(Path::new(name).join(file), FILE_BYTES_MAX).map_err(failed)?;
        texts.push(String::from_utf8(bytes).map_err(|error| failed(io::Error::other(error)))?);
        folders.push(source.folder.join(file.parent().unwrap_or(Path::new(""))));
    }
    let title = format!("{} against {}", short(&sources[1].commit), short(&sources[0].commit));
    let text = of_both([&texts[0], &texts[1]], [&folders[0], &folders[1]], &title)?;
    let path = folders[1].join(format!("prony-comparison-{build}.toml"));
    let name = path.strip_prefix(sources[1].folder.parent().unwrap_or(Path::new("/"))).unwrap_or(&path);
    let made = workspace.write_new(name, text.as_bytes());
    made.map_err(|error| format!("failed to write {} ({error})", path.display()))?;
    Ok(path)
}

fn short(commit: &str) -> &str {
    commit.get(..10).unwrap_or(commit)
}

/// A study of what both study files call by the same name: each target twice, of either commit, under the loads of the
/// second.
fn of_both(texts: [&str; 2], folders: [&Path; 2], title: &str) -> Result<String, String> {
    let [base, mut study] = texts.map(str::parse::<Table>);
    let unreadable = |error: &toml::de::Error| format!("a study file is no TOML: {}", error.message());
    let base = base.map_err(|error| unreadable(&error))?;
    let study = study.as_mut().map_err(|error| unreadable(error))?;
    for key in LEFT_OUT {
        study.remove(key);
    }
    let targets = |table: &Table| table.get("targets").and_then(Value::as_table).cloned().unwrap_or_default();
    let sides = [targets(&base), targets(study)];
    let mut both = Table::new();
    let mut compare = Vec::new();
    for (name, after) in &sides[1] {
        let Some(before) = sides[0].get(name) else { continue };
        // One that runs already is the same for both.
        let Some(pair) = pair([before, after], folders) else { continue };
        let [a, b] = SIDES.map(|side| format!("{name}{side}"));
        for (name, target) in [&a, &b].into_iter().zip(pair) {
            both.insert(name.clone(), Value::Table(target));
        }
        let side =
            |name: String| Value::Table(Table::from_iter([("target".to_owned(), Value::String(name))]));
        compare.push(Value::Table(Table::from_iter([
            ("title".to_owned(), Value::String(format!("{name}: {title}"))),
            ("a".to_owned(), side(a)),
            ("b".to_owned(), side(b)),
        ])));
    }
    if both.is_empty() {
        return Err(
            "both commits have no target in common that a study starts: nothing can be compared".to_owned()
        );
    }
    let known: Vec<String> =
        sides[1].keys().filter(|name| both.contains_key(&format!("{name}{}", SIDES[0]))).cloned().collect();
    if let Some(matrix) = study.get_mut("matrix").and_then(Value::as_table_mut) {
        double(matrix, &known);
    }
    let repeats = study.get("repeats").and_then(Value::as_integer).unwrap_or(1);
    let has_loads = without_searches(study);
    let least = if has_loads { LEAST_REPEATS } else { 1 };
    study.insert("repeats".to_owned(), Value::Integer(repeats.max(least)));
    study.insert("order".to_owned(), Value::String("random".to_owned()));
    study.insert("name".to_owned(), Value::String("comparison".to_owned()));
    study.insert("title".to_owned(), Value::String(title.to_owned()));
    study.insert("targets".to_owned(), Value::Table(both));
    study.insert("compare".to_owned(), Value::Array(compare));
    toml::to_string(study).map_err(|error| format!("failed to write the study of both commits ({error})"))
}

/// Leaves out searches for a capacity, which take minutes each, where there are loads that can be measured in turn; returns
/// whether there are. Searches alone are compared by their bounds, however few.
fn without_searches(study: &mut Table) -> bool {
    let Some(loads) = study.get("loads").and_then(Value::as_table) else { return true };
    let is_search = |load: &Value| load.get("kind").and_then(Value::as_str) == Some("capacity");
    let searches: Vec<String> =
        loads.iter().filter(|(_, load)| is_search(load)).map(|(name, _)| name.clone()).collect();
    if searches.is_empty() || searches.len() == loads.len() {
        return searches.is_empty();
    }
    let matrix = study.entry("matrix").or_insert_with(|| Value::Table(Table::new()));
    let Some(matrix) = matrix.as_table_mut() else { return true };
    if let Some(Value::Array(chosen)) = matrix.get_mut("load") {
        chosen.retain(|name| !searches.iter().any(|search| name.as_str() == Some(search)));
    } else {
        let names = searches.into_iter().map(Value::String).collect();
        let point = Table::from_iter([("load".to_owned(), Value::Array(names))]);
        let excluded = matrix.entry("exclude").or_insert_with(|| Value::Array(Vec::new()));
        if let Some(excluded) = excluded.as_array_mut() {
            excluded.push(Value::Table(point));
        }
    }
    true
}

/// A target of either commit, in its folder; none where it is not started.
fn pair(targets: [&Value; 2], folders: [&Path; 2]) -> Option<[Table; 2]> {
    let mut pair = targets.map(|target| target.as_table().cloned().unwrap_or_default());
    for (target, folder) in pair.iter_mut().zip(folders) {
        if !target.contains_key("serve") && !target.contains_key("command") {
            return None;
        }
        if target.contains_key("command") {
            let inner = target.get("folder").and_then(Value::as_str).unwrap_or(".");
            let folder = folder.join(inner).to_string_lossy().into_owned();
            target.insert("folder".to_owned(), Value::String(folder));
        }
        // Both would want the same.
        target.remove("port");
    }
    Some(pair)
}

/// Has every place of the matrix that names a target name those of both sides.
fn double(matrix: &mut Table, known: &[String]) {
    let both = |name: &Value| -> Vec<Value> {
        let text = name.as_str().unwrap_or_default();
        let is_known = known.iter().any(|known| known == text);
        SIDES.iter().filter(|_| is_known).map(|side| Value::String(format!("{text}{side}"))).collect()
    };
    if let Some(Value::Array(targets)) = matrix.get_mut("target") {
        *targets = targets.iter().flat_map(both).collect();
    }
    for key in ["exclude", "include"] {
        let Some(Value::Array(points)) = matrix.get_mut(key) else { continue };
        let doubled = points.iter().flat_map(|point| match point.get("target") {
            Some(Value::Array(names)) => {
                let mut point = point.clone();
                if let Some(table) = point.as_table_mut() {
                    table.insert("target".to_owned(), Value::Array(names.iter().flat_map(both).collect()));
                }
                vec![point]
            }
            Some(name) => both(name)
                .into_iter()
                .map(|name| {
                    let mut point = point.clone();
                    if let Some(table) = point.as_table_mut() {
                        table.insert("target".to_owned(), name);
                    }
                    point
                })
                .collect(),
            None => vec![point.clone()],
        });
        *points = doubled.collect();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FOLDERS: [&str; 2] = ["/room/base/bench", "/room/source/bench"];

    fn made(base: &str, commit: &str) -> Result<Table, String> {
        let text = of_both([base, commit], FOLDERS.map(Path::new), "new against old")?;
        Ok(text.parse().expect("TOML"))
    }

    fn check(base: &str, commit: &str, expected: &str) {
        assert_eq!(made(base, commit).expect("a study"), expected.parse::<Table>().expect("TOML"));
    }

    #[test]
    fn each_target_is_there_twice() {
        check(
            "[targets.kv]\ncommand = \"./kv --old\"",
            "title = \"KV\"\nrepeats = 3\n[targets.kv]\ncommand = \"./kv\"\nfolder = \"..\"\nport = 3000\n\
             [targets.gone]\ncommand = \"./gone\"\n[loads.a]\nconnections = 1\n[[threshold]]\nmetric = \"p99\"\nat-most = 1",
            "name = \"comparison\"\ntitle = \"new against old\"\nrepeats = 10\norder = \"random\"\n\
             [targets.kv-before]\ncommand = \"./kv --old\"\nfolder = \"/room/base/bench/.\"\n\
             [targets.kv-after]\ncommand = \"./kv\"\nfolder = \"/room/source/bench/..\"\n[loads.a]\nconnections = 1\n\
             [[compare]]\ntitle = \"kv: new against old\"\na = { target = \"kv-before\" }\nb = { target = \"kv-after\" }",
        );
    }

    #[test]
    fn the_matrix_names_both_sides() {
        let text = "repeats = 20\n[targets.a]\nserve = \"null\"\n[targets.b]\nserve = \"null\"\n[matrix]\n\
                    target = [\"a\", \"b\"]\nexclude = [{ target = \"a\", load = \"x\" }, { load = \"y\" }]\n\
                    include = [{ target = [\"a\", \"b\"] }]";
        let study = made(text, text).expect("a study");
        let expected: Table = "target = [\"a-before\", \"a-after\", \"b-before\", \"b-after\"]\n\
            exclude = [{ target = \"a-before\", load = \"x\" }, { target = \"a-after\", load = \"x\" }, { load = \"y\" }]\n\
            include = [{ target = [\"a-before\", \"a-after\", \"b-before\", \"b-after\"] }]"
            .parse()
            .expect("TOML");
        assert_eq!(study["matrix"].as_table(), Some(&expected));
        assert_eq!(study["repeats"].as_integer(), Some(20));
    }

    #[test]
    fn searches_are_left_to_the_bounds() {
        let loads = "[targets.a]\nserve = \"null\"\n[loads.x]\n[loads.launch]\nkind = \"capacity\"\n";
        let study = made(loads, loads).expect("a study");
        let expected: Table = "exclude = [{ load = [\"launch\"] }]".parse().expect("TOML");
        assert_eq!((study["matrix"].as_table(), study["repeats"].as_integer()), (Some(&expected), Some(10)));
        let chosen = format!("{loads}[matrix]\nload = [\"launch\", \"x\"]");
        let study = made(&chosen, &chosen).expect("a study");
        assert_eq!(study["matrix"].as_table(), Some(&"load = [\"x\"]".parse().expect("TOML")));
        let alone = loads.replace("[loads.x]\n", "");
        let study = made(&alone, &alone).expect("a study");
        assert_eq!((study.get("matrix"), study["repeats"].as_integer()), (None, Some(1)));
    }

    #[test]
    fn incomparable_studies_are_refused() {
        let kv = "[targets.kv]\ncommand = \"./kv\"";
        let url = "[targets.kv]\nurl = \"http://127.0.0.1:1\"";
        for (base, commit) in [(kv, "[targets.other]\ncommand = \"x\""), (url, url), ("", kv)] {
            assert!(made(base, commit).expect_err("nothing").contains("no target in common"));
        }
        assert!(made(kv, "[targets").expect_err("no TOML").starts_with("a study file is no TOML"));
    }

    #[test]
    fn a_study_that_leads_out_is_neither_read_nor_written() {
        let room = tempfile::tempdir().expect("room");
        let outside = room.path().join("outside");
        let files = room.path().join("files");
        for folder in ["outside", "files", "files/base", "files/source"] {
            std::fs::create_dir(room.path().join(folder)).expect("room");
        }
        let text = "[targets.kv]\ncommand = \"./kv\"\n";
        for folder in [&outside, &files.join("base"), &files.join("source")] {
            std::fs::write(folder.join("prony.toml"), text).expect("room");
        }
        let source = |name: &str| Source { folder: files.join(name), commit: name.to_owned() };
        let written = |name: &str, file: &str| {
            let workspace = ConfinedFolder::open(&files).expect("a folder");
            write(&workspace, Path::new(file), [&source("base"), &source(name)], prony_lab_model::BuildId(7))
        };
        assert_eq!(written("source", "prony.toml"), Ok(files.join("source/prony-comparison-7.toml")));
        assert!(written("source", "prony.toml").is_err(), "it is there already");
        assert!(written("source", "missing.toml").is_err());
        std::os::unix::fs::symlink(outside.join("prony.toml"), files.join("source/link.toml")).expect("room");
        std::fs::copy(outside.join("prony.toml"), files.join("base/link.toml")).expect("room");
        assert!(written("source", "link.toml").expect_err("a link").contains("a link is in its way"));
        std::os::unix::fs::symlink(&outside, files.join("swapped")).expect("room");
        assert!(written("swapped", "prony.toml").expect_err("a link").contains("a link is in its way"));
        assert_eq!(std::fs::read_dir(&outside).expect("there").count(), 1);
    }
}
