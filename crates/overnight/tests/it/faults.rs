//! What goes wrong between agents and models, in whole nights through the gateway: nobody there, storms of 429, a
//! subscription that is used up, limits reached in the middle of an answer, and an engine that is killed while models are
//! asked.

use std::collections::BTreeSet;
use std::net::{TcpListener, TcpStream};
use std::time::Duration;

use overnight_testkit::provider::{Failure, Idea, Provider, Script};
use rustix::process::Signal;

use crate::coding::{KEY, environment};
use crate::support::{Engine, Json, Ran, Repo, until};

/// An address of the loopback where nobody listens, and no other test does.
const NOBODY: &str = "http://127.9.9.9:9";
const HOUR: i64 = 3600 * 1000;

/// Asks a model as many times at once as its argument says, each a stream that is read to its end; then turns the knob.
const ASKS: &str = r#"
import json, os, sys, threading, urllib.request
sys.stdin.read()
def ask(number):
    text = "question " + str(number)
    body = json.dumps({"model": "fake-model", "stream": True, "messages": [{"role": "user", "content": text}]}).encode()
    headers = {"authorization": "Bearer " + os.environ["OPENAI_API_KEY"], "content-type": "application/json"}
    url = os.environ["OPENAI_BASE_URL"] + "/chat/completions"
    answer = urllib.request.urlopen(urllib.request.Request(url, body, headers)).read()
    assert b"[DONE]" in answer
    done.append(number)
done = []
asking = [threading.Thread(target=ask, args=(number,)) for number in range(int(sys.argv[1]))]
[one.start() for one in asking]
[one.join() for one in asking]
if len(done) < len(asking): sys.exit("not every question was answered")
open("knobs.py", "w").write("x = 4\n")
print("after some thought")
"#;

/// A study whose agents are these, in the triplet's own words, and who is there to be asked.
struct Night {
    repo: Repo,
    environment: Vec<(String, String)>,
}

impl Night {
    fn new(agents: &str, environment: Vec<(String, String)>) -> Night {
        let repo = Repo::new();
        repo.write("program.md", "Turn the knob.\n").write("agent.py", ASKS);
        repo.write("knobs.py", "x = 5\ny = 0.5\nz = 0.25\n");
        repo.triplet(&format!("{agents}ahead = 0\n")).commit("agents");
        Night { repo, environment }
    }

    /// A model over its API, and the tuner.
    fn api(url: &str) -> Night {
        let agents = "[agent]\nuse = [\"api\", \"tuner\"]\nprovider = \"anthropic\"\nmodel = \"fake-model\"\n";
        Night::new(&format!("{agents}base_url = \"{url}\"\n"), keys(url))
    }

    /// A program of somebody's own, and the tuner.
    fn program(url: &str, questions: u32) -> Night {
        let agents = "[agent]\nuse = [\"command\", \"tuner\"]\nnetwork = \"models\"\n";
        Night::new(&format!("{agents}command = \"python3 agent.py {questions}\"\n"), keys(url))
    }

    /// A coding agent, the real one, and the tuner.
    fn coding(agent: &str, script: impl FnOnce(&Repo) -> Script) -> (Night, Provider) {
        let agents = format!("[agent]\nuse = [\"{agent}\", \"tuner\"]\nmodel = \"fake-model\"\n");
        let mut night = Night::new(&agents, Vec::new());
        let provider = Provider::start(script(&night.repo));
        night.environment = environment(agent, &provider);
        (night, provider)
    }

    fn run(&self, experiments: &str) -> Ran {
        let args = ["run", "--no-tui", "--experiments", experiments];
        Ran::of(self.repo.command(&args).envs(self.environment.clone()).output().unwrap())
    }

    fn start(&self) -> Engine {
        self.repo.start_with(&["run", "--no-tui"], self.environment.clone())
    }

    /// The failed attempts of an agent, with when they were recorded.
    fn failed(&self, agent: &str) -> Vec<(i64, Json)> {
        let ledger = self.repo.ledger();
        let mut statement =
            ledger.prepare("select at, body from events where body like '%\"attempt_failed\"%' order by seq").unwrap();
        let rows = statement.query_map([], |row| Ok((row.get::<_, i64>(0)?, row.get::<_, String>(1)?))).unwrap();
        let rows = rows.map(Result::unwrap).map(|(at, body)| (at, serde_json::from_str::<Json>(&body).unwrap()));
        let of = |body: &Json| self.repo.experiment(body["experiment"].as_u64().unwrap())["agent"] == agent;
        rows.filter(|(_, body)| of(body)).collect()
    }

