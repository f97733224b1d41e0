//! What models cost, in a night against a provider on the loopback that plays a script. Each call reads 100 tokens and
//! writes 10.

use overnight_testkit::provider::{Failure, Idea, Provider, Script};
use rustix::process::Signal;

use crate::support::{Ran, Repo, until};

/// A thousand dollars for a million tokens: eleven cents for a call.
pub(crate) const PRICE: &str = "[gateway.prices.fake-model]\ninput = 1000\noutput = 1000\n";
const CALL: f64 = 0.11;
const KEY: (&str, &str) = ("ANTHROPIC_API_KEY", "made-up-key-that-opens-nothing");

pub(crate) struct Night {
    pub(crate) repo: Repo,
    provider: Provider,
}

impl Night {
    pub(crate) fn new(more: &str, ideas: &[(&str, &str)]) -> Night {
        Night::playing(more, ideas.iter().map(|(old, new)| edit(old, new)).collect())
    }

    fn playing(more: &str, ideas: Vec<Idea>) -> Night {
        let (repo, provider) = (Repo::new(), Provider::start(Script::new(".", ideas)));
        repo.write("program.md", "Turn the knob.\n");
        let agent = "[agent]\nuse = \"api\"\nprovider = \"anthropic\"\nmodel = \"fake-model\"\nahead = 0\n";
        repo.triplet(&format!("{agent}base_url = \"{}\"\n{more}", provider.url())).commit("an agent");
        Night { repo, provider }
    }

    /// Somebody else is asked from now on.
    fn turns_to(&self, other: &Provider, more: &str) {
        let text = self.repo.read("overnight.toml").replace(&self.provider.url(), &other.url());
        self.repo.write("overnight.toml", &format!("{text}{more}")).commit("another provider");
    }

    pub(crate) fn overnight(&self, args: &[&str]) -> Ran {
        Ran::of(self.repo.command(args).env(KEY.0, KEY.1).output().unwrap())
    }
}

fn edit(old: &str, new: &str) -> Idea {
    let say = format!("{new} and not {old}");
    Idea::Edit { path: "knobs.py".into(), old: format!("x = {old}"), new: format!("x = {new}"), say }
}

fn is(found: &serde_json::Value, expected: f64) -> bool {
    found.as_f64().is_some_and(|found| (found - expected).abs() < 1e-9)
}

#[test]
fn every_view_says_what_a_night_cost() {
    let night = Night::new(PRICE, &[("5", "4"), ("4", "3")]);
    night.overnight(&["run", "--no-tui", "--experiments", "2"]).ended(0).says("cost       $0.22 · 2 calls, 220 tokens");
    let repo = &night.repo;
    assert!(is(&repo.experiment(1)["cost_usd"], CALL), "{}", repo.experiment(1));
    let status = repo.status();
    assert!(is(&status["cost_usd"], 2.0 * CALL) && is(&status["costs"]["billed_usd"], 2.0 * CALL), "{status}");
    assert_eq!((&status["costs"]["calls"], &status["costs"]["tokens"]), (&2.into(), &220.into()));
    assert_eq!(
        (&status["costs"]["agents"][0]["agent"], &status["costs"]["agents"][0]["turns"]),
        (&"api".into(), &2.into())
    );
    let report = repo.ok(&["report"]).stdout;
    assert!(report.contains("$0.22 · 2 calls, 220 tokens") && report.contains("$0.11 for each keep"), "{report}");
    assert!(report.contains("api $0.22 for 2 turns"), "{report}");
    repo.assert_sound();
}

#[test]
fn a_model_without_a_price_costs_nobody_knows_what() {
    let night = Night::new("", &[("5", "4")]);
    night.overnight(&["run", "--no-tui", "--experiments", "1"]).ended(0);
    let (row, status) = (night.repo.experiment(1), night.repo.status());
    assert!(row["cost_usd"].is_null() && status["cost_usd"].is_null(), "{row} {status}");
    assert_eq!((&status["costs"]["tokens"], &status["costs"]["unpriced"]), (&110.into(), &1.into()), "{status}");
}

#[test]
fn a_night_ends_when_its_money_is_spent_and_says_which_limit_it_was() {
    let limits = format!("{PRICE}[limits]\ncost_usd = 0.1\n");
    let night = Night::new(&limits, &[("5", "4"), ("4", "3")]);
    let ran = night.overnight(&["run", "--no-tui"]).ended(4);
    ran.says("stopped: limits.cost_usd is reached").says("raise `limits.cost_usd` in the triplet");
    assert!(night.repo.status()["experiments"].as_u64().unwrap() <= 1);
    night.repo.assert_sound();
}

#[test]
fn a_check_says_what_a_night_may_cost_before_anything_is_spent() {
    let limited = Night::new(&format!("{PRICE}[limits]\ncost_usd = 3\n"), &[]);
    let checked = limited.overnight(&["check"]);
    assert!(checked.stdout.contains("$3.00") || checked.stderr.contains("$3.00"), "{checked}");
    let open = Night::new(PRICE, &[]);
    let checked = open.overnight(&["check"]);
    let said = format!("{}{}", checked.stdout, checked.stderr);
    assert!(said.contains("unknown until the first proposal: nothing limits it"), "{said}");
}

#[test]
fn a_call_whose_engine_was_killed_is_in_the_account_of_the_next_run() {
    let night = Night::playing(PRICE, vec![Idea::Fail(Failure::Stall)]);
    let repo = &night.repo;
    let engine = repo.start_with(&["run", "--no-tui"], vec![(KEY.0.into(), KEY.1.into())]);
    until("the model to be asked", || night.provider.questions().len() == 1);
    engine.signal(Signal::KILL);
    engine.wait();
    until("everything of it to be gone", || repo.strays().is_empty());
    assert_eq!(repo.events("called"), 0, "the ledger knows nothing of it yet");
    let other = Provider::start(Script::new(".", vec![edit("5", "4")]));
    night.turns_to(&other, "");
    night.overnight(&["run", "--no-tui", "--experiments", "1"]).ended(0);
    assert_eq!((repo.events("called"), repo.events("lost")), (2, 1));
    let (row, status) = (repo.experiment(1), repo.status());
    assert!(row["cost_usd"].is_null() && status["cost_usd"].is_null(), "{row} {status}");
    assert_eq!((&status["costs"]["calls"], &status["costs"]["unpriced"]), (&2.into(), &1.into()), "{status}");
    assert!(is(&status["costs"]["night_usd"], CALL), "{status}");
    repo.assert_sound();
    let said = repo.ok(&["status"]).stdout;
    assert!(said.contains("cost       at least $0.11, and what 1 call or turn cost is unknown"), "{said}");
}

#[test]
fn a_guard_on_what_a_trial_asks_holds_where_nobody_is_asked() {
    let night = Night::new("[[guard]]\nmetric = \"model_calls\"\nmax = 0\n", &[("5", "4")]);
    night.overnight(&["run", "--no-tui", "--experiments", "1"]).ended(0);
    assert_eq!(night.repo.experiment(1)["verdict"], "kept");
}

#[test]
fn another_model_than_the_one_that_was_asked_is_told_and_can_end_the_night() {
    let night = Night::new("", &[]);
    let stranger = Provider::start(Script::new(".", vec![edit("5", "4")]).answered_by("little-model"));
    night.turns_to(&stranger, "[gateway]\nexpect_model = \"stop\"\n");
    let ran = night.overnight(&["run", "--no-tui"]).ended(4);
    let ran = ran.says("stopped: fake-model was asked and little-model answered");
    ran.says("models     fake-model was asked and little-model answered, once");
    night.repo.assert_sound();
}
