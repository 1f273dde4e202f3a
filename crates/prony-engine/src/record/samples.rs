//! Every request one by one, where a plan asks for that.

use prony_model::SampleRecord;

/// Samples that one slice holds: 50 ms at 1.3 million requests per second. A slice that is full goes early.
const SAMPLES_PER_SLICE: usize = 1 << 16;

/// The single samples of a slice, in memory that is there from the beginning.
pub(crate) struct Samples {
    records: Vec<SampleRecord>,
    room: usize,
    lost: u64,
}

impl Samples {
    /// Room for a slice's samples, if they are `kept`.
    pub(crate) fn new(kept: bool) -> Self {
        if !kept {
            return Self::none();
        }
        Self { records: Vec::with_capacity(SAMPLES_PER_SLICE), room: SAMPLES_PER_SLICE, lost: 0 }
    }

    /// No room: nothing is kept.
    pub(crate) fn none() -> Self {
        Self { records: Vec::new(), room: 0, lost: 0 }
    }

    /// Whether there is room for any.
    pub(crate) fn is_kept(&self) -> bool {
        self.room > 0
    }

    /// Whether there is no room for one more.
    pub(crate) fn is_full(&self) -> bool {
        self.records.len() == self.room
    }

    /// Keeps `record`, or counts it as lost.
    pub(crate) fn keep(&mut self, record: SampleRecord) {
        if self.is_full() {
            self.lost += 1;
        } else {
            self.records.push(record);
        }
    }

    /// Forgets the kernel's stamps of what was kept.
    pub(crate) fn discard_stamps(&mut self) {
        for record in &mut self.records {
            (record.tx_ns, record.rx_ns) = (0, 0);
        }
    }

    /// What was kept.
    pub(crate) fn records(&self) -> &[SampleRecord] {
        &self.records
    }

    /// How many found no room.
    pub(crate) fn lost(&self) -> u64 {
        self.lost
    }

    /// Empties it for use again.
    pub(crate) fn clear(&mut self) {
        self.records.clear();
        self.lost = 0;
    }
}
