//! What `run`, `try` and `demo` have in common: a keeper, a lock, a loop, signals, and lines on the screen.

use std::sync::Arc;
use std::sync::mpsc::Sender;
use std::time::Duration;

use overnight_engine::agent::api;
use overnight_engine::dispatch::{Arrival, Dispatch, Fault, Offer};
use overnight_engine::gateway::account::Books;
use overnight_engine::gateway::traces::Tape;
use overnight_engine::gateway::{Gateway, PROXIES};
use overnight_engine::inbox::Inbox;
use overnight_engine::load::{Site, allowed_environment};
use overnight_engine::lock::Holder;
use overnight_engine::open::{self, How, Opened};
use overnight_engine::process::Keeper;
use overnight_engine::sandbox::{self, Sandbox, Wanted};
use overnight_engine::worker::{Local, Message, Shop};
use overnight_engine::workspace::{GitError, Names};
use overnight_engine::{clock, process};
use overnight_model::event::{Proposed, RunFacts, Scope, StopReason, What};
use overnight_model::proposal::Contents;
use overnight_model::spec::{AgentKind, AgentSpec, Api, KeySource, Member, Tier};
use overnight_model::study::Summary;
use overnight_model::{Event, Millis, State, Verdict};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

use super::notices::Notices;
use crate::error::{CliError, Exit, Outcome};
use crate::ui::Live;
use crate::views::night::Asked;
use crate::views::{team, term};

/// After a second signal everything is gone within this time, whatever hangs.
const HURRY: Duration = Duration::from_millis(1500);

/// A study, open and ready, with the screen it writes to.
pub(crate) struct Session {
    pub(crate) site: Site,
    pub(crate) opened: Opened,
    keeper: Keeper,
    live: Live,
    /// Why nothing that a model wrote may run here, where it may not.
    no_models: Option<String>,
}

/// How a run ended.
pub(crate) struct Ended {
    pub(crate) reason: StopReason,
    pub(crate) summary: Option<Summary>,
    /// What the triplet asks of a keep.
    pub(crate) asked: Asked,
    pub(crate) agents: AgentSpec,
}

impl Session {
    /// Opens the study. The keeper comes first: it is forked before there is any thread.
    pub(crate) fn open(site: Site, what: &str, how: How, tier: Option<Tier>, live: bool) -> Outcome<Session> {
        let keeper = Keeper::fork().map_err(|error| CliError::from(Fault::from(error)))?;
        let me = Holder { pid: std::process::id(), what: what.to_owned(), dir: site.dir.clone() };
        let opened = open::open(&site, &me, how, |dir, layer| sandbox::find(&keeper, dir, layer, tier))?;
        if let Some(wanted) = tier.filter(|wanted| opened.found.tier < *wanted) {
            let found = opened.found.tier.name();
            let message = format!("this machine gives the sandbox `{found}`, not `{}`", wanted.name());
            let mut error = CliError::new(Exit::Refused, message);
            error.causes.extend(opened.found.reasons.iter().cloned());
            return Err(error.hint(format!("leave out --sandbox, or accept it: --sandbox {found}")));
        }
        // Whatever this engine starts keeps the lock until it is gone, even when the engine is killed.
        keeper.hold(opened.lock.as_fd()).map_err(Fault::from)?;
        let live = Live::new(live);
        for note in &opened.notes {
            live.say(&format!("note: {}", crate::ui::printable(note)));
        }
        let no_models = super::run::weak_tier(&opened, tier);
        Ok(Session { site, opened, keeper, live, no_models })
    }

    pub(crate) fn say(&self, text: &str) {
        self.live.say(text);
    }

