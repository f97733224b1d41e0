//! `overnight` alone: where things stand, and the next sensible step.

use std::fs;
use std::path::Path;

use overnight_engine::holdout::openings;
use overnight_engine::ledger::Reader;
use overnight_engine::load::{Site, SiteError, locate};
use overnight_engine::workspace::{GitError, UserRepo, shell_word};
use overnight_model::event::StopReason;
use overnight_model::spec::Spec;

use super::live::{self, Seen};
use super::standing::{self, Checked, Paper, Standing};
use super::status;
use crate::args::Place;
use crate::error::{Exit, Outcome};
use crate::ui::tty::{has_screen, shows_data};
use crate::ui::{self, printable};
use crate::views::night::Asked;
use crate::views::term;

pub(crate) fn bare(place: &Place) -> Outcome<Exit> {
    let lines = match locate(&place.dir, place.study.as_deref()) {
        Ok(site) => match watch(&site)? {
            Some(Seen::Left | Seen::Closed) => {
                ui::say(&format!("the run goes on; look at it with `overnight{}`", super::study_flag(&site)));
                return Ok(Exit::Done);
            }
            Some(Seen::End) | None => one(place, &Standing::of(site)?),
        },
        Err(SiteError::Several { names }) => several(place, &names)?,
        Err(SiteError::None { dir }) => nothing(place, &dir)?,
        Err(error) => return Err(error.into()),
    };
    ui::data(&lines.join("\n"));
    Ok(Exit::Done)
}

/// Shows the run that is going on, where somebody sits at a terminal; none where nothing was shown.
fn watch(site: &Site) -> Outcome<Option<Seen>> {
    let has_begun = || Reader::find(&site.state()).is_ok_and(|reader| reader.is_some());
    if !has_screen() || !shows_data() || !has_begun() {
        return Ok(None);
    }
    match standing::holder(site).filter(live::is_worth_it) {
        Some(_) => live::attach(site).map(Some),
        None => Ok(None),
    }
}

/// The one thing to do next; the lower its rank, the sooner.
struct Next {
    rank: u8,
    /// What has to be done by hand before.
    before: Option<String>,
    what: What,
}

/// A command by its arguments.
enum What {
    Ours(&'static str),
    Git(&'static [&'static str]),
}

impl Next {
    fn line(&self, place: &Place, study: Option<&str>) -> String {
        let before = self.before.as_ref().map_or(String::new(), |before| format!("{before}, then "));
        let dir = match place.dir == Path::new(".") {
            true => String::new(),
            false => format!(" -C {}", shell_word(&place.dir)),
        };
        let study = study.map(|study| format!(" --study {study}")).unwrap_or_default();
        let command = match self.what {
            What::Ours(command) => format!("overnight{dir} {command}{study}"),
            What::Git(commands) => {
                let all: Vec<_> = commands.iter().map(|command| format!("git{dir} {command}")).collect();
                all.join(" && ")
            }
        };
        format!("next       {before}{command}")
    }
}

/// No study: either it has to be begun, or git has.
fn nothing(place: &Place, dir: &Path) -> Outcome<Vec<String>> {
    let shown = dir.display();
    let mut before = None;
    let (line, what) = match UserRepo::discover(dir) {
        Ok(_) => (format!("no study here: there is no overnight.toml in {shown} or above it"), What::Ours("init")),
        Err(GitError::NotARepository { .. }) => {
            (format!("no study here, and {shown} is not in a git repository: kept edits become commits"), GIT_INIT)
        }
        Err(GitError::NoCommits { .. }) => {
            let top = dir.ancestors().find(|folder| folder.join(".git").exists()).unwrap_or(dir);
            before = (!has_files(top)).then(|| "write the code that is to become better".to_owned());
            (format!("no study here, and {shown} has no commit yet: the first one is the baseline"), GIT_COMMIT)
        }
        Err(error) => return Err(error.into()),
    };
    Ok(vec![line, Next { rank: 0, before, what }.line(place, None)])
}

/// Whether there is anything that git could commit: it knows no folders, only files.
fn has_files(folder: &Path) -> bool {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries.filter(|entry| entry.file_name() != ".git").any(|entry| match entry.file_type() {
        Ok(kind) if kind.is_dir() => has_files(&entry.path()),
        _ => true,
    })
}

const GIT_INIT: What = What::Git(&["init"]);
const GIT_COMMIT: What = What::Git(&["add -A", "commit -m baseline"]);

/// What stands in the way of the first run, where a check found something.
pub(super) fn not_ready(place: &Place, site: Site) -> Outcome<Option<Vec<String>>> {
    let standing = Standing::of(site)?;
    Ok(matches!(standing.checked, Checked::NotReady { .. }).then(|| one(place, &standing)))
}

fn one(place: &Place, standing: &Standing) -> Vec<String> {
    let mut lines = vec![format!("study      {} · {}", standing.site.study, describe(standing))];
    match (&standing.summary, &standing.paper) {
        (Some(summary), _) => {
            let (asked, agents) = match &standing.paper {
                Paper::Sound(spec) => (Asked::from(spec.as_ref()), Some(&spec.agent)),
                Paper::Gone | Paper::Problems(_) | Paper::Unborn(_) => (Asked::default(), None),
            };
            let flag = super::study_flag(&standing.site);
            lines.extend(status::results(
                summary,
                (asked, openings(&standing.site), agents),
                standing.holder.is_some(),
                &flag,
            ));
        }
        (None, Paper::Sound(spec)) => lines.extend(plan(spec)),
        (None, _) => {}
    }
    if let (None, Paper::Sound(_), Checked::NotReady { first: Some(first), .. }) =
        (&standing.summary, &standing.paper, &standing.checked)
    {
        lines.push(format!("to mend    {}", printable(first)));
    }
    if let Paper::Problems(problems) = &standing.paper {
        lines.extend([String::new(), problems.to_string(), String::new()]);
    }
    lines.push(next(standing).line(place, place.study.as_deref()));
    lines
}

