//! A triplet that a recogniser proposes, with its reasons, and the lines it is written as.

use overnight_model::Goal;

use crate::ui;

/// How sure a recogniser is. The surest one is shown first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Sure {
    /// It runs and ends; only its time is known.
    Timed,
    /// A program that prints a number.
    Prints,
    /// Benchmarks of a harness, which says many numbers in its own words.
    Harness,
    /// A program that somebody wrote to be run again and again, and that says its one number itself.
    Benchmark,
    /// The files of another tool of this kind: its owner said what is wanted.
    Told,
}

/// What a person is told the reason of, in this order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Key {
    Surface,
    Metric,
    Goal,
    Run,
    Budget,
    Prepare,
    Inputs,
    Guard,
    Agent,
}

impl Key {
    pub(super) fn name(self) -> &'static str {
        match self {
            Key::Surface => "surface",
            Key::Metric => "metric",
            Key::Goal => "goal",
            Key::Run => "run",
            Key::Budget => "budget",
            Key::Prepare => "prepare",
            Key::Inputs => "inputs",
            Key::Guard => "guard",
            Key::Agent => "agent",
        }
    }
}

/// The reason for what a person said.
pub(super) const GIVEN: &str = "as you said";
/// A line and the reason behind it, together no wider than this.
const WIDEST: usize = 100;
/// A triplet is read at a glance.
const MOST_LINES: usize = 10;
/// As much of a command as a line of reasons has room for.
const SHOWN: usize = 60;

/// A triplet in the making. What is empty is not known.
#[derive(Debug, Clone)]
pub(super) struct Proposal {
    /// As `--as` names it.
    pub(super) kind: &'static str,
    /// In words: "a checkout of karpathy/autoresearch".
    pub(super) what: String,
    pub(super) sure: Sure,
    pub(super) surface: Vec<String>,
    pub(super) metric: String,
    pub(super) goal: Option<Goal>,
    /// The metric is printed many times, and the last one counts.
    pub(super) last: bool,
    pub(super) run: String,
    pub(super) budget: String,
    pub(super) prepare: Option<String>,
    pub(super) inputs: Vec<String>,
    /// Inputs that are not there yet, and the command that makes them.
    pub(super) missing: Vec<(String, String)>,
    pub(super) guard: Option<String>,
    /// Who makes proposals, where that is not the tuner alone.
    pub(super) agents: Vec<String>,
    /// The files that say what is run and measured, for looking at what they need.
    pub(super) sources: Vec<String>,
    pub(super) why: Vec<(Key, String)>,
}

impl Proposal {
    pub(super) fn new(kind: &'static str, what: impl Into<String>, sure: Sure) -> Proposal {
        Proposal {
            kind,
            what: what.into(),
            sure,
            surface: Vec::new(),
            metric: String::new(),
            goal: None,
            last: false,
            run: String::new(),
            budget: "5m".to_owned(),
            prepare: None,
            inputs: Vec::new(),
            missing: Vec::new(),
            guard: None,
            agents: Vec::new(),
            sources: Vec::new(),
            why: Vec::new(),
        }
    }

    /// Gives a reason; the latest one for a key counts.
    pub(super) fn because(&mut self, key: Key, reason: impl Into<String>) {
        self.why.retain(|(known, _)| *known != key);
        self.why.push((key, reason.into()));
        self.why.sort_by_key(|(key, _)| *key);
    }

    pub(super) fn reason(&self, key: Key) -> Option<&str> {
        self.why.iter().find(|(known, _)| *known == key).map(|(_, reason)| reason.as_str())
    }

    /// What is proposed, in short.
    pub(super) fn value(&self, key: Key) -> String {
        let missing = self.missing.iter().map(|(path, _)| path);
        let value = match key {
            Key::Surface => self.surface.join(", "),
            Key::Metric => self.metric.clone(),
            Key::Goal => self.goal.map_or("", goal_name).to_owned(),
            Key::Run => self.run.clone(),
            Key::Budget => self.budget.clone(),
            Key::Prepare => self.prepare.clone().unwrap_or_default(),
            Key::Inputs => self.inputs.iter().chain(missing).cloned().collect::<Vec<_>>().join(", "),
            Key::Guard => self.guard.clone().unwrap_or_default(),
            Key::Agent => self.agents.join(", "),
        };
        match value.char_indices().nth(SHOWN) {
            Some((end, _)) => format!("{} …", &value[..end]),
            None => value,
        }
    }

    /// What still has to be said before this is a triplet.
    pub(super) fn unknown(&self) -> Vec<Key> {
        let missing = [
            (Key::Surface, self.surface.is_empty()),
            (Key::Metric, self.metric.is_empty()),
            (Key::Goal, self.goal.is_none()),
            (Key::Run, self.run.is_empty()),
        ];
        missing.into_iter().filter(|(_, unknown)| *unknown).map(|(key, _)| key).collect()
    }