    /// Runs the loop to its end. `remark` may add a line to what is shown of an event.
    pub(crate) fn run(
        self,
        scope: Scope,
        slots: u32,
        offers: Vec<Offer>,
        remark: &mut dyn FnMut(&Event, &State) -> Option<String>,
    ) -> Outcome<Ended> {
        let Session { site, opened, keeper, live, no_models } = self;
        let Opened { study, ledger, user, store, lock, baseline, mut opening, contents, found, inputs, .. } = opened;
        let spec = study.spec().clone();
        let run = study.state().run.as_ref().map_or(1, |run| run.facts.run + 1);
        let names = Names::of(&user.files(baseline).map_err(Fault::from)?);
        let environment = allowed_environment();
        let home = overnight_engine::load::home();
        let wanted = Wanted {
            spec: &spec,
            dir: &site.state(),
            checkout: user.workdir(),
            triplet_dir: &site.dir,
            home: home.as_deref(),
            environment: &environment,
            slots,
            executables: names.executables(),
            inputs_fingerprint: inputs.clone(),
        };
        let surface = Contents(
            spec.surface
                .paths()
                .map(|path| Ok((path.to_owned(), user.read(baseline, path)?)))
                .collect::<Result<_, GitError>>()
                .map_err(Fault::from)?,
        );
        let say = |text: &str| live.say(&crate::ui::printable(text));
        let walls = Sandbox::set_up(&found, &wanted, (&user, baseline), &keeper, &surface, &say)?;
        let scorer = spec.evaluate.score.as_ref().map_or(Millis(0), |score| score.kill);
        let kill = Millis(spec.evaluate.kill.0 + scorer.0);
        let tape = Arc::new(Tape::of(&site, &spec.gateway.tapes, clock::now())?);
        let paid = (&spec.gateway, spec.limits.allowances());
        let books = Arc::new(Books::open(&site.state(), run, paid, study.state(), &opening));
        let proxies = overnight_engine::load::named_environment(&PROXIES);
        let gateway = Gateway::new(books.clone(), tape.clone(), proxies).with_keys_of(&spec);
        let shop = Shop {
            keeper,
            spec: Arc::new(spec),
            dir: site.state(),
            user,
            triplet_dir: site.dir.clone(),
            baseline,
            environment,
            sandbox: Arc::new(walls),
            inputs,
            names: Arc::new(names),
            gateway: Arc::new(gateway),
        };
        // Before anything is recorded or spent; a person's own proposal needs nobody.
        let agent = match scope {
            Scope::Loop { .. } => greet(&shop, &surface, &live)?,
            Scope::One | Scope::Letters => String::new(),
        };
        let notices = Notices::start(&shop.spec.notify, &site, &shop.keeper, scope, &live);
        live.say(&term::header_line(&shop.spec.metric.name));
        opening.push(What::RunStarted(RunFacts {
            run,
            scope,
            slots,
            version: env!("CARGO_PKG_VERSION").to_owned(),
            pid: std::process::id(),
            boot: clock::boot_id(),
            containment: match shop.keeper.containment() {
                process::Containment::PidNamespace => "pid namespace".to_owned(),
                process::Containment::Subreaper => "subreaper".to_owned(),
            },
            sandbox: found.tier.name().to_owned(),
            agent,
            metered: Some(shop.spec.agent.metered(found.tier)),
        }));
        let agents = shop.spec.agent.clone();
        let machine = Local::new(shop, store);
        watch_signals(machine.inbox(), live.clone(), kill)?;
        if scope == Scope::Letters {
            watch_stdin(machine.inbox());
        }
        let desk = machine.inbox();
        books.report_to(move |called| drop(desk.send(Message::Arrival(Arrival::Called(Box::new(called))))));
        let post = machine.inbox();
        let letters = Inbox::of(&site.state());
        let _watch = letters.watch(move || drop(post.send(Message::Arrival(Arrival::Letter))))?;
        let mut dispatch = Dispatch::new(study, ledger, machine)?;
        dispatch.refuse_models(no_models);
        let screen = live.clone();
        let outcome = dispatch.run(opening, contents, offers, &mut |event, state| {
            show(&screen, &agents, event, state);
            notices.see(event, state);
            if let Some(line) = remark(event, state) {
                screen.say(&crate::ui::printable(&line));
            }
        });
        live.end();
        if let Some(what) = tape.trouble() {
            crate::ui::say(&crate::ui::printable(&format!("note: not every call was kept: {what}")));
        }
        let state = dispatch.study().state();
        let mut summary = state.summary();
        summary.iter_mut().for_each(|summary| super::standing::add_probe(&site, summary));
        let asked = Asked::from(dispatch.study().spec());
        notices.end(&outcome, summary.as_ref());
        let reason = outcome.map_err(|fault| match fault {
            Fault::Git(GitError::BranchMoved { expected: Some(_), found, .. }) => {
                open::branch_elsewhere(&site, state, found).map_or_else(|| fault.into(), CliError::from)
            }
            fault => fault.into(),
        });
        drop(lock);
        Ok(Ended { reason: reason?, summary, asked, agents })
    }
}

