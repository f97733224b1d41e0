//! Several agents in one study, and what is said for one of them alone.

use overnight_model::spec::{AgentKind, AgentSpec, Coding, Member, Network, Preset};
use overnight_model::units::Millis;

use super::*;

const START: &str = "surface = \"train.py\"\nmetric = { name = \"loss\", goal = \"min\" }\n\
    [evaluate]\nrun = \"python3 train.py\"\nbudget = \"5m\"\n";

fn agent(text: &str) -> Result<AgentSpec, Problems> {
    parse_in("", &format!("{START}[agent]\n{text}")).map(|spec| spec.agent)
}

/// The first problem of a section, and its hint.
fn problem(text: &str) -> (usize, String, String) {
    let problems = agent(text).unwrap_err();
    let problem = &problems.list[0];
    // Counted from the line after [agent].
    (problem.line - 6, problem.message.clone(), problem.hint.clone().unwrap_or_default())
}

fn claude(name: &str, model: Option<&str>) -> Member {
    let coding = Coding { model: model.map(ToOwned::to_owned), ..Coding::new(Preset::Claude) };
    let timeout = Millis::seconds(600);
    Member { name: name.into(), kind: AgentKind::Coding(coding), timeout, network: Network::Models, weight: None }
}

fn tuner() -> Member {
    Member { name: "tuner".into(), kind: AgentKind::Tuner, network: Network::Full, ..claude("", None) }
}

#[test]
fn a_team_is_a_list_of_names() {
    let team = agent("use = [\"claude\", \"tuner\"]\nmodel = \"large\"\n").unwrap();
    assert_eq!(team.members, [claude("claude", Some("large")), tuner()], "the tuner has no model");
    assert_eq!((team.ahead, team.brief_tokens), (1, AgentSpec::BRIEF_TOKENS));
}

#[test]
fn what_one_agent_says_of_itself_comes_before_what_is_said_for_all() {
    let text = "use = [\"claude\", \"tuner\"]\nmodel = \"large\"\ntimeout = \"1m\"\n\
        [agent.claude]\nmodel = \"small\"\nnetwork = \"none\"\n";
    let team = agent(text).unwrap();
    let minute = Millis::seconds(60);
    let expected = Member { timeout: minute, network: Network::None, ..claude("claude", Some("small")) };
    assert_eq!(team.members, [expected, Member { timeout: minute, ..tuner() }]);
}

#[test]
fn two_of_a_kind_have_names_of_their_own() {
    let text = "use = [\"quick\", \"claude\", \"tuner\"]\n[agent.quick]\nuse = \"claude\"\nmodel = \"small\"\n";
    assert_eq!(agent(text).unwrap().members, [claude("quick", Some("small")), claude("claude", None), tuner()]);
    let text = "use = [\"one\", \"command\"]\ncommand = \"./both.sh\"\n\
        [agent.one]\nuse = \"command\"\ncommand = \"./one.sh\"\n";
    let kinds = agent(text).unwrap().members.into_iter().map(|member| member.kind);
    let expected = ["./one.sh", "./both.sh"].map(|command| AgentKind::Command(command.into()));
    assert_eq!(kinds.collect::<Vec<_>>(), expected);
    let own = agent("use = \"command\"\n[agent.command]\ncommand = \"./own.sh\"\n").unwrap();
    assert_eq!(own.members[0].kind, AgentKind::Command("./own.sh".into()));
}

