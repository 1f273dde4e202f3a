//! The least that a keep-alive GET costs a client: a bare io_uring loop that counts bytes and records nothing.
//!
//! `floor ADDRESS CONNECTIONS SECONDS` prints the number of answers, the seconds and its own CPU seconds as JSON. It
//! trusts that every answer has the length of the first one, which it reads apart. What separates a load generator from
//! this program is what its measuring costs.

use std::error::Error;
use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::os::fd::AsRawFd as _;
use std::sync::atomic::{AtomicU16, Ordering};
use std::time::{Duration, Instant};

use io_uring::types::{BufRingEntry, Fixed, Timespec};
use io_uring::{IoUring, cqueue, opcode, squeue};

/// A buffer takes one answer; an odd number of cache lines spreads them over the sets of a cache.
const BUFFER_BYTES: usize = 1024 + 64;
const BUFFERS_MAX: usize = 1024;
const GROUP: u16 = 0;
/// Numbers of what is no connection.
const TIME_IS_UP: u64 = u64::MAX;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [address, connections, seconds] = &arguments[..] else {
        return Err("usage: floor ADDRESS CONNECTIONS SECONDS".into());
    };
    let (address, connections): (SocketAddr, u32) = (address.parse()?, connections.parse()?);
    let request = format!("GET / HTTP/1.1\r\nHost: {address}\r\n\r\n");
    let answer_bytes = first_answer(address, &request)?;
    let mut streams = Vec::new();
    for _ in 0..connections {
        let stream = TcpStream::connect(address)?;
        stream.set_nodelay(true)?;
        streams.push(stream);
    }
    let began = Instant::now();
    let bytes = load(&streams, request.as_bytes(), seconds.parse()?)?;
    let (seconds, cpu) = (began.elapsed().as_secs_f64(), cpu_seconds());
    println!("{{\"answered\": {}, \"seconds\": {seconds:.6}, \"cpu_s\": {cpu:.6}}}", bytes / answer_bytes);
    Ok(())
}

/// The length of one answer, head and body; bodies need a `Content-Length`.
fn first_answer(address: SocketAddr, request: &str) -> Result<u64, Box<dyn Error>> {
    let mut stream = TcpStream::connect(address)?;
    stream.set_read_timeout(Some(Duration::from_secs(5)))?;
    stream.write_all(request.as_bytes())?;
    let (mut answer, mut piece) = (Vec::new(), [0; 4096]);
    let head_bytes = loop {
        let count = stream.read(&mut piece)?;
        answer.extend_from_slice(&piece[..count]);
        if let Some(at) = answer.windows(4).position(|window| window == b"\r\n\r\n") {
            break at + 4;
        }
        if count == 0 {
            return Err("the server closed the connection within the first head".into());
        }
    };
    let head = String::from_utf8_lossy(&answer[..head_bytes]).to_ascii_lowercase();
    let length = head.lines().find_map(|line| line.strip_prefix("content-length:"));
    let length: u64 = length.ok_or("the first answer has no Content-Length")?.trim().parse()?;
    Ok(head_bytes as u64 + length)
}