/// The coding agents with their versions, once they have said them inside their sandbox; empty where there is none.
fn greet(shop: &Shop, surface: &Contents, live: &Live) -> Outcome<String> {
    // Two of one kind are one program.
    let mut members: Vec<&Member> = Vec::new();
    for member in &shop.spec.agent.members {
        if !members.iter().any(|known| known.kind.name() == member.kind.name()) {
            members.push(member);
        }
    }
    let greeted = members.into_iter().map(|member| greet_one(shop, member, surface, live));
    let greeted: Vec<String> = greeted.collect::<Outcome<_>>()?;
    Ok(greeted.into_iter().filter(|agent| !agent.is_empty()).collect::<Vec<_>>().join(", "))
}

fn greet_one(shop: &Shop, member: &Member, surface: &Contents, live: &Live) -> Outcome<String> {
    let coding = match &member.kind {
        AgentKind::Coding(coding) => coding,
        AgentKind::Api(api) => return find_key(shop, &member.name, api, live),
        AgentKind::Tuner | AgentKind::Command(_) => return Ok(String::new()),
    };
    let name = coding.preset.name();
    live.now(&format!("{name} is started for the first time"));
    match shop.greet(member, surface) {
        Ok(version) => {
            let agent = format!("{name} {}", version.unwrap_or_default());
            live.say(&crate::ui::printable(&format!("agent      {agent}")));
            if let Some(what) = super::check::missed_keys(coding.preset, &shop.spec.gateway) {
                live.say(&format!("note       {what}"));
            }
            Ok(agent)
        }
        Err(what) => {
            let error = CliError::usage(format!("`{name}` does not run inside its sandbox: {what}"));
            let install = coding.preset.install();
            Err(error.hint(format!(
                "install it where commands can see it ({install}), then: overnight check --agent {name}"
            )))
        }
    }
}

/// A model with its provider, once its key was found.
fn find_key(shop: &Shop, name: &str, api: &Api, live: &Live) -> Outcome<String> {
    let is_offline = shop.spec.gateway.tapes.replay.is_some();
    if let KeySource::Command(command) = &api.key
        && !is_offline
    {
        live.now(&crate::ui::printable(&format!("the key comes from `{command}`")));
    }
    // Nobody is asked, and nobody wants a key.
    if !is_offline {
        api::find_key(&api.key, &shop.keeper, &shop.triplet_dir, |_| {}).map_err(|what| {
            let hint =
                "say where the key is: `key_env` or `key_command` in [agent]; then: overnight check --agent NAME";
            CliError::usage(what).hint(hint)
        })?;
    }
    live.say(&crate::ui::printable(&format!("agent      {name} {}", api.described())));
    Ok(format!("{name} {} {}", api.provider.name(), api.model))
}

/// The exit code of a run that ended by itself.
pub(crate) fn exit_of(reason: &StopReason) -> Exit {
    match reason {
        StopReason::Done | StopReason::Target { .. } => Exit::Done,
        StopReason::Interrupted => Exit::Interrupted,
        StopReason::BaselineFailed { .. } => Exit::Usage,
        StopReason::EngineErrors { .. } | StopReason::Fault { .. } => Exit::Fault,
        StopReason::NightWall
        | StopReason::NightExperiments
        | StopReason::TotalWall
        | StopReason::TotalExperiments
        | StopReason::NoGain
        | StopReason::Spent { .. }
        | StopReason::OtherModel { .. }
        | StopReason::FailedAttempts { .. }
        | StopReason::ChampionFailed { .. }
        | StopReason::GuardBroken { .. }
        | StopReason::NothingToTry { .. } => Exit::Stopped,
    }
}

