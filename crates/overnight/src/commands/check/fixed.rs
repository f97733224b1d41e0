//! A seed that a program fixes by itself, found by reading.

use super::look::is_comment;

/// Calls that start a generator, in lower case; the first argument is the seed.
const CALLS: [&str; 21] = [
    "seed",
    "set_seed",
    "manual_seed",
    "manual_seed_all",
    "seed_everything",
    "seed_from_u64",
    "with_seed",
    "seedrandom",
    "srand",
    "srandom",
    "srand48",
    "set_random_seed",
    "randomstate",
    "default_rng",
    "newsource",
    "prngkey",
    "mersennetwister",
    "xoshiro",
    "mt19937",
    "mt19937_64",
    "default_random_engine",
];
/// The same of C++, where the generator has a name of its own before the seed.
const ENGINES: [&str; 3] = ["mt19937", "mt19937_64", "default_random_engine"];

/// The first line with a fixed seed, from 1, and the seed as it is written there.
pub(super) fn first(text: &str) -> Option<(usize, &str)> {
    let lines = text.lines().enumerate().filter(|(_, line)| !is_comment(line));
    lines.map(|(n, line)| (n + 1, line)).find_map(|(n, line)| Some((n, in_line(line)?)))
}

/// The seed that a line fixes.
pub(super) fn in_line(line: &str) -> Option<&str> {
    // One that goes through many seeds fixes none.
    if line.trim_start().starts_with("for") {
        return None;
    }
    let part_of_name = |c: char| c.is_alphanumeric() || c == '_';
    let mut from = 0;
    while let Some(start) = line[from..].find(part_of_name).map(|at| from + at) {
        let end = line[start..].find(|c| !part_of_name(c)).map_or(line.len(), |at| start + at);
        if let Some(seed) = after(&line[..start], &line[start..end], &line[end..]) {
            return Some(seed);
        }
        from = end;
    }
    None
}

/// The seed that a name and what follows it fix.
fn after<'a>(before: &str, name: &str, rest: &'a str) -> Option<&'a str> {
    let lower = name.to_lowercase();
    let is_call = CALLS.contains(&lower.as_str()) || name == "Random" || (name == "new" && before.ends_with("Random."));
    let opened = rest.strip_prefix('!').unwrap_or(rest).strip_prefix(['(', '{']);
    if let Some(argument) = opened.filter(|_| is_call) {
        return literal(argument).or_else(|| if lower == "seedrandom" { quoted(argument) } else { None });
    }
    if ENGINES.contains(&name) {
        let named = rest.trim_start().trim_start_matches(|c: char| c.is_alphanumeric() || c == '_');
        return literal(named.strip_prefix(['(', '{'])?);
    }
    if name == "RANDOM" {
        return literal(rest.strip_prefix('=')?);
    }
    if !lower.ends_with("seed") && lower != "random_state" {
        return None;
    }
    if before.ends_with('-') {
        return literal(rest.strip_prefix(['=', ' '])?);
    }
    let rest = rest.trim_start_matches(['"', '\'']).trim_start();
    if let Some(value) = rest.strip_prefix(":=").or_else(|| rest.strip_prefix('=')) {
        return literal(value);
    }
    // `seed: 1` of a table, and `seed: int = 1` with its type.
    let value = rest.strip_prefix(':')?.trim_start();
    literal(value).or_else(|| literal(value.trim_start_matches(char::is_alphanumeric).trim_start().strip_prefix('=')?))
}

/// A whole number at the beginning of a text.
fn literal(text: &str) -> Option<&str> {
    let text = text.trim_start();
    let end = text.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(text.len());
    let (number, rest) = text.split_at(end);
    let ends = rest.is_empty()
        || rest.starts_with([')', ',', ';', '}', ']', '"', '\''])
        || rest.starts_with(char::is_whitespace);
    (number.starts_with(|c: char| c.is_ascii_digit()) && ends).then_some(number)
}

fn quoted(text: &str) -> Option<&str> {
    let quote = text.chars().next().filter(|c| "'\"`".contains(*c))?;
    let end = text[1..].find(quote)?;
    Some(&text[..end + 2])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fixed_seed_is_known_in_many_languages() {
        for (line, seed) in [
            ("random.seed(0)", "0"),
            ("rng = random.Random(42)", "42"),
            ("np.random.seed( 7 )", "7"),
            ("rng = np.random.default_rng(1_000)", "1_000"),
            ("torch.cuda.manual_seed_all(3, x)", "3"),
            ("srand(1);", "1"),
            ("let mut rng = StdRng::seed_from_u64(0xBEEF);", "0xBEEF"),
            ("Math.seedrandom('hello');", "'hello'"),
            ("r := rand.New(rand.NewSource(5))", "5"),
            ("std::mt19937 generator(9);", "9"),
            ("Random random = new Random(42L);", "42L"),
            ("r = Random.new(3)", "3"),
            ("Random.seed!(4)", "4"),
            ("set.seed(12)", "12"),
            ("SEED = 1", "1"),
            ("const randomSeed = 2;", "2"),
            ("    seed: u64 = 6,", "6"),
            ("seed: 8", "8"),
            ("  \"seed\": 8,", "8"),
            ("split(x, random_state=11)", "11"),
            ("RANDOM=13", "13"),
            ("python3 train.py --seed 14", "14"),
            ("python3 train.py --seed=15 --x", "15"),
        ] {
            assert_eq!(in_line(line), Some(seed), "{line}");
        }
    }

    #[test]
    fn what_only_looks_like_a_seed_is_none() {
        for line in [
            "random.seed(seed)",
            "random.seed()",
            "rng = Random(int(sys.argv[1]))",
            "if seed == 1:",
            "for (int seed = 0; seed < 5; seed++) {",
            "for seed in range(3):",
            "x = random(10)",
            "seed = 0.5",
            "seed = args.seed",
            "def f(seed: int): pass",
            "seeds = 5",
            "python3 train.py --seed $OVERNIGHT_SEED",
        ] {
            assert_eq!(in_line(line), None, "{line}");
        }
        assert_eq!(first("# seed = 1\nx = 1\nseed = 2\n"), Some((3, "2")));
    }
}
