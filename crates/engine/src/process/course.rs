//! When a job is told to end and when it is made to: the init's decisions, without its effects.

use std::time::{Duration, Instant};

/// How far a job has come, and why it is being ended.
#[derive(Debug)]
pub(super) struct Course {
    deadline: Instant,
    grace: Duration,
    phase: Phase,
    cause: Option<Cause>,
}

/// Why a job was ended from outside. The first cause is the one that counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Cause {
    TimedOut,
    Stopped,
    OutOfMemory,
    TooManyProcesses,
    /// The engine or the keeper is gone: nobody waits for a report.
    Abandoned,
}

/// What the init has learnt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum News {
    TimePassed,
    PayloadEnded,
    ToldToTerminate,
    ToldToKill,
    Abandoned,
    TookTooMuchMemory,
    MadeTooManyProcesses,
}

/// What the init must do to the whole tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Step {
    Terminate,
    Kill,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    Running,
    Terminating { until: Instant },
    Killing,
}

impl Course {
    pub(super) fn new(start: Instant, deadline: Duration, grace: Duration) -> Course {
        Course { deadline: after(start, deadline), grace, phase: Phase::Running, cause: None }
    }

    pub(super) fn cause(&self) -> Option<Cause> {
        self.cause
    }

    pub(super) fn killing(&self) -> bool {
        self.phase == Phase::Killing
    }

    /// When time alone changes something next.
    pub(super) fn alarm(&self) -> Option<Instant> {
        match self.phase {
            Phase::Running => Some(self.deadline),
            Phase::Terminating { until } => Some(until),
            Phase::Killing => None,
        }
    }

    pub(super) fn learn(&mut self, news: News, now: Instant) -> Option<Step> {
        match (self.phase, news) {
            (Phase::Killing, _) => None,
            (_, News::PayloadEnded) => self.kill(None),
            (_, News::Abandoned) => self.kill(Some(Cause::Abandoned)),
            (_, News::ToldToKill) => self.kill(Some(Cause::Stopped)),
            // No grace: it would be used to take more.
            (_, News::TookTooMuchMemory) => self.kill(Some(Cause::OutOfMemory)),
            (_, News::MadeTooManyProcesses) => self.kill(Some(Cause::TooManyProcesses)),
            (Phase::Running, News::ToldToTerminate) => self.terminate(Cause::Stopped, now),
            (Phase::Running, News::TimePassed) if now >= self.deadline => self.terminate(Cause::TimedOut, now),
            (Phase::Terminating { until }, News::TimePassed) if now >= until => self.kill(None),
            (_, News::ToldToTerminate | News::TimePassed) => None,
        }
    }

    fn terminate(&mut self, cause: Cause, now: Instant) -> Option<Step> {
        self.cause.get_or_insert(cause);
        self.phase = Phase::Terminating { until: after(now, self.grace) };
        Some(Step::Terminate)
    }

    fn kill(&mut self, cause: Option<Cause>) -> Option<Step> {
        self.cause = self.cause.or(cause);
        self.phase = Phase::Killing;
        Some(Step::Kill)
    }
}

/// `Duration::MAX` is a fair way to say "no deadline", and no sum may overflow.
fn after(start: Instant, wait: Duration) -> Instant {
    const A_CENTURY: Duration = Duration::from_secs(100 * 365 * 24 * 3600);
    start + wait.min(A_CENTURY)
}

#[cfg(test)]
mod tests {
    use super::*;

    const DEADLINE: Duration = Duration::from_secs(60);
    const GRACE: Duration = Duration::from_secs(5);

    fn course() -> (Instant, Course) {
        let start = Instant::now();
        (start, Course::new(start, DEADLINE, GRACE))
    }

    #[test]
    fn the_deadline_terminates_and_the_end_of_the_grace_kills() {
        let (start, mut course) = course();
        let late = start + DEADLINE;
        assert_eq!(course.learn(News::TimePassed, start), None);
        assert_eq!(course.alarm(), Some(late));
        assert_eq!(course.learn(News::TimePassed, late), Some(Step::Terminate));
        assert_eq!(course.learn(News::TimePassed, late), None);
        assert_eq!(course.alarm(), Some(late + GRACE));
        assert_eq!(course.learn(News::TimePassed, late + GRACE), Some(Step::Kill));
        assert_eq!(course.cause(), Some(Cause::TimedOut));
        assert_eq!(course.alarm(), None);
    }

    #[test]
    fn a_payload_that_ends_by_itself_has_no_cause_and_later_orders_change_nothing() {
        let (start, mut course) = course();
        assert_eq!(course.learn(News::PayloadEnded, start), Some(Step::Kill));
        assert_eq!(course.learn(News::ToldToKill, start), None);
        assert_eq!(course.learn(News::TimePassed, start + DEADLINE), None);
        assert_eq!(course.cause(), None);
    }

    #[test]
    fn the_first_cause_counts() {
        let (start, mut course) = course();
        assert_eq!(course.learn(News::TimePassed, start + DEADLINE), Some(Step::Terminate));
        assert_eq!(course.learn(News::ToldToTerminate, start + DEADLINE), None);
        assert_eq!(course.learn(News::ToldToKill, start + DEADLINE), Some(Step::Kill));
        assert_eq!(course.cause(), Some(Cause::TimedOut));
    }

    #[test]
    fn a_terminated_job_is_stopped_even_when_its_payload_then_exits() {
        let (start, mut course) = course();
        assert_eq!(course.learn(News::ToldToTerminate, start), Some(Step::Terminate));
        assert_eq!(course.learn(News::PayloadEnded, start), Some(Step::Kill));
        assert_eq!(course.cause(), Some(Cause::Stopped));
    }

    #[test]
    fn an_endless_deadline_does_not_overflow() {
        let start = Instant::now();
        let mut course = Course::new(start, Duration::MAX, Duration::MAX);
        assert_eq!(course.learn(News::TimePassed, start + DEADLINE), None);
    }
}
