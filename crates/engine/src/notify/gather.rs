//! Champions come in bursts: the first is told at once, those that follow it soon come together.

use std::time::Duration;

use overnight_model::Millis;

use super::Notice;

/// What waits to be told together. Moments are counted from any one beginning.
#[derive(Debug)]
pub(super) struct Gather {
    every: Duration,
    /// When the next may be told.
    open_at: Duration,
    waiting: Option<Notice>,
}

impl Gather {
    pub(super) fn new(every: Millis) -> Gather {
        Gather { every: Duration::from_millis(every.0), open_at: Duration::ZERO, waiting: None }
    }

    /// What is to be told now that something new has come.
    pub(super) fn take(&mut self, notice: Notice, now: Duration) -> Vec<Notice> {
        if !notice.can_wait {
            // Nothing comes after the end, and what was before it is told before it.
            let is_last = ["stop", "fault", "end"].contains(&notice.event);
            let before = if is_last { self.last() } else { None };
            return before.into_iter().chain([notice]).collect();
        }
        let earlier = self.waiting.take().map_or(0, |waiting| waiting.count);
        // Only the last one's words are kept.
        let count = notice.count + earlier;
        self.waiting = Some(Notice { count, ..notice });
        self.due(now).into_iter().collect()
    }

    /// How long until something is to be told, where something waits.
    pub(super) fn wait(&self, now: Duration) -> Option<Duration> {
        self.waiting.as_ref().map(|_| self.open_at.saturating_sub(now))
    }

    /// What has waited long enough.
    pub(super) fn due(&mut self, now: Duration) -> Option<Notice> {
        if now < self.open_at {
            return None;
        }
        let notice = self.last()?;
        self.open_at = now + self.every;
        Some(notice)
    }

    /// What waits, whatever the time is.
    pub(super) fn last(&mut self) -> Option<Notice> {
        let notice = self.waiting.take()?;
        let earlier = notice.count - 1;
        Some(Notice { count: 1, ..notice }.after(earlier))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::Map;

    use super::*;

    fn notice(event: &'static str, title: &str) -> Notice {
        Notice::new(event, "main", title.to_owned(), title.to_owned(), Map::new())
    }

    fn titles(told: impl IntoIterator<Item = Notice>) -> Vec<(String, u64)> {
        told.into_iter().map(|notice| (notice.title, notice.count)).collect()
    }

    fn seconds(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    #[test]
    fn the_first_champion_is_told_at_once_and_those_after_it_together() {
        let mut gather = Gather::new(Millis::seconds(600));
        assert_eq!(titles(gather.take(notice("champion", "1"), seconds(5))), [("1".to_owned(), 1)]);
        assert_eq!(gather.wait(seconds(6)), None);
        for (title, at) in [("2", 10), ("3", 20), ("4", 604)] {
            assert_eq!(titles(gather.take(notice("champion", title), seconds(at))), []);
        }
        assert_eq!((gather.wait(seconds(604)), gather.due(seconds(604))), (Some(seconds(1)), None));
        let told = gather.due(seconds(605)).unwrap();
        assert_eq!((told.title.as_str(), told.count), ("4", 3));
        assert!(told.text.ends_with("\n2 earlier changes of the champion since the last notice"), "{}", told.text);
        assert_eq!(gather.due(seconds(9000)), None);
        // After a quiet time the next one is the first again.
        assert_eq!(titles(gather.take(notice("champion", "5"), seconds(9000))), [("5".to_owned(), 1)]);
    }

    #[test]
    fn nothing_else_waits_and_the_end_comes_last() {
        let mut gather = Gather::new(Millis::seconds(600));
        gather.take(notice("champion", "1"), seconds(0));
        gather.take(notice("champion", "2"), seconds(1));
        gather.take(notice("champion", "3"), seconds(1));
        assert_eq!(titles(gather.take(notice("suspect", "s"), seconds(2))), [("s".to_owned(), 1)]);
        let told = gather.take(notice("end", "over"), seconds(3));
        assert!(told[0].text.ends_with("\n1 earlier change of the champion since the last notice"), "{told:?}");
        assert_eq!(titles(told), [("3".to_owned(), 2), ("over".to_owned(), 1)]);
        assert_eq!(gather.last(), None);
    }
}
