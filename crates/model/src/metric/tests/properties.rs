//! What must hold of every output.

use proptest::prelude::*;

use super::super::*;
use super::{oracle, read_with};

/// Pieces that outputs are made of, so that random text is full of near misses.
fn text() -> impl Strategy<Value = String> {
    let pieces = [
        "val",
        "val",
        "loss",
        "METRIC ",
        "METRIC val=",
        ": ",
        "=",
        " = ",
        "\n",
        "\n",
        "\n",
        "\r",
        " ",
        "1",
        "2",
        "1",
        ".5",
        "e3",
        "-",
        "+",
        "nan",
        "inf",
        "text",
        "µ",
        "\x1b[1m",
        "\x1b[0m",
        "\x1b",
        "[",
        "m",
        "val: 1\n",
        "val: 2\n",
        "loss: 3\n",
        "\n\n",
    ];
    let piece = prop::sample::select(pieces.to_vec());
    prop::collection::vec(piece, 0..30).prop_map(|pieces| pieces.concat())
}

fn pick() -> impl Strategy<Value = Pick> {
    prop::sample::select(vec![Pick::Only, Pick::Last])
}

proptest! {
    #[test]
    fn a_second_slower_reader_agrees(text in text(), pick in pick()) {
        prop_assert_eq!(read_with(pick, text.as_bytes()), oracle::read("val", pick, &text));
    }

    #[test]
    fn where_the_chunks_end_makes_no_difference(
        text in text(),
        last in prop::sample::select(vec!["", "{\"val\": 1}", "{\"loss\": 2}\n"]),
        cuts in prop::collection::vec(1usize..9, 1..20),
    ) {
        let text = text + last;
        let mut reader = Reader::new("val", Pick::Only);
        let mut rest = text.as_bytes();
        for cut in cuts.iter().cycle().take(rest.len()) {
            let (chunk, after) = rest.split_at((*cut).min(rest.len()));
            reader.feed(chunk);
            rest = after;
        }
        prop_assert_eq!(reader.finish(), read_with(Pick::Only, text.as_bytes()));
    }

    #[test]
    fn no_bytes_are_too_strange(bytes in prop::collection::vec(any::<u8>(), 0..500)) {
        read_with(Pick::Only, &bytes);
        settle("val", Pick::Only, Some(&bytes), read_with(Pick::Last, &bytes), read_with(Pick::Only, &bytes)).0.ok();
    }
}
