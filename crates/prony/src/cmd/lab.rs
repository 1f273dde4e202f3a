//! `prony lab`: the lab, until Ctrl-C; and what is done with it beside that, a file for each.

mod agents;
mod ask;
mod backup;
mod caches;
mod check;
mod local_admin;
mod login;
mod restore;
mod secret;
mod tokens;

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::PathBuf;
use std::sync::mpsc::RecvTimeoutError::Timeout;
use std::sync::mpsc::sync_channel;
use std::time::Duration;

use prony_lab::model::Role;
use prony_lab::work::{Surroundings, Worker};
use prony_lab::{
    AccessError, DatabaseEnvironment, Lab, LabError, LabOptions, SandboxMode, StoreAddress, StoreError, serve,
};

use crate::args::{ExampleLabArgs, LabAction, LabArgs, LabPlaceArgs, LabServeArgs};
use crate::cli_error::CliError;
use crate::exit::Exit;
use crate::user_folder::UserFolder;
use crate::{output, signals};

/// How often a lab that was started on a full disk looks whether it can run builds.
const WORKER_RETRY: Duration = Duration::from_secs(1);

/// Runs the command of `args`.
pub(crate) fn lab(args: &LabArgs) -> Result<Exit, CliError> {
    match &args.action {
        None => start(&args.serve),
        Some(LabAction::Backup(args)) => backup::backup(args),
        Some(LabAction::Restore(args)) => restore::restore(args),
        Some(LabAction::Check(args)) => check::check(args),
        Some(LabAction::User(args)) => local_admin::user(args),
        Some(LabAction::Token(args)) => local_admin::token(args),
        Some(LabAction::Policy(args)) => local_admin::policy(args),
        Some(LabAction::Secret(args)) => secret::secret(args),
        Some(LabAction::ClearCaches(args)) => caches::clear(args),
        Some(LabAction::StopAll(args)) => agents::stop_all(args),
        Some(LabAction::Audit(args)) => local_admin::audit(args),
        Some(LabAction::Login(args)) => login::login(args),
        Some(LabAction::Logout(args)) => login::logout(args),
        Some(LabAction::Submit(args)) => ask::submit(args),
        Some(LabAction::Wait(args)) => ask::wait(args),
        Some(LabAction::Gate(args)) => ask::gate(args),
        Some(LabAction::Search(args)) => ask::search(args),
    }
}

/// Starts the lab, prints where it is, and ends it with the first signal.
fn start(args: &LabServeArgs) -> Result<Exit, CliError> {
    // Before there are threads, each of which would have a heap of its own.
    prony_engine::share_heaps();
    let (stop, stopped) = sync_channel(1);
    signals::on_interrupt(move || {
        // The receiver is gone only when the lab has ended already.
        let _ = stop.try_send(());
    })?;
    // Hashes of passwords, outputs and reports are large and short-lived: what they took is given back.
    prony_engine::map_large_allocations();
    let lab = Lab::open(options(args)?).map_err(|error| cli_error(&error))?;
    let is_json = args.log == "json";
    let log = lab.log().clone();
    let written = std::thread::spawn(move || {
        while let Some(entry) = log.next() {
            let line = if is_json { entry.json() } else { entry.text() };
            output::write_stderr(&format!("{line}\n"));
        }
    });
    let first = lab.first_link().map_err(|error| refused(&error))?;
    let serving = serve(&lab).map_err(|error| cli_error(&error))?;
    let scheme = if args.tls_certificate.is_some() || args.behind_proxy { "https" } else { "http" };
    for address in serving.addresses() {
        // A script waits for this line, and takes the port from it.
        output::print(&format!("listening on {scheme}://{address}/\n"))?;
    }
    if let Some((path, address)) = first.zip(serving.addresses().first()) {
        let link = format!("{scheme}://{}{path}", args.host.first().cloned().unwrap_or(address.to_string()));
        output::print(&format!("log in first at {link}\nthe link is good once, for an hour\n"))?;
    }
    // Before builds are run: what an earlier lab led is over first.
    let agents = agents::lead(&lab, &args.agents)?;
    let mut worker = if args.no_worker { None } else { worker(&lab)? };
    let is_worker_late = worker.is_none() && !args.no_worker;
    let sandbox = match &worker {
        Some(worker) => Some(worker.sandbox().describe()),
        None => is_worker_late.then(|| "builds wait until the disk has room".to_owned()),
    };
    lab.log_start(serving.addresses(), sandbox.as_deref());
    while is_worker_late && worker.is_none() && stopped.recv_timeout(WORKER_RETRY) == Err(Timeout) {
        worker = self::worker(&lab)?;
        if let Some(worker) = &worker {
            lab.log_late_worker(&worker.sandbox().describe());
        }
    }
    if !is_worker_late || worker.is_some() {
        stopped.recv().map_err(|_| CliError::internal("nobody listens for Ctrl-C any more"))?;
    }
    // What it runs is ended while pages still show how far it is.
    drop(worker);
    drop(agents);
    serving.stop();
    lab.log_stop();
    // It panics only by a fault of ours, which was reported on stderr.
    let _ = written.join();
    Ok(Exit::Good)
}

