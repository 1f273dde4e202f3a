//! Stores for tests: every test of the store runs on both databases.

use std::path::PathBuf;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc::sync_channel;

use prony_targets::postgres::{Options, Postgres};

use super::Store;
use prony_lab_model::options::StoreAddress;

/// Runs `check` on a fresh store of each kind.
pub fn on_both(check: impl Fn(&Store)) {
    on_both_addresses(|address| check(&Store::open(address).expect("a store")));
}

/// The same for tests that open the store themselves.
pub fn on_both_addresses(check: impl Fn(&StoreAddress)) {
    let folder = tempfile::tempdir().expect("a folder");
    check(&StoreAddress::Sqlite(folder.path().join("lab.sqlite")));
    check(&StoreAddress::Postgres(fresh_database()));
}

/// A new, empty database in the PostgreSQL that the tests share.
pub(crate) fn fresh_database() -> String {
    static NUMBER: AtomicU32 = AtomicU32::new(0);
    let socket = socket_folder();
    let name = format!("lab{}_{}", std::process::id(), NUMBER.fetch_add(1, Ordering::Relaxed));
    let url = |database: &str| format!("host={} user=prony dbname={database}", socket.display());
    let mut client = postgres::Client::connect(&url("postgres"), postgres::NoTls).expect("PostgreSQL");
    client.batch_execute(&format!("CREATE DATABASE {name}")).expect("a database");
    url(&name)
}

/// The socket's folder of the PostgreSQL for all processes, which `./test` starts (`prony-targets/examples/serve.rs`);
/// without it, one for this process: it ends with the thread that started it, so that thread waits for ever.
fn socket_folder() -> &'static PathBuf {
    static FOLDER: OnceLock<PathBuf> = OnceLock::new();
    FOLDER.get_or_init(|| {
        if let Some(shared) = std::env::var_os("PRONY_TEST_POSTGRES") {
            return PathBuf::from(shared);
        }
        let (found, folder) = sync_channel(1);
        std::thread::spawn(move || {
            let postgres = Postgres::start(&postgres_options()).expect("PostgreSQL; ./test installs it");
            found.send(postgres.socket_folder().to_owned()).expect("the test waits");
            loop {
                std::thread::park();
            }
        });
        folder.recv().expect("PostgreSQL; ./test installs it")
    })
}

/// Any PostgreSQL that is installed here.
pub(crate) fn postgres_options() -> Options {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let programs = std::env::split_paths(&path).collect();
    Options { programs, temporary: std::env::temp_dir(), port: None }
}
