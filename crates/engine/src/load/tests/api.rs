use overnight_model::spec::{AgentKind, Api, Edits, KeySource, Provider};

use super::{assert_refused, parse_in};

const TOP: &str = "surface = \"train.py\"\nmetric = { name = \"val_bpb\", goal = \"min\" }\n[evaluate]\n\
                   run = \"python3 train.py\"\nbudget = \"5m\"\n[agent]\nuse = \"api\"\n";

#[track_caller]
fn api(lines: &str) -> Api {
    let mut spec = parse_in("", &format!("{TOP}{lines}")).unwrap_or_else(|problems| panic!("{problems}"));
    match spec.agent.members.remove(0).kind {
        AgentKind::Api(api) => api,
        other => panic!("{other:?}"),
    }
}

/// What is said of lines that are wrong, without the lines themselves.
#[track_caller]
fn refused(lines: &str) -> String {
    parse_in("", &format!("{TOP}{lines}")).expect_err("the file should be refused").to_string()
}

#[test]
fn a_model_needs_a_provider_and_a_name_and_the_rest_follows() {
    let found = api("provider = \"anthropic\"\nmodel = \"m\"\n");
    let expected = Api {
        provider: Provider::Anthropic,
        model: "m".into(),
        base_url: "https://api.anthropic.com/v1".into(),
        key: KeySource::Variable("ANTHROPIC_API_KEY".into()),
        edits: Edits::Blocks,
        max_tokens: None,
        temperature: None,
    };
    assert_eq!(found, expected);
    for (provider, url, key) in [
        ("openai", "https://api.openai.com/v1", Some("OPENAI_API_KEY")),
        ("openai-responses", "https://api.openai.com/v1", Some("OPENAI_API_KEY")),
        ("gemini", "https://generativelanguage.googleapis.com/v1beta", Some("GEMINI_API_KEY")),
        ("ollama", "http://127.0.0.1:11434/v1", None),
        ("openrouter", "https://openrouter.ai/api/v1", Some("OPENROUTER_API_KEY")),
    ] {
        let found = api(&format!("provider = \"{provider}\"\nmodel = \"m\"\n"));
        let key = key.map_or(KeySource::None, |name| KeySource::Variable(name.to_owned()));
        assert_eq!((found.base_url.as_str(), found.key), (url, key), "{provider}");
    }
}

#[test]
fn everything_can_be_said() {
    let found = api("provider = \"compatible\"\nmodel = \"m\"\nbase_url = \"http://localhost:8080/\"\n\
                     key_command = \"pass show local\"\nedits = \"values\"\nmax_tokens = 500\ntemperature = 0.7\n");
    assert_eq!(found.base_url, "http://localhost:8080/v1");
    assert_eq!(found.key, KeySource::Command("pass show local".into()));
    assert_eq!((found.edits, found.max_tokens), (Edits::Values, Some(500)));
    assert_eq!(found.temperature.map(|t| t.get()), Some(0.7));
    let named = api("provider = \"openai\"\nmodel = \"m\"\nkey_env = \"WORK_KEY\"\n");
    assert_eq!(named.key, KeySource::Variable("WORK_KEY".into()));
}

#[test]
fn addresses_are_taken_as_people_write_them() {
    for (provider, written, expected) in [
        ("anthropic", "http://127.0.0.1:1", "http://127.0.0.1:1/v1"),
        ("anthropic", "https://proxy.example/anthropic/v1/", "https://proxy.example/anthropic/v1"),
        ("gemini", "http://127.0.0.1:1", "http://127.0.0.1:1/v1beta"),
        ("gemini", "http://127.0.0.1:1/v1", "http://127.0.0.1:1/v1"),
        ("openai", "https://proxy.example/openai", "https://proxy.example/openai"),
        ("compatible", "http://[::1]:8080", "http://[::1]:8080/v1"),
        // Without a key there is nothing to lose on the way.
        ("ollama", "http://192.168.1.5:11434/v1", "http://192.168.1.5:11434/v1"),
    ] {
        let found = api(&format!("provider = \"{provider}\"\nmodel = \"m\"\nbase_url = \"{written}\"\n"));
        assert_eq!(found.base_url, expected);
    }
}

