//! A database of a test's own, and a door in front of it that counts who comes in and can be shut.

use std::io;
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Mutex};

use prony_targets::express::Database;
use prony_targets::postgres::{DatabaseUrl, Options, Postgres};
use tokio_postgres::{NoTls, SimpleQueryMessage};

/// Where to search for PostgreSQL and to make its folder.
pub(crate) fn options() -> Options {
    Options { programs: Vec::new(), temporary: std::env::temp_dir(), port: None }
}

pub(crate) fn postgres() -> Postgres {
    Postgres::start(&options()).expect("PostgreSQL is installed: ./test dependencies")
}

/// The first column of the result of `statement` for `user`.
pub(crate) fn ask_as(
    postgres: &Postgres,
    user: &str,
    statement: &str,
) -> Result<Vec<String>, tokio_postgres::Error> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let mut config = tokio_postgres::Config::new();
        config.host_path(postgres.socket_folder()).user(user).dbname("postgres");
        let (client, connection) = config.connect(NoTls).await?;
        let connection = tokio::spawn(connection);
        let messages = client.simple_query(statement).await?;
        drop(client);
        // However it ended, it has.
        let _ = connection.await;
        let first = |message: &SimpleQueryMessage| match message {
            SimpleQueryMessage::Row(row) => Some(row.get(0).unwrap_or("null").to_owned()),
            _ => None,
        };
        Ok(messages.iter().filter_map(first).collect())
    })
}

pub(crate) fn sql(postgres: &Postgres, statement: &str) -> Vec<String> {
    ask_as(postgres, "prony", statement).unwrap()
}

/// Waits until somebody sleeps in the database.
pub(crate) fn wait_for_a_sleeper(postgres: &Postgres) {
    let sleeping = "SELECT pid FROM pg_stat_activity WHERE wait_event = 'PgSleep'";
    while sql(postgres, sleeping).is_empty() {
        std::thread::yield_now();
    }
}

/// The door: a port that leads to the socket of a database.
#[derive(Debug)]
pub(crate) struct Door {
    address: SocketAddr,
    shared: Arc<Shared>,
}

#[derive(Debug, Default)]
struct Shared {
    came: AtomicUsize,
    shut: AtomicBool,
    /// Both ends of each connection that came in.
    open: Mutex<Vec<(TcpStream, UnixStream)>>,
}

impl Door {
    pub(crate) fn before(postgres: &Postgres) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let (address, shared) = (listener.local_addr().unwrap(), Arc::new(Shared::default()));
        let (socket, inside) = (postgres.socket_folder().join(".s.PGSQL.5432"), Arc::clone(&shared));
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                inside.let_in(stream.unwrap(), &socket);
            }
        });
        Self { address, shared }
    }

    pub(crate) fn url(&self) -> DatabaseUrl {
        format!("postgresql://prony@{}/postgres", self.address).parse().unwrap()
    }

    pub(crate) fn database(&self) -> Database {
        Database::Url(self.url())
    }

    /// How many connections have come in.
    pub(crate) fn came(&self) -> usize {
        self.shared.came.load(SeqCst)
    }

    /// Ends all connections, and those that come from now on.
    pub(crate) fn shut(&self) {
        self.shared.shut.store(true, SeqCst);
        for (outside, inside) in self.shared.open.lock().unwrap().drain(..) {
            // Some have ended by themselves.
            let _ = (outside.shutdown(Shutdown::Both), inside.shutdown(Shutdown::Both));
        }
    }

    pub(crate) fn open(&self) {
        self.shared.shut.store(false, SeqCst);
    }
}

impl Shared {
    fn let_in(&self, outside: TcpStream, socket: &PathBuf) {
        let mut open = self.open.lock().unwrap();
        if self.shut.load(SeqCst) {
            return;
        }
        self.came.fetch_add(1, SeqCst);
        outside.set_nodelay(true).unwrap();
        let inside = UnixStream::connect(socket).unwrap();
        open.push((outside.try_clone().unwrap(), inside.try_clone().unwrap()));
        let (mut from, mut to) = (outside.try_clone().unwrap(), inside.try_clone().unwrap());
        std::thread::spawn(move || {
            // When one side ends, the other is closed, too.
            let _ = io::copy(&mut from, &mut to);
            let _ = to.shutdown(Shutdown::Both);
        });
        let (mut from, mut to) = (inside, outside);
        std::thread::spawn(move || {
            let _ = io::copy(&mut from, &mut to);
            let _ = to.shutdown(Shutdown::Both);
        });
    }
}
