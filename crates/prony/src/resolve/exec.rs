//! What is meant by `prony exec …`: the plan behind it, and where results go.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use prony_model::{
    ExecCommand, ExecOptions, ExecOrder, ExecOutput, ExecPlan, ExpectedExits, StartUpSource, StartUpTry,
    without_secrets,
};

use super::outputs::outputs;
use super::{parameters, program};
use crate::args::{ALL_FAILURES, ExecArgs, PageFormat};
use crate::cli_error::CliError;
use crate::output::Destination;

/// A series, and what to do with its result.
#[derive(Debug)]
pub(crate) struct ResolvedExec {
    pub(crate) plan: ExecPlan,
    pub(crate) format: PageFormat,
    pub(crate) files: Vec<(Export, Destination)>,
    pub(crate) quiet: bool,
}

/// What a file of results holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Export {
    /// Everything.
    Own,
    /// hyperfine's JSON.
    Json,
    /// hyperfine's Markdown table.
    Markdown,
    /// hyperfine's CSV.
    Csv,
}

impl Export {
    /// The flag that asks for it.
    fn flag(self) -> &'static str {
        match self {
            Self::Own => "--json",
            Self::Json => "--export-json",
            Self::Markdown => "--export-markdown",
            Self::Csv => "--export-csv",
        }
    }
}

/// What `args` mean. `seed` stands in for one that was not typed.
pub(crate) fn resolve_exec(args: &ExecArgs, seed: u64) -> Result<ResolvedExec, CliError> {
    let shell = shell(args)?;
    let commands = commands(args, shell.is_some())?;
    let reference = args.reference.as_deref().map(|typed| reference(typed, &commands)).transpose()?;
    let order = if args.sequential { ExecOrder::Sequential } else { ExecOrder::Interleaved };
    let plan = ExecPlan {
        commands,
        shell,
        runs: options(args).runs(),
        order,
        reference,
        exits: exits(args)?,
        input: args.input.clone(),
        output: output(args),
        timeout: options(args).timeout(),
        seed: args.seed.unwrap_or(seed),
    };
    plan.check()?;
    let (format, files) = files(args, &plan.output)?;
    let files = files
        .into_iter()
        .map(|(export, path)| Ok((export, Destination::prepare(export.flag(), &path, args.force)?)));
    Ok(ResolvedExec { plan, format, files: files.collect::<Result<_, CliError>>()?, quiet: args.quiet })
}

/// Every command with every combination of parameters filled in; the parameters change last.
fn commands(args: &ExecArgs, has_shell: bool) -> Result<Vec<ExecCommand>, CliError> {
    let combinations = parameters::combinations(args)?;
    let total = combinations.len() * args.commands.len();
    let mut commands = Vec::with_capacity(total);
    if args.names.len() > total {
        return Err(CliError::usage(format!("{} names for {total} commands", args.names.len()))
            .hint("leave some out"));
    }
    for combination in &combinations {
        for (typed, line) in args.commands.iter().enumerate() {
            let place =
                Place { typed, of_typed: args.commands.len(), at: commands.len(), total, combination };
            commands.push(command(args, line, &place, has_shell)?);
        }
    }
    Ok(commands)
}

/// Where a command stands among those typed and among all.
struct Place<'a> {
    typed: usize,
    of_typed: usize,
    at: usize,
    total: usize,
    combination: &'a BTreeMap<String, String>,
}

impl Place<'_> {
    /// Which of `given` belongs here: the only one, the one for the command typed, or the one for this combination.
    fn of<'a>(&self, given: &'a [String], flag: &str) -> Result<Option<&'a String>, CliError> {
        match given.len() {
            0 => Ok(None),
            1 => Ok(given.first()),
            number if number == self.total => Ok(given.get(self.at)),
            number if number == self.of_typed => Ok(given.get(self.typed)),
            number => Err(CliError::usage(format!("{number} times {flag} for {} commands", self.total))
                .hint("give it once for all commands, or once for each")),
        }
    }

    fn filled(&self, template: &str) -> String {
        parameters::filled(template, self.combination)
    }
}

fn command(
    args: &ExecArgs,
    template: &str,
    place: &Place<'_>,
    has_shell: bool,
) -> Result<ExecCommand, CliError> {
    let line = place.filled(template);
    let of_all = |template: &Option<String>| template.as_deref().map(|template| place.filled(template));
    let of_each = |given: &[String], flag: &str| {
        place.of(given, flag).map(|template| template.map(|template| place.filled(template)))
    };
    let named = if args.names.len() == place.of_typed { place.typed } else { place.at };
    let start_up = match args.startup.as_deref() {
        Some("none") => Vec::new(),
        Some(named) => vec![StartUpTry { line: place.filled(named), source: StartUpSource::Named }],
        None => program::start_ups(&line, has_shell),
    };
    Ok(ExecCommand {
        name: args.names.get(named).map_or_else(|| without_secrets(&line), |name| place.filled(name)),
        parameters: place.combination.clone(),
        setup: of_all(&args.setup),
        prepare: of_each(&args.prepare, "--prepare")?,
        conclude: of_each(&args.conclude, "--conclude")?,
        cleanup: of_all(&args.cleanup),
        start_up,
        line,
    })
}

