//! Texts read back from what they may have been written in, by somebody who looks for something in them.

/// The text as it is, backwards, and out of hexadecimal, base 64, escapes of JSON and of addresses, and two bytes a sign.
pub(super) fn forms(text: &[u8]) -> impl Iterator<Item = Vec<u8>> + '_ {
    let backwards = text.iter().rev().copied().collect();
    let narrow = |from: usize| text.iter().skip(from).step_by(2).copied().collect();
    let whole = [text.to_vec(), backwards, narrow(0), narrow(1), escapes(text, b"%", 2), escapes(text, b"\\u", 4)];
    let hex = runs(text, |byte| byte.is_ascii_hexdigit()).flat_map(|run| (0..2).map(move |from| of_hex(&run[from..])));
    let is_sign = |byte: u8| byte.is_ascii_alphanumeric() || b"+/-_".contains(&byte);
    let base64 = runs(text, is_sign).flat_map(|run| (0..4).map(move |from| of_base64(&run[from..])));
    whole.into_iter().chain(hex).chain(base64)
}

/// Stretches that are long enough to hold something.
fn runs(text: &[u8], is_in: impl Fn(u8) -> bool) -> impl Iterator<Item = &[u8]> {
    const SHORTEST: usize = 16;
    text.split(move |byte| !is_in(*byte)).filter(|run| run.len() >= SHORTEST)
}

fn digit(byte: u8) -> Option<u8> {
    (byte as char).to_digit(16).map(|digit| digit as u8)
}

fn of_hex(run: &[u8]) -> Vec<u8> {
    run.chunks_exact(2).filter_map(|pair| Some(digit(pair[0])? << 4 | digit(pair[1])?)).collect()
}

fn of_base64(run: &[u8]) -> Vec<u8> {
    let value = |byte: &u8| match byte {
        b'A'..=b'Z' => byte - b'A',
        b'a'..=b'z' => byte - b'a' + 26,
        b'0'..=b'9' => byte - b'0' + 52,
        b'+' | b'-' => 62,
        _ => 63,
    };
    run.chunks(4)
        .flat_map(|signs| {
            let bits =
                signs.iter().fold(0_u32, |bits, sign| bits << 6 | u32::from(value(sign))) << (6 * (4 - signs.len()));
            bits.to_be_bytes()[1..signs.len().max(1)].to_vec()
        })
        .collect()
}

/// With every escape of this beginning and so many digits read.
fn escapes(text: &[u8], begins: &[u8], digits: usize) -> Vec<u8> {
    let (mut made, mut rest) = (Vec::new(), text);
    while let Some(first) = rest.first() {
        let number = rest.strip_prefix(begins).and_then(|after| after.get(..digits));
        let number = number.and_then(|number| u32::from_str_radix(std::str::from_utf8(number).ok()?, 16).ok());
        match number.and_then(|number| u8::try_from(number).ok()) {
            Some(byte) => {
                made.push(byte);
                rest = &rest[begins.len() + digits..];
            }
            None => {
                made.push(*first);
                rest = &rest[1..];
            }
        }
    }
    made
}
