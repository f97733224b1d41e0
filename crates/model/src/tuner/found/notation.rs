//! How a number is written, so that another one can be written the same way.

/// Past it a float does not hold every whole number.
pub(super) const LARGEST: f64 = 9_007_199_254_740_992.0;

/// A longer number is data.
const LENGTH_LIMIT: usize = 48;

/// What may follow the digits in one language or another, in lower case.
const SUFFIXES: [&str; 24] = [
    "", "f", "l", "u", "ul", "lu", "ull", "llu", "ll", "z", "uz", "n", "u8", "u16", "u32", "u64", "usize", "i8", "i16",
    "i32", "i64", "isize", "f32", "f64",
];

/// The way one number is written.
#[derive(Debug, Clone, PartialEq)]
pub enum Notation {
    /// `64`, `-1_000`, `64usize`, `0.5`, `.5`, `3.0f`, `1.0e-03`
    Decimal(Decimal),
    /// `2**14`, `1 << 14`: everything before the exponent, and everything after it.
    Power { before: String, after: String },
    /// `0x40`, `0b1000_0000u8`
    Radix { prefix: String, base: u32, is_upper: bool, width: usize, suffix: String },
}

#[derive(Debug, Clone, PartialEq)]
pub struct Decimal {
    /// The sign and the blanks after it.
    sign: String,
    /// What stands between groups of digits.
    separator: Option<char>,
    /// Whether it is a float, and has a point that must stay.
    is_float: bool,
    has_point: bool,
    starts_with_point: bool,
    ends_with_point: bool,
    exponent: Option<Exponent>,
    suffix: String,
}

#[derive(Debug, Clone, PartialEq)]
struct Exponent {
    letter: char,
    has_plus: bool,
    width: usize,
}

/// Why a text is no number that can be written back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unreadable {
    NotANumber,
    TooLarge,
    /// A float that is infinite as soon as it is read.
    OutOfReach,
}

impl Notation {
    /// Takes a number apart; the sign belongs to it.
    pub fn read(text: &str) -> Result<(Notation, f64), Unreadable> {
        if text.len() > LENGTH_LIMIT {
            return Err(Unreadable::TooLarge);
        }
        let found = power(text).or_else(|| radix(text)).or_else(|| decimal(text));
        let (notation, value) = found.ok_or(Unreadable::NotANumber)?;
        match notation.is_float() {
            true if value.is_finite() => Ok((notation, value)),
            false if value.abs() <= LARGEST => Ok((notation, value)),
            true => Err(Unreadable::OutOfReach),
            false => Err(Unreadable::TooLarge),
        }
    }

    pub fn write(&self, value: f64) -> String {
        // There is no negative zero in a range.
        let value = if value == 0.0 { 0.0 } else { value };
        match self {
            Notation::Decimal(decimal) => decimal.write(value),
            Notation::Power { before, after } => format!("{before}{:.0}{after}", value.max(1.0).log2().round()),
            Notation::Radix { prefix, base, is_upper, width, suffix } => {
                let value = value.round().clamp(0.0, LARGEST) as u64;
                let digits = match (base, is_upper) {
                    (2, _) => format!("{value:0width$b}"),
                    (8, _) => format!("{value:0width$o}"),
                    (_, true) => format!("{value:0width$X}"),
                    (_, false) => format!("{value:0width$x}"),
                };
                format!("{prefix}{digits}{suffix}")
            }
        }
    }

    pub fn is_float(&self) -> bool {
        matches!(self, Notation::Decimal(decimal) if decimal.is_float)
    }

    /// Whether it is written so that one sees a power of two.
    pub(super) fn is_binary(&self) -> bool {
        !matches!(self, Notation::Decimal(_))
    }