#[test]
fn what_is_missing_or_wrong_is_said_by_key_and_line() {
    assert_refused(
        &format!("\n{TOP}"),
        r#"
error: `agent.provider` is missing
  --> overnight.toml:6:2
   |
 6 | [agent]
   |  ^^^^^
   = hint: add `provider = "anthropic"`

error: `agent.model` is missing
  --> overnight.toml:6:2
   |
 6 | [agent]
   |  ^^^^^
   = hint: add `model = "…"`
"#,
    );
    let model = "model = \"m\"\n";
    for (lines, said) in [
        ("provider = \"compatible\"\n", "`agent.base_url` is missing"),
        ("provider = \"mistral\"\n", "any other server that speaks OpenAI's chat completions is \"compatible\""),
        ("provider = \"openai\"\nedits = \"diff\"\n", "must be \"blocks\" or \"whole\" or \"values\""),
        ("provider = \"openai\"\ntemperature = 3\n", "must be from 0 to 2"),
        ("provider = \"openai\"\nmax_tokens = 0\n", "must be at least 1"),
        ("provider = \"openai\"\nbase_url = \"api.openai.com\"\n", "must begin with http:// or https://"),
        ("provider = \"openai\"\nbase_url = \"ftp://x/v1\"\n", "must begin with http:// or https://"),
        ("provider = \"openai\"\nbase_url = \"http://api.example/v1\"\n", "for everyone to read"),
        ("provider = \"openai\"\nkey_env = \"A\"\nkey_command = \"b\"\n", "cannot both be the source"),
        ("provider = \"openai\"\nargs = [\"x\"]\n", "`agent.args` is only for coding agents"),
        ("provider = \"openai\"\nnetwork = \"none\"\n", "cannot be asked without a network"),
    ] {
        let refused = refused(&format!("{model}{lines}"));
        assert!(refused.contains(said), "{lines}: {refused}");
    }
    let elsewhere = TOP.replace("api", "tuner") + "provider = \"openai\"\n";
    let refused = parse_in("", &elsewhere).unwrap_err().to_string();
    assert!(refused.contains("`agent.provider` is only for `use = \"api\"`"), "{refused}");
}

#[test]
fn a_key_in_the_triplet_is_refused_and_not_shown() {
    const KEY: &str = "sk-made-up-0123456789";
    for line in [
        format!("key_env = \"{KEY}\""),
        "key_env = \"made-up-0123456789abcdef\"".to_owned(),
        format!("key_command = \"echo {KEY}\""),
        format!("base_url = \"https://{KEY}@host/v1\""),
        "base_url = \"https://ada:made-up-0123456789abcdef@host/v1\"".to_owned(),
        format!("base_url = \"https://host/v1?key={KEY}\""),
        "base_url = \"https://host/v1?key=made-up-0123456789abcdef\"".to_owned(),
        format!("model = \"{KEY}\""),
        format!("api_key = \"{KEY}\""),
        "key = \"made-up-0123456789abcdef\"".to_owned(),
        "token = \"made-up-0123456789abcdef\"".to_owned(),
    ] {
        let model = if line.starts_with("model") { "" } else { "model = \"m\"\n" };
        let refused = refused(&format!("provider = \"openai\"\n{model}{line}\n"));
        assert!(!refused.contains("0123456789"), "{refused}");
        assert!(refused.contains("key_env = \"NAME\""), "{refused}");
    }
}

#[test]
fn each_model_of_a_team_has_settings_of_its_own_or_those_of_all() {
    let team = TOP.replace("use = \"api\"", "use = [\"api\", \"small\", \"tuner\"]")
        + "provider = \"openai\"\nmodel = \"large\"\nkey_env = \"WORK_KEY\"\n[agent.small]\nuse = \"api\"\n\
           provider = \"ollama\"\nmodel = \"little\"\nkey_command = \"pass show little\"\nedits = \"values\"\n";
    let spec = parse_in("", &team).unwrap_or_else(|problems| panic!("{problems}"));
    let models: Vec<(String, Api)> = (spec.agent.members.into_iter())
        .filter_map(|member| match member.kind {
            AgentKind::Api(api) => Some((member.name, api)),
            _ => None,
        })
        .collect();
    let [(large, one), (small, other)] = models.as_slice() else { panic!("{models:?}") };
    assert_eq!((large.as_str(), one.described().as_str()), ("api", "openai large at https://api.openai.com/v1"));
    assert_eq!((small.as_str(), other.described().as_str()), ("small", "ollama little at http://127.0.0.1:11434/v1"));
    assert_eq!((one.edits, other.edits), (Edits::Blocks, Edits::Values));
    assert_eq!(one.key, KeySource::Variable("WORK_KEY".into()));
    assert_eq!(other.key, KeySource::Command("pass show little".into()));
    let wrong = team + "[agent.tuner]\ntemperature = 1\n";
    let refused = parse_in("", &wrong).unwrap_err().to_string();
    assert!(refused.contains("`agent.tuner.temperature` is only for `use = \"api\"`"), "{refused}");
}
