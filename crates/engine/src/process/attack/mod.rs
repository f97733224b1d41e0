//! What a clever candidate would do, as payloads: each tries one way out of a sandbox and says how it went.
//!
//! They are run by `check --machine` and `verify --attacks`, inside the very sandbox that trials get. Each is harmless
//! where a wall is missing: it asks, reads, or writes back what was there, and what takes memory, processes or room
//! stops at the amount it was given.

mod calls;
mod decode;
mod look;
mod models;
mod reach;
mod take;

pub use models::{DECOY, KEY_BEGINS, KEY_DIGITS};

/// How an attack went, seen from inside.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outcome {
    /// Whether it got out, or got what it must not have.
    pub got_through: bool,
    pub what: String,
}

impl Outcome {
    fn held(what: impl Into<String>) -> Outcome {
        Outcome { got_through: false, what: what.into() }
    }

    fn through(what: impl Into<String>) -> Outcome {
        Outcome { got_through: true, what: what.into() }
    }

    /// Through where anything worked, else held with the last refusal.
    fn of_all(attempts: impl IntoIterator<Item = Result<String, String>>) -> Outcome {
        let mut refusal = "there was nothing to try".to_owned();
        let mut worked = Vec::new();
        for attempt in attempts {
            match attempt {
                Ok(what) => worked.push(what),
                Err(what) => refusal = what,
            }
        }
        if worked.is_empty() { Outcome::held(refusal) } else { Outcome::through(worked.join(", ")) }
    }
}

/// Carries an attack out; `None` where there is none of that name, or its arguments make no sense.
pub fn attack(name: &str, arguments: &[String]) -> Option<Outcome> {
    let first = arguments.first().map(String::as_str);
    let number = || first.and_then(|text| text.parse::<u64>().ok());
    let gateway = || models::Gateway::of(first?, arguments.get(1)?);
    let third = || arguments.get(2).and_then(|text| text.parse::<u64>().ok());
    Some(match name {
        "read" => look::read(arguments),
        "write" => look::write(arguments),
        "sysctl" => look::sysctl(),
        "see" => look::see(number()?, arguments.get(1)?.parse().ok()?),
        "descriptors" => look::descriptors(),
        "init" => look::into_init(),
        "signal" => look::signal(number()?),
        "kill-init" => look::kill_init(first?),
        "kill-all" => look::kill_all(first?),
        "calls" => calls::refused(),
        "namespaces" => calls::namespaces(),
        "privileges" => calls::privileges(),
        "connect" => reach::connect(number()? as u16),
        "abstract" => reach::abstract_socket(first?),
        "families" => reach::families(),
        "plant" => reach::plant(number()? as i32),
        "shm" => reach::shared_memory(number()? as i32),
        "lock" => reach::lock(first?),
        "lock-input" => reach::lock_input(),
        "watch" => reach::watch(first?),
        "models-ask" => models::ask(&gateway()?, arguments.get(2)?),
        "models-look" => models::look(arguments),
        "models-echo" => models::echo(&gateway()?),
        "models-host" => models::host(&gateway()?, third()? as u16),
        "models-spend" => models::spend(&gateway()?, third()?),
        "models-late" => models::late(&gateway()?),
        "models-forge" => models::forge(&gateway()?),
        "memory" => take::memory(number()?, false),
        "memory-hidden" => take::memory(number()?, true),
        "memory-forks" => take::memory_in_forks(number()?),
        "memory-files" => take::memory_files(number()?),
        "memory-segments" => take::memory_segments(number()?),
        "processes" => take::processes(number()?),
        "threads" => take::threads(number()?),
        "disk" => take::disk(number()?),
        "inodes" => take::inodes(number()?),
        "nest" => take::nest(number()?),
        "sparse" => take::sparse(number()?),
        "daemon" => take::daemon(first?),
        "stubborn" => take::stubborn(first?),
        _ => return None,
    })
}

fn last_error() -> std::io::Error {
    std::io::Error::last_os_error()
}
