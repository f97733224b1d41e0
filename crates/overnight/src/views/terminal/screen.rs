//! What is on the screen, and what a person does with it.

use overnight_engine::ledger::Wanted;
use overnight_model::study::Row;
use overnight_model::verdict::Group;
use overnight_model::{ExperimentId, Millis, Timestamp};

use crate::views::board::Glance;

/// How long a message stays where keys are told of otherwise.
const READ_WITHIN: Millis = Millis::seconds(5);

/// All of it.
#[derive(Debug)]
pub(crate) struct Screen {
    pub(crate) glance: Glance,
    pub(crate) list: List,
    /// The experiment that is looked at, in the place of everything.
    pub(crate) opened: Option<Opened>,
    pub(crate) prompt: Option<Prompt>,
    pub(crate) is_help: bool,
    /// The run was begun here: the keys that end a program end it.
    pub(crate) is_own: bool,
    /// How many rows of the list are to be seen, and how many of an experiment.
    pub(crate) page: usize,
    note: Option<(String, Timestamp)>,
}

/// The experiments, the latest first.
#[derive(Debug, Default)]
pub(crate) struct List {
    pub(crate) rows: Vec<Row>,
    pub(crate) wanted: Wanted,
    pub(crate) selected: Option<ExperimentId>,
    /// Whether the first experiment of the study is among them, or nothing before them is wanted.
    pub(crate) is_whole: bool,
}

/// A line that is being typed, or a question.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Prompt {
    Search(String),
    Say(String),
    /// Whether to stop: at once where true.
    Stop(bool),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Tab {
    #[default]
    Diff,
    Output,
    Trace,
}

/// One experiment in full.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Opened {
    pub(crate) row: Row,
    pub(crate) facts: Vec<(String, String)>,
    pub(crate) diff: String,
    pub(crate) output: String,
    pub(crate) trace: String,
    pub(crate) tab: Tab,
    pub(crate) scroll: usize,
}

/// What somebody else has to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Wish {
    Pause(bool),
    Stop,
    Say(String),
    Open(ExperimentId),
    /// Other rows are wanted in the list.
    List,
    /// Older ones, too.
    More,
    /// The run goes on without being looked at.
    Leave,
    Suspend,
    Redraw,
}

impl Screen {
    pub(crate) fn new(glance: Glance, is_own: bool) -> Screen {
        Screen {
            glance,
            list: List::default(),
            opened: None,
            prompt: None,
            is_help: false,
            is_own,
            page: 1,
            note: None,
        }
    }

    /// Tells a person something, for a while.
    pub(crate) fn say(&mut self, text: impl Into<String>) {
        self.note = Some((text.into(), self.glance.setting.now));
    }

    pub(crate) fn note(&self) -> Option<&str> {
        let (text, at) = self.note.as_ref()?;
        (self.glance.setting.now.since(*at) <= READ_WITHIN).then_some(text)
    }

    /// Takes a row as it is now: a new one, or one that was there.
    pub(crate) fn row(&mut self, row: &Row) {
        if let Some(opened) = self.opened.as_mut().filter(|opened| opened.row.experiment == row.experiment) {
            opened.row = row.clone();
        }
        self.list.take(row);
    }
}

impl List {
    /// The latest come first; what is not wanted is not in it.
    fn take(&mut self, row: &Row) {
        let at = self.rows.binary_search_by(|known| row.experiment.cmp(&known.experiment));
        match (at, self.is_wanted(row)) {
            (Ok(at), true) => self.rows[at] = row.clone(),
            (Ok(at), false) => drop(self.rows.remove(at)),
            // One that is older than all here comes when it is scrolled to.
            (Err(at), true) if at < self.rows.len() || self.is_whole => self.rows.insert(at, row.clone()),
            (Err(_), _) => {}
        }
    }

    fn is_wanted(&self, row: &Row) -> bool {
        let Wanted { group, words } = &self.wanted;
        let text = format!("{} {} {}", row.agent, row.description, row.reason.as_deref().unwrap_or("")).to_lowercase();
        row.verdict.is_some_and(|verdict| group.is_none_or(|group| verdict.group() == group))
            && words.iter().all(|word| text.contains(&word.to_lowercase()))
    }

    pub(crate) fn position(&self) -> Option<usize> {
        let selected = self.selected?;
        self.rows.iter().position(|row| row.experiment == selected)
    }

    /// Moves the selection; none before the first step.
    pub(crate) fn step(&mut self, by: isize) {
        let at = match self.position() {
            None if by > 0 => by - 1,
            None => 0,
            Some(at) => at as isize + by,
        };
        let last = self.rows.len().saturating_sub(1) as isize;
        self.selected = self.rows.get(at.clamp(0, last) as usize).map(|row| row.experiment);
    }

    /// Whether what is below the last row here will be seen soon.
    pub(crate) fn is_near_end(&self, page: usize) -> bool {
        !self.is_whole && self.position().is_some_and(|at| at + page >= self.rows.len())
    }

    /// The next group in turn, then all.
    pub(crate) fn next_group(&mut self) {
        let groups = [Group::Kept, Group::NotBetter, Group::Broken, Group::Refused, Group::NotCounted];
        self.wanted.group = match self.wanted.group {
            None => Some(groups[0]),
            Some(group) => groups.iter().position(|known| *known == group).and_then(|at| groups.get(at + 1)).copied(),
        };
    }
}

impl Tab {
    pub(crate) const ALL: [Tab; 3] = [Tab::Diff, Tab::Output, Tab::Trace];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Tab::Diff => "diff",
            Tab::Output => "output",
            Tab::Trace => "trace",
        }
    }

    pub(crate) fn next(self, by: usize) -> Tab {
        let at = Tab::ALL.iter().position(|tab| *tab == self).unwrap_or(0);
        Tab::ALL[(at + by) % Tab::ALL.len()]
    }
}

impl Opened {
    pub(crate) fn text(&self) -> &str {
        match self.tab {
            Tab::Diff => &self.diff,
            Tab::Output => &self.output,
            Tab::Trace => &self.trace,
        }
    }
}

/// A group as people call it.
pub(crate) fn named(group: Group) -> &'static str {
    match group {
        Group::Kept => "kept",
        Group::NotBetter => "not better",
        Group::Broken => "broken",
        Group::Refused => "refused",
        Group::NotCounted => "not counted",
    }
}
