//! A bus over NATS: the one owner of async-nats, which runs on a thread of its own.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{SyncSender, sync_channel};
use std::thread;
use std::time::Duration;

use async_nats::{Client, ConnectOptions, Event, ServerError};
use futures_util::StreamExt as _;
use tokio::sync::mpsc::{Receiver, Sender, channel};

use super::{Bus, BusError, BusEvent, Sink, check_version};
use crate::protocol::Subject;

/// Messages that wait for the connection: a second of 32 agents in the middle of their results.
const OUTGOING_MAX: usize = 1_024;
/// Messages of one subscription that wait to be handled.
const INCOMING_MAX: usize = 4_096;
/// Changes of the connection that wait to be handled.
const CHANGES_MAX: usize = 64;
/// For one attempt to connect.
const CONNECT_LIMIT: Duration = Duration::from_secs(5);
/// Between attempts. A load may be on that nobody hears of, so it is short.
const RECONNECT: Duration = Duration::from_millis(250);
/// A connection that is silent is asked this often whether it is there.
const PING: Duration = Duration::from_secs(5);

/// How to reach the broker, and as whom.
#[derive(Debug, Clone)]
pub struct NatsOptions {
    /// `nats://HOST:PORT` or `tls://HOST:PORT`.
    pub url: String,
    /// The seed of the nkey that the broker knows this client by.
    pub nkey: Option<String>,
    /// A PEM file with the authority that signed the broker's certificate.
    pub ca_file: Option<PathBuf>,
    /// What the broker's logs call it.
    pub name: String,
    /// Whether to go on trying where the broker is not there yet.
    pub patient: bool,
}

/// A connection.
pub struct NatsBus {
    outgoing: Sender<(String, Vec<u8>)>,
    is_up: Arc<AtomicBool>,
}

impl NatsBus {
    /// Connects and subscribes to `patterns`; where [`NatsOptions::patient`], in the background.
    pub fn connect(options: NatsOptions, patterns: &[String], sink: Sink) -> Result<Arc<dyn Bus>, BusError> {
        check_address(&options.url)?;
        let (outgoing, to_send) = channel(OUTGOING_MAX);
        let is_up = Arc::new(AtomicBool::new(false));
        let (ready, readied) = sync_channel(1);
        let patient = options.patient;
        let link =
            Link { options, patterns: patterns.to_vec(), sink: Arc::new(sink), is_up: Arc::clone(&is_up) };
        let failed =
            |error: io::Error| BusError::Connect(format!("the system has no thread for it ({error})"));
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_io()
            .enable_time()
            .build()
            .map_err(failed)?;
        let work = move || runtime.block_on(link.serve(to_send, &ready));
        thread::Builder::new().name("nats".to_owned()).spawn(work).map_err(failed)?;
        if !patient {
            readied.recv().map_err(|_| BusError::Connect("the connection ended".to_owned()))??;
        }
        Ok(Arc::new(Self { outgoing, is_up }))
    }
}

impl Bus for NatsBus {
    fn publish(&self, subject: &Subject, payload: Vec<u8>) -> Result<(), BusError> {
        // What waits for a connection is late when it arrives, and sent again by anyone who waits for an answer.
        if !self.is_up.load(Ordering::Relaxed) {
            return Err(BusError::Connect("there is no connection to the broker".to_owned()));
        }
        self.outgoing.try_send((subject.to_string(), payload)).map_err(|_| BusError::Full)
    }
}

struct Link {
    options: NatsOptions,
    patterns: Vec<String>,
    sink: Arc<Sink>,
    is_up: Arc<AtomicBool>,
}

impl Link {
    /// The thread's life: until the bus is dropped.
    async fn serve(self, mut to_send: Receiver<(String, Vec<u8>)>, ready: &SyncSender<Result<(), BusError>>) {
        let (changed, mut changes) = channel(CHANGES_MAX);
        let client = match self.first_connection(&changed).await {
            Ok(client) => client,
            Err(error) => {
                (self.sink)(BusEvent::Fatal(error.to_string()));
                drop(ready.send(Err(error)));
                return;
            }
        };
        for pattern in &self.patterns {
            if let Err(error) = self.subscribe(&client, pattern).await {
                (self.sink)(BusEvent::Fatal(error.to_string()));
                drop(ready.send(Err(error)));
                return;
            }
        }
        // Subscribed for certain before anybody publishes.
        drop(client.flush().await);
        self.up();
        // Nobody waits where the link is patient.
        drop(ready.send(Ok(())));
        loop {
            tokio::select! {
                message = to_send.recv() => {
                    let Some((subject, payload)) = message else {
                        drop(client.flush().await);
                        return;
                    };
                    drop(client.publish(subject, payload.into()).await);
                }
                Some(event) = changes.recv() => self.change(event, &client),
            }
        }
    }

