//! What agents know by time: pieces of the measured part, laid side by side.
//!
//! Agents begin to measure at one moment, so piece by piece their values are of the same time, to within the bounds of
//! their clocks. A long run has longer pieces; shorter ones are joined until all agents have the same.

use prony_model::TimePieces;
use prony_stats::{BATCHES, DecodeError, Histogram, Sparse};

use super::totals::SAMPLES_MAX;
use crate::stored::DistributionError;

/// Pieces that an agent may have: twice what the engine keeps.
const PIECES_MAX: usize = 1_000;
/// Agents whose pieces are added in one go. More would cost memory, fewer time: the sum is packed again after each go.
const GROUP: usize = 16;

/// The pieces that fit all agents.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Grid {
    /// Length of a piece, nanoseconds.
    length_ns: u64,
    /// How many of those all agents have.
    count: usize,
}

impl Grid {
    /// The grid for agents whose pieces are so long, in nanoseconds, and so many; `None` where lengths don't fit together,
    /// or there are none.
    pub fn of(agents: impl IntoIterator<Item = (u64, usize)>) -> Option<Self> {
        let agents: Vec<(u64, usize)> = agents.into_iter().collect();
        let length_ns = agents.iter().map(|(length_ns, _)| *length_ns).max()?;
        let per = |own_ns: u64| usize::try_from(length_ns / own_ns).unwrap_or(usize::MAX);
        let fits = |own_ns: u64| own_ns > 0 && length_ns.is_multiple_of(own_ns);
        if !agents.iter().all(|(own_ns, _)| fits(*own_ns)) {
            return None;
        }
        let count = agents.iter().map(|(own_ns, count)| count / per(*own_ns)).min()?;
        Some(Self { length_ns, count })
    }
}

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

/// The pieces that an agent stored; `scratch` is used for decoding.
pub(super) fn read(stored: &TimePieces, scratch: &mut Histogram) -> Result<Pieces, DistributionError> {
    let damaged = |source| DistributionError::Damaged { name: "a piece of time".to_owned(), source };
    let counts = [stored.done.len(), stored.response.len(), stored.service.len()];
    if stored.length_ns == 0 || counts.iter().any(|count| *count != counts[0] || *count > PIECES_MAX) {
        return Err(damaged(DecodeError::Counts));
    }
    let mut row = |texts: &[String]| {
        let mut piece = |text: &String| match text.as_str() {
            "" => Ok(Sparse::default()),
            text => scratch.read_base64_v2(text).map(|()| scratch.to_sparse()),
        };
        texts.iter().map(&mut piece).collect::<Result<Vec<_>, _>>().map_err(damaged)
    };
    let (response, service) = (row(&stored.response)?, row(&stored.service)?);
    let few = |mut counts: Box<dyn Iterator<Item = u64> + '_>| {
        let total = counts.try_fold(0_u64, u64::checked_add);
        total.is_some_and(|total| total <= SAMPLES_MAX)
    };
    let rows = [&response, &service].into_iter().all(|row| few(Box::new(row.iter().map(Sparse::count))));
    if !rows || !few(Box::new(stored.done.iter().copied())) {
        return Err(damaged(DecodeError::Counts));
    }
    Ok(Pieces { length_ns: stored.length_ns, done: stored.done.clone(), response, service })
}

impl Pieces {
    /// Whether some of these make one of `grid`.
    pub(super) fn fits(&self, grid: Grid) -> bool {
        grid.length_ns.is_multiple_of(self.length_ns)
    }

    /// Where the pieces `from..to` of `grid` are among these; what is not there is left out.
    fn span(&self, grid: Grid, from: usize, to: usize) -> std::ops::Range<usize> {
        let per = usize::try_from(grid.length_ns / self.length_ns).unwrap_or(usize::MAX);
        let at = |place: usize| place.saturating_mul(per).min(self.done.len());
        at(from)..at(to)
    }

    /// Quantiles of the service times in each of ten parts of the time, nanoseconds. Each of `wanted` is a quantile and
    /// how many values a part needs; `None` where one has fewer.
    pub(super) fn by_batch(
        &self,
        grid: Grid,
        wanted: &[(f64, u64)],
        scratch: &mut Histogram,
    ) -> Vec<Option<Vec<f64>>> {
        let mut found: Vec<Option<Vec<f64>>> = vec![Some(Vec::with_capacity(BATCHES)); wanted.len()];
        for number in 0..BATCHES {
            let (from, to) = (number * grid.count / BATCHES, (number + 1) * grid.count / BATCHES);
            scratch.clear();
            self.service[self.span(grid, from, to)].iter().for_each(|values| scratch.add_sparse(values));
            for (row, (q, least)) in found.iter_mut().zip(wanted) {
                let value = scratch.value_at_quantile(*q).filter(|_| scratch.count() >= *least);
                match (row.as_mut(), value) {
                    (Some(values), Some(nanos)) => values.push(nanos as f64),
                    _ => *row = None,
                }
            }
        }
        found
    }
}

/// The pieces of all agents, added up.
pub(super) struct Sum {
    grid: Grid,
    waiting: Vec<Pieces>,
    added: Option<Pieces>,
}

impl Sum {
    pub(super) fn new(grid: Grid) -> Self {
        Self { grid, waiting: Vec::with_capacity(GROUP), added: None }
    }

    pub(super) fn add(&mut self, agent: Pieces, scratch: &mut Histogram) {
        self.waiting.push(agent);
        if self.waiting.len() == GROUP {
            self.fold(scratch);
        }
    }

    /// As many pieces as all agents have; `None` without agents.
    pub(super) fn finish(mut self, scratch: &mut Histogram) -> Option<Pieces> {
        self.fold(scratch);
        self.added
    }

    fn fold(&mut self, scratch: &mut Histogram) {
        let agents: Vec<Pieces> = self.added.take().into_iter().chain(self.waiting.drain(..)).collect();
        let grid = self.grid;
        let mut row = |of: fn(&Pieces) -> &[Sparse]| {
            let piece = |index: usize| {
                scratch.clear();
                for pieces in &agents {
                    let span = pieces.span(grid, index, index + 1);
                    of(pieces)[span].iter().for_each(|values| scratch.add_sparse(values));
                }
                scratch.to_sparse()
            };
            (0..grid.count).map(piece).collect::<Vec<_>>()
        };
        let (response, service) = (row(|pieces| &pieces.response), row(|pieces| &pieces.service));
        let done = |index: usize| {
            let of = |pieces: &Pieces| pieces.done[pieces.span(grid, index, index + 1)].iter().sum::<u64>();
            agents.iter().map(of).sum()
        };
        let done = (0..grid.count).map(done).collect();
        self.added =
            (!agents.is_empty()).then_some(Pieces { length_ns: grid.length_ns, done, response, service });
    }
}