fn options(args: &ExecArgs) -> ExecOptions {
    let ExecArgs { warmup, runs, min_runs, max_runs, min_time, timeout, .. } = *args;
    ExecOptions { warmup, runs, min_runs, max_runs, min_time, timeout }
}

fn shell(args: &ExecArgs) -> Result<Option<Vec<String>>, CliError> {
    let typed = match args.shell.as_deref() {
        _ if args.no_shell => return Ok(None),
        Some("none") => return Ok(None),
        None | Some("default") => "sh",
        Some(typed) => typed,
    };
    let words = shell_words::split(typed).ok().filter(|words| !words.is_empty());
    let mut words = words.ok_or_else(|| {
        CliError::usage(format!("--shell `{typed}` is not a program with flags"))
            .hint("write for example --shell 'bash --norc'")
    })?;
    words.push("-c".to_owned());
    Ok(Some(words))
}

fn exits(args: &ExecArgs) -> Result<ExpectedExits, CliError> {
    let codes = match args.ignore_failure.as_deref() {
        None => return Ok(ExpectedExits { good: Vec::new(), go_on: false }),
        Some(ALL_FAILURES) => return Ok(ExpectedExits { good: Vec::new(), go_on: true }),
        Some(codes) => codes,
    };
    let code = |text: &str| text.trim().parse::<u8>().ok().map(i32::from);
    let good: Option<Vec<i32>> = codes.split(',').map(code).collect();
    let good = good.ok_or_else(|| {
        CliError::usage(format!("--ignore-failure `{codes}` is not a list of exit codes"))
            .hint("write -i to go on whatever fails, or the codes that are good: -i=1,2")
    })?;
    Ok(ExpectedExits { good, go_on: false })
}

fn output(args: &ExecArgs) -> ExecOutput {
    match args.output.as_deref() {
        None if args.show_output => ExecOutput::Inherit,
        None | Some("null") => ExecOutput::Null,
        Some("pipe") => ExecOutput::Pipe,
        Some("inherit") => ExecOutput::Inherit,
        Some(path) => ExecOutput::File(PathBuf::from(path)),
    }
}

/// The command that is meant by a name, or else by a number from 1.
fn reference(typed: &str, commands: &[ExecCommand]) -> Result<u32, CliError> {
    let named = commands.iter().position(|command| command.name == typed || command.line == typed);
    let numbered = || typed.parse::<usize>().ok()?.checked_sub(1).filter(|at| *at < commands.len());
    let found = named.or_else(numbered).and_then(|at| u32::try_from(at).ok());
    found.ok_or_else(|| {
        CliError::usage(format!("--reference `{typed}` is none of the commands"))
            .hint(format!("name one, or write its number: 1 to {}", commands.len()))
    })
}

