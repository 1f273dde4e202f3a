//! Servers that get TLS wrong, or don't speak it: before the load by name, in the load as failures of their kind.

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use prony_model::{ErrorKind, RunPlan, Timeouts};
use rustls::{ServerConnection, StreamOwned};

use super::{config, trusting};
use crate::plans::{failures, plan, refused, requests, run};
use crate::server::{Server, ok};

/// Does `script` with each connection, whose number it gets; threads end with their connections.
fn raw(script: impl Fn(u64, TcpStream) + Send + Sync + 'static) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("loopback has free ports");
    let url = format!("https://{}/", listener.local_addr().expect("it is bound"));
    let (script, number) = (Arc::new(script), AtomicU64::new(0));
    std::thread::spawn(move || {
        while let Ok((stream, _)) = listener.accept() {
            let (script, number) = (Arc::clone(&script), number.fetch_add(1, Ordering::SeqCst));
            std::thread::spawn(move || script(number, stream));
        }
    });
    url
}

/// Completes the handshake with the engine's connection before the load, and waits until it goes.
fn greet(stream: TcpStream) {
    let session = ServerConnection::new(Arc::new(config("server"))).expect("a session");
    let _gone = StreamOwned::new(session, stream).read(&mut [0; 16]);
}

/// Reads a little of the client's first message.
fn read_some(mut stream: &TcpStream) {
    let _count = stream.read(&mut [0; 1024]).expect("the client speaks first");
}

on_both_drivers! {
    fn a_server_without_tls(driver) {
        let url = raw(|_, mut stream| {
            read_some(&stream);
            stream.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n").expect("the client reads");
        });
        let error = refused(driver, trusting(&url)).to_string();
        assert!(error.contains("doesn't speak TLS on this port"), "{error}");
        assert!(error.contains("http://"), "{error}");
    }

    fn a_server_with_tls_that_is_loaded_without(driver) {
        let server = Server::over_tls(config("server"), |peer| drop(peer.request()));
        let result = run(driver, plan(&server.url().replace("https", "http")));
        let failed = failures(&result, ErrorKind::Protocol);
        assert!(failed.first_example.contains("try an https URL"), "{failed:?}");
        assert!(result.tls.is_none());
    }

    fn a_400_that_says_why(driver) {
        const TEXT: &str = "Client sent an HTTP request to an HTTPS server.\n";
        let by_length = format!("HTTP/1.1 400 Bad Request\r\nContent-Length: {}\r\n\r\n{TEXT}", TEXT.len());
        for answer in [by_length, format!("HTTP/1.0 400 Bad Request\r\n\r\n{TEXT}")] {
            let server = Server::start(move |peer| {
                if peer.request().is_some() {
                    peer.answer(answer.as_bytes());
                }
            });
            let result = run(driver, RunPlan { end: requests(2), ..plan(server.url()) });
            let failed = failures(&result, ErrorKind::Status);
            assert!(failed.first_example.contains("try an https URL"), "{failed:?}");
        }
        let server = Server::answering(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n");
        let result = run(driver, RunPlan { end: requests(2), ..plan(server.url()) });
        let failed = failures(&result, ErrorKind::Status);
        assert_eq!(failed.first_example, "400 Bad Request for GET /");
    }

    fn a_server_that_closes_in_the_handshake(driver) {
        let url = raw(|_, stream| read_some(&stream));
        let error = refused(driver, trusting(&url)).to_string();
        assert!(error.contains("in the middle of the handshake"), "{error}");
        // Only once the load is on.
        let url = raw(|number, stream| if number == 0 { greet(stream) } else { read_some(&stream) });
        let result = run(driver, RunPlan { end: requests(3), ..trusting(&url) });
        let failed = failures(&result, ErrorKind::Tls);
        assert_eq!(failed.count, 3);
        assert!(failed.first_example.contains("in the middle of the handshake"), "{failed:?}");
        let tls = result.tls.expect("TLS was used");
        assert_eq!((tls.handshakes.failed, tls.handshakes.full), (3, 0));
        assert_eq!(result.connections.opened, 0);
    }

    fn garbage_and_alerts_in_the_handshake(driver) {
        let check = |bytes: &'static [u8], expected: &str| {
            let answer = move |mut stream: TcpStream| {
                read_some(&stream);
                let _gone = stream.write_all(bytes);
                // Not before the client has read it.
                while stream.read(&mut [0; 1024]).is_ok_and(|count| count > 0) {}
            };
            let url = raw(move |_, stream| answer(stream));
            let error = refused(driver, trusting(&url)).to_string();
            assert!(error.contains(expected), "{error}");
            let url = raw(move |number, stream| if number == 0 { greet(stream) } else { answer(stream) });
            let result = run(driver, RunPlan { end: requests(2), ..trusting(&url) });
            let failed = failures(&result, ErrorKind::Tls);
            assert_eq!(failed.count, 2);
            assert!(failed.first_example.contains(expected), "{failed:?}");
        };
        check(b"SSH-2.0-OpenSSH_9.2p1\r\n", "doesn't speak TLS");
        check(&[22, 3, 3, 0, 4, 2, 0, 0, 0], "broke the rules of TLS");
        check(&[22, 9, 9, 0, 4, 2, 0, 0, 0], "broke the rules of TLS");
        check(&[21, 3, 3, 0, 2, 2, 40], "alert handshake_failure");
        check(&[21, 3, 3, 0, 2, 2, 112], "it has no certificate for this name");
    }

    fn a_record_that_no_key_opens(driver) {
        let server = Server::over_tls(config("server"), |peer| {
            let number = peer.request().map(|request| request.number);
            if number == Some(0) {
                peer.answer(&ok("hello"));
                peer.request();
                peer.answer_in_plain(&[23, 3, 3, 0, 20, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 1, 2, 3, 4, 5, 6, 7, 8, 9, 1]);
                peer.hold();
            }
            while peer.request().is_some() && peer.answer(&ok("hello")) {}
        });
        let result = run(driver, RunPlan { end: requests(3), ..trusting(server.url()) });
        assert_eq!(result.requests.done, 1, "{:?}", result.errors);
        let failed = failures(&result, ErrorKind::Tls);
        assert!(failed.first_example.contains("can't be decrypted"), "{failed:?}");
    }

    fn a_handshake_that_takes_too_long(driver) {
        let limit = Timeouts { connect: Duration::from_millis(300), ..Timeouts::default() };
        let hold = |mut stream: TcpStream| while stream.read(&mut [0; 1024]).is_ok_and(|count| count > 0) {};
        let url = raw(move |_, stream| hold(stream));
        let error = refused(driver, RunPlan { timeouts: limit, ..trusting(&url) }).to_string();
        assert!(error.contains("no TLS handshake in time"), "{error}");
        let url = raw(move |number, stream| if number == 0 { greet(stream) } else { hold(stream) });
        let result = run(driver, RunPlan { timeouts: limit, end: requests(1), ..trusting(&url) });
        assert_eq!(failures(&result, ErrorKind::ConnectTimeout).count, 1);
        assert_eq!(result.tls.expect("TLS was used").handshakes.failed, 1);
    }
}
