//! The scripted provider by hand: `cargo run -p overnight-testkit --example provider -- 18200 /folder`, then point a
//! coding agent at it. Every request is printed.

use overnight_testkit::provider::{Failure, Idea, Provider, Script};

fn main() {
    let mut arguments = std::env::args().skip(1);
    let port = arguments.next().and_then(|port| port.parse().ok()).unwrap_or(18200);
    let folder = arguments.next().unwrap_or_else(|| ".".to_owned());
    let idea = match arguments.next().as_deref() {
        None | Some("edit") => Idea::Edit {
            path: "knobs.py".into(),
            old: "x = 5".into(),
            new: "x = 4".into(),
            say: "smaller is better".into(),
        },
        Some("say") => Idea::Say("I have no idea.".into()),
        Some("refuse") => Idea::Refuse("I cannot help with that.".into()),
        Some("limit") => Idea::Fail(Failure::RateLimit { retry_after: Some(1200) }),
        Some("broken") => Idea::Fail(Failure::Broken),
        Some("denied") => Idea::Fail(Failure::Denied),
        Some("model") => Idea::Fail(Failure::UnknownModel),
        Some("overflow") => Idea::Fail(Failure::Overflow),
        Some("stall") => Idea::Fail(Failure::Stall),
        Some("cut") => Idea::Fail(Failure::Cut),
        Some("malformed") => Idea::Fail(Failure::Malformed),
        Some("empty") => Idea::Fail(Failure::Empty),
        Some(other) => panic!("unknown idea {other}"),
    };
    let provider = Provider::start_at(port, Script::new(folder, vec![idea]));
    println!("{}", provider.url());
    let mut shown = 0;
    loop {
        std::thread::sleep(std::time::Duration::from_millis(100));
        for request in provider.seen().iter().skip(shown) {
            shown += 1;
            println!("{} {} {}", request.method, request.path, request.body);
        }
    }
}
