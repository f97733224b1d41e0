//! Artifacts that give one answer for everything: what a scorer makes of them shows whether it can be had cheaply.

use std::fs;
use std::io;
use std::path::Path;

use serde_json::Value;

/// Larger files are left as they are: an answer of this size is not written by lines.
const LARGEST: u64 = 16 << 20;

/// Gives every line, and every entry of a JSON list, the value of the first. False where nothing could be changed.
pub(super) fn level_out(folder: &Path) -> io::Result<bool> {
    let mut changed = false;
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let (path, metadata) = (entry.path(), entry.metadata()?);
        if metadata.is_dir() {
            changed |= level_out(&path)?;
        } else if metadata.is_file() && metadata.len() <= LARGEST {
            let text = fs::read(&path)?;
            if let Some(leveled) = std::str::from_utf8(&text).ok().and_then(leveled) {
                fs::write(&path, leveled)?;
                changed = true;
            }
        }
    }
    Ok(changed)
}

/// A text with one answer throughout; `None` where it has no two answers that differ.
fn leveled(text: &str) -> Option<String> {
    let new = match serde_json::from_str::<Value>(text) {
        Ok(mut value) => {
            level_value(&mut value);
            let unchanged = serde_json::from_str::<Value>(text).is_ok_and(|old| old == value);
            if unchanged { text.to_owned() } else { value.to_string() }
        }
        Err(_) => leveled_lines(text),
    };
    (new != text).then_some(new)
}

/// The first line may be a heading, so it stays, and the second is repeated. Of two lines the first is the answer.
fn leveled_lines(text: &str) -> String {
    let lines: Vec<&str> = text.lines().collect();
    let (kept, answer) = match lines.as_slice() {
        [] | [_] => return text.to_owned(),
        [first, _] => (1, *first),
        [_, second, ..] => (2, *second),
    };
    let all = lines[..kept].iter().copied().chain(std::iter::repeat_n(answer, lines.len() - kept));
    all.map(|line| format!("{line}\n")).collect()
}

/// Lists of numbers, words and truths; what is deeper is looked into.
fn level_value(value: &mut Value) {
    match value {
        Value::Array(list) => {
            list.iter_mut().for_each(level_value);
            if let Some(first) = list.first().filter(|first| !first.is_array() && !first.is_object()).cloned() {
                list.iter_mut().for_each(|item| *item = first.clone());
            }
        }
        Value::Object(map) => {
            map.values_mut().for_each(level_value);
            let plain = map.values().all(|value| !value.is_array() && !value.is_object());
            if let Some(first) = map.values().next().filter(|_| plain && map.len() > 1).cloned() {
                map.values_mut().for_each(|value| *value = first.clone());
            }
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_answer_becomes_the_first() {
        assert_eq!(leveled("1\n0\n").as_deref(), Some("1\n1\n"));
        assert_eq!(leveled("id,label\n1,a\n2,b\n3,c\n").as_deref(), Some("id,label\n1,a\n1,a\n1,a\n"));
        assert_eq!(leveled("[3, 1, 2]").as_deref(), Some("[3,3,3]"));
        assert_eq!(
            leveled(r#"{"answers": {"q1": "a", "q2": "b"}}"#).as_deref(),
            Some(r#"{"answers":{"q1":"a","q2":"a"}}"#)
        );
    }

    #[test]
    fn what_is_one_answer_already_is_left_alone() {
        for text in ["", "7\n", "7", "a\na\n", "[1,1]", "3.5", r#"{"answer": 4}"#] {
            assert_eq!(leveled(text), None, "{text}");
        }
    }

    #[test]
    fn what_is_no_text_is_left_alone() {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("model.bin"), [0xff, 0xfe, 0, 1]).unwrap();
        assert!(!level_out(dir.path()).unwrap());
        fs::create_dir(dir.path().join("deep")).unwrap();
        fs::write(dir.path().join("deep/answers"), "1\n2\n3\n").unwrap();
        assert!(level_out(dir.path()).unwrap());
        assert_eq!(fs::read_to_string(dir.path().join("deep/answers")).unwrap(), "1\n2\n2\n");
    }
}
