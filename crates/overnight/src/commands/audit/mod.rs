//! `overnight audit A..B`: which commits of a branch carry its gain. Needs no agent, no key and no study that has begun.

mod branch;
mod judge;
mod plan;
mod range;
mod report;
mod screen;

use overnight_engine::clock::Stopwatch;
use overnight_engine::dispatch::Fault;
use overnight_engine::holdout::openings;
use overnight_engine::load::{Site, locate, span};
use overnight_engine::process::Keeper;
use overnight_engine::rehearse::{Subject, fresh_seed};
use overnight_engine::workspace::{ObjectId, UserRepo, shell_word};
use overnight_model::claim::Decision;
use overnight_model::claim::audit::{AUDIT_PAIRS, Audit as State};
use overnight_model::proposal::{Contents, carry_over};
use overnight_model::spec::Tier;
use overnight_model::{CommitId, Millis, Score, Study};

use crate::args::{Place, margin, tier};
use crate::error::{CliError, Exit, Outcome};
use crate::ui::{self, Live};

use super::interrupt::Interrupt;
use super::trials::{self, Screen, Trouble, not_fitting};
use judge::{Halt, Judge};
use plan::Plan;
use range::Range;
use report::{Offer, Report, StackEnd};

const CODES: &str = "\
A and B are commits as git names them (a branch, a tag, a hash, HEAD~8), or `baseline` and
`champion` of the study. The triplet is that of the working tree, all other files are B's.

Exit codes: 0 told, 10 nothing could be told, 11 B is worse than A, 1 B does not run,
2 no such range, 3 the branch was not made, 130 interrupted.";

