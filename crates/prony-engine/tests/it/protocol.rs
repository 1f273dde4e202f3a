//! Answers that are not HTTP, or break its rules or a limit.

use prony_model::{ErrorKind, RunPlan};

use crate::plans::{failures, plan, requests, run};
use crate::server::{Server, ok};

/// The first two requests get good answers, each later one gets `bad`, repeated until the client goes.
fn server(bad: &'static [u8], endless: bool) -> Server {
    Server::start(move |peer| {
        while let Some(request) = peer.request() {
            if request.number < 2 {
                peer.answer(&ok("hello"));
                continue;
            }
            while peer.answer(bad) && endless {}
            return peer.hold();
        }
    })
}

on_both_drivers! {
    fn garbage(driver) {
        let answers: [(&'static [u8], &str); 6] = [
            (b"SSH-2.0-OpenSSH_9.6\r\n", "does not start with HTTP/1"),
            (b"\x15\x03\x01\x00\x02\x02\x46", "TLS"),
            (b"HTTP/1.1 abc\r\n\r\n", "status line"),
            (b"HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n", "content-length"),
            (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", "chunk-size"),
            (b"HTTP/1.1 101 Switching Protocols\r\n\r\n", "101"),
        ];
        for (bad, words) in answers {
            let server = server(bad, false);
            let result = run(driver, RunPlan { end: requests(5), ..plan(server.url()) });
            assert_eq!([result.requests.done, result.requests.failed], [2, 3], "{words}");
            let error = failures(&result, ErrorKind::Protocol);
            assert_eq!(error.count, 3);
            assert!(error.first_example.contains(words), "{} / {words}", error.first_example);
            // The connection of the good answers, and a new one after each bad one.
            assert_eq!(result.connections.opened, 3);
        }
    }

    fn garbage_as_the_first_answer_shows_its_beginning(driver) {
        let server = Server::start(|peer| {
            peer.request();
            peer.answer(b"220 mail.example.org ESMTP\r\n");
            peer.hold();
        });
        let result = run(driver, plan(server.url()));
        let error = failures(&result, ErrorKind::Protocol);
        assert!(error.first_example.contains("220 mail.example.org"), "{}", error.first_example);
    }

    fn an_endless_head(driver) {
        let server = server(b"HTTP/1.1 200 OK\r\nX-Filler: aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\r\n", true);
        let result = run(driver, RunPlan { end: requests(4), ..plan(server.url()) });
        assert_eq!(result.requests.done, 2);
        assert_eq!(failures(&result, ErrorKind::Protocol).count, 2, "{:?}", result.errors);
    }

    fn an_endless_header_line(driver) {
        let server = Server::start(|peer| {
            peer.request();
            peer.answer(b"HTTP/1.1 200 OK\r\nX-Filler: ");
            while peer.answer(&[b'a'; 4096]) {}
        });
        let result = run(driver, RunPlan { end: requests(2), ..plan(server.url()) });
        let error = failures(&result, ErrorKind::Protocol);
        assert_eq!(error.count, 2);
        assert!(error.first_example.contains("does not end within 65536 bytes"), "{}", error.first_example);
    }

    fn an_endless_chunk_line(driver) {
        let server = Server::start(|peer| {
            peer.request();
            peer.answer(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5;");
            while peer.answer(&[b'a'; 4096]) {}
        });
        let result = run(driver, RunPlan { end: requests(2), ..plan(server.url()) });
        let error = failures(&result, ErrorKind::Protocol);
        assert_eq!(error.count, 2);
        assert!(error.first_example.contains("chunk-size line does not end"), "{}", error.first_example);
    }

    fn an_answer_longer_than_it_says(driver) {
        let server = server(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhello", false);
        let result = run(driver, RunPlan { end: requests(5), ..plan(server.url()) });
        assert_eq!([result.requests.done, result.requests.failed], [2, 3]);
        let error = failures(&result, ErrorKind::Protocol);
        assert!(error.first_example.contains("llo"), "{}", error.first_example);
    }
}
