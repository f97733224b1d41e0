//! An address that takes notices over HTTP.

use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::PoisonError;
use std::time::Duration;

use overnight_model::spec::{KeySource, Shape, Webhook};
use ureq::http::Uri;

use super::super::{Notice, shape};
use super::{Again, Miss};
use crate::agent::api::{self, Answered, Sheet, is_loopback};
use crate::clock;
use crate::process::{Keeper, Killer};

/// For all of one exchange: whoever takes notices only has to put them on a list.
const LIMIT: Duration = Duration::from_secs(10);
/// As much of an answer as is worth reading.
const MOST_CHARACTERS: usize = 100;

pub(in super::super) struct Hook {
    webhook: Webhook,
    keeper: Keeper,
    folder: PathBuf,
    /// Once it was found.
    address: Mutex<Option<String>>,
}

impl Hook {
    pub(super) fn new(webhook: Webhook, keeper: Keeper, folder: PathBuf) -> Hook {
        Hook { webhook, keeper, folder, address: Mutex::new(None) }
    }

    pub(super) fn source(&self) -> &KeySource {
        &self.webhook.address
    }

    /// A command is not run for it.
    pub(super) fn trouble(&self) -> Option<String> {
        match self.source() {
            KeySource::Variable(name) if !api::has_key(self.source()) => Some(format!("`{name}` is not set")),
            KeySource::Variable(_) => self.address(&|_| {}).err().map(|miss| miss.what),
            KeySource::Command(_) | KeySource::None => None,
        }
    }

    pub(super) fn post(&self, notice: &Notice, started: &dyn Fn(Killer)) -> Result<(), Miss> {
        let address = self.address(started)?;
        let shape: Shape = self.webhook.shape.unwrap_or_else(|| shape::of_address(&address));
        let sheet = Sheet { url: address.clone(), headers: Vec::new(), body: shape::body(notice, shape) };
        let outcome = match api::post(&api::line_to(&address, LIMIT), &sheet) {
            Ok(answered) => read(&answered),
            Err(error) => Err(unreached(&error)),
        };
        outcome.map_err(|miss| Miss { secret: Some(address), ..miss })
    }

    /// Where it is, found once.
    fn address(&self, started: &dyn Fn(Killer)) -> Result<String, Miss> {
        let mut known = self.address.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(address) = known.as_ref() {
            return Ok(address.clone());
        }
        let never = |what: String| Miss::new(what, Again::Never);
        let found = api::find_key(self.source(), &self.keeper, &self.folder, started).map_err(never)?;
        let address = found.ok_or_else(|| never("it has no address".to_owned()))?;
        let refuse = |what: &str| Err(Miss { secret: Some(address.clone()), ..never(what.to_owned()) });
        let Ok(uri) = address.parse::<Uri>() else { return refuse("what stands there is no address") };
        match uri.scheme_str() {
            Some("https") => {}
            Some("http") if is_loopback(&address) => {}
            Some("http") => return refuse("its address begins with http://, and would be read by everyone on the way"),
            _ => return refuse("its address does not begin with https://"),
        }
        Ok(known.insert(address).clone())
    }
}

fn read(answered: &Answered) -> Result<(), Miss> {
    let Answered { status, body, .. } = answered;
    if (200..300).contains(status) {
        return Ok(());
    }
    let said: String = String::from_utf8_lossy(body).chars().take(MOST_CHARACTERS).collect();
    let said = shape::clean(&said).replace('\n', " ");
    let said = if said.trim().is_empty() { String::new() } else { format!(": {}", said.trim()) };
    let now = clock::now();
    let asked = || api::retry_at(answered, now).map(|at| Again::After(Duration::from_millis(at.since(now).0)));
    let again = match status {
        429 | 503 => asked().unwrap_or(Again::Soon),
        408 | 425 | 500..=599 => Again::Soon,
        _ => Again::Never,
    };
    Err(Miss::new(format!("it answered {status}{said}"), again))
}

fn unreached(error: &ureq::Error) -> Miss {
    match error {
        ureq::Error::Timeout(_) => Miss::new(format!("no answer within {} s", LIMIT.as_secs()), Again::Soon),
        ureq::Error::Http(_) | ureq::Error::BadUri(_) => Miss::new("its address cannot be used as it is", Again::Never),
        error => Miss::new(error.to_string(), Again::Soon),
    }
}
