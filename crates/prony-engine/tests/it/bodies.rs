//! Bodies of every size and framing, both ways.

use std::net::TcpListener;

use prony_model::{BodyCheck, Checks, RequestPlan, RunPlan};

use crate::plans::{closed, get, plan, post, requests, run};
use crate::server::Server;

/// Bytes that show when a piece is missing, repeated or out of place.
fn pattern(bytes: usize) -> Vec<u8> {
    (0_u32..).flat_map(|number| number.wrapping_mul(2_654_435_761).to_le_bytes()).take(bytes).collect()
}

on_both_drivers! {
    fn a_large_request_arrives_whole_at_a_slow_reader(driver) {
        // Buffers of the kernel's least size: the client must send in many pieces.
        let listener = TcpListener::bind("127.0.0.1:0").expect("loopback has free ports");
        rustix::net::sockopt::set_socket_recv_buffer_size(&listener, 4096).expect("any size is taken");
        let sent = pattern(1 << 20);
        let expected = sent.clone();
        let server = Server::on(listener, move |peer| {
            while let Some(request) = peer.request() {
                let answer: &[u8] = if request.body == expected {
                    b"HTTP/1.1 204 No Content\r\n\r\n"
                } else {
                    b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n"
                };
                peer.answer(answer);
            }
        });
        let plan =
            RunPlan { request: post(sent), load: closed(2), end: requests(5), ..plan(server.url()) };
        let result = run(driver, plan);
        assert_eq!([result.requests.done, server.requests()], [5; 2], "{:?}", result.errors);
        assert!(result.bytes.sent > 5 << 20);
        assert_eq!(result.connections.opened, 2);
    }

    fn an_answer_before_the_request_is_sent_is_not_lost(driver) {
        // As servers do that refuse a body by its length: the close with bytes unread resets the connection.
        let server = Server::start(|peer| {
            if peer.head().is_some() {
                peer.answer(b"HTTP/1.1 413 Content Too Large\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
                peer.leave();
            }
        });
        let plan = RunPlan { request: post(pattern(4 << 20)), end: requests(10), ..plan(server.url()) };
        let result = run(driver, plan);
        assert_eq!(result.statuses.get(&413), Some(&10), "{:?}", result.errors);
    }

    fn large_answers_with_a_length(driver) {
        const BYTES: usize = 8 << 20;
        let mut answer = format!("HTTP/1.1 200 OK\r\nContent-Length: {BYTES}\r\n\r\n").into_bytes();
        answer.extend(pattern(BYTES));
        let server = Server::answering(&answer);
        let plan = RunPlan { load: closed(2), end: requests(4), ..plan(server.url()) };
        let result = run(driver, plan);
        assert_eq!([result.requests.done, server.requests()], [4; 2], "{:?}", result.errors);
        assert_eq!(result.bytes.body_received, 4 * BYTES as u64);
        assert_eq!(result.bytes.received, 4 * answer.len() as u64);
        assert_eq!(result.connections.opened, 2);
    }

    fn more_large_answers_at_once_than_there_are_receive_buffers(driver) {
        let mut answer = b"HTTP/1.1 200 OK\r\nContent-Length: 524288\r\n\r\n".to_vec();
        answer.extend(pattern(512 << 10));
        let server = Server::answering(&answer);
        let plan = RunPlan { load: closed(16), end: requests(48), ..plan(server.url()) };
        let result = run(driver, plan);
        assert_eq!(result.requests.done, 48, "{:?}", result.errors);
        assert_eq!(result.bytes.body_received, 48 << 19);
    }

    fn chunks_and_trailers(driver) {
        let chunk = pattern(64 << 10);
        let mut answer = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTrailer: Sum\r\n\r\n".to_vec();
        for _ in 0..16 {
            answer.extend(b"10000;name=value\r\n");
            answer.extend(&chunk);
            answer.extend(b"\r\n");
        }
        answer.extend(b"0\r\nSum: 1\r\n\r\n");
        let server = Server::answering(&answer);
        let result = run(driver, RunPlan { end: requests(3), ..plan(server.url()) });
        assert_eq!(result.requests.done, 3, "{:?}", result.errors);
        assert_eq!(result.bytes.body_received, 3 << 20);
        assert_eq!(result.connections.opened, 1);
    }

    fn a_body_until_the_close(driver) {
        let server = Server::start(|peer| {
            peer.request();
            peer.answer(b"HTTP/1.1 200 OK\r\n\r\n");
            peer.answer(&pattern(300_000));
        });
        let result = run(driver, RunPlan { end: requests(3), ..plan(server.url()) });
        assert_eq!(result.requests.done, 3, "{:?}", result.errors);
        assert_eq!(result.bytes.body_received, 900_000);
        assert_eq!(result.connections.opened, 3);
    }

    fn answers_without_a_body(driver) {
        for (method, answer, status) in [
            ("HEAD", "HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n", 200),
            ("HEAD", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", 200),
            ("GET", "HTTP/1.1 204 No Content\r\n\r\n", 204),
            ("GET", "HTTP/1.1 304 Not Modified\r\nContent-Length: 1000\r\n\r\n", 304),
            ("GET", "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", 200),
        ] {
            let server = Server::answering(answer.as_bytes());
            let request = RequestPlan { method: method.to_owned(), ..get() };
            let result = run(driver, RunPlan { request, end: requests(5), ..plan(server.url()) });
            assert_eq!(result.requests.done, 5, "{method} {answer}");
            assert_eq!(result.statuses.get(&status), Some(&5), "{method} {answer}");
            assert_eq!((result.bytes.body_received, result.connections.opened), (0, 1), "{method} {answer}");
        }
    }

    fn interim_answers_are_not_the_answer(driver) {
        let server = Server::answering(
            b"HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\nHTTP/1.1 102 Processing\r\n\r\n\
              HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok",
        );
        let result = run(driver, RunPlan { end: requests(5), ..plan(server.url()) });
        assert_eq!([result.requests.done, result.bytes.body_received], [5, 10]);
        assert_eq!(result.statuses.keys().copied().collect::<Vec<_>>(), [200]);
    }

    fn bodies_in_pieces_are_checked_whole(driver) {
        let text = "prony ".repeat(20_000);
        let body = text.clone();
        let server = Server::start(move |peer| {
            while peer.request().is_some() {
                let half = body.len() / 2;
                peer.answer(format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n", body.len()).as_bytes());
                peer.answer(b"\r\n");
                peer.answer(&body.as_bytes()[..half]);
                peer.answer(&body.as_bytes()[half..]);
            }
        });
        for body in [BodyCheck::Exact(text.clone()), BodyCheck::Regex("^(prony ){20000}$".to_owned())] {
            let checks = Checks { body: Some(body), ..Checks::default() };
            let plan = RunPlan { checks, load: closed(2), end: requests(20), ..plan(server.url()) };
            let result = run(driver, plan);
            assert_eq!(result.requests.done, 20, "{:?}", result.errors);
        }
    }
}
