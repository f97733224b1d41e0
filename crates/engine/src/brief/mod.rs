//! Fills a brief: what stands comes from the state, what was tried before out of the ledger, when it is asked for.
//!
//! Nothing of past experiments is held in memory but the differences and outputs that the last brief showed. Only the latest rows are
//! read, so that a brief of ten thousand experiments costs what one of a hundred does.

mod difference;
mod past;
mod program;
mod untouched;

pub use program::read_program;

use overnight_model::brief::untrusted::beginning;
use overnight_model::brief::{Brief, File, Limits, Standing, Stuck, Word};
use overnight_model::forecast::{Sure, smallest_sure_gain};
use overnight_model::judge::Noise;
use overnight_model::proposal::Contents;
use overnight_model::spec::{JudgeSpec, Spec};
use overnight_model::study::{Experiment, Plateau, Row};
use overnight_model::tuner::report::Report;
use overnight_model::{CommitId, ExperimentId, State};

use crate::dispatch::Fault;
use crate::ledger::Reader;
use difference::Difference;
use std::collections::HashMap;
use untouched::Untouched;

/// How many past verdicts an agent is told about.
pub const RECENT: usize = 20;

/// What a brief is made from.
#[derive(Clone, Copy)]
pub struct Source<'a> {
    pub spec: &'a Spec,
    pub state: &'a State,
    /// `None` before anything was recorded.
    pub reader: Option<&'a Reader>,
}

/// What is asked, and of what.
pub struct Question<'a> {
    pub experiment: ExperimentId,
    /// The surface to be changed.
    pub champion: &'a Contents,
    pub tuning: Option<Report>,
    /// The latest verdicts, oldest first.
    pub recent: Vec<Row>,
}

/// What need not be found out twice.
#[derive(Default)]
pub struct Memory {
    differences: HashMap<ExperimentId, Difference>,
    /// The end of what broken ones printed.
    outputs: HashMap<ExperimentId, Option<String>>,
    sure: Option<(f64, JudgeSpec, Option<Sure>)>,
    /// What the tuner knew of a champion's values when so many experiments had been asked for.
    tuning: Option<(ExperimentId, ExperimentId, Option<Report>)>,
    untouched: Untouched,
}

/// Another noise than the one that the smallest sure gain was found for: it takes a while to find.
const ANOTHER: f64 = 0.1;

/// Among so many points one more draws the same curves: what is known of values is made anew after a share of them.
const FRESH_SHARE: u64 = 200;

impl Memory {
    /// What the tuner knows of the champion's values, made anew where it may have changed by now.
    pub(crate) fn tuning(&self, champion: ExperimentId, now: ExperimentId) -> Option<Option<Report>> {
        let (of, at, report) = self.tuning.as_ref()?;
        let is_fresh = *of == champion && now.0.saturating_sub(at.0) < now.0 / FRESH_SHARE;
        is_fresh.then(|| report.clone())
    }

    pub(crate) fn learn_tuning(&mut self, champion: ExperimentId, now: ExperimentId, report: Option<Report>) {
        self.tuning = Some((champion, now, report));
    }

    /// The brief, but for the person's program, which is read when an agent is about to get it.
    pub fn brief(&mut self, source: Source<'_>, question: Question<'_>) -> Result<Brief, Fault> {
        let Source { spec, state, reader } = source;
        let Question { experiment, champion, tuning, recent } = question;
        let standing = |found: Option<&Experiment>| Standing {
            experiment: found.map_or(ExperimentId::BASELINE, |found| found.id),
            commit: found.and_then(|found| found.commit.clone()).unwrap_or(CommitId(String::new())),
            metric: found.and_then(Experiment::metric),
        };
        let folder = &spec.evaluate.folder;
        let within = |path: &str| crate::load::within(folder, path);
        let noise = state.noise();
        let (kept, kept_before) = self.kept(source)?;
        let past = match reader {
            Some(reader) => reader.last_rows(past::WINDOW)?,
            None => Vec::new(),
        };
        let failures = self.failures(source, &past)?;
        let shown: Vec<ExperimentId> =
            kept.iter().map(|kept| kept.experiment).chain(failures.iter().map(|failure| failure.experiment)).collect();
        self.differences.retain(|id, _| shown.contains(id));
        self.outputs.retain(|id, _| shown.contains(id));
        let plateau = match state.plateau() {
            None => None,
            Some(Plateau { experiments, usual }) => {
                let (looked_at, untouched) = self.untouched.look(source, champion, &past, tuning.as_ref())?;
                Some(Stuck { experiments, usual, looked_at, untouched })
            }
        };
        let brief = Brief {
            study: spec.study.clone(),
            experiment,
            metric: spec.metric.name.clone(),
            goal: spec.metric.goal,
            min_gain: spec.metric.min_gain,
            budget_seconds: spec.evaluate.budget.as_secs(),
            surface: spec.surface.paths().map(within).collect(),
            limits: Limits::of(spec, within),
            program: None,
            program_left_out: Vec::new(),
            files: files(champion, spec.agent.brief_tokens, within),
            baseline: standing(state.find(state.baseline())),
            champion: standing(state.champion()),
            noise_sd: match noise {
                Noise::Unknown => None,
                Noise::Deterministic => Some(0.0),
                Noise::Noisy { sd, .. } => Some(sd),
            },
            smallest_sure_gain: self.sure_gain(spec, noise),
            kept,
            kept_before,
            failures,
            near_misses: past::near_misses(state, &past),
            plateau,
            redo: Brief::to_redo(recent.iter()),
            recent: recent.iter().filter_map(|row| past::told(spec, state, row)).collect(),
            repeats: past::repeats(&past),
            open: past::open(state),
            said: state.said().map(|(said, _)| Word { word: said.word, text: said.text.clone() }).collect(),
            tuning,
            brief_tokens: spec.agent.brief_tokens,
        };
        Ok(brief.made_visible())
    }

    /// What would be kept nine times in ten, found anew where the noise is another one.
    fn sure_gain(&mut self, spec: &Spec, noise: Noise) -> Option<f64> {
        let least = spec.metric.min_gain.map_or(0.0, |least| least.get());
        let Noise::Noisy { sd, .. } = noise else {
            return smallest_sure_gain(noise, least, spec.judge).map(|sure| sure.gain);
        };
        // What counts is how much is asked for beside the noise; found for a noise of 1.
        let asked = least / sd;
        let is_near = |known: f64| (known - asked).abs() <= ANOTHER * known.max(asked);
        let known = self.sure.as_ref().filter(|(known, judge, _)| is_near(*known) && *judge == spec.judge);
        let found = match known {
            Some((_, _, found)) => *found,
            None => {
                let unit = Noise::Noisy { sd: 1.0, degrees: 1 };
                let found = smallest_sure_gain(unit, asked, spec.judge);
                self.sure = Some((asked, spec.judge, found));
                found
            }
        };
        found.map(|sure| sure.gain * sd)
    }
}

/// The champion's surface, of each file no more than a brief has room for.
fn files(champion: &Contents, tokens: u64, within: impl Fn(&str) -> String) -> Vec<File> {
    let most = Brief::bytes(tokens);
    let file = |(path, bytes): &(String, Vec<u8>)| {
        // A sign that the cut takes apart is no text at the end of a file.
        let text = String::from_utf8_lossy(&bytes[..bytes.len().min(most + 4)]);
        let (text, is_cut) = (beginning(&text, most), bytes.len() > most);
        File { path: within(path), text: text.to_owned(), cut_from_bytes: is_cut.then_some(bytes.len() as u64) }
    };
    champion.0.iter().map(file).collect()
}