/// What goes to stdout, and what to which file. A file of the commands' own output is looked at here, too.
fn files(args: &ExecArgs, output: &ExecOutput) -> Result<(PageFormat, Vec<(Export, PathBuf)>), CliError> {
    let (format, own) = outputs(args.json.as_deref(), "--format", args.format)?;
    let all = [
        (Export::Own, own),
        (Export::Json, args.export_json.as_deref()),
        (Export::Markdown, args.export_markdown.as_deref()),
        (Export::Csv, args.export_csv.as_deref()),
    ];
    let files: Vec<(Export, PathBuf)> =
        all.into_iter().filter_map(|(export, path)| Some((export, path?.to_owned()))).collect();
    let mut paths: Vec<&PathBuf> = files.iter().map(|(_, path)| path).collect();
    if let ExecOutput::File(path) = output {
        Destination::prepare("--output", path, args.force)?;
        paths.push(path);
    }
    let is_special = |path: &Path| path.metadata().is_ok_and(|file| !file.is_file());
    let twice = paths.iter().enumerate().find(|(at, path)| paths[..*at].contains(path) && !is_special(path));
    if let Some((_, path)) = twice {
        return Err(
            CliError::usage(format!("{} is to hold two things", path.display())).hint("name a file for each")
        );
    }
    Ok((format, files))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use prony_model::ExecRuns;

    use super::*;

    fn args(commands: &[&str]) -> ExecArgs {
        ExecArgs { commands: commands.iter().map(|line| (*line).to_owned()).collect(), ..ExecArgs::default() }
    }

    fn plan(args: &ExecArgs) -> ExecPlan {
        resolve_exec(args, 7).expect("it makes sense").plan
    }

    fn refused(args: &ExecArgs, expected: &str) {
        let cli_error = resolve_exec(args, 7).expect_err("it makes no sense");
        assert!(cli_error.text().starts_with(&format!("error: {expected}")), "{}", cli_error.text());
    }

    #[test]
    fn defaults_are_hyperfines() {
        let plan = plan(&args(&["true"]));
        let expected =
            ExecRuns { warmup: 0, least: 10, most: ExecPlan::RUNS_MAX, least_time: Duration::from_secs(3) };
        assert_eq!((plan.runs, plan.seed), (expected, 7));
        assert_eq!(plan.shell, Some(vec!["sh".to_owned(), "-c".to_owned()]));
        assert_eq!((plan.output, plan.order), (ExecOutput::Null, ExecOrder::Interleaved));
        refused(&args(&[]), "there is no command to run");
    }

    #[test]
    fn numbers_of_runs() {
        let check = |runs: [Option<u32>; 3], expected: (u32, u32)| {
            let [runs, min_runs, max_runs] = runs;
            let planned = plan(&ExecArgs { runs, min_runs, max_runs, ..args(&["true"]) }).runs;
            assert_eq!((planned.least, planned.most), expected);
        };
        check([Some(5), None, None], (5, 5));
        check([None, Some(20), None], (20, ExecPlan::RUNS_MAX));
        check([None, None, Some(4)], (4, 4));
        check([None, Some(3), Some(4)], (3, 4));
        refused(&ExecArgs { runs: Some(0), ..args(&["true"]) }, "0 runs measure nothing");
        let contradiction = ExecArgs { min_runs: Some(5), max_runs: Some(4), ..args(&["true"]) };
        refused(&contradiction, "at least 5 runs and at most 4 contradict each other");
    }

    #[test]
    fn each_command_gets_its_own() {
        let owned = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
        let both = ExecArgs {
            parameter_list: owned(&["n", "1,2"]),
            prepare: owned(&["p1 {n}", "p2"]),
            names: owned(&["first {n}", "second"]),
            setup: Some("s".to_owned()),
            ..args(&["a {n}", "b"])
        };
        let commands: Vec<(String, String, String)> = plan(&both)
            .commands
            .into_iter()
            .map(|command| (command.name, command.line, command.prepare.expect("one each")))
            .collect();
        let expected = [
            ("first 1", "a 1", "p1 1"),
            ("second", "b", "p2"),
            ("first 2", "a 2", "p1 2"),
            ("second", "b", "p2"),
        ];
        let expected =
            expected.map(|(name, line, prepare)| (name.to_owned(), line.to_owned(), prepare.to_owned()));
        assert_eq!(commands, expected);
        refused(
            &ExecArgs { prepare: owned(&["a", "b", "c"]), ..both.clone() },
            "3 times --prepare for 4 commands",
        );
        refused(&ExecArgs { setup: Some("s {n}".to_owned()), ..both.clone() }, "--setup differs");
        refused(&ExecArgs { names: owned(&["x"; 5]), ..both }, "5 names for 4 commands");
    }

    #[test]
    fn references_and_exit_codes() {
        let of = |typed: &str| ExecArgs { reference: Some(typed.to_owned()), ..args(&["a", "b 2", "1"]) };
        assert_eq!(plan(&of("b 2")).reference, Some(1));
        assert_eq!(plan(&of("2")).reference, Some(1));
        assert_eq!(plan(&of("1")).reference, Some(2), "a name before a number");
        refused(&of("4"), "--reference `4` is none of the commands");
        let of = |typed: &str| ExecArgs { ignore_failure: Some(typed.to_owned()), ..args(&["a"]) };
        assert_eq!(plan(&of("1,2")).exits, ExpectedExits { good: vec![1, 2], go_on: false });
        assert_eq!(plan(&of(ALL_FAILURES)).exits, ExpectedExits { good: vec![], go_on: true });
        refused(&of("x"), "--ignore-failure `x` is not a list of exit codes");
    }

    #[test]
    fn shells() {
        let of = |typed: &str| plan(&ExecArgs { shell: Some(typed.to_owned()), ..args(&["a"]) }).shell;
        assert_eq!(of("none"), None);
        assert_eq!(of("bash --norc"), Some(["bash", "--norc", "-c"].map(str::to_owned).to_vec()));
        assert_eq!(plan(&ExecArgs { no_shell: true, ..args(&["a"]) }).shell, None);
    }

    #[test]
    fn one_file_for_one_thing() {
        let file = Some(PathBuf::from("/tmp/prony-exec-twice.json"));
        let twice = ExecArgs { json: file.clone(), export_json: file, ..args(&["true"]) };
        refused(&twice, "/tmp/prony-exec-twice.json is to hold two things");
    }
}
