//! From the serving threads to the log file, without a wait on their side.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::mpsc::{Receiver, SyncSender, TryRecvError, sync_channel};
use std::time::Duration;

use super::log::{Record, write_header, write_trailer};
use crate::StartError;
use crate::clock::Clocks;
use crate::counters::{Counters, count};
use crate::running::Running;

/// Records under way, allocated beforehand (5 MB): with [`TICK`] enough for three million requests a second.
const BUFFER_RECORDS: usize = 65_536;
/// How often they are taken out. A thread that waited for each would have to be woken for each, and the
/// serving thread would pay for that.
const TICK: Duration = Duration::from_millis(20);
/// Writes to the file go out in pieces of this size.
const FILE_BUFFER_BYTES: usize = 256 * 1024;

/// Where records go.
#[derive(Debug)]
pub(super) struct Sinks {
    file: Option<BufWriter<File>>,
    channel: Option<SyncSender<Record>>,
    counters: Arc<Counters>,
    written: u64,
}

impl Sinks {
    /// Opens the file and begins it; `None` when nobody wants records.
    pub(super) fn open(
        path: Option<PathBuf>,
        channel: Option<SyncSender<Record>>,
        seed: u64,
        began: Clocks,
        counters: &Arc<Counters>,
    ) -> Result<Option<Self>, StartError> {
        if path.is_none() && channel.is_none() {
            return Ok(None);
        }
        let begin = |path: PathBuf| {
            let attempt = || {
                let mut file = BufWriter::with_capacity(FILE_BUFFER_BYTES, File::create(&path)?);
                write_header(&mut file, seed, began)?;
                file.flush()?;
                Ok(file)
            };
            attempt().map_err(|source| StartError::Log { path: path.clone(), source })
        };
        let file = path.map(begin).transpose()?;
        Ok(Some(Self { file, channel, counters: Arc::clone(counters), written: 0 }))
    }

    /// Starts the thread that writes; it ends when the last sender is gone.
    pub(super) fn spawn(mut self, running: &mut Running) -> Result<SyncSender<Record>, StartError> {
        let (give, take) = sync_channel(BUFFER_RECORDS);
        running.spawn("truth-log", move || {
            while self.take_all(&take) {
                std::thread::sleep(TICK);
            }
            self.end();
        })?;
        Ok(give)
    }

    /// Takes what there is; false when no more will come.
    fn take_all(&mut self, take: &Receiver<Record>) -> bool {
        loop {
            match take.try_recv() {
                Ok(record) => self.put(&record),
                Err(TryRecvError::Empty) => return true,
                Err(TryRecvError::Disconnected) => return false,
            }
        }
    }

    fn put(&mut self, record: &Record) {
        if self.channel.as_ref().is_some_and(|channel| channel.try_send(*record).is_err()) {
            count(&self.counters.records_lost);
        }
        match self.file.as_mut().map(|file| record.write(file)) {
            Some(Ok(())) => self.written += 1,
            Some(Err(fault)) => self.give_up(&fault),
            None => {}
        }
    }

    /// The disk is full, or gone: the log stays without a trailer, which shows that it is cut short.
    fn give_up(&mut self, _fault: &io::Error) {
        count(&self.counters.records_lost);
        // What is still in the buffer would fail again when dropped.
        drop(self.file.take().map(BufWriter::into_parts));
    }

    fn end(&mut self) {
        let lost = self.counters.records_lost.load(Relaxed);
        let written = self.written;
        if let Some(file) = &mut self.file
            && let Err(fault) = write_trailer(file, written, lost).and_then(|()| file.flush())
        {
            self.give_up(&fault);
        }
    }
}
