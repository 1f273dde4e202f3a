//! What a client sees of a server's bytes that come in pieces, and what it answers. Also used by the fuzz targets.

use std::sync::Arc;

use prony_http::RequestKind;
use prony_http::h2::{Connection, ErrorCode, Event, Http2Error, OneRequest, Shared, Stream, plain_fields};

/// An [`Event`] that owns its bytes, or the error that ended the connection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Seen {
    Interim(u32, u16),
    Head { stream: u32, status: u16, length: Option<u64>, fields: Vec<(String, Vec<u8>)> },
    Data(u32, Vec<u8>),
    Trailers(u32, Vec<(Vec<u8>, Vec<u8>)>),
    End { stream: u32, status: u16, body_bytes: u64, early: bool },
    Reset { stream: u32, code: ErrorCode, refused: bool },
    Malformed(u32, Http2Error),
    GoAway { last_stream: u32, code: ErrorCode, debug: Vec<u8> },
    Settings(u32),
    Failed(Http2Error),
}

/// Everything that is visible of a connection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Transcript {
    pub(crate) seen: Vec<Seen>,
    pub(crate) out: Vec<u8>,
    pub(crate) finish: Result<(), Http2Error>,
}

/// What the client of a transcript does.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Habits {
    /// Requests before the first byte from the server.
    pub(crate) first: u16,
    /// Requests that follow, one for each that has ended.
    pub(crate) more: u16,
    /// It gives up the requests on streams whose number is a multiple of this, when their heads come; 0 for none.
    pub(crate) cancels: u32,
    /// Every second request is one of its own: a HEAD with a body that no window has room for.
    pub(crate) mixes: bool,
}

/// Sends the next request, where one can be sent.
fn send(
    connection: &mut Connection,
    shared: &Shared,
    out: &mut Vec<u8>,
    habits: Habits,
    sent: &mut u32,
) -> bool {
    *sent += 1;
    if !habits.mixes || sent.is_multiple_of(2) {
        return connection.send_request(shared, out).is_ok();
    }
    let mut block = Vec::new();
    for (name, value) in [(":method", "HEAD"), (":scheme", "http"), (":authority", "a"), (":path", "/own")] {
        plain_fields::write_field(&mut block, name, value.as_bytes());
    }
    let body: Arc<[u8]> = vec![5; 70_000].into();
    let request = OneRequest { block: &block, body: Some(&body), kind: RequestKind::Head };
    connection.send_one(shared, request, out).is_ok()
}

/// Feeds `pieces` to `connection`, which is new, then closes.
pub(crate) fn read<'a>(
    connection: &mut Connection,
    shared: &mut Shared,
    habits: Habits,
    pieces: impl IntoIterator<Item = &'a [u8]>,
) -> Transcript {
    let (mut out, mut seen, mut more) = (Vec::new(), Vec::new(), habits.more);
    connection.preface(shared, &mut out);
    let mut sent = 0;
    for _ in 0..habits.first {
        if !send(connection, shared, &mut out, habits, &mut sent) {
            break;
        }
    }
    let mut react = |connection: &mut Connection, shared: &Shared, out: &mut Vec<u8>, seen: &Seen| match seen
    {
        Seen::End { .. } | Seen::Reset { .. } | Seen::Malformed(..) if more > 0 => {
            more -= u16::from(send(connection, shared, out, habits, &mut sent));
        }
        Seen::Head { stream, .. } if habits.cancels > 0 && stream.is_multiple_of(habits.cancels) => {
            let place = (0..shared.limits().streams).map(|place| Stream { id: *stream, place });
            place.for_each(|stream| connection.cancel(stream, out));
        }
        _ => {}
    };
    for piece in pieces {
        feed(connection, shared, piece, &mut out, &mut seen, &mut react);
        if let Some(Seen::Failed(error)) = seen.last() {
            let error = *error;
            let again = connection.next(shared, piece, &mut out).map(|_| ());
            assert_eq!(again, Err(Http2Error::Failed), "usable after {error:?}");
            assert_eq!(connection.finish(), Err(Http2Error::Failed));
            return Transcript { seen, out, finish: Err(error) };
        }
    }
    // Only now is anything sent, so that what was written does not depend on how the input was cut.
    let mut written = std::mem::take(&mut out);
    while connection.has_more() {
        connection.send_more(shared, &mut out);
        assert!(!out.is_empty(), "it reported that there was more");
        written.append(&mut out);
    }
    let finish = connection.finish();
    Transcript { seen, out: written, finish }
}

/// Feeds `input`, and lets the client react to each event.
pub(crate) fn feed(
    connection: &mut Connection,
    shared: &mut Shared,
    mut input: &[u8],
    out: &mut Vec<u8>,
    seen: &mut Vec<Seen>,
    mut react: impl FnMut(&mut Connection, &Shared, &mut Vec<u8>, &Seen),
) {
    loop {
        let (consumed, event) = match connection.next(shared, input, out) {
            Ok(step) => (step.consumed, step.event.map(own)),
            Err(error) => return seen.push(Seen::Failed(error)),
        };
        assert!(consumed <= input.len(), "consumed more than there was");
        input = &input[consumed..];
        let Some(event) = event else {
            assert!(input.is_empty(), "input was left without an event");
            return;
        };
        react(connection, shared, out, &event);
        match (event, seen.last_mut()) {
            (Seen::Data(stream, bytes), Some(Seen::Data(before, earlier))) if *before == stream => {
                earlier.extend_from_slice(&bytes);
            }
            (event, _) => seen.push(event),
        }
    }
}

fn own(event: Event<'_>) -> Seen {
    match event {
        Event::Interim { stream, status } => Seen::Interim(stream.id, status),
        Event::Head { stream, head } => Seen::Head {
            stream: stream.id,
            status: head.status,
            length: head.content_length,
            fields: head.headers().map(|(name, value)| (name.to_owned(), value.to_vec())).collect(),
        },
        Event::Data { stream, bytes } => {
            assert!(!bytes.is_empty(), "a piece of a body without bytes");
            Seen::Data(stream.id, bytes.to_vec())
        }
        Event::Trailers { stream, fields } => {
            let fields = fields.map(|(name, value)| (name.to_vec(), value.to_vec()));
            Seen::Trailers(stream.id, fields.collect())
        }
        Event::End { stream, end } => {
            Seen::End { stream: stream.id, status: end.status, body_bytes: end.body_bytes, early: end.early }
        }
        Event::Reset { stream, code, refused } => Seen::Reset { stream: stream.id, code, refused },
        Event::Malformed { stream, error } => Seen::Malformed(stream.id, error),
        Event::GoAway { last_stream, code, debug } => {
            Seen::GoAway { last_stream, code, debug: debug.to_vec() }
        }
        Event::Settings { streams } => Seen::Settings(streams),
    }
}
