//! The keys that an agent was given: what it says and leaves is kept for good, and must not hold them.

use overnight_model::proposal::Contents;

use super::preset::Said;
use crate::dispatch::Captured;

const MASK: &str = "[key]";
/// Shorter ones are found in any text.
const SHORTEST: usize = 8;

/// The values of an agent's environment that are nobody else's business.
#[derive(Clone)]
pub(crate) struct Secrets(Vec<String>);

impl Secrets {
    pub(crate) fn of(environment: &[(String, String)]) -> Secrets {
        let is_secret = |name: &str| {
            let name = name.to_uppercase();
            ["KEY", "TOKEN", "SECRET", "PASSW", "CREDENTIAL", "WEBHOOK", "HEADERS", "PROXY"]
                .iter()
                .any(|part| name.contains(part))
        };
        let secret = environment.iter().filter(|(name, value)| is_secret(name) && value.len() >= SHORTEST);
        Secrets(secret.map(|(_, value)| value.clone()).collect())
    }

    /// These, and others that no variable holds.
    pub(crate) fn and(mut self, more: impl IntoIterator<Item = String>) -> Secrets {
        self.0.extend(more.into_iter().filter(|value| value.len() >= SHORTEST));
        self
    }

    /// Whether an edit would put one of them on the branch.
    pub(crate) fn are_in(&self, contents: &Contents) -> bool {
        contents.0.iter().any(|(_, bytes)| self.0.iter().any(|secret| find(bytes, secret.as_bytes()).is_some()))
    }

    pub(crate) fn mask(&self, text: &str) -> String {
        self.0.iter().fold(text.to_owned(), |text, secret| text.replace(secret, MASK))
    }

    pub(crate) fn mask_output(&self, output: &mut Captured) {
        for secret in &self.0 {
            while let Some(at) = find(&output.kept, secret.as_bytes()) {
                output.kept.splice(at..at + secret.len(), MASK.bytes());
            }
        }
    }

    pub(crate) fn mask_said(&self, said: &mut Said) {
        said.text = self.mask(&said.text);
        said.error = said.error.take().map(|error| self.mask(&error));
    }
}

fn find(bytes: &[u8], part: &[u8]) -> Option<usize> {
    bytes.windows(part.len()).position(|window| window == part)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_taken_out_of_what_is_said_printed_and_left() {
        let given = [("OPENAI_API_KEY", "sk-0123456789"), ("LANG", "sk-is-no-secret"), ("X_TOKEN", "short")];
        let given = given.map(|(name, value)| (name.to_owned(), value.to_owned()));
        let secrets = Secrets::of(&given);
        let text = "OPENAI_API_KEY=sk-0123456789 and sk-0123456789, short, sk-is-no-secret";
        let masked = "OPENAI_API_KEY=[key] and [key], short, sk-is-no-secret";
        assert_eq!(secrets.mask(text), masked);
        let mut output = Captured { kept: text.as_bytes().to_vec(), bytes: 99 };
        secrets.mask_output(&mut output);
        assert_eq!(String::from_utf8_lossy(&output.kept), masked);
        let contents = |text: &str| Contents(vec![("a.py".to_owned(), text.as_bytes().to_vec())]);
        assert!(secrets.are_in(&contents("# sk-0123456789\n")) && !secrets.are_in(&contents("# sk-012345678\n")));
        let mut said = Said::default();
        (said.text, said.error) = (text.to_owned(), Some(text.to_owned()));
        secrets.mask_said(&mut said);
        assert_eq!((said.text.as_str(), said.error.as_deref()), (masked, Some(masked)));
    }
}
