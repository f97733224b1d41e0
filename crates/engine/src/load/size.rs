//! Amounts of memory and disk as people write them.

/// Less would not hold a shell: it is a slip of the unit.
const SMALLEST: u64 = 1 << 20;
/// More than any machine has.
const LARGEST: u64 = 1 << 50;

/// A bare letter is what `ulimit`, systemd and Docker take it for.
const UNITS: [(&str, u64); 13] = [
    ("b", 1),
    ("k", 1 << 10),
    ("kib", 1 << 10),
    ("kb", 1000),
    ("m", 1 << 20),
    ("mib", 1 << 20),
    ("mb", 1_000_000),
    ("g", 1 << 30),
    ("gib", 1 << 30),
    ("gb", 1_000_000_000),
    ("t", 1 << 40),
    ("tib", 1 << 40),
    ("tb", 1_000_000_000_000),
];

pub(super) const EXAMPLES: &str = "write it as \"8 GiB\", \"500 MB\" or \"2G\"";

/// What is wrong with a size, and what to do about it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Refused {
    pub(super) message: String,
    pub(super) hint: String,
}

/// Reads `"8 GiB"`, `"1.5G"`, `"500MB"` into bytes; `what` is the key it stands for.
pub(super) fn parse(what: &str, text: &str) -> Result<u64, Refused> {
    let refuse = |message: String, hint: String| Err(Refused { message, hint });
    let trimmed = text.trim();
    if trimmed.is_empty() {
        return refuse(format!("`{what}` must not be empty"), EXAMPLES.to_owned());
    }
    let digits = trimmed.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(trimmed.len());
    let (number, unit) = (&trimmed[..digits], trimmed[digits..].trim_start());
    let Ok(number) = number.parse::<f64>() else {
        return refuse(format!("`{}` is not a size", text.escape_debug()), EXAMPLES.to_owned());
    };
    if unit.is_empty() {
        let hint = format!("write \"{trimmed} MiB\" or \"{trimmed} GiB\"");
        return refuse(format!("`{text}` has no unit"), hint);
    }
    let Some((_, bytes)) = UNITS.iter().find(|(known, _)| unit.eq_ignore_ascii_case(known)) else {
        let message = format!("unknown unit `{}` in `{}`", unit.escape_debug(), text.escape_debug());
        return refuse(message, "units are KiB, MiB, GiB and TiB, or KB, MB, GB and TB".to_owned());
    };
    match number * *bytes as f64 {
        bytes if bytes < SMALLEST as f64 => refuse(format!("`{what}` must be at least 1 MiB"), EXAMPLES.to_owned()),
        bytes if bytes > LARGEST as f64 => refuse(format!("`{what}` must be at most 1024 TiB"), EXAMPLES.to_owned()),
        bytes => Ok(bytes.round() as u64),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<u64, String> {
        parse("sandbox.memory", text).map_err(|refused| refused.message)
    }

    #[test]
    fn sizes_are_read_as_people_write_them() {
        for (text, bytes) in [
            ("8 GiB", 8 << 30),
            ("500MB", 500_000_000),
            ("2G", 2 << 30),
            ("1.5g", 3 << 29),
            (" 64 mib ", 64 << 20),
            ("1tb", 1_000_000_000_000),
            ("2000K", 2000 << 10),
            ("2000000 B", 2_000_000),
        ] {
            assert_eq!(read(text), Ok(bytes), "{text}");
        }
    }

    #[test]
    fn other_text_is_refused_with_its_reason() {
        for (text, message) in [
            ("", "`sandbox.memory` must not be empty"),
            ("8", "`8` has no unit"),
            ("8 giga", "unknown unit `giga` in `8 giga`"),
            ("-8G", "`-8G` is not a size"),
            ("lots", "`lots` is not a size"),
            ("1..5G", "`1..5G` is not a size"),
            ("8 KB", "`sandbox.memory` must be at least 1 MiB"),
            ("0G", "`sandbox.memory` must be at least 1 MiB"),
            ("9999 TB", "`sandbox.memory` must be at most 1024 TiB"),
        ] {
            assert_eq!(read(text), Err(message.to_owned()), "{text}");
        }
    }
}