    /// The smallest and the largest whole number that can be written in its place.
    pub(super) fn limits(&self) -> (f64, f64) {
        let suffix = match self {
            Notation::Power { .. } => return (1.0, LARGEST),
            Notation::Radix { suffix, .. } => suffix,
            Notation::Decimal(decimal) => &decimal.suffix,
        };
        let (low, high) = match suffix.trim_start_matches('_').to_lowercase().as_str() {
            "u8" => (0.0, 255.0),
            "u16" => (0.0, 65_535.0),
            "u32" => (0.0, 4_294_967_295.0),
            "i8" => (-128.0, 127.0),
            "i16" => (-32_768.0, 32_767.0),
            "i32" => (-2_147_483_648.0, 2_147_483_647.0),
            suffix if suffix.contains('u') => (0.0, LARGEST),
            _ => (-LARGEST, LARGEST),
        };
        match self {
            Notation::Radix { .. } => (0.0, high),
            _ => (low, high),
        }
    }
}

impl Decimal {
    fn write(&self, value: f64) -> String {
        let size = value.abs();
        let digits = match &self.exponent {
            Some(exponent) => self.with_exponent(size, exponent),
            None if self.is_float => self.point(format!("{size}")),
            None => grouped(&format!("{:.0}", size.round()), self.separator),
        };
        let was_negative = self.sign.starts_with('-');
        let sign = match value < 0.0 {
            true if was_negative => self.sign.as_str(),
            true => "-",
            false if was_negative => "",
            false => self.sign.as_str(),
        };
        format!("{sign}{digits}{}", self.suffix)
    }

    /// The digits of a float as they were before: with a point where there was one.
    fn point(&self, plain: String) -> String {
        let (whole, part) = plain.split_once('.').map_or((plain.as_str(), ""), |(whole, part)| (whole, part));
        let whole = grouped(whole, self.separator);
        match part {
            "" if self.ends_with_point => format!("{whole}."),
            "" if self.has_point => format!("{whole}.0"),
            "" => whole,
            part if self.starts_with_point && whole == "0" => format!(".{part}"),
            part => format!("{whole}.{part}"),
        }
    }

    fn with_exponent(&self, size: f64, exponent: &Exponent) -> String {
        let plain = format!("{size:e}");
        let (digits, power) = plain.split_once('e').unwrap_or((&plain, "0"));
        let (sign, power) = match power.strip_prefix('-') {
            Some(power) => ("-", power),
            None if exponent.has_plus => ("+", power),
            None => ("", power),
        };
        let (digits, width) = (self.point(digits.to_owned()), exponent.width);
        format!("{digits}{}{sign}{power:0>width$}", exponent.letter)
    }
}

fn power(text: &str) -> Option<(Notation, f64)> {
    let (base, operator) = [("2", "**"), ("1", "<<")].into_iter().find(|(_, operator)| text.contains(operator))?;
    let (left, right) = text.split_once(operator)?;
    let is_base = left.trim().strip_prefix(base).is_some_and(|rest| rest.is_empty() || base == "1" && is_suffix(rest));
    let start = text.len() - right.trim_start().len();
    let digits = right.trim_start().bytes().take_while(u8::is_ascii_digit).count();
    let (exponent, after) = text[start..].split_at(digits);
    if !is_base || !is_suffix(after) || exponent.len() > 1 && exponent.starts_with('0') {
        return None;
    }
    let value = 2f64.powi(exponent.parse::<i32>().ok()?);
    Some((Notation::Power { before: text[..start].to_owned(), after: after.to_owned() }, value))
}

fn radix(text: &str) -> Option<(Notation, f64)> {
    let base = match text.get(..2)? {
        "0x" | "0X" => 16,
        "0b" | "0B" => 2,
        "0o" | "0O" => 8,
        _ => return None,
    };
    let rest = &text[2..];
    let length = rest.bytes().take_while(|byte| (*byte as char).is_digit(base)).count();
    let (digits, suffix) = rest.split_at(length);
    if digits.is_empty() || !is_suffix(suffix) {
        return None;
    }
    // Too many digits are too large; what lies below is exact.
    let value = u64::from_str_radix(digits, base).map_or(f64::INFINITY, |value| value as f64);
    let is_upper = digits.contains(|c: char| c.is_ascii_uppercase());
    // A leading zero is a matter of width.
    let width = if digits.starts_with('0') { digits.len() } else { 1 };
    let (prefix, suffix) = (text[..2].to_owned(), suffix.to_owned());
    Some((Notation::Radix { prefix, base, is_upper, width, suffix }, value))
}

