//! Puts statements of numbers together, in constant memory.

use std::collections::BTreeMap;

use super::{MetricError, Reading};
use crate::spec::Pick;
use crate::units::Score;

/// A program that puts its step into the name of each number must not fill the ledger.
const NAME_COUNT_LIMIT: usize = 256;

/// The ways to state a number, the strongest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Dialect {
    /// `METRIC name=value`
    Marked,
    /// `name: value`, `name=value`
    Plain,
    /// A JSON object: the metrics file, or a stream's last line.
    Json,
}

/// What stood where a number should.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Value {
    Number(Score),
    NotFinite(String),
    NotANumber(String),
}

/// What has been said so far.
#[derive(Debug, Clone)]
pub(super) struct Findings {
    name: String,
    pick: Pick,
    /// Statements of the same block follow one another.
    block: u64,
    /// By dialect, what the latest block that names the metric says of it.
    metric: [Option<(u64, Result<Score, MetricError>)>; 3],
    numbers: BTreeMap<String, Score>,
}

impl Findings {
    pub(super) fn new(name: &str, pick: Pick) -> Findings {
        Findings { name: name.to_owned(), pick, block: 0, metric: [None, None, None], numbers: BTreeMap::new() }
    }

    /// Takes one statement. Text after another name than the metric's is prose, and ends the block.
    pub(super) fn state(&mut self, dialect: Dialect, name: &str, value: Value) {
        if name == self.name {
            self.state_metric(dialect, value.into_result(name));
            return;
        }
        match value {
            Value::Number(number) => add(&mut self.numbers, name, number),
            Value::NotFinite(_) => {}
            Value::NotANumber(_) => self.end_block(),
        }
    }

    /// Takes statements that belong together.
    pub(super) fn state_all(&mut self, dialect: Dialect, statements: Vec<(String, Value)>) {
        let block = self.block;
        for (name, value) in statements {
            self.block = block;
            self.state(dialect, &name, value);
        }
    }

    pub(super) fn end_block(&mut self) {
        self.block += 1;
    }

    /// Makes the metric unknown, whatever else is said.
    pub(super) fn spoil(&mut self, error: MetricError) {
        self.metric = [Some((self.block, Err(error))), None, None];
    }

    pub(super) fn into_reading(self) -> Reading {
        let metric = self.metric.into_iter().flatten().next();
        Reading { metric: metric.map(|(_, value)| value), numbers: self.numbers }
    }

    fn state_metric(&mut self, dialect: Dialect, value: Result<Score, MetricError>) {
        let latest = &mut self.metric[dialect as usize];
        let value = match latest.take() {
            Some((block, earlier)) if block == self.block && self.pick == Pick::Only => {
                agree(&self.name, earlier, value)
            }
            _ => value,
        };
        *latest = Some((self.block, value));
    }
}

impl Value {
    fn into_result(self, name: &str) -> Result<Score, MetricError> {
        let name = name.to_owned();
        match self {
            Value::Number(number) => Ok(number),
            Value::NotFinite(text) => Err(MetricError::NotFinite { name, text }),
            Value::NotANumber(text) => Err(MetricError::NotANumber { name, text }),
        }
    }
}

/// Puts two statements of one block together: what was wrong once stays wrong.
fn agree(
    name: &str,
    earlier: Result<Score, MetricError>,
    later: Result<Score, MetricError>,
) -> Result<Score, MetricError> {
    let (earlier, later) = (earlier?, later?);
    match earlier == later {
        true => Ok(later),
        false => {
            let (first, second) = (earlier.get(), later.get());
            Err(MetricError::Conflict { name: name.to_owned(), first, second })
        }
    }
}

/// Adds a number; a repeated name takes the new value, a new one only where there is room.
pub(super) fn add(numbers: &mut BTreeMap<String, Score>, name: &str, number: Score) {
    let has_room = numbers.len() < NAME_COUNT_LIMIT;
    match numbers.get_mut(name) {
        Some(known) => *known = number,
        None if has_room => drop(numbers.insert(name.to_owned(), number)),
        None => {}
    }
}