fn several(place: &Place, names: &[String]) -> Outcome<Vec<String>> {
    let widest = names.iter().map(|name| name.chars().count()).max().unwrap_or(0);
    let mut all = Vec::new();
    for name in names {
        all.push(Standing::of(locate(&place.dir, Some(name))?)?);
    }
    let mut lines = Vec::new();
    for (index, standing) in all.iter().enumerate() {
        let label = if index == 0 { "studies" } else { "" };
        let so_far = standing.summary.as_ref().map(|summary| format!(" · {}", term::counts(summary)));
        let (name, said) = (&standing.site.study, describe(standing));
        lines.push(format!("{label:<10} {name:<widest$}  {said}{}", so_far.unwrap_or_default()));
    }
    let nexts = all.iter().map(|standing| (next(standing), standing.site.study.as_str()));
    let first = nexts.min_by_key(|(next, _)| next.rank);
    lines.extend(first.map(|(next, study)| next.line(place, Some(study))));
    Ok(lines)
}

/// Where a study stands, in half a line.
fn describe(standing: &Standing) -> String {
    let Standing { site, paper, checked, summary, holder } = standing;
    let triplet = site.triplet_name();
    match (summary, holder, paper) {
        (None, None, Paper::Problems(_)) => format!("{triplet} has problems"),
        (_, None, Paper::Gone) => format!("{triplet} is gone"),
        (None, None, Paper::Unborn(GitError::NoCommits { .. })) => "nothing is committed yet".to_owned(),
        (None, None, Paper::Unborn(_)) => "not in a git repository".to_owned(),
        (None, None, Paper::Sound(_)) => match checked {
            Checked::Never => "not checked yet".to_owned(),
            Checked::Before => format!("{triplet} was changed since it was checked"),
            Checked::Yes => "checked, ready to run".to_owned(),
            Checked::NotReady { topic, .. } if topic.is_empty() => "checked, not ready".to_owned(),
            Checked::NotReady { topic, .. } => format!("checked, not ready: {}", printable(topic)),
            Checked::ByHand => "checked, ready for your ideas".to_owned(),
        },
        _ => status::describe(status::state(summary.as_ref(), holder.as_ref()), holder.as_ref()),
    }
}

/// What the triplet comes to, before anything has run.
fn plan(spec: &Spec) -> Vec<String> {
    let files: Vec<&str> = spec.surface.paths().collect();
    let files = match files.as_slice() {
        [] | [_] | [_, _] | [_, _, _] => files.join(", "),
        [first, second, rest @ ..] => format!("{first}, {second} and {} more", rest.len()),
    };
    let (metric, budget, agent) = (&spec.metric, spec.evaluate.budget, spec.agent.titled());
    vec![
        format!("surface    {}", printable(&files)),
        format!("metric     {} · {}", metric.name, term::arrow(metric.goal)),
        format!("budget     {budget} · {agent}"),
    ]
}

fn next(standing: &Standing) -> Next {
    let Standing { site, paper, checked, summary, holder } = standing;
    let ours = |rank, command| Next { rank, before: None, what: What::Ours(command) };
    if holder.is_some() {
        return ours(1, "status");
    }
    match paper {
        Paper::Unborn(GitError::NoCommits { .. }) => return Next { rank: 2, before: None, what: GIT_COMMIT },
        Paper::Unborn(_) => return Next { rank: 2, before: None, what: GIT_INIT },
        Paper::Gone => return Next { before: Some("put it back".to_owned()), ..ours(2, "run") },
        Paper::Problems(_) => {
            let command = if summary.is_some() { "run" } else { "check" };
            return Next { before: Some(format!("mend {}", site.triplet_name())), ..ours(2, command) };
        }
        Paper::Sound(_) => {}
    }
    let Some(summary) = summary else {
        return match checked {
            Checked::Yes => ours(4, "run"),
            Checked::ByHand => {
                Next { before: Some("edit the surface".to_owned()), ..ours(4, "try --from-worktree -m IDEA") }
            }
            Checked::NotReady { .. } => Next { before: Some("mend it".to_owned()), ..ours(2, "check") },
            Checked::Never | Checked::Before => ours(3, "check"),
        };
    };
    match &summary.stopped {
        None => ours(0, "run"),
        Some(_) if summary.suspects > 0 => ours(2, "review"),
        Some(StopReason::BaselineFailed { .. }) => ours(2, "show baseline"),
        Some(StopReason::ChampionFailed { .. }) => ours(2, "show champion"),
        Some(StopReason::GuardBroken { .. }) => {
            Next { before: Some("mend what the guard needs".to_owned()), ..ours(2, "run") }
        }
        Some(StopReason::OtherModel { .. } | StopReason::FailedAttempts { .. } | StopReason::NothingToTry { .. }) => {
            ours(5, "report")
        }
        Some(reason) if reason.is_planned() => ours(5, "report"),
        Some(_) => ours(4, "run"),
    }
}
