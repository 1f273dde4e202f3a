//! What a client sees of a byte stream that comes in pieces. Also used by the fuzz target.

use prony_http::{End, Event, Finish, Framing, HeadCache, ProtocolError, ResponseParser};

/// Every event, with the pieces of one body joined, and how it ended when the server closed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Transcript {
    /// What was reported, in order.
    pub(crate) events: Vec<Seen>,
    /// What the close, or the first error, was reported as.
    pub(crate) finish: Result<Finish, ProtocolError>,
}

/// An [`Event`] that owns its bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Seen {
    Interim(u16),
    Head { status: u16, framing: Framing, keep_alive: bool, raw: Vec<u8> },
    Body(Vec<u8>),
    End(End),
}

/// Which of the parser's two ways is taken when an input may hold a whole response.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Way {
    /// `next` only.
    Next,
    /// `whole` before each `next`, as the engine does.
    WholeFirst,
}

/// Feeds `pieces` to a new parser, then closes.
pub(crate) fn read<'a>(
    pieces: impl IntoIterator<Item = &'a [u8]>,
    shared: &mut HeadCache,
    way: Way,
) -> Transcript {
    let mut parser = ResponseParser::new();
    let mut events = Vec::new();
    for piece in pieces {
        if let Err(error) = feed(&mut parser, shared, piece, way, &mut events) {
            assert_eq!(parser.next(shared, piece), Err(ProtocolError::Failed), "usable after an error");
            assert_eq!(parser.finish(), Err(ProtocolError::Failed), "usable after an error");
            return Transcript { events, finish: Err(error) };
        }
    }
    let was_idle = parser.is_idle();
    let finish = parser.finish();
    assert_eq!(was_idle, finish == Ok(Finish::Idle), "idle and a clean close are the same");
    Transcript { events, finish }
}

fn feed(
    parser: &mut ResponseParser,
    shared: &mut HeadCache,
    mut input: &[u8],
    way: Way,
    events: &mut Vec<Seen>,
) -> Result<(), ProtocolError> {
    loop {
        if way == Way::WholeFirst
            && let Some(whole) = parser.whole(shared, input)
        {
            see(events, Event::Head(whole.head));
            if !whole.body.is_empty() {
                see(events, Event::Body(whole.body));
            }
            see(events, Event::End(whole.end()));
            input = &input[whole.consumed..];
            continue;
        }
        let step = parser.next(shared, input)?;
        assert!(step.consumed <= input.len(), "consumed more than there was");
        let Some(event) = step.event else {
            assert_eq!(step.consumed, input.len(), "input was left without an event");
            return Ok(());
        };
        see(events, event);
        input = &input[step.consumed..];
    }
}

fn see(events: &mut Vec<Seen>, event: Event<'_>) {
    match (event, events.last_mut()) {
        (Event::Body(bytes), Some(Seen::Body(earlier))) => earlier.extend_from_slice(bytes),
        (Event::Body(bytes), _) => events.push(Seen::Body(bytes.to_vec())),
        (Event::Interim { status }, _) => events.push(Seen::Interim(status)),
        (Event::End(end), _) => events.push(Seen::End(end)),
        (Event::Head(head), _) => events.push(Seen::Head {
            status: head.status,
            framing: head.framing,
            keep_alive: head.keep_alive,
            raw: head.raw.to_vec(),
        }),
    }
}

/// `bytes` cut at the given places, taken modulo the length; the cuts may repeat.
pub(crate) fn cut<'a>(bytes: &'a [u8], cuts: &[usize]) -> Vec<&'a [u8]> {
    let mut places: Vec<usize> = cuts.iter().map(|place| place % (bytes.len() + 1)).collect();
    places.extend([0, bytes.len()]);
    places.sort_unstable();
    places.windows(2).map(|pair| &bytes[pair[0]..pair[1]]).collect()
}