/// Runs builds from now on, and logs where that is without a sandbox. Nothing on a full disk, where they wait.
fn worker(lab: &Lab) -> Result<Option<Worker>, CliError> {
    let home = std::env::var_os("HOME").map(PathBuf::from).filter(|path| path.is_absolute());
    let state = UserFolder::State.of_all_programs();
    let worker = match Worker::start(lab, &Surroundings { home, state }) {
        Err(LabError::Store(StoreError::Full)) => return Ok(None),
        worker => worker.map_err(|error| cli_error(&error))?,
    };
    if !worker.sandbox().is_there() {
        lab.log_no_sandbox(&worker.sandbox().describe());
    }
    Ok(Some(worker))
}

/// Starts a lab with made-up builds in a temporary folder, and removes it after `wait`. Anyone who reaches it may request
/// builds, which nobody runs.
pub(super) fn example(
    args: ExampleLabArgs,
    wait: impl FnOnce() -> Result<(), CliError>,
) -> Result<Exit, CliError> {
    let folder = tempfile::Builder::new().prefix("prony-lab-").tempdir().map_err(|error| {
        CliError::internal(format!("can't make a temporary folder ({error})"))
            .hint("set TMPDIR to one with room")
    })?;
    let lab = Lab::open(LabOptions {
        listen: vec![SocketAddr::new(Ipv4Addr::LOCALHOST.into(), args.port)],
        anonymous: Some(Role::Runner),
        ..LabOptions::new(folder.path().to_owned())
    })
    .map_err(|error| cli_error(&error))?;
    lab.fill_example(args.builds).map_err(|error| cli_error(&error.into()))?;
    let serving = serve(&lab).map_err(|error| cli_error(&error))?;
    for address in serving.addresses() {
        output::print(&format!("listening on http://{address}/\n"))?;
    }
    wait()?;
    serving.stop();
    Ok(Exit::Good)
}

fn options(args: &LabServeArgs) -> Result<LabOptions, CliError> {
    let (data, store) = place(&args.place)?;
    let mut listen = vec![args.listen];
    if args.listen.ip() == IpAddr::V4(Ipv4Addr::LOCALHOST) && args.listen.port() != 0 {
        listen.push(SocketAddr::new(Ipv6Addr::LOCALHOST.into(), args.listen.port()));
    }
    Ok(LabOptions {
        data,
        store,
        listen,
        hosts: args.host.clone(),
        anonymous: args.anonymous.parse::<Role>().ok(),
        tls: args.tls_certificate.clone().zip(args.tls_key.clone()),
        is_behind_proxy: args.behind_proxy,
        proxies: args.proxy.clone(),
        public_address: args.public_address.as_deref().map(public_address).transpose()?,
        program: prony_supervisor::SELF.into(),
        search_path: std::env::var("PATH").unwrap_or_default(),
        mail: args.mail_command.as_deref().map(mail_command).transpose()?,
        operator_mail: args.operator_mail.clone(),
        disk_alert_bytes: args.disk_alert,
        has_worker: !args.no_worker,
        sandbox: match args.sandbox.as_str() {
            "require" => SandboxMode::Require,
            "off" => SandboxMode::Off,
            _ => SandboxMode::Auto,
        },
    })
}

/// Where people reach the lab, without a slash at its end.
fn public_address(text: &str) -> Result<String, CliError> {
    prony_lab::Client::address(text).map_err(|_| {
        CliError::usage(format!("--public-address {text:?} is no address of a lab"))
            .hint("write it as https://lab.example.org")
    })
}

/// The words of a command, as a shell would take them.
fn mail_command(text: &str) -> Result<Vec<String>, CliError> {
    shell_words::split(text).ok().filter(|words| !words.is_empty()).ok_or_else(|| {
        CliError::usage(format!("--mail-command {text:?} is no command"))
            .hint("write a program and its flags: --mail-command '/usr/sbin/sendmail -i'")
    })
}

/// The folder and the store that `args` name, or those by default.
fn place(args: &LabPlaceArgs) -> Result<(PathBuf, StoreAddress), CliError> {
    let data = args.data.clone().or_else(|| Some(UserFolder::Data.path()?.join("lab"))).ok_or_else(|| {
        CliError::usage("there is no folder for the lab: neither XDG_DATA_HOME nor HOME is set")
            .hint("name one: prony lab --data FOLDER")
    })?;
    let store = match &args.database {
        None => StoreAddress::Sqlite(data.join("lab.sqlite")),
        Some(url) => StoreAddress::Postgres(database_environment().apply(url)),
    };
    Ok((data, store))
}

/// What `--database` may leave to the environment, as libpq does.
fn database_environment() -> DatabaseEnvironment {
    let filled = |name| std::env::var_os(name).filter(|value| !value.is_empty());
    DatabaseEnvironment {
        password: filled("PGPASSWORD").and_then(|value| value.into_string().ok()),
        passfile: filled("PGPASSFILE").map(PathBuf::from),
    }
}

fn cli_error(error: &LabError) -> CliError {
    error.problem().after("failed to ").into()
}

/// Why something about who may do what can't be done.
fn refused(error: &AccessError) -> CliError {
    error.problem().after("failed to ").into()
}

/// What is in a copy, for people.
fn contents(made: &prony_lab::Copied) -> String {
    format!("{} builds, {:.1} MB", made.builds, made.size_bytes as f64 / 1e6)
}
