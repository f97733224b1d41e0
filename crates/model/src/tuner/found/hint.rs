//! What a comment says about the value on its line: `# overnight: 1e-4..1e-1 log`.

use super::notation::Notation;
use crate::tuner::space::{Grain, Scale};

/// A range so much larger than its beginning is felt in factors.
const LOG_FROM: f64 = 100.0;

/// What starts a hint.
const MARK: &str = "overnight:";

/// So many letters may be wrong in it.
const SLIPS: usize = 2;

/// More options than a night can try.
const OPTIONS_LIMIT: usize = 32;

/// What a hint asks for.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Hint {
    Fixed,
    Range {
        low: f64,
        high: f64,
        scale: Scale,
        grain: Option<Grain>,
    },
    /// As they stand in the comment, quotes included.
    OneOf(Vec<String>),
}

/// What a comment says after `overnight:`, if that is what it begins with; all of it where that is misspelt. The marks of
/// any language are understood.
pub fn in_comment(comment: &str) -> Option<&str> {
    let inside = comment.trim().trim_start_matches(['#', '/', '*', ';', '-', '!', '<', '%']).trim_start();
    let inside = inside.strip_suffix("*/").or_else(|| inside.strip_suffix("-->")).unwrap_or(inside).trim_end();
    match inside.strip_prefix(MARK) {
        Some(said) => Some(said.trim()),
        None => misspelt(inside).map(|_| inside),
    }
}

/// The word that was meant to be `overnight:`, where a hint follows it. Sentences of people may begin with it too.
fn misspelt(inside: &str) -> Option<&str> {
    let (word, rest) = inside.split_at_checked(inside.find(|c: char| !c.is_alphanumeric())?)?;
    let said = rest.trim_start().strip_prefix([':', '=']).unwrap_or(rest);
    let is_near = strsim::osa_distance(&word.to_lowercase(), MARK.trim_end_matches(':')) <= SLIPS;
    (is_near && Hint::follows(said)).then_some(word)
}

impl Hint {
    /// Reads what follows `overnight:`; what comes after a `;` or a `#` is for people. The error is a sentence.
    pub(super) fn read(text: &str) -> Result<Hint, String> {
        match misspelt(text) {
            Some(word) => Err(format!("it begins with `{word}` and not with `{MARK}`")),
            None => Hint::said(text),
        }
    }

    /// Whether what follows a word can be nothing but a hint: `overnight fixed the leak` is none.
    fn follows(text: &str) -> bool {
        Hint::said(text).is_ok_and(|hint| hint != Hint::Fixed || text.trim() == "fixed")
    }

    fn said(text: &str) -> Result<Hint, String> {
        let text = before_remark(text).trim();
        let first = text.split_whitespace().next().unwrap_or("").trim_end_matches([',', ':', '.']);
        if first == "fixed" {
            return Ok(Hint::Fixed);
        }
        if let Some(options) = text.strip_prefix("one of").filter(|rest| rest.starts_with([' ', '\t', ':'])) {
            return one_of(options.trim_start_matches(':').trim());
        }
        match text.split_once("..") {
            Some((low, rest)) => range(low.trim(), rest.trim_start_matches('=').trim_start()),
            None => Err(format!(
                "`{}` is neither a range such as `1..8`, nor `one of …`, nor `fixed`",
                text.chars().take(60).collect::<String>()
            )),
        }
    }
}

fn range(low: &str, rest: &str) -> Result<Hint, String> {
    let (high, words) = rest.split_once([' ', '\t']).unwrap_or((rest, ""));
    let bound = |text: &str| match Notation::read(text) {
        Ok((_, value)) => Ok(value),
        Err(_) => Err(format!("`{text}` is no number")),
    };
    let (low, high) = (bound(low)?, bound(high.trim_end_matches(','))?);
    if low >= high {
        return Err(format!("{low} is not below {high}"));
    }
    let (mut scale, mut grain) = (None, None);
    for word in words.split([' ', '\t', ',']).filter(|word| !word.is_empty()) {
        match word {
            "log" => scale = Some(Scale::Log),
            "linear" => scale = Some(Scale::Linear),
            "int" => grain = Some(Grain::Whole),
            "pow2" => grain = Some(Grain::PowerOfTwo),
            other => return Err(format!("`{other}` is none of `log`, `linear`, `int` and `pow2`")),
        }
    }
    if grain == Some(Grain::PowerOfTwo) {
        let is_power = |bound: f64| bound >= 1.0 && bound.log2().fract() == 0.0;
        if let Some(bound) = [low, high].into_iter().find(|bound| !is_power(*bound)) {
            return Err(format!("{bound} is no power of two from 1"));
        }
        scale = Some(Scale::Log);
    }
    let is_one_sided = low > 0.0 || high < 0.0;
    if scale == Some(Scale::Log) && !is_one_sided {
        return Err("`log` needs a range without 0".to_owned());
    }
    let is_wide = is_one_sided && (high / low).max(low / high) >= LOG_FROM;
    let scale = scale.unwrap_or(if is_wide { Scale::Log } else { Scale::Linear });
    Ok(Hint::Range { low, high, scale, grain })
}

fn one_of(text: &str) -> Result<Hint, String> {
    let mut options = vec![String::new()];
    let mut quote = None;
    for c in text.chars() {
        match quote {
            Some(open) if c == open => quote = None,
            None if c == ',' => {
                options.push(String::new());
                continue;
            }
            None if matches!(c, '"' | '\'') => quote = Some(c),
            _ => {}
        }
        if let Some(option) = options.last_mut() {
            option.push(c);
        }
    }
    let options: Vec<String> = options.iter().map(|option| option.trim().to_owned()).collect();
    match &options[..] {
        _ if quote.is_some() => Err("a quote is not closed".to_owned()),
        options if options.iter().any(String::is_empty) => Err("an option is empty".to_owned()),
        [_] => Err("`one of` needs two options at least".to_owned()),
        options if options.len() > OPTIONS_LIMIT => Err(format!("more than {OPTIONS_LIMIT} options")),
        options if (1..options.len()).any(|at| options[..at].contains(&options[at])) => {
            Err("an option is named twice".to_owned())
        }
        _ => Ok(Hint::OneOf(options)),
    }
}

/// Everything up to a `;` or a `#` that is in no quotes.
fn before_remark(text: &str) -> &str {
    let mut quote = None;
    for (at, c) in text.char_indices() {
        match quote {
            Some(open) if c == open => quote = None,
            None if matches!(c, ';' | '#') => return &text[..at],
            None if matches!(c, '"' | '\'') => quote = Some(c),
            _ => {}
        }
    }
    text
}
