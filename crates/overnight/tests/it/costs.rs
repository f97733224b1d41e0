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
    assert!(
        is(&status["costs"]["usd_per_keep"], CALL) && status["costs"]["usd_per_hour"].as_f64() > Some(0.22),
        "{status}"
    );
    repo.ok(&["report", "--html", "report.html"]);
    let markdown = repo.ok(&["report", "--md"]).stdout;
    let log = repo.ok(&["log"]);
    assert!(log.stdout.lines().next().unwrap().contains("gain      cost  what"), "{log}");
    let line = |number: &str| log.stdout.lines().find(|line| line.trim_start().starts_with(number)).unwrap().to_owned();
    assert!(line("1 ").contains("    $0.11  ") && line("0 ").contains("       $0  "), "{log}");
    let (report, status) = (repo.ok(&["report"]).stdout, repo.ok(&["status"]).stdout);
    for said in [&report, &status, &format!("{}{}", log.stdout, log.stderr), &markdown, &repo.read("report.html")] {
        assert!(said.contains("$0.22 · 2 calls, 220 tokens") && said.contains("$0.11 for each keep"), "{said}");
        assert!(said.contains(" an hour") && said.contains("api $0.22 for 2 turns"), "{said}");
    }
    repo.assert_sound();
}

#[test]
fn a_model_without_a_price_costs_nobody_knows_what() {
    let night = Night::new("", &[("5", "4")]);
    night.overnight(&["run", "--no-tui", "--experiments", "1"]).ended(0);
    let (row, status) = (night.repo.experiment(1), night.repo.status());
    assert!(row["cost_usd"].is_null() && status["cost_usd"].is_null(), "{row} {status}");
    assert_eq!((&status["costs"]["tokens"], &status["costs"]["unpriced"]), (&110.into(), &1.into()), "{status}");
    assert!(status["costs"]["usd_per_keep"].is_null() && status["costs"]["usd_per_hour"].is_null(), "{status}");
    night.repo.ok(&["log"]).says("  unknown  4 and not 5").says("unknown for each keep, unknown an hour");
    night.repo.ok(&["report"]).says("unknown for each keep, unknown an hour");
}

/// A client sends its whole conversation with every call; only what is new in it is bounded by its bytes.
#[test]
fn a_limit_that_is_too_small_for_the_bytes_of_a_conversation_is_enough_for_its_tokens() {
    let repo = Repo::new();
    let provider = Provider::start(Script::new("/", vec![Idea::Say("one".into()), Idea::Say("two".into())]));
    let task = "import json, os, urllib.request\n\
        said, words = [], 'x' * 20000\n\
        for turn in range(2):\n\
        \x20   said.append({'role': 'user', 'content': words if turn == 0 else 'go on'})\n\
        \x20   body = {'model': 'm', 'max_tokens': 100, 'messages': said}\n\
        \x20   request = urllib.request.Request(os.environ['OPENAI_BASE_URL'] + '/chat/completions', json.dumps(body).encode(),\n\
        \x20       {'Content-Type': 'application/json', 'Authorization': 'Bearer ' + os.environ['OPENAI_API_KEY']})\n\
        \x20   answer = json.load(urllib.request.urlopen(request))['choices'][0]['message']['content']\n\
        \x20   said.append({'role': 'assistant', 'content': answer})\n\
        print('loss:', len(open('knobs.py').read()))\n";
    repo.write("task.py", task);
    let triplet = "surface = \"knobs.py\"\nmetric = { name = \"loss\", goal = \"min\" }\n[evaluate]\nrun = \"python3 task.py\"\n\
                   budget = \"20s\"\nnetwork = \"models\"\n[agent]\nuse = \"tuner\"\n[limits.trial]\ntokens = 20500\n";
    repo.write(
        "overnight.toml",
        &format!("{triplet}[gateway.local]\nurl = \"{}/v1\"\nprotocol = \"chat\"\n", provider.url()),
    );
    repo.commit("a task");
    repo.overnight(&["run", "--no-tui", "--experiments", "1"]);
    let called: Vec<serde_json::Value> =
        repo.bodies("called").iter().map(|body| serde_json::from_str(body).unwrap()).collect();
    assert!(called.len() >= 2, "{called:?}");
    // 20,000 bytes and more of both calls together would be beyond the limit.
    let second = &called[1]["call"];
    assert!(called[1]["limit"].is_null() && second["bytes"].as_u64() > Some(20_000), "{called:?}");
    assert!(second["most_input"].as_u64().is_some_and(|most| most < 400), "{called:?}");
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
    assert!(!said.contains("list prices"), "its price is the person's own: {said}");
}

#[test]
fn a_check_says_how_old_its_prices_are_and_which_model_has_none() {
    let checked = |more: &str, model: &str| {
        let night = Night::new(more, &[]);
        let text = night.repo.read("overnight.toml").replace("\"fake-model\"", &format!("\"{model}\""));
        night.repo.write("overnight.toml", &text).commit("another model");
        let checked = night.overnight(&["check"]);
        // Long findings go over several lines.
        let words: Vec<String> =
            format!("{}{}", checked.stdout, checked.stderr).split_whitespace().map(ToOwned::to_owned).collect();
        words.join(" ")
    };
    let listed = checked("", "claude-opus-4-5");
    let dated = format!("list prices of {}", overnight_model::call::price::DATED);
    assert!(listed.contains(&dated), "{listed}");
    let unknown = checked("", "of-nobody");
    assert!(unknown.contains("unknown: no price is known for the model `of-nobody`"), "{unknown}");
    let refused = checked("[limits]\ncost_usd = 3\n", "of-nobody");
    assert!(refused.contains("so that `limits.cost_usd` refuses every call of it"), "{refused}");
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
