//! The books of a run: the account behind the gateway, with a journal that lasts before a call goes out.

mod journal;
mod tally;

use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use overnight_model::call::account::{Account, Admission, Allowances, Charge};
use overnight_model::call::bill::Called;
use overnight_model::call::{Call, CallEnd, CallId, CallOutcome};
use overnight_model::spec::Gateway;
use overnight_model::{State, What};

pub use journal::unrecorded;
use journal::{Entry, Journal};
pub use tally::Tally;

use super::{Accounts, Refusal};

/// A call in flight is over by then, whatever becomes of it.
const LONGEST_WAIT: Duration = Duration::from_secs(600);

/// Whether calls may go out, and what they came to.
pub struct Books {
    account: Mutex<Account>,
    /// Something that was reserved may be free again.
    settled: Condvar,
    next: AtomicU64,
    /// Where the journal of this run is, once there is one: most runs make no call.
    path: PathBuf,
    journal: Mutex<Option<Arc<Journal>>>,
    report: Mutex<Report>,
}

/// Who learns of calls that are over.
enum Report {
    /// Nobody yet: they wait.
    Waiting(Vec<Called>),
    To(Box<dyn Fn(Called) + Send>),
}

impl Books {
    /// The books of run number `run` of the study whose state lies in `dir`, once the `opening` of the run is recorded.
    pub fn open(
        dir: &Path,
        run: u64,
        (gateway, allowances): (&Gateway, Allowances),
        state: &State,
        opening: &[What],
    ) -> Books {
        let subscriptions = gateway.providers.iter().filter(|provider| provider.subscription);
        let subscriptions: BTreeSet<String> = subscriptions.map(|provider| provider.name.clone()).collect();
        let mut account = Account::new(gateway.prices.clone(), allowances, subscriptions);
        account.carry(state.charged(), state.open().map(|open| (open.id, open.charged)));
        let mut next = state.next_call().0;
        for what in opening {
            if let What::Called(called) = what {
                account.carry(called.charge(), []);
                next = next.max(called.call.id.0 + 1);
            }
        }
        Books {
            account: Mutex::new(account),
            settled: Condvar::new(),
            next: AtomicU64::new(next),
            path: journal::path(dir, run),
            journal: Mutex::new(None),
            report: Mutex::new(Report::Waiting(Vec::new())),
        }
    }

    /// Says who learns of each call, once, at its end.
    pub fn report_to(&self, told: impl Fn(Called) + Send + 'static) {
        let mut report = self.report.lock().unwrap_or_else(PoisonError::into_inner);
        if let Report::Waiting(waiting) = &mut *report {
            waiting.drain(..).for_each(&told);
        }
        *report = Report::To(Box::new(told));
    }

    /// What the limits of the night and of the study count so far.
    pub fn charged(&self) -> (Charge, Charge) {
        let account = self.account();
        (account.night(), account.study())
    }

    fn account(&self) -> MutexGuard<'_, Account> {
        self.account.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn journal(&self) -> io::Result<Arc<Journal>> {
        let mut journal = self.journal.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(journal) = journal.as_ref() {
            return Ok(journal.clone());
        }
        Ok(journal.insert(Arc::new(Journal::create(&self.path)?)).clone())
    }

    fn reserve(&self, call: &Call) -> Result<Charge, Refusal> {
        let mut account = self.account();
        loop {
            match account.admit(call) {
                Admission::Go(most) => return Ok(most),
                Admission::Refuse { reached, what } => return Err(Refusal { what, limit: reached.key().to_owned() }),
                Admission::Wait => {
                    let (again, waited) =
                        self.settled.wait_timeout(account, LONGEST_WAIT).unwrap_or_else(PoisonError::into_inner);
                    account = again;
                    if waited.timed_out() {
                        let what = "so much is reserved for calls in flight that the limits leave nothing for this one";
                        return Err(Refusal { what: what.to_owned(), limit: "limits".to_owned() });
                    }
                }
            }
        }
    }
}

impl Accounts for Books {
    fn next_id(&self) -> CallId {
        CallId(self.next.fetch_add(1, Ordering::Relaxed))
    }

    fn admit(&self, call: &Call) -> Result<(), Refusal> {
        let at_most = self.reserve(call)?;
        let subscription = self.account().is_subscribed(&call.provider);
        let out = Entry::Out { call: call.clone(), at_most, subscription };
        self.journal().and_then(|journal| journal.last(&out)).map_err(|error| {
            self.account().release(call.id);
            self.settled.notify_all();
            let what =
                format!("the call could not be written down in {}, so it was not made: {error}", self.path.display());
            Refusal { what, limit: "calls".to_owned() }
        })
    }

    fn is_limited(&self) -> bool {
        self.account().is_limited()
    }

    fn subscribed(&self, provider: &str) {
        self.account().subscribe(provider);
    }

    fn settle(&self, call: &Call, outcome: &CallOutcome) {
        let called = self.account().settle(call, outcome);
        self.settled.notify_all();
        // Where this is lost, the next run counts the call for what it may have come to.
        let CallOutcome { end, replayed, .. } = called.outcome;
        let never_went_out = replayed || matches!(end, CallEnd::Limited | CallEnd::NotRecorded);
        if !never_went_out {
            let _ = self.journal().and_then(|journal| journal.note(&Entry::Back(Box::new(called.clone()))));
        }
        match &mut *self.report.lock().unwrap_or_else(PoisonError::into_inner) {
            Report::Waiting(waiting) => waiting.push(called),
            Report::To(told) => told(called),
        }
    }
}

#[cfg(test)]
mod tests;
