//! What an agent said, gathered from its output as it comes.

use overnight_model::Timestamp;
use overnight_model::event::Trouble;
use overnight_model::spec::Preset;

use super::{hear, hear_line, trouble};
use crate::process::Stream;

/// A longer line is a whole conversation told once more, or no event at all.
const LINE_LIMIT: usize = 4 * 1024 * 1024;
/// A title and the reasons for it fit many times.
const TEXT_LIMIT: usize = 64 * 1024;
/// Where programs that have no events say what went wrong.
const COMPLAINT_LIMIT: usize = 16 * 1024;

/// Nobody is waited for longer.
const A_DAY: u64 = 24 * 3600;

/// What counts of all that was said.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Said {
    /// The model's last words.
    pub(crate) text: String,
    /// What went wrong last, in the words of the agent.
    pub(crate) error: Option<String>,
    pub(crate) refused: bool,
    /// Which model answered, where the agent says so.
    model: Option<String>,
    trouble: Option<Trouble>,
    /// When a provider may be asked again: in seconds from now, or at a moment.
    wait: Option<u64>,
    reset: Option<i64>,
    /// The next words take the place of those before.
    is_anew: bool,
    is_deaf: bool,
}

impl Said {
    pub(super) fn says(&mut self, text: String) {
        if !text.trim().is_empty() {
            self.text = text;
            self.recovers();
        }
    }

    pub(super) fn adds(&mut self, text: &str) {
        if self.is_anew {
            if text.trim().is_empty() {
                return;
            }
            self.is_anew = false;
            self.text.clear();
        }
        if self.text.len() < TEXT_LIMIT {
            self.text += text;
        }
    }

    pub(super) fn adds_if_listening(&mut self, line: &str) {
        if !self.is_deaf {
            self.adds(line);
            self.adds("\n");
        }
    }

    pub(super) fn listens(&mut self, listens: bool) {
        self.is_deaf = !listens;
    }

    /// What was said so far was not about the proposal.
    pub(super) fn forgets(&mut self) {
        self.text.clear();
    }

    /// Whatever comes now takes the place of what was said before.
    pub(super) fn begins_anew(&mut self) {
        self.is_anew = true;
    }

    pub(super) fn is_answered_by(&mut self, model: Option<&str>) {
        self.model = model.map(ToOwned::to_owned).or(self.model.take());
    }

    /// The model that answered, where it is another one than was asked for.
    pub(crate) fn other_model(&self, asked: Option<&str>) -> Option<&str> {
        let (asked, answered) = (asked?, self.model.as_deref()?);
        is_other_model(asked, answered).then_some(answered)
    }

    pub(super) fn fails(&mut self, what: &str, status: Option<u64>) {
        self.trouble = trouble::classify(what, status).or(self.trouble.filter(|_| status.is_none()));
        self.error = Some(what.to_owned());
        self.asks_to_wait(what);
    }

    /// It tried again by itself, and that went well.
    pub(super) fn recovers(&mut self) {
        (self.error, self.trouble) = (None, None);
    }

    pub(super) fn asks_to_wait(&mut self, text: &str) {
        self.wait = trouble::wait_in(text).or(self.wait);
        self.reset = trouble::reset_in(text).or(self.reset);
    }

    /// In seconds of the epoch.
    pub(super) fn resets_at(&mut self, moment: Option<i64>) {
        self.reset = moment.or(self.reset);
    }

    /// What kind of trouble it was, with the moment to ask again where there is one.
    pub(crate) fn trouble(&self, now: Timestamp) -> Option<Trouble> {
        match self.trouble {
            _ if self.refused => Some(Trouble::Refusal),
            Some(Trouble::RateLimit { .. }) => {
                let from_now =
                    self.wait.map(|seconds| Timestamp(now.0.saturating_add(seconds.min(A_DAY) as i64 * 1000)));
                let reset = self.reset.map(|seconds| Timestamp(seconds.saturating_mul(1000)));
                Some(Trouble::RateLimit { retry_at: reset.filter(|reset| *reset > now).or(from_now) })
            }
            known => known,
        }
    }

    /// One line for the title of the experiment: the first that says something.
    pub(crate) fn title(&self) -> String {
        title(&self.text)
    }
}

/// The first line of a text that says something, without the signs that only dress it.
pub(crate) fn title(text: &str) -> String {
    let stripped = text.lines().map(|line| line.trim().trim_start_matches(['#', '*', '-', '>', ' ']));
    let line = stripped.into_iter().find(|line| line.chars().any(char::is_alphanumeric)).unwrap_or_default();
    line.replace("**", "").replace('`', "")
}

/// Whether another model answered than was asked for. Short names and dates at the end are no difference: `sonnet` may be
/// `claude-sonnet-4-5-20250929`.
pub(crate) fn is_other_model(asked: &str, answered: &str) -> bool {
    let plain = |name: &str| name.rsplit('/').next().unwrap_or(name).to_lowercase();
    let (asked, answered) = (plain(asked), plain(answered));
    !answered.contains(&asked) && !asked.contains(&answered)
}

/// Listens to an agent's output as it comes.
pub(crate) struct Listener {
    preset: Preset,
    said: Said,
    line: Vec<u8>,
    complaint: Vec<u8>,
}

impl Listener {
    pub(crate) fn new(preset: Preset) -> Listener {
        Listener { preset, said: Said::default(), line: Vec::new(), complaint: Vec::new() }
    }

    pub(crate) fn feed(&mut self, stream: Stream, bytes: &[u8]) {
        if stream != Stream::Stdout {
            self.complaint.extend_from_slice(bytes);
            let over = self.complaint.len().saturating_sub(COMPLAINT_LIMIT);
            self.complaint.drain(..over);
            return;
        }
        for piece in bytes.split_inclusive(|byte| *byte == b'\n') {
            if self.line.len() < LINE_LIMIT {
                self.line.extend_from_slice(piece);
            }
            if piece.ends_with(b"\n") {
                self.end_line();
            }
        }
    }

    fn end_line(&mut self) {
        let line = std::mem::take(&mut self.line);
        let text = String::from_utf8_lossy(&line);
        match serde_json::from_str(text.trim()) {
            Ok(event @ serde_json::Value::Object(_)) => hear(self.preset, &mut self.said, &event),
            _ => hear_line(self.preset, &mut self.said, text.trim_end()),
        }
    }

    /// All that was said, and what was complained of beside it.
    pub(crate) fn finish(mut self) -> (Said, String) {
        if !self.line.is_empty() {
            self.end_line();
        }
        let complaint = String::from_utf8_lossy(&self.complaint).into_owned();
        (self.said, complaint)
    }
}
