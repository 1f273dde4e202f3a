//! What agents know by time: pieces of the measured part, laid side by side.
//!
//! Agents begin to measure at one moment, so piece by piece their values are of the same time, to within the bounds of
//! their clocks. A long run has longer pieces; shorter ones are joined until all agents have the same.

use prony_model::TimePieces;
use prony_stats::{BATCHES, DecodeError, Histogram, Sparse};

use crate::stored::DistributionError;

/// Pieces that an agent may have: twice what the engine keeps.
const PIECES_MAX: usize = 1_000;

/// The measured part of one agent, or of all, in pieces.
pub(super) struct Pieces {
    /// Length of a piece, nanoseconds.
    pub(super) length_ns: u64,
    /// Good responses in each.
    pub(super) done: Vec<u64>,
    /// Their response times.
    pub(super) response: Vec<Sparse>,
    /// Their service times.
    pub(super) service: Vec<Sparse>,
}

/// The pieces that an agent stored.
pub(super) fn read(stored: &TimePieces) -> Result<Pieces, DistributionError> {
    let damaged = |source| DistributionError::Damaged { name: "a piece of time".to_owned(), source };
    let counts = [stored.done.len(), stored.response.len(), stored.service.len()];
    if stored.length_ns == 0 || counts.iter().any(|count| *count != counts[0] || *count > PIECES_MAX) {
        return Err(damaged(DecodeError::Counts));
    }
    let row = |texts: &[String]| {
        let piece = |text: &String| match text.as_str() {
            "" => Ok(Sparse::default()),
            text => Histogram::from_base64_v2(text).map(|values| values.to_sparse()),
        };
        texts.iter().map(piece).collect::<Result<Vec<_>, _>>().map_err(damaged)
    };
    Ok(Pieces {
        length_ns: stored.length_ns,
        done: stored.done.clone(),
        response: row(&stored.response)?,
        service: row(&stored.service)?,
    })
}

impl Pieces {
    /// How many of these pieces are as long as one of `length_ns`.
    fn per(&self, length_ns: u64) -> usize {
        usize::try_from(length_ns / self.length_ns).unwrap_or(usize::MAX)
    }
}

/// Length of a piece that fits all of `agents`, and how many of those all of them have.
fn common(agents: &[&Pieces]) -> Option<(u64, usize)> {
    let length_ns = agents.iter().map(|pieces| pieces.length_ns).max()?;
    if agents.iter().any(|pieces| !length_ns.is_multiple_of(pieces.length_ns)) {
        return None;
    }
    let count = agents.iter().map(|pieces| pieces.done.len() / pieces.per(length_ns)).min()?;
    Some((length_ns, count))
}

/// The pieces of all `agents` added up, as many as all of them have; `None` where their lengths don't fit together.
pub(super) fn together(agents: &[&Pieces]) -> Option<Pieces> {
    let (length_ns, count) = common(agents)?;
    let mut sum = Histogram::new();
    let mut row = |of: fn(&Pieces) -> &[Sparse]| {
        let piece = |index: usize| {
            sum.clear();
            for pieces in agents {
                let each = pieces.per(length_ns);
                of(pieces)[index * each..(index + 1) * each].iter().for_each(|values| sum.add_sparse(values));
            }
            sum.to_sparse()
        };
        (0..count).map(piece).collect::<Vec<_>>()
    };
    let (response, service) = (row(|pieces| &pieces.response), row(|pieces| &pieces.service));
    let done = |index: usize| {
        let of = |pieces: &&Pieces| {
            let each = pieces.per(length_ns);
            pieces.done[index * each..(index + 1) * each].iter().sum::<u64>()
        };
        agents.iter().map(of).sum()
    };
    Some(Pieces { length_ns, done: (0..count).map(done).collect(), response, service })
}

/// Quantile `q` of the service times of each of `agents` in each of ten parts of the time, nanoseconds; `None` where one of
/// them has fewer than `least` values in one of those.
pub(super) fn by_batch(agents: &[&Pieces], q: f64, least: u64) -> Option<Vec<Vec<f64>>> {
    let (length_ns, count) = common(agents)?;
    let mut batch = Histogram::new();
    let mut seen = Vec::with_capacity(BATCHES);
    for number in 0..BATCHES {
        let (from, to) = (number * count / BATCHES, (number + 1) * count / BATCHES);
        let mut row = Vec::with_capacity(agents.len());
        for pieces in agents {
            let each = pieces.per(length_ns);
            batch.clear();
            pieces.service[from * each..to * each].iter().for_each(|values| batch.add_sparse(values));
            if batch.count() < least.max(1) {
                return None;
            }
            row.push(batch.value_at_quantile(q)? as f64);
        }
        seen.push(row);
    }
    Some(seen)
}
