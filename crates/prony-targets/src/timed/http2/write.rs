//! Frames to be sent.

use super::{PAYLOAD_BYTES_MAX, STREAMS_MAX};
use crate::reply::{Reply, put_ms, put_number};

const END_STREAM: u8 = 1;
const END_HEADERS: u8 = 4;
const ACK: u8 = 1;
/// RFC 9113 section 7.
const NO_ERROR: u32 = 0;
const INTERNAL_ERROR: u32 = 2;

/// The server's settings: how many streams it takes.
pub(super) fn settings(out: &mut Vec<u8>) {
    const MAX_CONCURRENT_STREAMS: u16 = 3;
    let streams = u32::try_from(STREAMS_MAX).expect("invariant: a small number");
    head(6, 4, 0, 0, out);
    out.extend_from_slice(&MAX_CONCURRENT_STREAMS.to_be_bytes());
    out.extend_from_slice(&streams.to_be_bytes());
}

pub(super) fn settings_ack(out: &mut Vec<u8>) {
    head(0, 4, ACK, 0, out);
}

pub(super) fn ping_ack(payload: [u8; 8], out: &mut Vec<u8>) {
    head(payload.len(), 6, ACK, 0, out);
    out.extend_from_slice(&payload);
}

/// Opens the window of `stream`, or of the connection, by `bytes`.
pub(super) fn room(stream: u32, bytes: u32, out: &mut Vec<u8>) {
    head(4, 8, 0, stream, out);
    out.extend_from_slice(&bytes.to_be_bytes());
}

/// Resets `stream`, as a server that has failed.
pub(super) fn reset(stream: u32, out: &mut Vec<u8>) {
    head(4, 3, 0, stream, out);
    out.extend_from_slice(&INTERNAL_ERROR.to_be_bytes());
}

/// The connection ends behind `last_stream`; `fault` is the client's, if it broke a rule.
pub(super) fn go_away(last_stream: u32, fault: Option<super::reader::Fault>, out: &mut Vec<u8>) {
    head(8, 7, 0, 0, out);
    out.extend_from_slice(&last_stream.to_be_bytes());
    out.extend_from_slice(&fault.map_or(NO_ERROR, |fault| fault as u32).to_be_bytes());
}

/// A piece of a body.
pub(super) fn data(stream: u32, piece: &[u8], ends: bool, out: &mut Vec<u8>) {
    head(piece.len(), 0, if ends { END_STREAM } else { 0 }, stream, out);
    out.extend_from_slice(piece);
}

/// The head of a response: literals that no table remembers, with names of the static table (RFC 7541 appendix A).
pub(super) fn response(stream: u32, reply: &Reply<'_>, out: &mut Vec<u8>) {
    const STATUS_200: u8 = 0x88;
    const STATUS_500: u8 = 0x8e;
    const CONTENT_LENGTH: u8 = 28;
    const CONTENT_TYPE: u8 = 31;
    let start = out.len();
    head(0, 1, END_HEADERS, stream, out);
    out.push(if reply.status.starts_with("200") { STATUS_200 } else { STATUS_500 });
    indexed_name(CONTENT_TYPE, out);
    value(out, |out| out.extend_from_slice(reply.content_type.as_bytes()));
    indexed_name(CONTENT_LENGTH, out);
    value(out, |out| put_number(reply.body.len() as u64, 1, out));
    new_name("server-timing", out);
    value(out, |out| {
        out.extend_from_slice(b"app;dur=");
        put_ms(reply.took_ns, out);
    });
    if let Some(id) = reply.id {
        new_name("x-request-id", out);
        value(out, |out| put_number(id, 1, out));
    }
    let bytes = u16::try_from(out.len() - start - 9).expect("invariant: a short head");
    out[start + 1..start + 3].copy_from_slice(&bytes.to_be_bytes());
}

/// A literal field without indexing whose name is of the static table (RFC 7541 section 6.2.2); 15 and more take a second
/// byte.
fn indexed_name(index: u8, out: &mut Vec<u8>) {
    out.extend_from_slice(&[15, index - 15]);
}

fn new_name(name: &str, out: &mut Vec<u8>) {
    out.push(0);
    value(out, |out| out.extend_from_slice(name.as_bytes()));
}

/// A string of less than 127 bytes, without Huffman's code.
fn value(out: &mut Vec<u8>, write: impl FnOnce(&mut Vec<u8>)) {
    let start = out.len();
    out.push(0);
    write(out);
    out[start] = u8::try_from(out.len() - start - 1).expect("invariant: a short value");
}

fn head(bytes: usize, kind: u8, flags: u8, stream: u32, out: &mut Vec<u8>) {
    debug_assert!(bytes <= PAYLOAD_BYTES_MAX);
    let bytes = u32::try_from(bytes).expect("invariant: PAYLOAD_BYTES_MAX").to_be_bytes();
    out.extend_from_slice(&bytes[1..]);
    out.extend_from_slice(&[kind, flags]);
    out.extend_from_slice(&stream.to_be_bytes());
}