#[derive(Debug, Clone, clap::Args)]
#[command(after_help = CODES)]
pub(crate) struct Audit {
    /// The commits after A up to B, along first parents
    #[arg(value_name = "A..B")]
    range: String,
    /// Measure each commit at most N times
    #[arg(long, value_name = "N", default_value_t = AUDIT_PAIRS, value_parser = clap::value_parser!(u32).range(4..=10_000))]
    pairs: u32,
    /// Stop after this time, as 90s, 20m or 2h, and tell what is known
    #[arg(long, value_name = "TIME", value_parser = span)]
    budget: Option<Millis>,
    /// Take differences up to X for none [default: metric.min_gain]
    #[arg(long, value_name = "X", value_parser = margin)]
    margin: Option<f64>,
    /// Make the branch NAME of the commits that hold
    #[arg(long, value_name = "NAME")]
    branch: Option<String>,
    /// Measure nothing: make the branch without these commits
    #[arg(long, value_name = "COMMIT", value_delimiter = ',', requires = "branch")]
    without: Vec<String>,
    /// Let commits touch this file or folder as well: it is not part of the evaluation
    #[arg(long, value_name = "PATH")]
    ignore: Vec<String>,
    /// Draw seeds and orders from S, to do it again as it was
    #[arg(long, value_name = "S")]
    seed: Option<u64>,
    /// Run at this tier (standard, landlock or none) instead of the strongest
    #[arg(long, value_name = "TIER", value_parser = tier)]
    sandbox: Option<Tier>,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

pub(crate) fn audit(place: &Place, args: &Audit) -> Outcome<Exit> {
    let site = locate(&place.dir, place.study.as_deref())?;
    if !args.without.is_empty() {
        return branch::only_branch(&site, args);
    }
    // The keeper comes first: it is forked before there is any thread.
    let keeper = Keeper::fork().map_err(|error| CliError::from(Fault::from(error)))?;
    let interrupt = Interrupt::watch(keeper.ender())?;
    let screen = Screen { live: Live::new(!args.json), is_quiet: args.json };
    let seed = args.seed.map_or_else(fresh_seed, Ok)?;
    let Ready { range, plan, subject, start } = Ready::find(&site, args)?;
    let (user, spec, head) = (subject.user.clone(), subject.spec.clone(), subject.surface.clone());
    let found = trials::machine(&subject, &keeper, args.sandbox)?;
    let margin = args.margin.or(spec.metric.min_gain.map(Score::get)).unwrap_or(0.0);
    let mut report = Report {
        study: site.study.clone(),
        metric: spec.metric.name.clone(),
        goal: spec.metric.goal,
        assurance: spec.evaluate.assurance().name(),
        tier: found.tier,
        holdout: openings(&site),
        a: range.a.clone(),
        b: range.b.clone(),
        most: args.pairs,
        margin,
        budget: args.budget,
        seed,
        audit: State::new(spec.metric.goal, margin, args.pairs, seed, &plan.undone()),
        trials: 0,
        out_of_time: false,
        branch: None,
    };
    screen.lines(&screen::head(&report, &plan, spec.evaluate.budget));
    let judged = match trials::open(subject, &keeper, &found, &interrupt, &screen, "the sandbox of B") {
        Err(Trouble::Interrupted) => Err(Halt::Interrupted),
        Err(Trouble::Error(error)) => Err(Halt::Error(error)),
        Ok(bench) => {
            let study = Study::new(spec, overnight_model::State::default());
            let since = Stopwatch::start();
            let mut judge = Judge { plan: &plan, head, start, study, bench, interrupt, screen: &screen, since };
            judge.commits(&mut report).and_then(|()| offer(&mut judge, &mut report, &plan))
        }
    };
    screen.live.end();
    let (offer, is_interrupted) = match judged {
        Ok(offer) => (offer, false),
        Err(Halt::Interrupted) => (Offer::Open, true),
        Err(Halt::Error(error)) => return Err(error),
        Err(Halt::Broken(broken)) => {
            if args.json {
                ui::data(&report.as_json(&plan, &Offer::Open, Exit::Fault).to_string());
            }
            screen.lines(&trials::broken_lines(&broken));
            let message = format!("B does not run, so nothing can be left out of it: it {}", broken.what);
            return Err(CliError::new(Exit::Fault, message).hint("`overnight check` says what may be missing"));
        }
    };
    let mut exit = report.exit(&plan, is_interrupted);
    if let Some(name) = args.branch.as_ref().filter(|_| !is_interrupted) {
        let all = plan.whole();
        let stack = match &offer {
            Offer::Stack { stack, end } => is_offered(end).then_some(stack),
            Offer::All => Some(&all),
            Offer::Nothing | Offer::Open => None,
        };
        match stack {
            Some(stack) => {
                let made = branch::make(&user, &range, &plan, stack, name)?;
                report.branch = Some((name.clone(), made));
            }
            None => exit = Exit::Refused,
        }
    }
    if args.json {
        ui::data(&report.as_json(&plan, &offer, exit).to_string());
    }
    screen.lines(&screen::result(&report, &plan, &offer, is_interrupted));
    screen.lines(&next_lines(&site, args, &range, &plan, &offer, &report));
    Ok(exit)
}

/// What is needed before anything runs.
struct Ready {
    range: Range,
    plan: Plan,
    /// B.
    subject: Subject,
    /// A's surface on B's tree.
    start: Contents,
}

impl Ready {
    fn find(site: &Site, args: &Audit) -> Outcome<Ready> {
        let user = UserRepo::discover(&site.dir)?;
        let range = Range::find(site, &user, &args.range)?;
        if let Some(name) = &args.branch {
            branch::refuse_name(&user, name)?;
        }
        let whom = format!("B, which is `{}`", range.b.name);
        let subject = Subject::at(site, range.b.commit).map_err(|error| not_fitting(error.into(), &whom))?;
        let surface = &subject.spec.surface;
        let begun = user.surface_at(range.a.commit, surface)?.ok_or_else(|| {
            let message = format!("`{}` does not hold the whole surface", range.a.name);
            CliError::usage(message).hint("begin with a later commit, one that has every file of `surface`")
        })?;
        let start = carry_over((surface, &begun), (surface, &subject.surface)).ok_or_else(|| {
            let message = format!("the surface of `{}` cannot be put on the tree of `{}`", range.a.name, range.b.name);
            CliError::usage(message).hint("each must hold the line that divides what may change, exactly once")
        })?;
        let plan = Plan::of(&user, &range, surface, &args.ignore)?;
        if plan.pieces.is_empty() {
            return Err(nothing_to_audit(&range, &plan));
        }
        Ok(Ready { range, plan, subject, start })
    }
}

fn nothing_to_audit(range: &Range, plan: &Plan) -> CliError {
    let message = format!("no commit of {} changes the surface and nothing else", range.text());
    let mut error = CliError::usage(message);
    let alone = plan.steps.iter().filter_map(|step| Some((&step.commit, step.alone.as_ref()?)));
    error.causes.extend(alone.map(|(commit, why)| format!("{} {why}", short(commit.id))).take(3));
    error.hint("files that the evaluation does not read can be named with --ignore PATH")
}

/// Holds what is left against B, where something is.
fn offer(judge: &mut Judge<'_>, report: &mut Report, plan: &Plan) -> Result<Offer, Halt> {
    let verdicts = report.audit.verdicts();
    if !judge::is_worth_it(&verdicts) {
        return Ok(Offer::Nothing);
    }
    let stack = plan.stack(&verdicts);
    if !stack.dropped.contains(&true) {
        return Ok(Offer::All);
    }
    let end = judge.stack(&stack.surface, report)?;
    Ok(Offer::Stack { stack, end })
}

/// Whether a stack may become a branch.
fn is_offered(end: &StackEnd) -> bool {
    match end {
        StackEnd::Measured(known) => known.decision != Some(Decision::Worse),
        StackEnd::NotMeasured | StackEnd::Broken(_) => false,
    }
}

fn next_lines(site: &Site, args: &Audit, range: &Range, plan: &Plan, offer: &Offer, report: &Report) -> Vec<String> {
    if let Some((name, commit)) = &report.branch {
        let log = format!("git log {}..{name}", range.a.name);
        return vec![format!("branch      {name} at {}: {log}", CommitId(commit.clone()).short())];
    }
    match offer {
        Offer::Stack { stack, end } if is_offered(end) => {
            let dropped = (0..plan.keeps.len()).filter(|keep| stack.dropped[*keep]);
            let names: Vec<String> = dropped.map(|keep| short(plan.keep(keep).id)).collect();
            let ignored: String =
                args.ignore.iter().map(|path| format!(" --ignore {}", shell_word(path.as_ref()))).collect();
            let flag = super::study_flag(site);
            let range = range.text();
            vec![format!(
                "next        overnight audit{flag} {range}{ignored} --without {} --branch NAME",
                names.join(",")
            )]
        }
        _ if args.branch.is_some() => vec!["no branch was made".to_owned()],
        _ => Vec::new(),
    }
}

/// A commit as it is shown.
fn short(commit: ObjectId) -> String {
    CommitId(commit.to_string()).short().to_owned()
}
