//! From candidates to what is tuned.

use std::collections::BTreeMap;

use super::hint::Hint;
use super::lines::Lines;
use super::notation::{Notation, Unreadable};
use super::{
    Candidate, Found, Kind, LEFT_OUT_LIMIT, LITERALS_LIMIT, Left, LeftOut, Literal, Remark, Site, choice, names, range,
};
use crate::tuner::space::{Domain, Grain};

/// A longer string is shown by its beginning.
const SHOWN: usize = 40;

/// Decides what can be tuned of the `candidates` in the `text` of the file at `path`.
pub fn gather(path: &str, text: &str, mut candidates: Vec<Candidate>, mut remarks: Vec<Remark>) -> Found {
    let mut found = Found::default();
    candidates.sort_by_key(|one| one.span.start);
    remarks.sort_by_key(|one| one.at);
    let mut lines = Lines::new(text);
    let placed: Vec<(usize, Candidate)> = candidates.into_iter().map(|one| (lines.of(one.span.start), one)).collect();
    let (mut hints, idle) = assigned(text, &placed, &remarks);
    found.left_out.extend(idle);
    let mut count = BTreeMap::new();
    for (at, (line, candidate)) in placed.iter().enumerate() {
        let Some(written) = text.get(candidate.span.clone()) else { continue };
        let nth = count.entry(candidate.name.as_str()).or_insert(0);
        *nth += 1;
        let name = match *nth {
            1 => candidate.name.clone(),
            _ if candidate.name.is_empty() => String::new(),
            nth => format!("{}#{nth}", candidate.name),
        };
        let said = hints.remove(&at);
        let has_hint = said.is_some();
        match literal(path, &name, written, candidate, said) {
            Ok(literal) => found.literals.push(literal),
            // Programs are full of strings.
            Err(_) if is_passing_text(candidate) && !has_hint => {}
            Err(why) => {
                found.left_out.push(Left { name, line: *line, text: shown(written), is_whole: candidate.is_whole, why })
            }
        }
    }
    cap(&mut found, &mut Lines::new(text));
    found.left_out.sort_by_key(|left| left.line);
    // What a person should mend must not be lost among what they need not know.
    found.left_out.sort_by_key(|left| !matches!(left.why, LeftOut::Hint(_)));
    found.left_out.truncate(LEFT_OUT_LIMIT);
    found.left_out.sort_by_key(|left| left.line);
    found
}

fn is_passing_text(candidate: &Candidate) -> bool {
    candidate.kind == Kind::Text && matches!(candidate.site, Site::Local | Site::Argument)
}

type Said = Result<Hint, String>;

/// Which candidate each remark is about, and those that are about none.
fn assigned(text: &str, placed: &[(usize, Candidate)], remarks: &[Remark]) -> (BTreeMap<usize, Said>, Vec<Left>) {
    let (mut hints, mut idle) = (BTreeMap::new(), Vec::new());
    let mut lines = Lines::new(text);
    let mut last = 0;
    for remark in remarks {
        let line = lines.of(remark.at);
        let mut idle_for = |what: &str| {
            let (text, why) = (shown(&remark.text), LeftOut::Hint(what.to_owned()));
            idle.push(Left { name: String::new(), line, text, is_whole: false, why });
        };
        if line == last {
            idle_for("a line has one hint");
            continue;
        }
        last = line;
        let hint = Hint::read(&remark.text);
        let start = placed.partition_point(|(at, _)| *at < line);
        let here: Vec<usize> = (start..placed.len()).take_while(|at| placed[*at].0 == line).collect();
        let narrow = |all: Vec<usize>, is_meant: &dyn Fn(&Candidate) -> bool| {
            let meant: Vec<usize> = all.iter().copied().filter(|at| is_meant(&placed[*at].1)).collect();
            if meant.is_empty() { all } else { meant }
        };
        // Of several values on a line, those that a hint of this kind can be about, and that have a name of their own.
        let here = narrow(here, &|one| match &hint {
            Ok(Hint::Range { .. }) => one.kind == Kind::Number,
            Ok(Hint::OneOf(options)) if options.iter().all(|option| Notation::read(option).is_err()) => {
                one.kind != Kind::Number
            }
            _ => true,
        });
        let here = narrow(here, &|one| one.out.is_none());
        if here.is_empty() {
            idle_for("there is no value to tune on its line");
        }
        hints.extend(here.into_iter().map(|at| (at, hint.clone())));
    }
    (hints, idle)
}

