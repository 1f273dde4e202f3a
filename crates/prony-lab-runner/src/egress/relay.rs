//! The end of the way out that is in the sandbox: a port on loopback, whose connections go through a socket.

use std::io;
use std::net::{Ipv4Addr, Shutdown, TcpListener, TcpStream};
use std::os::unix::net::UnixStream;
use std::path::Path;

/// The variables by which programs find a proxy at `port` of loopback.
pub fn variables(port: u16) -> Vec<(&'static str, String)> {
    let proxy = format!("http://127.0.0.1:{port}");
    let names = ["http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"];
    let mut all: Vec<_> = names.map(|name| (name, proxy.clone())).to_vec();
    all.extend(["no_proxy", "NO_PROXY"].map(|name| (name, "127.0.0.1,localhost,::1".to_owned())));
    all
}

/// Listens on a port of loopback, which `report_port` gets, and hands all that comes to the socket `path`. It ends with the
/// sandbox.
pub fn relay(path: &Path, report_port: impl FnOnce(u16) -> io::Result<()>) -> io::Result<()> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    report_port(listener.local_addr()?.port())?;
    for connection in listener.incoming() {
        // A connection that can't be handed on is closed, which its client sees.
        let (Ok(connection), Ok(out)) = (connection, UnixStream::connect(path)) else { continue };
        let _ = pass(connection, out);
    }
    Ok(())
}

/// Copies both ways, on two threads of their own. The lab bounds how many there are.
fn pass(inside: TcpStream, out: UnixStream) -> io::Result<()> {
    let (mut from_inside, mut to_out) = (inside.try_clone()?, out.try_clone()?);
    let (mut from_out, mut to_inside) = (out, inside);
    let named = || std::thread::Builder::new().name("egress".to_owned());
    named().spawn(move || {
        let _ = io::copy(&mut from_inside, &mut to_out);
        let _ = to_out.shutdown(Shutdown::Write);
    })?;
    named().spawn(move || {
        let _ = io::copy(&mut from_out, &mut to_inside);
        let _ = to_inside.shutdown(Shutdown::Both);
    })?;
    Ok(())
}
