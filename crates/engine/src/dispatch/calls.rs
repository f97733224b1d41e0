//! What calls to models mean for the turns and trials that they were made in.

use overnight_model::call::bill::Bill;
use overnight_model::event::{AttemptFailure, Loss, ModelUse, Trouble};
use overnight_model::spec::{Check, Guard};
use overnight_model::{ExperimentId, Measurement, Score, TrialId, What};

use super::{Dispatch, Machine};

/// What the engine itself counts of a trial, by the names that guards know.
const COUNTED: [&str; 3] = ["cost_usd", "tokens", "model_calls"];

impl<M: Machine> Dispatch<M> {
    /// A failure as it is recorded. An agent whose calls were held back by a limit did not fail by itself; one that a
    /// limit lets do nothing at all would fail for ever, and that is to be noticed.
    pub(super) fn failure(&self, experiment: ExperimentId, failure: AttemptFailure) -> AttemptFailure {
        let open = self.study.state().find(experiment);
        let limited = open.and_then(|open| open.limited.filter(|reached| open.agent_calls > 0 || reached.is_for_all()));
        let Some(reached) = limited else {
            return match open.and_then(|open| open.trouble) {
                Some(seen) => explained(failure, seen),
                None => failure,
            };
        };
        let trouble = Some(Trouble::Limit { reached });
        match failure {
            AttemptFailure::Error { what, .. } => AttemptFailure::Error { what, trouble },
            AttemptFailure::NoChange => {
                let what = format!("`{}` was reached before anything was changed", reached.key());
                AttemptFailure::Error { what, trouble }
            }
            failure @ (AttemptFailure::Policy { .. } | AttemptFailure::Exhausted { .. }) => failure,
        }
    }

    /// What an agent says that it used, with its list price where that is known.
    pub(super) fn priced(&self, used: Option<ModelUse>) -> Option<ModelUse> {
        let used = used?;
        let cost_usd = used.cost_usd.or_else(|| {
            let price = self.study.spec().gateway.prices.of("", &used.model)?;
            price.cost(&used.tokens())
        });
        Some(ModelUse { cost_usd, ..used })
    }

    /// The end of a trial, with what its calls came to. What a limit of the night kept from asking says nothing about the
    /// candidate: it is run again where there is something left to spend.
    pub(super) fn trial_finished(
        &self,
        trial: TrialId,
        experiment: ExperimentId,
        mut measurement: Measurement,
    ) -> What {
        let (bill, limited) = self.study.state().trial_calls(trial);
        if limited.is_some_and(|reached| reached.is_for_all()) {
            return What::TrialLost { trial, experiment, loss: Loss::Interrupted };
        }
        count(&mut measurement, &bill, &self.study.spec().guards);
        What::TrialFinished { trial, experiment, measurement }
    }
}

/// A failure of an agent by what the gateway saw last at its provider. A program of a person's own says nothing of providers,
/// and coding agents leave out until when they want to be left alone; what an agent does say of itself stays.
fn explained(failure: AttemptFailure, seen: Trouble) -> AttemptFailure {
    let by_provider = seen.is_providers();
    match failure {
        AttemptFailure::Error { what, trouble: None } => {
            AttemptFailure::Error { what: format!("{}: {what}", seen.name()), trouble: Some(seen) }
        }
        AttemptFailure::Error { what, trouble: Some(said) } => {
            let is_better = match said {
                Trouble::Other | Trouble::Crashed => true,
                Trouble::Hung | Trouble::Empty | Trouble::Outage => by_provider,
                Trouble::RateLimit { .. } => by_provider && seen.retry_at().is_some(),
                _ => false,
            };
            AttemptFailure::Error { what, trouble: Some(if is_better { seen } else { said }) }
        }
        AttemptFailure::NoChange if by_provider => {
            let what = format!("{}: its last call to a model failed, and nothing was changed", seen.name());
            AttemptFailure::Error { what, trouble: Some(seen) }
        }
        failure => failure,
    }
}

/// Adds what the calls of a trial came to. What a candidate prints under such a name is its own affair until somebody
/// relies on it.
pub(crate) fn count(measurement: &mut Measurement, bill: &Bill, guards: &[Guard]) {
    let is_guarded = |name: &str| {
        let mut guards = guards.iter();
        guards.any(|guard| matches!(&guard.check, Check::Number { metric, .. } if metric == name))
    };
    let tokens = bill.tokens().map(|tokens| tokens as f64);
    for (name, number) in COUNTED.into_iter().zip([bill.cost_usd(), tokens, Some(bill.calls as f64)]) {
        if is_guarded(name) || bill.calls > 0 {
            measurement.numbers.remove(name);
            measurement.numbers.extend(number.and_then(Score::new).map(|number| (name.to_owned(), number)));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use overnight_model::Timestamp;

    const LATER: Trouble = Trouble::RateLimit { retry_at: Some(Timestamp(9)) };

    fn told(said: Option<Trouble>, seen: Trouble) -> Option<Trouble> {
        explained(AttemptFailure::Error { what: "exit code 1".to_owned(), trouble: said }, seen).trouble()
    }

    #[test]
    fn what_the_gateway_saw_tells_why_an_agent_failed_that_does_not_know_it() {
        let program = explained(AttemptFailure::error("exit code 1"), Trouble::Outage);
        let what = "provider outage: exit code 1".to_owned();
        assert_eq!(program, AttemptFailure::Error { what, trouble: Some(Trouble::Outage) });
        assert_eq!(explained(AttemptFailure::NoChange, LATER).trouble(), Some(LATER));
        for vague in [Trouble::Other, Trouble::Crashed, Trouble::Hung, Trouble::Empty, Trouble::Outage] {
            assert_eq!(told(Some(vague), LATER), Some(LATER), "{vague:?}");
        }
        let soon = Trouble::RateLimit { retry_at: None };
        assert_eq!(told(Some(soon), LATER), Some(LATER), "until when is known here alone");
        assert_eq!(told(Some(LATER), soon), Some(LATER), "or by the agent alone");
    }

    #[test]
    fn what_an_agent_knows_of_itself_stays() {
        let kinds = [Trouble::Denied, Trouble::UnknownModel, Trouble::ContextOverflow, Trouble::Refusal];
        for known in kinds.into_iter().chain([Trouble::Malformed]) {
            assert_eq!(told(Some(known), Trouble::Outage), Some(known));
        }
        assert_eq!(told(Some(Trouble::Hung), Trouble::Denied), Some(Trouble::Hung));
        assert_eq!(explained(AttemptFailure::NoChange, Trouble::Denied), AttemptFailure::NoChange);
        let policy = AttemptFailure::Policy { what: "it changed `a`".to_owned() };
        assert_eq!(explained(policy.clone(), Trouble::Outage), policy);
    }
}
