//! The digest of a program.

use overnight_model::id::hex;
use sha2::{Digest, Sha256};
use tree_sitter::Tree;

use super::walk::{Item, Node, walk};
use super::{Form, Language};

/// Hashing in small pieces is slow.
const BUFFER: usize = 8192;

pub(super) fn form(language: Language, tree: &Tree, text: &[u8]) -> Form {
    let (mut hash, mut buffer, mut tokens) = (Sha256::new(), Vec::with_capacity(BUFFER * 2), 0);
    walk(language, tree, text, |_, item| {
        match item {
            Item::Branch(node) => put_node(&mut buffer, b'b', node),
            Item::Leaf { node, text, tokens: inside } => {
                put_node(&mut buffer, b'l', node);
                put(&mut buffer, text);
                tokens += inside;
            }
            Item::Between(text) => {
                buffer.push(b'-');
                put(&mut buffer, text);
                tokens += 1;
            }
            Item::Blank => buffer.push(b' '),
        }
        if buffer.len() >= BUFFER {
            hash.update(&buffer);
            buffer.clear();
        }
    });
    hash.update(&buffer);
    Form { id: hex(&hash.finalize()[..16]), tokens }
}

fn put_node(buffer: &mut Vec<u8>, tag: u8, node: Node<'_>) {
    buffer.push(tag);
    buffer.extend(node.depth.to_le_bytes());
    put(buffer, node.field.as_bytes());
    put(buffer, node.kind.as_bytes());
}

/// With its length, so that nothing can run into the next.
fn put(buffer: &mut Vec<u8>, text: &[u8]) {
    buffer.extend((text.len() as u32).to_le_bytes());
    buffer.extend(text);
}