#[test]
fn shares_are_plain_numbers() {
    let team = agent("use = [\"claude\", \"tuner\"]\nweights = { claude = 3, tuner = 0.5 }\n").unwrap();
    assert_eq!(team.members.iter().map(|member| member.weight).collect::<Vec<_>>(), [Some(3.0), Some(0.5)]);
    for (weights, message) in [
        ("3", "`agent.weights` must be a table, found an integer"),
        ("{ claude = 3 }", "`agent.weights` has none for `tuner`"),
        ("{ claude = 3, tuner = 0 }", "`agent.weights.tuner` must be more than zero"),
        ("{ claude = 3, tuner = -1 }", "`agent.weights.tuner` must be more than zero"),
        ("{ claude = \"3\", tuner = 1 }", "`agent.weights.claude` must be a number, found a string"),
        (
            "{ claude = 1, tuner = 1, codex = 1 }",
            "`agent.weights` has one for `codex`, which `agent.use` does not name",
        ),
    ] {
        let text = format!("use = [\"claude\", \"tuner\"]\nweights = {weights}\n");
        assert_eq!(problem(&text).1, message);
    }
}

#[test]
fn nonsense_is_refused_with_its_place_and_what_to_do() {
    let told = |text: &str, line: usize, message: &str, hint: &str| {
        assert_eq!(problem(text), (line, message.to_owned(), hint.to_owned()), "{text}");
    };
    told(
        "use = [\"claude\", \"claude\"]\n",
        1,
        "`agent.use` names `claude` twice",
        "a second one has a name of its own: `[agent.NAME]` with `use = \"claude\"`",
    );
    told("use = [\"tuner\", \"tuner\"]\n", 1, "`agent.use` names `tuner` twice", "one is enough");
    told(
        "use = [\"claude\", \"tuner\"]\n[agent.cluade]\nmodel = \"m\"\n",
        2,
        "[agent.cluade] is about an agent that `agent.use` does not name",
        "did you mean `[agent.claude]`?",
    );
    told(
        "use = [\"claude\", \"tuner\"]\n[agent.codex]\n",
        2,
        "[agent.codex] is about an agent that `agent.use` does not name",
        "add \"codex\" to `use`, or remove the table",
    );
    told(
        "use = [\"claude\", \"tuner\"]\n[agent.claude]\nmodle = \"m\"\n",
        3,
        "unknown key `modle` in [agent.claude]",
        "did you mean `model`?",
    );
    told(
        "use = [\"claude\", \"tuner\"]\n[agent.claude]\nahead = 2\n",
        3,
        "unknown key `ahead` in [agent.claude]",
        "`ahead` belongs in [agent]",
    );
    told(
        "use = [\"claude\", \"codex\"]\nmodel = \"m\"\n",
        2,
        "`agent.model` would be for `claude` and for `codex`",
        "write it into [agent.claude] or [agent.codex]",
    );
    told(
        "use = [\"claude\", \"tuner\"]\n[agent.tuner]\nmodel = \"m\"\n",
        3,
        "`agent.tuner.model` is only for coding agents and for `use = \"api\"`",
        "remove the key",
    );
    told(
        "use = [\"quick\", \"tuner\"]\n[agent.quick]\nmodel = \"m\"\n",
        1,
        "unknown agent `quick`",
        "say in [agent.quick] which agent it is: `use = \"claude\"`",
    );
    told(
        "use = \"codex\"\n[agent.codex]\nuse = \"claude\"\n",
        2,
        "`codex` is an agent of its own",
        "give this one another name",
    );
    told(
        "use = \"sweep\"\n[agent.sweep]\nuse = \"tuner\"\n",
        2,
        "the tuner has no other name",
        "write `use = [\"tuner\", …]`",
    );
    told(
        "use = \"person\"\n[agent.person]\nuse = \"claude\"\n",
        2,
        "`person` cannot be the name of an agent: it means something else",
        "give it another name",
    );
    told(
        "use = \"Quick\"\n[agent.Quick]\nuse = \"claude\"\n",
        2,
        "`Quick` cannot be the name of an agent",
        "a name is a small letter, then small letters, digits, `-` and `_`, 24 at most",
    );
    told(
        "use = [\"one\", \"tuner\"]\n[agent.one]\nuse = \"command\"\n",
        2,
        "`agent.one.command` is missing",
        "add `command = \"./propose.sh\"`",
    );
}
