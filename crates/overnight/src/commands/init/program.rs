//! A first `program.md`: what an agent is told, in the person's own terms.

use overnight_model::Goal;

use super::proposal::Proposal;

pub(super) fn text(proposal: &Proposal) -> String {
    let metric = &proposal.metric;
    let better = match proposal.goal {
        Some(Goal::Max) => "larger",
        _ => "smaller",
    };
    let surface = proposal.surface.iter().map(|path| format!("`{path}`")).collect::<Vec<_>>().join(", ");
    let budget = &proposal.budget;
    let guard = match &proposal.guard {
        Some(guard) => format!("- `{guard}` must still pass.\n"),
        None => String::new(),
    };
    format!(
        "# Program\n\
         \n\
         Make `{metric}` {better}. One run has about {budget}.\n\
         \n\
         ## What may change\n\
         \n\
         - {surface}: anything in it, as long as it still does the same job.\n\
         \n\
         ## What to leave alone\n\
         \n\
         - Everything else; it is locked, the way `{metric}` is measured above all.\n\
         {guard}\
         - Prefer the simpler of two changes that give the same.\n\
         \n\
         ## Ideas\n\
         \n\
         - (what you would try first, and what was tried already)\n"
    )
}
