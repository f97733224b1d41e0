use overnight_model::Millis;
use overnight_model::call::Protocol;
use overnight_model::call::price::Price;
use overnight_model::spec::{ExpectModel, KeySource, ProviderSpec, Retention, TapeSpec};

use super::parse_in;

const TOP: &str = "surface = \"train.py\"\nmetric = { name = \"val_bpb\", goal = \"min\" }\n[evaluate]\n\
                   run = \"python3 train.py\"\nbudget = \"5m\"\n";

#[track_caller]
fn providers(lines: &str) -> Vec<ProviderSpec> {
    let spec = parse_in("", &format!("{TOP}{lines}")).unwrap_or_else(|problems| panic!("{problems}"));
    spec.gateway.providers
}

#[track_caller]
fn refused(lines: &str) -> String {
    parse_in("", &format!("{TOP}{lines}")).expect_err("the file should be refused").to_string()
}

#[test]
fn a_known_provider_needs_nothing_said_and_another_an_address_and_a_protocol() {
    assert_eq!(providers(""), []);
    let usual = |name: &str| ProviderSpec {
        name: name.to_owned(),
        url: None,
        protocols: Vec::new(),
        key: None,
        subscription: false,
    };
    assert_eq!(providers("[gateway.anthropic]\n"), [usual("anthropic")]);
    let found = providers(
        "[gateway.anthropic]\nkey_command = \"pass show claude\"\nsubscription = true\n\
         [gateway.local]\nurl = \"http://127.0.0.1:8080/v1/\"\nprotocol = [\"chat\", \"messages\"]\n",
    );
    let command = Some(KeySource::Command("pass show claude".into()));
    let anthropic = ProviderSpec { key: command, subscription: true, ..usual("anthropic") };
    let local = ProviderSpec {
        url: Some("http://127.0.0.1:8080/v1".into()),
        protocols: vec![Protocol::Chat, Protocol::Messages],
        ..usual("local")
    };
    assert_eq!(found, [anthropic, local]);
    let text = refused("[gateway.local]\nkey_env = \"K\"\n");
    assert!(text.contains("`gateway.local.url` is missing") && text.contains("`gateway.local.protocol` is missing"));
}

#[test]
fn what_is_wrong_with_a_provider_is_said_and_a_key_is_not_shown() {
    for (lines, what) in [
        ("[gateway.local]\nurl = \"ftp://x\"\nprotocol = \"chat\"\n", "must begin with http:// or https://"),
        ("[gateway.local]\nurl = \"https://x\"\nprotocol = \"chta\"\n", "`gateway.local.protocol` must be"),
        ("[gateway.local]\nurl = \"https://x\"\nprotocol = [\"chta\"]\n", "names a protocol that is not known"),
        ("[gateway.openai]\nurl = \"http://proxy.example/v1\"\n", "would send the key over the network"),
        ("[gateway.openai]\nkey_env = \"A\"\nkey_command = \"b\"\n", "cannot both be the source of the key"),
        ("[gateway.v1]\nurl = \"https://x\"\nprotocol = \"chat\"\n", "cannot be the name of a provider"),
        ("[gateway.\"a/b\"]\nurl = \"https://x\"\nprotocol = \"chat\"\n", "cannot be the name of a provider"),
        ("[gateway.openai]\nkey = \"sk-0123456789abcdef0123456789\"\n", "unknown key `key` in [gateway.openai]"),
        ("[gateway.openai]\nkey_env = \"sk-0123456789abcdef0123456789\"\n", "what stands there may be a key"),
        ("[gateway]\nopenai = 3\n", "unknown key `openai` in [gateway]"),
    ] {
        let text = refused(lines);
        assert!(text.contains(what), "{lines}{text}");
        assert!(!text.contains("sk-0123456789abcdef"), "{text}");
    }
}