/// One line per verdict; the live line says what runs now.
fn show(live: &Live, agents: &AgentSpec, event: &Event, state: &State) {
    match &event.what {
        What::Judged(judged) => {
            let row = state.row(judged.experiment);
            if let Some(row) = &row {
                live.say(&team::row_line(row, agents.is_team()));
            }
            if let Some(row) = row.filter(|_| judged.verdict == Verdict::AgentError) {
                team::waiting(state, agents, &row.agent, event.at).iter().for_each(|line| live.say(line));
            }
            let plateau = state.plateau().filter(|plateau| judged.verdict.is_counted() && plateau.is_new());
            plateau.iter().for_each(|plateau| live.say(&team::plateau_noticed(*plateau, agents)));
        }
        What::Retracted(retracted) => {
            if let Some(row) = state.row(retracted.experiment) {
                live.say(&team::row_line(&row, agents.is_team()));
            }
        }
        What::Paused { .. } => live.say("paused: nothing new begins; `overnight resume` goes on"),
        What::Resumed { .. } => live.say("resumed"),
        What::Returned { why, .. } => live.say(&crate::ui::printable(&format!("a proposal was returned: {why}"))),
        What::Restacked(Proposed { experiment, parent, .. }) => {
            live.now(&format!("experiment {experiment}: put on the new champion {}", parent.short()));
        }
        What::Asked { experiment, agent, .. } => live.now(&format!("experiment {experiment}: {agent} is thinking")),
        What::TrialStarted { trial, experiment, .. } => {
            live.now(&format!("{}: trial {trial} is running", term::whose(*experiment)));
        }
        What::SmokeStarted { experiment, .. } => {
            live.now(&format!("{}: a quick look before it takes a slot", term::whose(*experiment)));
        }
        What::RepairAsked { experiment, agent } => {
            live.now(&format!("experiment {experiment}: it crashed at once, and {agent} repairs it"));
        }
        What::GuardStarted { experiment, on, .. } => {
            let on = if on.is_some() { ", on the champion" } else { "" };
            live.now(&format!("{}: a guard is running{on}", term::whose(*experiment)));
        }
        _ => {}
    }
}

/// Whoever started a run for letters holds its standard input: when that closes, nobody waits for a verdict any more.
/// What is open goes on with the next run.
fn watch_stdin(inbox: Sender<Message>) {
    std::thread::spawn(move || {
        // Nothing is ever written to it.
        let _ = std::io::copy(&mut std::io::stdin(), &mut std::io::sink());
        let _ = inbox.send(Message::Arrival(Arrival::StopRequested { hurry: true }));
        std::thread::sleep(HURRY);
        std::process::exit(Exit::Interrupted as i32);
    });
}

/// The first signal stops gently, the second at once; a terminal that closes stops nothing.
fn watch_signals(inbox: Sender<Message>, live: Live, kill: Millis) -> Outcome<()> {
    let mut signals = Signals::new([SIGINT, SIGTERM, SIGHUP])
        .map_err(|error| CliError::new(Exit::Fault, "could not listen for signals").cause(&error))?;
    std::thread::spawn(move || {
        let mut stops = 0;
        for signal in signals.forever() {
            if signal == SIGHUP {
                continue;
            }
            stops += 1;
            let hurry = stops > 1;
            match hurry {
                false => live.say(&format!(
                    "stopping: nothing new starts, running trials finish (at most {kill} each); again to kill them now"
                )),
                true => live.say("stopping now"),
            }
            let _ = inbox.send(Message::Arrival(Arrival::StopRequested { hurry }));
            if hurry {
                std::thread::sleep(HURRY);
                // The keeper kills what is left when this process is gone; the ledger is whole at any moment.
                std::process::exit(Exit::Interrupted as i32);
            }
        }
    });
    Ok(())
}
