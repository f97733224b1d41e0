//! Git's delta of two objects, in the simplest form that fits proposals.

/// Git's delta of two objects: their common start, what is new, their common end.
pub(super) fn delta(base: &[u8], new: &[u8]) -> Vec<u8> {
    let start = base.iter().zip(new).take_while(|(a, b)| a == b).count();
    let end = base[start..].iter().rev().zip(new[start..].iter().rev()).take_while(|(a, b)| a == b).count();
    let mut delta = Vec::new();
    put_size(base.len(), &mut delta);
    put_size(new.len(), &mut delta);
    put_copy(0, start, &mut delta);
    /// As many as fit the seven bits of the instruction.
    const LONGEST_INSERT: usize = 127;
    for part in new[start..new.len() - end].chunks(LONGEST_INSERT) {
        delta.push(part.len() as u8);
        delta.extend_from_slice(part);
    }
    put_copy(base.len() - end, end, &mut delta);
    delta
}

fn put_size(mut size: usize, delta: &mut Vec<u8>) {
    while size >= 0x80 {
        delta.push(size as u8 | 0x80);
        size >>= 7;
    }
    delta.push(size as u8);
}

fn put_copy(mut from: usize, mut size: usize, delta: &mut Vec<u8>) {
    /// Two bytes of length; zero would mean one more.
    const LONGEST_COPY: usize = 0xffff;
    while size > 0 {
        let part = size.min(LONGEST_COPY);
        let at = delta.len();
        let mut instruction = 0x80u8;
        delta.push(0);
        for (bit, byte) in (from as u32).to_le_bytes().into_iter().chain((part as u16).to_le_bytes()).enumerate() {
            if byte != 0 {
                instruction |= 1 << bit;
                delta.push(byte);
            }
        }
        delta[at] = instruction;
        from += part;
        size -= part;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_delta_of_any_two_texts_gives_back_the_second() {
        let undo = |base: &[u8], delta: &[u8]| {
            let mut at = 0;
            let mut size = |delta: &[u8]| {
                let (mut value, mut shift) = (0usize, 0);
                loop {
                    let byte = delta[at];
                    at += 1;
                    value |= ((byte & 0x7f) as usize) << shift;
                    shift += 7;
                    if byte & 0x80 == 0 {
                        return value;
                    }
                }
            };
            assert_eq!(size(delta), base.len());
            let length = size(delta);
            let mut out = Vec::new();
            while at < delta.len() {
                let instruction = delta[at];
                at += 1;
                if instruction & 0x80 == 0 {
                    out.extend_from_slice(&delta[at..at + instruction as usize]);
                    at += instruction as usize;
                    continue;
                }
                let mut value = [0u8; 7];
                for (bit, byte) in value.iter_mut().enumerate() {
                    if instruction & (1 << bit) != 0 {
                        *byte = delta[at];
                        at += 1;
                    }
                }
                let from = u32::from_le_bytes(value[..4].try_into().unwrap()) as usize;
                let size = u32::from_le_bytes([value[4], value[5], value[6], 0]) as usize;
                out.extend_from_slice(&base[from..from + size]);
            }
            assert_eq!(out.len(), length);
            out
        };
        let long: Vec<u8> = (0..200_000u32).map(|n| (n.wrapping_mul(n) >> 7) as u8).collect();
        let mut edited = long.clone();
        edited[70_000] ^= 1;
        edited.splice(150_000..150_010, b"something longer than it was".to_vec());
        let texts: [&[u8]; 7] = [b"", b"a", b"aa", b"aaa", b"abab", &long, &edited];
        for base in texts {
            for new in texts {
                assert_eq!(undo(base, &delta(base, new)), new);
            }
        }
    }
}