/// Sends the next request on a connection whenever an answer has come, for so many seconds; returns the bytes received.
fn load(streams: &[TcpStream], request: &[u8], seconds: u64) -> Result<u64, Box<dyn Error>> {
    let connections = u32::try_from(streams.len())?;
    let entries = (2 * connections).next_power_of_two().clamp(512, 4096);
    let mut ring: IoUring = IoUring::builder()
        .setup_single_issuer()
        .setup_defer_taskrun()
        .setup_submit_all()
        .setup_cqsize((4 * connections).next_power_of_two().clamp(2 * entries, 65_536))
        .build(entries)?;
    let (mut submitter, mut submissions, mut completions) = ring.split();
    submitter.register_ring_fd()?;
    let sockets: Vec<i32> = streams.iter().map(|stream| stream.as_raw_fd()).collect();
    submitter.register_files(&sockets)?;
    let mut buffers = Buffers::new(streams.len().next_power_of_two().clamp(64, BUFFERS_MAX));
    // SAFETY: the entries are page-aligned and, as the buffers, are never freed.
    unsafe {
        submitter.register_buf_ring_with_flags(buffers.entries.as_ptr() as u64, buffers.count, GROUP, 0)?
    };

    let length = u32::try_from(request.len())?;
    let receive = |slot: u32| opcode::RecvMulti::new(Fixed(slot), GROUP).build().user_data(slot.into());
    let send = |slot: u32| {
        let send = opcode::Send::new(Fixed(slot), request.as_ptr(), length).flags(libc::MSG_NOSIGNAL).build();
        // No completion but of a failure.
        send.user_data(u64::from(slot)).flags(squeue::Flags::SKIP_SUCCESS)
    };
    let end = Timespec::new().sec(seconds);
    let mut queue = |entry: &squeue::Entry| {
        // SAFETY: request, time and buffers outlive the ring.
        while unsafe { submissions.push(entry) }.is_err() {
            submissions.sync();
            submitter.submit().expect("the kernel takes what is queued");
            submissions.sync();
        }
        submissions.sync();
    };
    queue(&opcode::Timeout::new(&end).build().user_data(TIME_IS_UP));
    for slot in 0..connections {
        queue(&receive(slot));
        queue(&send(slot));
    }
    let mut bytes = 0;
    loop {
        submitter.submit_and_wait(1)?;
        completions.sync();
        for completion in &mut completions {
            if completion.user_data() == TIME_IS_UP {
                return Ok(bytes);
            }
            let slot = u32::try_from(completion.user_data())?;
            let count = u64::try_from(completion.result()).unwrap_or(0);
            if let Some(buffer) = cqueue::buffer_select(completion.flags()) {
                buffers.give_back(buffer);
            }
            if !cqueue::more(completion.flags()) {
                if count == 0 && completion.result() != -libc::ENOBUFS {
                    return Err(format!("a connection ended: {}", completion.result()).into());
                }
                queue(&receive(slot));
            }
            if count > 0 {
                bytes += count;
                queue(&send(slot));
            }
        }
    }
}

/// Buffers that the kernel picks from. Never freed: the program ends with them.
struct Buffers {
    entries: &'static mut [BufRingEntry],
    memory: &'static mut [u8],
    count: u16,
    tail: u16,
}

impl Buffers {
    fn new(count: usize) -> Self {
        // SAFETY: a fresh private anonymous mapping of zeros, which are valid entries.
        let entries = unsafe {
            let bytes = count * size_of::<BufRingEntry>();
            let (read_write, private) =
                (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
            let address = libc::mmap(std::ptr::null_mut(), bytes, read_write, private, -1, 0);
            assert_ne!(address, libc::MAP_FAILED, "no memory");
            std::slice::from_raw_parts_mut(address.cast::<BufRingEntry>(), count)
        };
        let memory = vec![0; count * BUFFER_BYTES].leak();
        let count = u16::try_from(count).expect("at most BUFFERS_MAX");
        let mut buffers = Self { entries, memory, count, tail: 0 };
        (0..count).for_each(|index| buffers.give_back(index));
        buffers
    }

    fn give_back(&mut self, index: u16) {
        let entry = &mut self.entries[usize::from(self.tail & (self.count - 1))];
        let address = self.memory[usize::from(index) * BUFFER_BYTES..].as_mut_ptr();
        entry.set_addr(address as u64);
        entry.set_len(BUFFER_BYTES as u32);
        entry.set_bid(index);
        self.tail = self.tail.wrapping_add(1);
        // SAFETY: the tail lies within the first entry; the kernel only reads it.
        unsafe {
            let tail = BufRingEntry::tail(self.entries.as_ptr()).cast_mut();
            AtomicU16::from_ptr(tail).store(self.tail, Ordering::Release);
        }
    }
}

/// User and system time of this process.
fn cpu_seconds() -> f64 {
    // SAFETY: `usage` is a valid place for the kernel to write to.
    let usage = unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        libc::getrusage(libc::RUSAGE_SELF, &mut usage);
        usage
    };
    let seconds = |time: libc::timeval| time.tv_sec as f64 + time.tv_usec as f64 / 1e6;
    seconds(usage.ru_utime) + seconds(usage.ru_stime)
}
