//! What tokens cost: list prices of a few models, and a person's own, which win. What is not known has no price.

use std::collections::BTreeMap;

use super::{Call, Tokens};

mod table;

pub use table::DATED;

/// No model that is known writes more in one answer: what a call may come to at most where neither it, nor a person, nor the
/// table says.
pub const MOST_OUTPUT: u64 = 1_048_576;

const MILLION: f64 = 1e6;

/// The prices of one model.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Price {
    pub rates: Rates,
    /// Where more than so many tokens are read, everything has another price.
    pub long: Option<(u64, Rates)>,
    /// How long an answer can be.
    pub most_output: Option<u64>,
}

/// In dollars for a million tokens. What has no rate cannot be priced.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rates {
    pub input: f64,
    pub cached: Option<f64>,
    pub written: Option<f64>,
    pub written_hour: Option<f64>,
    pub output: f64,
}

/// The prices that hold for a study.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Prices {
    own: BTreeMap<String, Price>,
}

impl Prices {
    /// Prices that a person wrote down, by model.
    pub fn new(own: impl IntoIterator<Item = (String, Price)>) -> Prices {
        Prices { own: own.into_iter().collect() }
    }

    /// The price of a model: a person's own, else the list's. A name with a date at its end is that model.
    pub fn of(&self, provider: &str, model: &str) -> Option<Price> {
        let listed = listed(provider, model);
        // How much it can write does not depend on what somebody pays for it.
        let fill =
            |own: Price| Price { most_output: own.most_output.or(listed.and_then(|price| price.most_output)), ..own };
        self.own(model).map(fill).or(listed)
    }

    /// A person's own price, which holds however a call is served.
    pub fn own(&self, model: &str) -> Option<Price> {
        let own = |name: &str| self.own.get(name).copied();
        own(model).or_else(|| own(undated(model)?))
    }

    /// Whether it is the list that says what a model costs.
    pub fn is_from_list(&self, provider: &str, model: &str) -> bool {
        self.own(model).is_none() && listed(provider, model).is_some()
    }

    /// What an answer cost, by the model that gave it where that has a price, else by the one that was asked. The list says
    /// nothing of what was served otherwise than usual.
    pub fn cost(&self, call: &Call, answered: Option<&str>, tokens: &Tokens) -> Option<f64> {
        let price = answered.and_then(|model| self.at(call, model)).or_else(|| self.at(call, &call.model))?;
        price.cost(tokens)
    }

    /// The price of a call, as far as it can be known before it goes out.
    pub fn before(&self, call: &Call) -> Option<Price> {
        self.at(call, &call.model)
    }

    fn at(&self, call: &Call, model: &str) -> Option<Price> {
        match call.tier {
            None => self.of(&call.provider, model),
            Some(_) => self.own(model),
        }
    }
}

fn listed(provider: &str, model: &str) -> Option<Price> {
    let made = |name: &str| table::LIST.iter().find(|(known, _)| *known == name).map(|(_, price)| *price);
    let served = |name: &str| {
        let found = table::SERVED.iter().find(|(whose, known, _)| *whose == provider && *known == name);
        found.map(|(_, _, price)| *price)
    };
    let of = |name: &str| made(name).or_else(|| served(name));
    of(model).or_else(|| of(undated(model)?))
}

impl Price {
    /// A person's own. What they do not say of the cache is as dear as what is read.
    pub fn own(input: f64, cached: Option<f64>, written: Option<f64>, output: f64) -> Price {
        let (cached, written) = (cached.or(Some(input)), written.or(Some(input)));
        let rates = Rates { input, cached, written, written_hour: written, output };
        Price { rates, long: None, most_output: None }
    }

    /// `None` where a count or its rate is not known.
    pub fn cost(&self, tokens: &Tokens) -> Option<f64> {
        let Tokens { input, cached, written, written_hour, output, reasoning: _ } = *tokens;
        let (input, output) = (input?, output?);
        let (cached, written) = (cached.unwrap_or(0), written.unwrap_or(0));
        let written_hour = written_hour.unwrap_or(0).min(written);
        let read = input.saturating_add(cached).saturating_add(written);
        let rates = self.long.filter(|(above, _)| read > *above).map_or(self.rates, |(_, rates)| rates);
        let part = |tokens: u64, rate: Option<f64>| match tokens {
            0 => Some(0.0),
            tokens => Some(tokens as f64 * rate? / MILLION),
        };
        let parts = [
            part(input, Some(rates.input)),
            part(cached, rates.cached),
            part(written - written_hour, rates.written),
            part(written_hour, rates.written_hour),
            part(output, Some(rates.output)),
        ];
        parts.into_iter().sum()
    }

