//! A changed value, as it is stored.

use serde::{Deserialize, Serialize};

use super::Value;

/// One value changed in one file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(from = "Stored", into = "Stored")]
pub struct Edit {
    pub path: String,
    pub name: String,
    pub from: Value,
    pub to: Value,
}

/// In the ledger `from` and `to` are numbers, as they were before there were choices: who reads an older version of it
/// passes over the texts beside them.
#[derive(Serialize, Deserialize)]
struct Stored {
    path: String,
    name: String,
    from: f64,
    to: f64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    from_text: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    to_text: Option<String>,
}

impl From<Stored> for Edit {
    fn from(Stored { path, name, from, to, from_text, to_text }: Stored) -> Edit {
        let value = |number, text: Option<String>| text.map_or(Value::Number(number), Value::Text);
        Edit { path, name, from: value(from, from_text), to: value(to, to_text) }
    }
}

impl From<Edit> for Stored {
    fn from(Edit { path, name, from, to }: Edit) -> Stored {
        let parts = |value| match value {
            Value::Number(number) => (number, None),
            Value::Text(text) => (0.0, Some(text)),
        };
        let ((from, from_text), (to, to_text)) = (parts(from), parts(to));
        Stored { path, name, from, to, from_text, to_text }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_stored_as_they_always_were_and_choices_beside_them() {
        let edit = |from, to| Edit { path: "a.py".to_owned(), name: "x".to_owned(), from, to };
        let number = edit(Value::Number(0.5), Value::Number(2.0));
        let old = r#"{"path":"a.py","name":"x","from":0.5,"to":2.0}"#;
        assert_eq!(serde_json::to_string(&number).unwrap(), old);
        assert_eq!(serde_json::from_str::<Edit>(old).unwrap(), number);
        let choice = edit(Value::Text("'a'".to_owned()), Value::Text("'b'".to_owned()));
        let stored = serde_json::to_string(&choice).unwrap();
        assert_eq!(stored, r#"{"path":"a.py","name":"x","from":0.0,"to":0.0,"from_text":"'a'","to_text":"'b'"}"#);
        assert_eq!(serde_json::from_str::<Edit>(&stored).unwrap(), choice);
    }
}
