//! What the calls of a rehearsal come to: counted, and neither limited nor written down.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use overnight_model::call::account::{Account, Allowances};
use overnight_model::call::bill::Bill;
use overnight_model::call::price::Prices;
use overnight_model::call::{Call, CallId, CallOutcome};

use super::super::{Accounts, Refusal};

/// Counts calls until somebody asks for the sum.
pub struct Tally {
    counted: Mutex<(Account, Bill)>,
    next: AtomicU64,
}

impl Tally {
    pub fn new(prices: Prices) -> Tally {
        let account = Account::new(prices, Allowances::default(), Default::default());
        Tally { counted: Mutex::new((account, Bill::default())), next: AtomicU64::new(0) }
    }

    /// What came since it was last asked.
    pub fn take(&self) -> Bill {
        std::mem::take(&mut self.counted.lock().unwrap_or_else(PoisonError::into_inner).1)
    }
}

impl Accounts for Tally {
    fn next_id(&self) -> CallId {
        CallId(self.next.fetch_add(1, Ordering::Relaxed))
    }

    fn admit(&self, _: &Call) -> Result<(), Refusal> {
        Ok(())
    }

    fn settle(&self, call: &Call, outcome: &CallOutcome) {
        let mut counted = self.counted.lock().unwrap_or_else(PoisonError::into_inner);
        let bill = counted.0.settle(call, outcome).bill();
        counted.1.add(&bill);
    }
}