    /// What a call can cost at most, by what it reads and writes at most.
    pub fn most(&self, input: u64, output: u64) -> f64 {
        let long = self.long.filter(|(above, _)| input > *above).map(|(_, rates)| rates);
        let most = |rates: Rates| {
            let Rates { input: rate, cached, written, written_hour, output: written_out } = rates;
            let read = [cached, written, written_hour].into_iter().flatten().fold(rate, f64::max);
            (input as f64 * read + output as f64 * written_out) / MILLION
        };
        most(self.rates).max(long.map_or(0.0, most))
    }
}

/// Whether a provider that names `answered` gave what was `asked` for: the same model, or a version of it by its date.
pub fn is_same_model(asked: &str, answered: &str) -> bool {
    // Routers and Google put where a model is found before its name.
    let plain = |name: &str| name.rsplit('/').next().unwrap_or_default().to_lowercase();
    let (asked, answered) = (plain(asked), plain(answered));
    let alias = |name: &str| ["-latest", "-0"].iter().find_map(|end| name.strip_suffix(end)).map(ToOwned::to_owned);
    let bare =
        |name: &str| undated(name).map(ToOwned::to_owned).or_else(|| alias(name)).unwrap_or_else(|| name.to_owned());
    asked == answered || bare(&asked) == bare(&answered) && !(undated(&asked).is_some() && undated(&answered).is_some())
}