    /// What came of every call, in order.
    fn calls(&self) -> Vec<Json> {
        self.repo.bodies("called").iter().map(|body| serde_json::from_str(body).unwrap()).collect()
    }

    fn ends(&self) -> Vec<String> {
        self.calls().iter().map(|call| call["outcome"]["end"].as_str().unwrap().to_owned()).collect()
    }
}

/// The variables of somebody whose providers are all at one address.
fn keys(url: &str) -> Vec<(String, String)> {
    [
        ("ANTHROPIC_API_KEY", KEY.to_owned()),
        ("OPENAI_API_KEY", KEY.to_owned()),
        ("OPENAI_BASE_URL", format!("{url}/v1")),
    ]
    .map(|(name, value)| (name.to_owned(), value))
    .to_vec()
}

fn trouble(body: &Json) -> &Json {
    &body["failure"]["error"]["trouble"]
}

/// What the simulator plays for an hour begins like this.
#[test]
fn a_provider_that_is_not_there_costs_nothing_and_is_waited_for_while_the_tuner_has_the_slot() {
    for (agent, night) in [("api", Night::api(NOBODY)), ("command", Night::program(NOBODY, 1))] {
        let ran = night.run("4").ended(0);
        let ran = ran.says(&format!("waiting for {agent} until ")).says("; tuner has the slot\n");
        let ran = ran.says("provider outage: ");
        let failed = night.failed(agent);
        // As often as fifteen seconds and more went by.
        assert!((1..=3).contains(&failed.len()), "{ran}");
        assert!(failed.iter().all(|(_, body)| trouble(body)["is"] == "outage"), "{failed:?}");
        let ends = night.ends();
        assert!(ends.len() == failed.len() && ends.iter().all(|end| end == "unreached"), "{ends:?}");
        let status = night.repo.status();
        assert_eq!((&status["experiments"], status["cost_usd"].as_f64()), (&4.into(), Some(0.0)), "{status}");
        assert!(status["costs"].is_null(), "nobody was asked: {status}");
        night.repo.assert_sound();
    }
}

#[test]
fn a_storm_of_429_is_waited_for_as_long_as_the_provider_says_whoever_asks() {
    for retry_after in [Some(3600), None] {
        let storm = Idea::Fail(Failure::RateLimit { retry_after });
        let provider = Provider::start(Script::new(".", [storm.clone()]));
        let of = |agent| Night::coding(agent, |repo| Script::new(repo.dir().to_str().unwrap(), [storm.clone()]));
        let mut nights =
            vec![("api", Night::api(&provider.url()), None), ("command", Night::program(&provider.url(), 3), None)];
        // They do not say for how long they are to be left alone.
        for agent in ["claude", "codex"].into_iter().filter(|_| retry_after.is_some()) {
            let (night, other) = of(agent);
            nights.push((agent, night, Some(other)));
        }
        for (agent, night, _provider) in nights {
            let ran =
                night.run("2").ended(0).says(&format!("waiting for {agent} until ")).says("; tuner has the slot\n");
            let failed = night.failed(agent);
            let (at, body) = &failed[0];
            assert_eq!(trouble(body)["is"], "rate_limit", "{agent}: {body}");
            let waits = trouble(body)["retry_at"].as_i64().map(|until| until - at);
            match retry_after {
                // The time between the answer and the record of the attempt is lost.
                Some(_) => {
                    assert!(waits.is_some_and(|waits| (HOUR / 2..=HOUR).contains(&waits)), "{agent}: {body}\n{ran}")
                }
                None => assert_eq!(waits, None, "{agent}: {body}"),
            }
            // Whoever is in a storm does not make it worse.
            assert!(failed.len() <= if retry_after.is_some() { 1 } else { 3 }, "{agent}: {ran}");
            assert!(night.ends().iter().all(|end| end == "refused"), "{agent}: {:?}", night.ends());
            let status = night.repo.status();
            assert_eq!(
                (status["cost_usd"].as_f64(), &status["experiments"]),
                (Some(0.0), &2.into()),
                "{agent}: {status}"
            );
            night.repo.assert_sound();
        }
    }
}

