//! History in any of the formats, a line at a time: no history has to be held to be written.

use super::past::{Heading, Past};
use super::{Format, csv, jsonl, pi_log, results_tsv};
use crate::units::Goal;

/// Prints the history of one study.
#[derive(Debug)]
pub struct Printer<'a> {
    format: Format,
    study: &'a str,
    metric: &'a str,
    goal: Goal,
    marked: bool,
    runs: u64,
    /// How many segments were begun, and how many rows the last of them has.
    segments: u32,
    rows: u64,
    /// Which segment the last row came from.
    source: Option<u32>,
}

impl<'a> Printer<'a> {
    pub fn new(format: Format, study: &'a str, metric: &'a str, goal: Goal) -> Printer<'a> {
        Printer { format, study, metric, goal, marked: false, runs: 0, segments: 0, rows: 0, source: None }
    }

    /// What was imported will be among the rows, and has to be told apart.
    pub fn marked(mut self) -> Printer<'a> {
        self.marked = true;
        self
    }

    /// From here on the numbers are of this metric.
    pub fn measures(&mut self, metric: &'a str, goal: Goal) {
        (self.metric, self.goal) = (metric, goal);
    }

    /// What stands before the first row.
    pub fn header(&self) -> String {
        match self.format {
            Format::ResultsTsv => results_tsv::print_header(self.metric),
            Format::Csv => csv::print_header(self.marked),
            Format::Pi | Format::Jsonl => String::new(),
        }
    }

    /// The beginning of a segment, where the format has a word for it.
    pub fn heading(&mut self, heading: &Heading) -> String {
        if self.format != Format::Pi {
            return String::new();
        }
        if self.rows > 0 || self.segments == 0 {
            self.segments += 1;
        }
        (self.rows, self.source) = (0, None);
        pi_log::print_heading(heading)
    }

    /// The beginning of a segment of the study's own.
    pub fn own_heading(&mut self) -> String {
        let text = |text: &str| Some(text.to_owned());
        let (name, metric, unit) = (text(self.study), text(self.metric), text(""));
        self.heading(&Heading { name, metric, unit, goal: Some(self.goal) })
    }

    /// One row; `None` where the format has no word for it.
    pub fn row(&mut self, past: &Past) -> Option<String> {
        match self.format {
            Format::ResultsTsv => results_tsv::print(past),
            Format::Csv => Some(csv::print(past, self.study, self.marked)),
            Format::Jsonl => Some(jsonl::print(past, self.study)),
            Format::Pi => {
                past.verdict?;
                let changes = self.source.is_some_and(|source| source != past.segment);
                let heading = if changes || self.segments == 0 { self.own_heading() } else { String::new() };
                self.source = Some(past.segment);
                self.rows += 1;
                let run = past.number.unwrap_or(self.runs + 1);
                self.runs = run.max(self.runs);
                Some(heading + &pi_log::print(past, run, self.segments - 1)?)
            }
        }
    }
}