    fn up(&self) {
        if !self.is_up.swap(true, Ordering::Relaxed) {
            (self.sink)(BusEvent::Up);
        }
    }

    fn change(&self, event: Event, client: &Client) {
        match event {
            Event::Connected => match check_version(&client.server_info().version) {
                Ok(()) => self.up(),
                Err(error) => (self.sink)(BusEvent::Fatal(error.to_string())),
            },
            Event::Disconnected => {
                if self.is_up.swap(false, Ordering::Relaxed) {
                    (self.sink)(BusEvent::Down);
                }
            }
            Event::ServerError(ServerError::Other(what)) => {
                (self.sink)(BusEvent::Problem(format!("the broker: {what}")));
            }
            Event::ServerError(error) => (self.sink)(BusEvent::Problem(format!("the broker: {error}"))),
            Event::SlowConsumer(_) => {
                (self.sink)(BusEvent::Problem(
                    "messages were lost: they came faster than they were read".to_owned(),
                ));
            }
            Event::Closed => {
                (self.sink)(BusEvent::Fatal("the connection to the broker ended for good".to_owned()));
            }
            Event::LameDuckMode | Event::Draining | Event::ClientError(_) => {}
        }
    }

    async fn first_connection(&self, changed: &Sender<Event>) -> Result<Client, BusError> {
        let mut is_named = false;
        loop {
            let error = match self.attempt(changed.clone()).await {
                Ok(client) => {
                    check_version(&client.server_info().version)?;
                    return Ok(client);
                }
                Err(error) => error,
            };
            if !self.options.patient {
                return Err(error);
            }
            if !std::mem::replace(&mut is_named, true) {
                (self.sink)(BusEvent::Problem(format!("{error}; tries again until it is there")));
            }
            tokio::time::sleep(RECONNECT).await;
        }
    }

    async fn attempt(&self, changed: Sender<Event>) -> Result<Client, BusError> {
        let mut options = ConnectOptions::new()
            .name(&self.options.name)
            .connection_timeout(CONNECT_LIMIT)
            .ping_interval(PING)
            .reconnect_delay_callback(|_| RECONNECT)
            .max_reconnects(None)
            .subscription_capacity(INCOMING_MAX)
            .client_capacity(OUTGOING_MAX)
            .ignore_discovered_servers()
            .event_callback(move |event| {
                let changed = changed.clone();
                // Where so many changes wait, one more says nothing new.
                async move { drop(changed.try_send(event)) }
            });
        if let Some(seed) = &self.options.nkey {
            options = options.nkey(seed.clone());
        }
        if let Some(file) = &self.options.ca_file {
            options = options.add_root_certificates(file.clone()).require_tls(true);
        }
        let url = &self.options.url;
        options.connect(url).await.map_err(|error| BusError::Connect(why(url, &error)))
    }

    async fn subscribe(&self, client: &Client, pattern: &str) -> Result<(), BusError> {
        let failed =
            |error: async_nats::SubscribeError| BusError::Connect(format!("can't subscribe ({error})"));
        let mut messages = client.subscribe(pattern.to_owned()).await.map_err(failed)?;
        let sink = Arc::clone(&self.sink);
        tokio::spawn(async move {
            while let Some(message) = messages.next().await {
                if let Some(subject) = Subject::parse(&message.subject) {
                    sink(BusEvent::Message { subject, payload: message.payload.into() });
                }
            }
        });
        Ok(())
    }
}

/// Why there is no connection, in words that say what to try.
fn why(url: &str, error: &async_nats::ConnectError) -> String {
    use async_nats::ConnectErrorKind as Kind;
    let text = error.to_string();
    match error.kind() {
        Kind::Authentication | Kind::AuthorizationViolation => {
            format!("{url} refuses the nkey, or wants one: is --nkey the file of this name?")
        }
        Kind::TimedOut => format!("{url} does not answer: is it a NATS server?"),
        // A certificate that is refused arrives as an error of the connection.
        Kind::Tls | Kind::Io if text.contains("certificate") || error.kind() == Kind::Tls => {
            format!("{url} can't be trusted ({text}): is --nats-cacert the authority of its certificate?")
        }
        Kind::Io => format!("nothing answers at {url}: is nats-server running?"),
        _ => format!("{url}: {text}"),
    }
}

fn check_address(url: &str) -> Result<(), BusError> {
    match url.parse::<async_nats::ServerAddr>() {
        Ok(address) if address.username().is_none() && address.password().is_none() => Ok(()),
        Ok(_) => {
            Err(BusError::Connect("the broker's address has a password in it: use --nkey instead".to_owned()))
        }
        Err(error) => Err(BusError::Connect(format!(
            "`{url}` is no address of a broker ({error}): nats://127.0.0.1:4222"
        ))),
    }
}