#[test]
fn a_subscription_that_is_used_up_is_no_failure_and_it_is_said_until_when() {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_secs() as i64;
    let resets_at = now + 3 * 3600;
    let used_up = Idea::Fail(Failure::UsageLimit { resets_at });
    let (mut night, provider) = Night::coding("claude", |repo| Script::new(repo.dir().to_str().unwrap(), [used_up]));
    night.environment.retain(|(name, _)| name != "ANTHROPIC_API_KEY");
    night.environment.push(("CLAUDE_CODE_OAUTH_TOKEN".to_owned(), "sk-ant-oat01-planted".to_owned()));
    let engine = night.start();
    let at = resets_at.rem_euclid(24 * 3600);
    let rest = format!(" {:02}:{:02}:{:02}; tuner has the slot\n", at / 3600, at / 60 % 60, at % 60);
    engine.said(&rest);
    let status = night.repo.ok(&["status"]);
    let line = status.stdout.split_inclusive('\n').find(|line| line.starts_with("waiting    for claude until "));
    assert!(line.is_some_and(|line| line.ends_with(&rest)), "{status}");
    until("the tuner to play", || night.repo.events("judged") > 2);
    engine.signal(Signal::INT);
    let ran = engine.wait().ended(130);
    let failed = night.failed("claude");
    assert_eq!(failed.len(), 1, "{ran}");
    assert_eq!(
        trouble(&failed[0].1),
        &serde_json::json!({ "is": "rate_limit", "retry_at": resets_at * 1000 }),
        "{ran}"
    );
    assert_eq!(provider.begun(), 1, "nobody is asked while it is waited for: {ran}");
    let told = night.repo.status();
    let row = told["team"].as_array().unwrap().iter().find(|row| row["agent"] == "claude").cloned();
    assert_eq!(row.map_or(0.into(), |row| row["failed"].clone()), 0, "{told}");
    night.repo.assert_sound();
}

/// A provider may count more than anybody could have reserved: that call is answered and counted, and was the last one.
#[test]
fn a_limit_that_is_reached_in_the_middle_of_an_answer_lets_it_end_and_ends_the_night() {
    for agent in ["claude", "codex"] {
        let idea = |repo: &Repo| {
            let edit = crate::coding::edit("knobs.py", "x = 5", "x = 4", "a little less");
            Script::new(repo.dir().to_str().unwrap(), [edit]).using(1_350_000, 10)
        };
        let (night, provider) = Night::coding(agent, idea);
        let triplet = night.repo.read("overnight.toml").replace(", \"tuner\"]", "]");
        night.repo.write("overnight.toml", &format!("{triplet}[limits]\ntokens = 1300000\n")).commit("a limit");
        provider.hold();
        let engine = night.start();
        until("an answer to be half there", || provider.held() >= 1);
        provider.let_go();
        let ran = engine.wait().ended(4).says("stopped: limits.tokens is reached");
        let ends = night.ends();
        assert_eq!(ends.iter().filter(|end| *end == "answered").count(), 1, "{agent}: {ends:?}\n{ran}");
        // It understands the first refusal, and does not knock again and again.
        assert_eq!(ends.iter().filter(|end| *end == "limited").count(), 1, "{agent}: {ends:?}\n{ran}");
        assert_eq!((ends.len(), provider.questions().len()), (2, 1), "{agent}: {ends:?}\n{ran}");
        let (status, failed) = (night.repo.status(), night.failed(agent));
        assert_eq!(status["costs"]["tokens"], 1_350_010, "{agent}: {status}");
        match agent {
            // One had only read the file by then.
            "claude" => assert_eq!(trouble(&failed[0].1)["is"], "limit", "{failed:?}"),
            // The other had made its edit, which was paid for, and is tried.
            _ => assert_eq!((failed.len(), &status["kept"]), (0, &1.into()), "{status}"),
        }
        night.repo.assert_sound();
    }
}

#[test]
fn where_dollars_are_limited_a_model_without_a_price_is_not_asked_and_it_is_said_what_to_write() {
    let provider = Provider::start(Script::new(".", [Idea::Say("hm".into())]));
    let night = Night::api(&provider.url());
    night.repo.triplet("[limits]\ncost_usd = 5\n").commit("a limit");
    night
        .run("3")
        .ended(4)
        .says("no price is known for the model `fake-model`")
        .says("[gateway.prices.\"fake-model\"]");
    assert_eq!(provider.questions().len(), 0);
    assert_eq!(night.repo.status()["cost_usd"].as_f64(), Some(0.0));
}

