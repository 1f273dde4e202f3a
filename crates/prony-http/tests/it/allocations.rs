//! The parser allocates nothing once it has seen what a connection brings.
#![allow(unsafe_code, reason = "a global allocator cannot be written without it")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use prony_http::{Event, HeadCache, Limits, RequestKind, ResponseParser};

use crate::transcript::cut;

/// The system's allocator, counting what the present thread asks of it: tests run beside each other.
struct Counting;

thread_local! {
    static ALLOCATIONS: Cell<u64> = const { Cell::new(0) };
    /// Bytes that are allocated, by requested size.
    static HELD: Cell<i64> = const { Cell::new(0) };
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

fn hold(bytes: usize) {
    HELD.with(|held| held.set(held.get() + i64::try_from(bytes).unwrap_or(i64::MAX)));
}

fn release(bytes: usize) {
    HELD.with(|held| held.set(held.get() - i64::try_from(bytes).unwrap_or(i64::MAX)));
}

// SAFETY: every call is handed on to the system's allocator as it came.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.with(|count| count.set(count.get() + 1));
        hold(layout.size());
        // SAFETY: the caller keeps the promises of `alloc`.
        unsafe { System.alloc(layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        ALLOCATIONS.with(|count| count.set(count.get() + 1));
        hold(size);
        release(layout.size());
        // SAFETY: the caller keeps the promises of `realloc`, and `pointer` came from `System`.
        unsafe { System.realloc(pointer, layout, size) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        release(layout.size());
        // SAFETY: the caller keeps the promises of `dealloc`, and `pointer` came from `System`.
        unsafe { System.dealloc(pointer, layout) }
    }
}

/// Reads every piece as the engine does, and counts the responses.
fn read_all(parser: &mut ResponseParser, shared: &mut HeadCache, pieces: &[&[u8]]) -> u64 {
    let mut responses = 0;
    for piece in pieces {
        let mut input = *piece;
        loop {
            if let Some(whole) = parser.whole(shared, input) {
                input = &input[whole.consumed..];
                responses += 1;
                continue;
            }
            let step = parser.next(shared, input).expect("a valid answer");
            input = &input[step.consumed..];
            match step.event {
                Some(Event::End(_)) => responses += 1,
                Some(_) => {}
                None => break,
            }
        }
    }
    responses
}

/// After one round, a thousand more of the same pieces allocate nothing.
fn check(pieces: &[&[u8]], responses_per_round: u64) {
    let mut shared = HeadCache::new(RequestKind::Normal, Limits::default());
    let mut parser = ResponseParser::new();
    assert_eq!(read_all(&mut parser, &mut shared, pieces), responses_per_round);
    let before = ALLOCATIONS.get();
    for _ in 0..1000 {
        parser.reset();
        assert_eq!(read_all(&mut parser, &mut shared, pieces), responses_per_round);
    }
    assert_eq!(ALLOCATIONS.get() - before, 0, "allocations in steady state");
}

fn page(number: usize) -> String {
    format!("HTTP/1.1 200 OK\r\nX-Request-Id: {number}\r\nContent-Length: 5\r\n\r\nhello")
}

#[test]
fn whole_pages() {
    let page = page(1);
    check(&[page.as_bytes(), page.repeat(5).as_bytes()], 6);
}

#[test]
fn heads_that_never_repeat() {
    let pages: String = (0..50).map(page).collect();
    check(&[pages.as_bytes()], 50);
}

#[test]
fn chunks_interim_responses_and_trailers() {
    let answer = "HTTP/1.1 103 x\r\nLink: y\r\n\r\n\
                  HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n1\r\nd\r\n0\r\nA: b\r\n\r\n\
                  HTTP/1.1 204 x\r\n\r\n";
    check(&[answer.as_bytes()], 2);
}

#[test]
fn split_heads_once_their_buffer_has_grown() {
    let pages: String = (0..5).map(page).collect();
    check(&cut(pages.as_bytes(), &[3, 9, 30, 70, 71, 100, 130, 131, 190]), 5);
}

#[test]
fn allocations_are_counted() {
    let before = ALLOCATIONS.get();
    drop(std::hint::black_box(Box::new(1)));
    assert_eq!(ALLOCATIONS.get() - before, 1);
}

mod h2 {
    //! The same for HTTP/2: heads that repeat and heads that don't, with and without the server's table of fields.
    #![allow(clippy::unwrap_used, reason = "a helper that panics fails its test")]

    use prony_http::Request;
    use prony_http::h2::{Connection, EncodedRequest, Event, Limits, Scheme, Shared};

    use super::ALLOCATIONS;

    const STREAMS: u32 = 10;

    fn frame(out: &mut Vec<u8>, kind: u8, flags: u8, stream: u32, payload: &[u8]) {
        let length = u8::try_from(payload.len()).unwrap();
        out.extend_from_slice(&[0, 0, length, kind, flags]);
        out.extend_from_slice(&stream.to_be_bytes());
        out.extend_from_slice(payload);
    }

    /// Sends 10 requests and reads their answers, in pieces of so many bytes.
    struct Round {
        connection: Connection,
        shared: Shared,
        out: Vec<u8>,
        answers: Vec<u8>,
        next_id: u32,
    }

    impl Round {
        fn new(body: &[u8]) -> Self {
            let request = Request { body: body.to_vec(), ..Request::get("a", "/") };
            let shared = Shared::new(
                EncodedRequest::new(&request, Scheme::Http).unwrap(),
                Limits { streams: 10, ..Limits::default() },
            );
            let connection = Connection::new(&shared);
            let mut round = Self { connection, shared, out: Vec::new(), answers: Vec::new(), next_id: 1 };
            frame(&mut round.answers, 4, 0, 0, &[]);
            round
        }

        fn run(&mut self, block: &[u8], piece: usize) {
            for _ in 0..STREAMS {
                let stream = self.connection.send_request(&self.shared, &mut self.out).unwrap();
                assert_eq!(stream.id, self.next_id);
                frame(&mut self.answers, 8, 0, 0, &[0, 0, 1, 0]);
                frame(&mut self.answers, 1, 4, self.next_id, block);
                frame(&mut self.answers, 0, 1, self.next_id, b"Hello World!");
                self.next_id += 2;
            }
            let mut ended = 0;
            for mut input in self.answers.chunks(piece) {
                loop {
                    let step = self.connection.next(&mut self.shared, input, &mut self.out).unwrap();
                    input = &input[step.consumed..];
                    match step.event {
                        Some(Event::End { end, .. }) => {
                            assert_eq!(end.body_bytes, 12);
                            ended += 1;
                        }
                        Some(_) => {}
                        None => break,
                    }
                }
            }
            assert_eq!(ended, STREAMS);
            self.out.clear();
            self.answers.clear();
        }
    }

    fn check(block: impl Fn(u32) -> Vec<u8>, piece: usize, body: &[u8]) {
        let blocks: Vec<Vec<u8>> = (0..500).map(block).collect();
        let mut round = Round::new(body);
        for block in &blocks[..250] {
            round.run(block, piece);
        }
        let before = ALLOCATIONS.get();
        for block in &blocks[250..] {
            round.run(block, piece);
        }
        assert_eq!(ALLOCATIONS.get() - before, 0, "allocations in steady state");
    }

    #[test]
    fn heads_that_repeat() {
        let block = |_| [&[0x88, 0x0f, 0x0d, 2][..], b"12", &[0x0f, 0x10, 10], b"text/plain"].concat();
        check(block, usize::MAX, b"");
        check(block, 7, b"");
        check(block, usize::MAX, b"some words");
    }

    #[test]
    fn heads_that_never_repeat() {
        let text = |number: u32| format!("{number:010}").into_bytes();
        check(|number| [&[0x88, 0x0f, 0x12, 10][..], &text(number)].concat(), usize::MAX, b"");
        // Each of them adds a field to the table, which evicts another.
        check(|number| [&[0x88, 0x61, 10][..], &text(number)].concat(), 50, b"");
    }

    /// What a connection with 10 streams takes on the heap, however a server uses it.
    #[test]
    fn memory_of_a_connection() {
        let before = super::HELD.get();
        let mut round = Round::new(b"");
        let fixed = super::HELD.get();
        for number in 0..2000_u32 {
            let value = format!("{number:0100}").into_bytes();
            let adds = [&[0x88, 0x61, 100][..], &value].concat();
            let leaves = [&[0x88, 0x0f, 0x12, 100][..], &value].concat();
            round.run(if number % 3 == 0 { &adds } else { &leaves }, 11);
        }
        let buffers = i64::try_from(round.out.capacity() + round.answers.capacity()).unwrap();
        let connection = super::HELD.get() - before - buffers;
        assert!(connection < 30_000, "{connection} bytes, {} at first", fixed - before);
    }
}
