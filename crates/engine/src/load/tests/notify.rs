use overnight_model::Millis;
use overnight_model::spec::{KeySource, NotifySpec, Occasion, Shape, Webhook};

use super::{assert_refused, parse_in};

const TOP: &str = "surface = \"train.py\"\nmetric = { name = \"val_bpb\", goal = \"min\" }\n[evaluate]\n\
                   run = \"python3 train.py\"\nbudget = \"5m\"\n";

#[track_caller]
fn notify(lines: &str) -> NotifySpec {
    parse_in("", &format!("{TOP}{lines}")).unwrap_or_else(|problems| panic!("{problems}")).notify
}

#[track_caller]
fn refused(lines: &str) -> String {
    parse_in("", &format!("{TOP}[notify]\n{lines}")).expect_err("the file should be refused").to_string()
}

#[test]
fn nobody_is_told_anything_unless_the_triplet_says_so() {
    let found = notify("");
    assert!(!found.has_target() && found == NotifySpec::default());
}

#[test]
fn one_target_is_enough_and_everything_is_told_to_it() {
    let found = notify("[notify]\nwebhook_env = \"SLACK_URL\"\n");
    let webhook = Webhook { address: KeySource::Variable("SLACK_URL".into()), shape: None };
    assert_eq!(found, NotifySpec { webhook: Some(webhook), ..NotifySpec::default() });
    assert_eq!(found.on, Occasion::ALL);
    assert_eq!(found.gather, Millis::seconds(600));
}

#[test]
fn occasions_have_one_order_and_everything_can_be_said() {
    let found = notify(
        "[notify]\non = [\"end\", \"champion\"]\ncommand = \"./tell\"\ndesktop = true\ngather = \"1h\"\n\
         webhook_command = \"pass show hook\"\nshape = \"discord\"\n",
    );
    assert_eq!(found.on, [Occasion::Champion, Occasion::End]);
    let address = KeySource::Command("pass show hook".into());
    assert_eq!(found.webhook, Some(Webhook { address, shape: Some(Shape::Discord) }));
    assert_eq!((found.command.as_deref(), found.desktop, found.gather), (Some("./tell"), true, Millis::seconds(3600)));
}

#[test]
fn what_makes_no_sense_is_refused_with_a_way_out() {
    for (lines, expected) in [
        ("on = [\"champions\"]\ncommand = \"a\"\n", "did you mean \"champion\"?"),
        ("on = []\ncommand = \"a\"\n", "leave it out for all of them"),
        ("on = [\"end\"]\n", "has nobody to tell"),
        ("shape = \"slack\"\ncommand = \"a\"\n", "is for a webhook"),
        ("webhook_env = \"A\"\nwebhook_command = \"b\"\n", "cannot both be the source"),
        ("webhook_env = \"A\"\nshape = \"teams\"\n", "must be \"slack\" or \"discord\" or \"json\""),
        ("webhok_env = \"A\"\n", "did you mean `webhook_env`?"),
    ] {
        let told = refused(lines);
        assert!(told.contains(expected), "{lines}: {told}");
    }
}

#[test]
fn an_address_in_the_file_is_refused_and_not_repeated() {
    for lines in [
        "webhook = \"https://hooks.slack.com/services/T0/B0/made-up-secret\"\n",
        "webhook = \"env:made-up-secret\"\n",
        "url = \"https://example.org/made-up-secret\"\n",
        "target = \"https://example.org/made-up-secret\"\n",
        "webhook_env = \"https://discord.com/api/webhooks/1/made-up-secret\"\n",
        "command = \"curl -d @- https://discord.com/api/webhooks/1/made-up-secret\"\n",
        "webhook_command = \"echo https://hooks.slack.com/services/T0/B0/made-up-secret\"\n",
        "command = \"slack --token xoxb-made-up-secret-0123\"\n",
    ] {
        let told = refused(lines);
        assert!(!told.contains("made-up-secret") && told.contains("in git, for everyone to read"), "{lines}: {told}");
    }
}

#[test]
fn an_address_in_the_file_is_told_in_its_place() {
    assert_refused(
        r#"
surface = "train.py"
metric = { name = "val_bpb", goal = "min" }
evaluate = { run = "python3 train.py", budget = "5m" }
[notify]
webhook = "https://hooks.slack.com/services/T0/B0/x"
"#,
        r#"
error: the address of a webhook is a secret: whoever has it can post there
  --> overnight.toml:5:1
   |
 5 | webhook = ******************************************
   | ^^^^^^^
   = hint: this file is in git, for everyone to read: take the address out, and name the variable that holds it: `webhook_env = "SLACK_URL"`
"#,
    );
}
