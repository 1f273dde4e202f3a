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
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

// SAFETY: every call is handed on to the system's allocator as it came.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.with(|count| count.set(count.get() + 1));
        // SAFETY: the caller keeps the promises of `alloc`.
        unsafe { System.alloc(layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        ALLOCATIONS.with(|count| count.set(count.get() + 1));
        // SAFETY: the caller keeps the promises of `realloc`, and `pointer` came from `System`.
        unsafe { System.realloc(pointer, layout, size) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
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