#[test]
fn what_is_kept_of_calls_is_read_and_checked() {
    let tapes = |lines: &str| {
        let spec = parse_in("", &format!("{TOP}[gateway]\n{lines}")).unwrap_or_else(|problems| panic!("{problems}"));
        spec.gateway.tapes
    };
    assert_eq!(tapes(""), TapeSpec::default());
    let found =
        tapes("record = \"tests/recordings\"\nredact = ['ghp_\\w+']\nkeep_traces = \"30d\"\n[gateway.openai]\n");
    let expected = TapeSpec {
        record: Some("tests/recordings".into()),
        redact: vec![r"ghp_\w+".into()],
        keep: Retention::For(Millis::seconds(30 * 86400)),
        ..TapeSpec::default()
    };
    assert_eq!(found, expected);
    assert_eq!(tapes("keep_traces = \"none\"\n").keep, Retention::Not);
    for (lines, what) in [
        ("record = \"a\"\nreplay = \"a\"\n", "cannot both be set"),
        ("record = \"/tmp/a\"\n", "must be a folder of the project"),
        ("replay = \"../a\"\n", "must be a folder of the project"),
        ("replay = \".overnight/a\"\n", "must be a folder of the project"),
        ("redact = \"a\"\n", "`gateway.redact` must be a list"),
        ("redact = [\"(\"]\n", "`(` is no regular expression"),
        ("redact = [5]\n", "must be a list of strings"),
        ("keep_traces = \"long\"\n", "`long` is not a span of time"),
        ("keep_traces = 5\n", "`gateway.keep_traces` must be a span of time"),
        ("recrod = \"a\"\n", "did you mean `record`?"),
    ] {
        let text = refused(&format!("[gateway]\n{lines}"));
        assert!(text.contains(what), "{lines}: {text}");
    }
}

#[test]
fn recordings_are_not_an_agents_to_write() {
    let top = TOP.replace("\"train.py\"\n", "[\"train.py\", \"src/*.py\"]\n");
    for key in ["record", "replay"] {
        let text = parse_in("", &format!("{top}[gateway]\n{key} = \"src\"\n")).unwrap_err().to_string();
        let what = format!("`gateway.{key}` is a folder that agents may write to: `src/a.py` in it is surface");
        assert!(text.contains(&what), "{text}");
        assert!(parse_in("", &format!("{top}[gateway]\n{key} = \"src-tapes\"\n")).is_ok());
    }
}

#[test]
fn a_persons_own_prices_and_what_to_do_about_another_model_are_read() {
    let found = parse_in(
        "",
        &format!(
            "{TOP}[gateway]\nexpect_model = \"stop\"\n[gateway.prices.\"my.model-1\"]\ninput = 3\ncached = 0.5\noutput = 15.5\n\
             [gateway.prices.local]\ninput = 0\noutput = 0\nmost_output = 9000\n[gateway.anthropic]\n"
        ),
    );
    let gateway = found.unwrap_or_else(|problems| panic!("{problems}")).gateway;
    assert_eq!(gateway.expect_model, ExpectModel::Stop);
    assert_eq!(gateway.prices.own("my.model-1"), Some(Price::own(3.0, Some(0.5), None, 15.5)));
    assert_eq!(
        gateway.prices.own("local"),
        Some(Price { most_output: Some(9000), ..Price::own(0.0, None, None, 0.0) })
    );
    assert_eq!(gateway.providers.len(), 1, "prices are no provider");
}

#[test]
fn a_price_that_says_too_little_or_makes_no_sense_is_refused() {
    let half = refused("[gateway.prices.m]\ninput = 3\n");
    assert!(half.contains("`gateway.prices.m.output` is missing"), "{half}");
    let negative = refused("[gateway.prices.m]\ninput = -3\noutput = 1\n");
    assert!(negative.contains("`gateway.prices.m.input` must not be negative"), "{negative}");
    let slip = refused("[gateway.prices.m]\ninput = 3\noutptu = 1\n");
    assert!(slip.contains("did you mean `output`?"), "{slip}");
    let bare = refused("[gateway.prices]\nm = 3\n");
    assert!(bare.contains("unknown key `m` in [gateway.prices]"), "{bare}");
    let word = refused("[gateway]\nexpect_model = \"never\"\n");
    assert!(word.contains("`gateway.expect_model` must be \"record\" or \"stop\""), "{word}");
    let limit = refused("[limits.proposal]\ncost_usd = \"5\"\n[limits.trial]\ntokens = 0\n");
    assert!(limit.contains("`limits.proposal.cost_usd` must be a number"), "{limit}");
    assert!(limit.contains("`limits.trial.tokens` must be at least 1"), "{limit}");
}