    /// The lines of the triplet: ten at most, comments aside, and no default among them.
    pub(super) fn lines(&self) -> Vec<String> {
        let surface = match self.surface.as_slice() {
            [one] => quoted(one),
            several => list(several),
        };
        let goal = goal_name(self.goal.unwrap_or(Goal::Min));
        let pick = if self.last { ", pick = \"last\"" } else { "" };
        let mut lines = vec![
            self.with_reason(format!("surface = {surface}"), Key::Surface),
            self.with_reason(
                format!("metric = {{ name = {}, goal = \"{goal}\"{pick} }}", quoted(&self.metric)),
                Key::Metric,
            ),
            "[evaluate]".to_owned(),
            format!("run = {}", quoted(&self.run)),
            self.with_reason(format!("budget = {}", quoted(&self.budget)), Key::Budget),
        ];
        lines.extend(self.prepare.as_ref().map(|prepare| format!("prepare = {}", quoted(prepare))));
        if !self.inputs.is_empty() {
            lines.push(format!("inputs = {}", list(&self.inputs)));
        }
        if !self.missing.is_empty() {
            let wanted: Vec<String> =
                self.inputs.iter().chain(self.missing.iter().map(|(path, _)| path)).cloned().collect();
            lines.push(format!("# inputs = {}  # {}", list(&wanted), self.to_make()));
        }
        if let Some(guard) = &self.guard {
            lines.extend(["[[guard]]".to_owned(), format!("run = {}", quoted(guard))]);
        }
        let used = format!("use = {}", list(&self.agents));
        let is_line = |line: &&String| !line.starts_with('#');
        match self.agents.is_empty() {
            true => {}
            false if lines.iter().filter(is_line).count() + 2 > MOST_LINES => {
                lines.insert(2, format!("agent = {{ {used} }}"));
            }
            false => lines.extend(["[agent]".to_owned(), used]),
        }
        lines
    }

    /// A guess is easier to judge with its reason beside it, as long as it is short.
    fn with_reason(&self, line: String, key: Key) -> String {
        match self.reason(key).filter(|reason| *reason != GIVEN && !reason.contains(is_unshown)) {
            Some(reason) if line.len() + reason.len() + 4 <= WIDEST => format!("{line}  # {reason}"),
            _ => line,
        }
    }

    pub(super) fn text(&self) -> String {
        self.lines().join("\n") + "\n"
    }

    /// What has to be run before the study, as one command.
    pub(super) fn to_make(&self) -> String {
        let mut commands: Vec<&str> = self.missing.iter().map(|(_, command)| command.as_str()).collect();
        commands.dedup();
        format!("first `{}`", commands.join(" && "))
    }
}

pub(super) fn goal_name(goal: Goal) -> &'static str {
    match goal {
        Goal::Min => "min",
        Goal::Max => "max",
    }
}

pub(super) fn list(items: &[String]) -> String {
    format!("[{}]", items.iter().map(|item| quoted(item)).collect::<Vec<_>>().join(", "))
}

/// Whether a character cannot be seen where it stands, or turns others round.
fn is_unshown(c: char) -> bool {
    c.is_control() || ui::turns(c)
}

/// A string of TOML, on one line and with as few escapes as it can have.
pub(super) fn quoted(text: &str) -> String {
    let plain = !text.contains(is_unshown);
    if plain && !text.contains(['"', '\\']) {
        return format!("\"{text}\"");
    }
    if plain && !text.contains('\'') {
        return format!("'{text}'");
    }
    if plain && !text.contains("'''") && !text.starts_with('\'') && !text.ends_with('\'') {
        return format!("'''{text}'''");
    }
    let mut escaped = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => escaped.extend(['\\', c]),
            c if is_unshown(c) => escaped += &format!("\\u{:04X}", c as u32),
            c => escaped.push(c),
        }
    }
    escaped + "\""
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_text_is_one_line_of_toml() {
        for (text, written) in [
            ("a", "\"a\""),
            ("say \"a\"", "'say \"a\"'"),
            ("sh -c 'echo \"$x\"' now", "'''sh -c 'echo \"$x\"' now'''"),
            ("echo \"it's '", "\"echo \\\"it's '\""),
            ("a\nb\u{7f}", "\"a\\u000Ab\\u007F\""),
            ("a\u{202e}b", "\"a\\u202Eb\""),
        ] {
            assert_eq!(quoted(text), written);
        }
    }

    #[test]
    fn the_longest_triplet_has_ten_lines() {
        let mut proposal = Proposal::new("script", "a script", Sure::Prints);
        (proposal.prepare, proposal.guard) = (Some("make".to_owned()), Some("make test".to_owned()));
        proposal.inputs = vec![".venv".to_owned()];
        proposal.missing = vec![("data".to_owned(), "make data".to_owned())];
        assert_eq!(proposal.lines().len(), MOST_LINES);
        proposal.agents = vec!["claude".to_owned(), "tuner".to_owned()];
        let lines = proposal.lines();
        assert_eq!(lines.iter().filter(|line| !line.starts_with('#')).count(), MOST_LINES, "{lines:?}");
        assert_eq!(lines[2], "agent = { use = [\"claude\", \"tuner\"] }");
    }

    #[test]
    fn a_team_has_a_section_of_its_own_where_there_is_room() {
        let mut proposal = Proposal::new("script", "a script", Sure::Prints);
        proposal.agents = vec!["claude".to_owned(), "tuner".to_owned()];
        assert!(proposal.text().ends_with("[agent]\nuse = [\"claude\", \"tuner\"]\n"), "{}", proposal.text());
    }
}