/// Sorts by the kind of place, and leaves out what is too much: what was hinted stays longest.
fn cap(found: &mut Found, lines: &mut Lines<'_>) {
    if found.literals.len() > LITERALS_LIMIT {
        let mut order: Vec<usize> = (0..found.literals.len()).collect();
        order.sort_by_key(|at| (!found.literals[*at].hinted, found.literals[*at].site));
        order[LITERALS_LIMIT..].sort_unstable();
        for at in &order[LITERALS_LIMIT..] {
            let Literal { name, span, text, .. } = &found.literals[*at];
            let (line, why) = (lines.of(span.start), LeftOut::TooMany);
            found.left_out.push(Left { name: name.clone(), line, text: shown(text), is_whole: true, why });
        }
        let mut kept = order[..LITERALS_LIMIT].to_vec();
        kept.sort_unstable();
        found.literals = kept.into_iter().map(|at| found.literals[at].clone()).collect();
    }
    found.literals.sort_by_key(|literal| literal.site);
}

fn literal(
    path: &str,
    name: &str,
    written: &str,
    candidate: &Candidate,
    said: Option<Said>,
) -> Result<Literal, LeftOut> {
    let hint = said.transpose().map_err(LeftOut::Hint)?;
    let hinted = hint.is_some();
    if hint == Some(Hint::Fixed) {
        return Err(LeftOut::Fixed);
    }
    if candidate.name.is_empty() {
        return Err(candidate.out.clone().unwrap_or(LeftOut::Nameless));
    }
    if hint.is_none() {
        unhinted(candidate)?;
    }
    let (value, domain, options, notation) = match (&hint, candidate.kind) {
        (Some(Hint::OneOf(options)), kind) => choice::chosen(options, written, kind).map_err(LeftOut::Hint)?,
        (_, Kind::Number) => number(written, candidate, hint)?,
        (Some(_), _) => return Err(LeftOut::Hint(format!("{} is no number", shown(written)))),
        (None, Kind::Text) => return Err(LeftOut::Text),
        (None, Kind::Truth) => choice::truth(written).ok_or(LeftOut::Notation)?,
    };
    Ok(Literal {
        path: path.to_owned(),
        name: name.to_owned(),
        span: candidate.span.clone(),
        text: written.to_owned(),
        value,
        domain,
        options,
        site: candidate.site,
        hinted,
        notation,
    })
}

/// What speaks against a value that nobody gave a range.
fn unhinted(candidate: &Candidate) -> Result<(), LeftOut> {
    if let Some(out) = &candidate.out {
        return Err(out.clone());
    }
    if let Some(out) = names::left_alone(&candidate.key) {
        return Err(out);
    }
    match candidate {
        Candidate { is_changed: true, .. } => Err(LeftOut::GivenTwice),
        // A flag that a function sets for itself is more often a state than a setting.
        Candidate { kind: Kind::Truth, site: Site::Local, .. } => Err(LeftOut::Operation),
        _ => Ok(()),
    }
}

/// What a literal is now, what it may be, how its options and its numbers are written.
pub(super) type Range = (f64, Domain, Vec<String>, Option<Notation>);

fn number(written: &str, candidate: &Candidate, hint: Option<Hint>) -> Result<Range, LeftOut> {
    let (notation, value) = Notation::read(written).map_err(|error| match error {
        Unreadable::NotANumber => LeftOut::Notation,
        Unreadable::TooLarge => LeftOut::TooLarge,
        Unreadable::OutOfReach => LeftOut::OutOfReach,
    })?;
    let Candidate { key, is_small_fixed, .. } = candidate;
    let domain = match hint {
        // `x - -5` is one thing, `x--5` another.
        Some(Hint::Range { low, high, .. })
            if !candidate.is_whole && ((low < 0.0) != (value < 0.0) || low * high < 0.0) =>
        {
            return Err(LeftOut::Hint("inside of an expression a number keeps its sign".to_owned()));
        }
        Some(Hint::Range { low, high, scale, grain }) => {
            range::hinted((low, high, scale, grain), (written, value), &notation).map_err(LeftOut::Hint)?
        }
        _ => {
            let is_small = !notation.is_float() && value.abs() <= 1.0 && !notation.is_binary();
            if is_small && *is_small_fixed {
                return Err(LeftOut::Small);
            }
            let domain = range::inferred(key, *is_small_fixed, value, &notation);
            let is_power = matches!(domain, Domain::Number { grain: Grain::PowerOfTwo, .. });
            if notation.is_binary() && !is_power {
                return Err(LeftOut::BitPattern);
            }
            domain
        }
    };
    match domain {
        Domain::Number { low, high, .. } if low >= high && notation.is_float() => Err(LeftOut::OutOfReach),
        Domain::Number { low, high, .. } if low >= high => Err(LeftOut::TooLarge),
        domain => Ok((value, domain, Vec::new(), Some(notation))),
    }
}

/// A text as one short line.
pub(super) fn shown(text: &str) -> String {
    let line = text.lines().next().unwrap_or("");
    match line.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None if line.len() < text.len() => format!("{line}…"),
        None => line.to_owned(),
    }
}