fn decimal(text: &str) -> Option<(Notation, f64)> {
    let unsigned = text.trim_start_matches(['-', '+']).trim_start_matches([' ', '\t']);
    let sign = &text[..text.len() - unsigned.len()];
    if sign.trim_end().len() > 1 || sign.trim_end().is_empty() != sign.is_empty() {
        return None;
    }
    let is_digit = |c: char| c.is_ascii_digit() || c == '_' || c == '\'';
    let (whole, rest) = unsigned.split_at(unsigned.find(|c| !is_digit(c)).unwrap_or(unsigned.len()));
    let (part, rest) = match rest.strip_prefix('.') {
        Some(rest) => {
            let end = rest.find(|c| !is_digit(c)).unwrap_or(rest.len());
            (Some(&rest[..end]), &rest[end..])
        }
        None => (None, rest),
    };
    let (exponent, power, rest) = exponent(rest)?;
    // `64_usize`, `1.0_f32`
    let trailing = |digits: &str| digits.len() - digits.trim_end_matches('_').len();
    let blank = if exponent.is_none() { trailing(part.unwrap_or(whole)) } else { 0 };
    let suffix = &unsigned[unsigned.len() - rest.len() - blank..];
    let (whole, part) = match part {
        Some(part) => (whole, Some(&part[..part.len() - blank])),
        None => (&whole[..whole.len() - blank], None),
    };
    let separator = whole.chars().find(|c| !c.is_ascii_digit());
    let is_grouped = |digits: &str| {
        let marks = ['_', '\''];
        !digits.starts_with(marks) && !digits.ends_with(marks) && !digits.contains("__")
    };
    let is_whole = part.is_none() && exponent.is_none();
    let has_digits = [Some(whole), part].iter().flatten().any(|digits| digits.contains(|c: char| c.is_ascii_digit()));
    let is_octal = is_whole && whole.len() > 1 && whole.starts_with('0');
    if !has_digits || !is_grouped(whole) || !part.is_none_or(is_grouped) || is_octal || !is_suffix(suffix) {
        return None;
    }
    let is_float = !is_whole || suffix.trim_start_matches('_').to_lowercase().starts_with('f');
    let plain = |digits: &str| digits.chars().filter(char::is_ascii_digit).collect::<String>();
    let value: f64 = format!("0{}.{}0e{power}", plain(whole), plain(part.unwrap_or(""))).parse().ok()?;
    let value = if sign.starts_with('-') { -value } else { value };
    let decimal = Decimal {
        sign: sign.to_owned(),
        separator,
        is_float,
        has_point: part.is_some(),
        starts_with_point: whole.is_empty(),
        ends_with_point: part == Some(""),
        exponent,
        suffix: suffix.to_owned(),
    };
    Some((Notation::Decimal(decimal), value))
}

/// The exponent that a text begins with, its value, and what follows; `None` where there is half of one.
fn exponent(text: &str) -> Option<(Option<Exponent>, i32, &str)> {
    let Some(letter) = text.chars().next().filter(|c| matches!(c, 'e' | 'E')) else { return Some((None, 0, text)) };
    let rest = &text[1..];
    let unsigned = rest.strip_prefix(['+', '-']).unwrap_or(rest);
    let end = unsigned.find(|c: char| !c.is_ascii_digit()).unwrap_or(unsigned.len());
    let power = rest[..rest.len() - unsigned.len() + end].parse().ok()?;
    let digits = &unsigned[..end];
    let width = if digits.starts_with('0') { digits.len() } else { 1 };
    Some((Some(Exponent { letter, has_plus: rest.starts_with('+'), width }), power, &unsigned[end..]))
}

fn is_suffix(text: &str) -> bool {
    let known = text.strip_prefix('_').unwrap_or(text).to_lowercase();
    SUFFIXES.contains(&known.as_str()) && text != "_"
}

/// Digits in groups of three.
fn grouped(digits: &str, separator: Option<char>) -> String {
    let Some(separator) = separator else { return digits.to_owned() };
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(separator);
        }
        text.push(digit);
    }
    text
}