/// A listener whose waiting room is full: who connects waits outside, and nothing that it says goes out.
fn full() -> (String, Vec<TcpStream>, TcpListener) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let mut inside = Vec::new();
    while let Ok(stream) = TcpStream::connect_timeout(&address, Duration::from_millis(300)) {
        inside.push(stream);
    }
    (format!("http://{address}"), inside, listener)
}

#[test]
fn no_call_is_forgotten_or_counted_twice_however_often_the_engine_is_killed_in_the_middle_of_several() {
    const AT_ONCE: usize = 4;
    let provider = Provider::start(Script::new(".", [Idea::Say("less".into())]));
    let night = Night::program(&provider.url(), AT_ONCE as u32);
    let price = "[gateway.prices.fake-model]\ninput = 1000\noutput = 1000\n";
    let triplet = night.repo.read("overnight.toml").replace(", \"tuner\"]", "]");
    night.repo.write("overnight.toml", &format!("{triplet}{price}")).commit("alone");
    let kill = |engine: Engine| {
        engine.signal(Signal::KILL);
        engine.wait();
        until("everything of it to be gone", || night.repo.strays().is_empty());
    };
    // In the middle of their answers, twice.
    provider.hold();
    for times in 1..=2 {
        let engine = night.start();
        until("answers to be half there", || provider.held() == times * AT_ONCE);
        kill(engine);
        assert_eq!(
            night.repo.events("called") as usize,
            (times - 1) * AT_ONCE,
            "what was lost is found by the next run"
        );
    }
    // After they were written down, and before anything of them went out.
    let (url, _inside, _listener) = full();
    let engine = night.repo.start_with(&["run", "--no-tui"], keys(&url));
    let written = || {
        let Ok(entries) = std::fs::read_dir(night.repo.state().join("calls")) else { return 0 };
        let texts = entries.flatten().filter_map(|entry| std::fs::read_to_string(entry.path()).ok());
        texts.map(|text| text.matches("{\"out\":").count()).sum()
    };
    // Those of the run before, which are in the ledger by now, and its own.
    until("calls to be written down", || written() == 2 * AT_ONCE && night.repo.events("called") == 8);
    kill(engine);
    assert_eq!(provider.questions().len(), 2 * AT_ONCE);
    provider.let_go();
    let ran = night.run("1").ended(0);
    let ids: Vec<u64> = night.calls().iter().map(|call| call["call"]["id"].as_u64().unwrap()).collect();
    let once: BTreeSet<u64> = ids.iter().copied().collect();
    assert_eq!((ids.len(), once.len()), (4 * AT_ONCE, 4 * AT_ONCE), "{ids:?}\n{ran}");
    let ends = night.ends();
    assert_eq!(ends.iter().filter(|end| *end == "lost").count(), 3 * AT_ONCE, "{ends:?}");
    assert_eq!(ends.iter().filter(|end| *end == "answered").count(), AT_ONCE, "{ends:?}");
    let status = night.repo.status();
    assert!(status["cost_usd"].is_null(), "what was lost may have cost anything: {status}");
    assert_eq!((&status["costs"]["calls"], &status["costs"]["unpriced"]), (&16.into(), &12.into()), "{status}");
    night.repo.assert_sound();
}

#[test]
fn a_trace_that_cannot_be_stored_is_left_out_and_said_and_the_call_is_counted() {
    let edit = Idea::Edit { path: "knobs.py".into(), old: "x = 5".into(), new: "x = 4".into(), say: "less".into() };
    let provider = Provider::start(Script::new(".", [edit]));
    let night = Night::api(&provider.url());
    std::fs::create_dir_all(night.repo.state()).unwrap();
    std::fs::write(night.repo.state().join("traces"), "a file where the folder should be").unwrap();
    let ran = night.run("1").ended(0).says("note: not every call was kept: could not make the folder ");
    assert_eq!(
        (night.ends(), night.repo.experiment(1)["verdict"].as_str()),
        (vec!["answered".to_owned()], Some("kept")),
        "{ran}"
    );
    assert_eq!(night.repo.status()["costs"]["tokens"], 110);
}