/// The name without the date at its end, where it has one: `claude-sonnet-4-5-20250929`, `gpt-4o-2024-08-06`.
fn undated(model: &str) -> Option<&str> {
    let digits = |text: &str, many: usize| text.len() == many && text.bytes().all(|byte| byte.is_ascii_digit());
    let (rest, last) = model.rsplit_once('-')?;
    if digits(last, 8) && last.starts_with("20") {
        return Some(rest);
    }
    let (rest, month) = rest.rsplit_once('-').filter(|_| digits(last, 2))?;
    let (rest, year) = rest.rsplit_once('-').filter(|_| digits(month, 2))?;
    (digits(year, 4) && year.starts_with("20")).then_some(rest)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::call::{CallId, Caller, Protocol};
    use crate::id::ExperimentId;

    fn call(model: &str) -> Call {
        Call {
            id: CallId(1),
            caller: Caller::Agent { name: "a".to_owned(), experiment: ExperimentId(1) },
            provider: "anyone".to_owned(),
            protocol: Protocol::Chat,
            model: model.to_owned(),
            bytes: 1,
            most_input: None,
            most_output: None,
            answers: 1,
            tier: None,
        }
    }

    fn tokens(input: u64, cached: u64, written: u64, output: u64) -> Tokens {
        let (input, cached, written, output) = (Some(input), Some(cached), Some(written), Some(output));
        Tokens { input, cached, written, output, ..Tokens::default() }
    }

    #[test]
    fn a_date_at_the_end_of_a_name_changes_no_price_and_anything_else_does() {
        let prices = Prices::default();
        let of = |model: &str| prices.of("anyone", model);
        assert!(of("claude-sonnet-4-5").is_some());
        assert_eq!(of("claude-sonnet-4-5-20250929"), of("claude-sonnet-4-5"));
        assert_eq!(of("gpt-4o-2024-08-06"), of("gpt-4o"));
        assert_ne!(of("gpt-4o-2024-05-13"), of("gpt-4o"), "the list knows that date");
        assert_ne!(of("gpt-4o-mini"), of("gpt-4o"));
        for unknown in ["gpt-4o-audio", "claude-sonnet-4-5-99999999", "gpt-4o-2024-08", "my-gpt-4o", "", "-20250101"] {
            assert_eq!(of(unknown), None, "{unknown}");
        }
    }

    #[test]
    fn a_persons_own_price_wins() {
        let own = Price::own(1.0, Some(0.5), None, 2.0);
        let prices = Prices::new([("gpt-4o".to_owned(), own), ("local".to_owned(), Price::own(0.0, None, None, 0.0))]);
        assert_eq!(prices.own("gpt-4o-2024-08-06"), Some(own));
        let found = prices.of("openai", "gpt-4o").unwrap();
        assert_eq!((found.rates, found.most_output), (own.rates, Some(16_384)), "the list knows how much it can write");
        let cost = prices.cost(&call("gpt-4o"), None, &tokens(1_000_000, 1_000_000, 1_000_000, 1_000_000));
        assert_eq!(cost, Some(1.0 + 0.5 + 1.0 + 2.0));
        assert_eq!(prices.cost(&call("local"), Some("who knows"), &tokens(5, 0, 0, 5)), Some(0.0));
        assert!(!prices.is_from_list("openai", "gpt-4o") && prices.is_from_list("openai", "gpt-4o-mini"));
    }

    #[test]
    fn who_answered_is_paid_and_not_who_was_asked() {
        let prices = Prices::default();
        let used = tokens(1_000_000, 0, 0, 0);
        assert_eq!(prices.cost(&call("gpt-4o"), Some("gpt-4o-mini"), &used), Some(0.15));
        assert_eq!(prices.cost(&call("gpt-4o"), None, &used), Some(2.5));
    }

    /// The same weights have as many prices as there are who serve them.
    #[test]
    fn what_anybody_may_serve_has_the_price_of_who_serves_it() {
        let prices = Prices::default();
        assert!(prices.of("cerebras", "gpt-oss-120b").is_some());
        assert_eq!(prices.of("local", "gpt-oss-120b"), None);
        assert_eq!(prices.of("openrouter", "openai/gpt-oss-120b"), None);
        assert_ne!(prices.of("groq", "openai/gpt-oss-120b"), prices.of("cerebras", "gpt-oss-120b"));
    }

    #[test]
    fn the_list_says_nothing_of_what_is_served_otherwise_than_usual() {
        let fast = Call { tier: Some("priority".to_owned()), ..call("gpt-4o") };
        let used = tokens(1_000_000, 0, 0, 0);
        assert_eq!((Prices::default().cost(&fast, None, &used), Prices::default().before(&fast)), (None, None));
        let own = Prices::new([("gpt-4o".to_owned(), Price::own(7.0, None, None, 7.0))]);
        assert_eq!(own.cost(&fast, None, &used), Some(7.0));
    }

    #[test]
    fn what_was_not_counted_or_has_no_rate_has_no_cost() {
        let prices = Prices::default();
        let half = Tokens { input: Some(1), ..Tokens::default() };
        assert_eq!(prices.cost(&call("gpt-4o"), None, &half), None);
        assert_eq!(
            prices.cost(&call("gpt-4o"), None, &tokens(1, 0, 1, 1)),
            None,
            "nobody writes into its cache for money"
        );
        assert_eq!(prices.cost(&call("someone"), None, &tokens(1, 1, 1, 1)), None);
    }

    #[test]
    fn a_long_prompt_and_a_cache_for_an_hour_are_dearer() {
        let price = Prices::default().of("anthropic", "claude-haiku-5-5").unwrap();
        let is = |used: &Tokens, usd: f64| price.cost(used).is_some_and(|cost| (cost - usd).abs() < 1e-12);
        assert!(is(&tokens(100_000, 0, 0, 0), 0.01));
        assert!(is(&tokens(100_000, 0, 1_000_000, 0), 0.05 + 0.625));
        let hour = Tokens { written_hour: Some(100_000), ..tokens(0, 0, 100_000, 0) };
        assert!(is(&hour, 0.02));
    }

    #[test]
    fn the_list_has_each_model_once_and_none_that_writes_more_than_any() {
        let made = table::LIST.iter().map(|(name, price)| ("", *name, price));
        let all: Vec<(&str, &str, &Price)> =
            made.chain(table::SERVED.iter().map(|(provider, name, price)| (*provider, *name, price))).collect();
        for (at, (provider, name, price)) in all.iter().enumerate() {
            assert!(all[..at].iter().all(|(whose, known, _)| (whose, known) != (provider, name)), "{name} twice");
            assert!(price.most_output.is_some_and(|most| most <= MOST_OUTPUT), "{name}");
            let dear = price.long.is_none_or(|(_, long)| long.input >= price.rates.input);
            assert!(dear && price.rates.cached.is_none_or(|cached| cached < price.rates.input), "{name}");
        }
    }

    #[test]
    fn no_answer_costs_more_than_what_was_reserved_for_it() {
        let served = table::SERVED.iter().map(|(_, name, price)| (*name, *price));
        for (name, price) in table::LIST.iter().copied().chain(served) {
            for (input, output) in [(100, 50), (150_000, 4000), (900_000, 60_000)] {
                for used in [tokens(input, 0, 0, output), tokens(0, input, 0, output), tokens(0, 0, input, output)] {
                    let most = price.most(input + 7, output);
                    assert!(price.cost(&used).is_none_or(|cost| cost <= most), "{name}");
                }
            }
        }
    }

    #[test]
    fn a_version_of_a_model_is_that_model_and_its_little_sister_is_not() {
        let same = [
            ("claude-sonnet-4-5", "claude-sonnet-4-5-20250929"),
            ("claude-3-5-haiku-latest", "claude-3-5-haiku-20241022"),
            ("claude-opus-4-0", "claude-opus-4-20250514"),
            ("anthropic/claude-sonnet-4-5", "claude-sonnet-4-5-20250929"),
            ("gemini-2.5-flash", "models/gemini-2.5-flash"),
            ("gpt-5", "gpt-5-2025-08-07"),
            ("local", "Local"),
        ];
        for (asked, answered) in same {
            assert!(is_same_model(asked, answered), "{asked} {answered}");
        }
        let other = [
            ("gpt-4o", "gpt-4o-mini"),
            ("claude-opus-4", "claude-opus-4-1"),
            ("gpt-4o-2024-05-13", "gpt-4o-2024-08-06"),
            ("claude-opus-4-1", "claude-sonnet-4-5-20250929"),
        ];
        for (asked, answered) in other {
            assert!(!is_same_model(asked, answered), "{asked} {answered}");
        }
    }
}
