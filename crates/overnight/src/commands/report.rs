//! `overnight report`: what happened, what is really better, what it cost and what needs a person.

use std::path::{Path, PathBuf};

use overnight_engine::clock;
use overnight_engine::holdout::openings;
use overnight_engine::ledger::Reader;
use overnight_engine::load::{Site, locate};
use overnight_engine::lock::Lock;
use overnight_engine::worker::HINT_MARK;
use overnight_engine::workspace::UserRepo;
use overnight_model::study::Row;
use overnight_model::{BlobId, ExperimentId};

use super::sink::Sink;
use super::{origin, standing};
use crate::args::Place;
use crate::error::{CliError, Exit, Outcome};
use crate::ui;
use crate::views::board::{Board, Fold, Gather, Setting};
use crate::views::chart::{self, Size, scene};
use crate::views::report::{self, Depth, Diffs, Document};

/// One line of an output that tells why it ended.
const LAST_WORDS: usize = 160;

/// Bytes of one diff and of all of them: a surface may be one line of a megabyte, and a page has to open.
const ONE_DIFF: usize = 20_000;
const ALL_DIFFS: usize = 800_000;

#[derive(Debug, Clone, clap::Args)]
pub(crate) struct Report {
    /// Print it as Markdown
    #[arg(long)]
    md: bool,
    /// Write it as one HTML page that needs nothing else
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    /// Write the chart alone, as SVG
    #[arg(long, value_name = "FILE", conflicts_with = "all")]
    svg: Option<PathBuf>,
    /// Write the chart alone, as PNG
    #[arg(long, value_name = "FILE", conflicts_with = "all")]
    png: Option<PathBuf>,
    /// Say in short how every study of the repository stands
    #[arg(long)]
    all: bool,
}

pub(crate) fn report(place: &Place, args: &Report) -> Outcome<Exit> {
    if args.all {
        return digest(place, args);
    }
    let site = locate(&place.dir, place.study.as_deref())?;
    let reader = reader(&site)?;
    let board = board(&site, reader.as_ref())?;
    let plot = &board.plot;
    if let Some(path) = args.svg.as_deref() {
        written(path, chart::alone(&scene(drawable(&board)?, Size::WIDE)).as_bytes())?;
    }
    if let Some(path) = args.png.as_deref() {
        written(path, &chart::png(&scene(drawable(&board)?, Size::WIDE))?)?;
    }
    if let Some(path) = args.html.as_deref() {
        let document = report::page(&board, &diffs(reader.as_ref(), &board, Depth::PAGE)?, Depth::PAGE);
        written(path, report::html(&document, Some(plot)).as_bytes())?;
    }
    if args.md {
        let document = report::page(&board, &diffs(reader.as_ref(), &board, Depth::TEXT)?, Depth::TEXT);
        ui::data(report::markdown(&document, Some(plot)).trim_end());
    } else if args.html.is_none() && args.svg.is_none() && args.png.is_none() {
        let document = report::page(&board, &diffs(reader.as_ref(), &board, Depth::SCREEN)?, Depth::SCREEN);
        ui::data(&report::terminal(&document, Some(plot), ui::screen()));
    }
    Ok(Exit::Done)
}

/// Every study of the repository in a few lines.
fn digest(place: &Place, args: &Report) -> Outcome<Exit> {
    let mut boards = Vec::new();
    for site in super::every_study(place)? {
        let reader = reader(&site)?;
        boards.push(board(&site, reader.as_ref())?);
    }
    let folder = std::fs::canonicalize(&place.dir).unwrap_or_else(|_| place.dir.clone());
    let name = UserRepo::discover(&folder).ok().map(|user| user.workdir().to_owned()).unwrap_or(folder);
    let name = name.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let document = report::digest(&boards, &name);
    shown(&document, args)
}

fn shown(document: &Document, args: &Report) -> Outcome<Exit> {
    if let Some(path) = args.html.as_deref() {
        written(path, report::html(document, None).as_bytes())?;
    }
    if args.md {
        ui::data(report::markdown(document, None).trim_end());
    } else if args.html.is_none() {
        ui::data(&report::terminal(document, None, ui::screen()));
    }
    Ok(Exit::Done)
}

/// The ledger as it is at this moment: an engine may be writing to it.
fn reader(site: &Site) -> Outcome<Option<Reader>> {
    match Reader::find(&site.state())? {
        Some(_) => Ok(Some(Reader::snapshot(&site.state())?)),
        None => Ok(None),
    }
}

/// Everything that is known of a study.
fn board(site: &Site, reader: Option<&Reader>) -> Outcome<Board> {
    let mut summary = reader.map(|reader| reader.summary()).transpose()?.flatten();
    summary.iter_mut().for_each(|summary| standing::add_probe(site, summary));
    let holder = UserRepo::discover(&site.dir).ok().and_then(|user| Lock::holder(user.common_dir(), &site.study));
    let setting = Setting {
        study: site.study.clone(),
        flag: super::study_flag(site),
        is_running: holder.is_some(),
        asked: summary.as_ref().map(|summary| standing::asked(site, summary)).unwrap_or_default(),
        holdout: openings(site),
        now: clock::now(),
    };
    let mut fold = Fold::default();
    if let Some(reader) = reader {
        reader.each_unchecked(|stored| fold.apply(&stored.event))?;
    }
    let mut gather = Gather::new(fold, summary, setting);
    if let Some(reader) = reader {
        reader.each_row(ExperimentId(0), |row| gather.row(row))?;
        for (id, output) in gather.wants_words() {
            if let Some(said) = last_words(reader, &output)? {
                gather.words(id, said);
            }
        }
    }
    Ok(gather.board())
}

/// The last line of an output that is not empty, and not a note of ours.
fn last_words(reader: &Reader, output: &BlobId) -> Outcome<Option<String>> {
    let Some(bytes) = reader.blob(output)? else { return Ok(None) };
    // Most outputs are short; of a long one the end is enough.
    let end = &bytes[bytes.len().saturating_sub(16 * LAST_WORDS)..];
    let text = String::from_utf8_lossy(end);
    let mut lines = text.lines().rev().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with(HINT_MARK));
    Ok(lines.next().map(|line| line.chars().take(LAST_WORDS).collect()))
}

/// What those experiments changed whose change is shown: suspects first, then the latest keeps, as long as there is room.
fn diffs(reader: Option<&Reader>, board: &Board, depth: Depth) -> Outcome<Diffs> {
    let mut diffs = Diffs::new();
    let Some(reader) = reader else { return Ok(diffs) };
    let suspects = board.suspects.iter().take(depth.others);
    let kept = board.kept.iter().rev().take(depth.kept);
    let near = board.near.iter().take(depth.others);
    let faded = board.faded.iter().take(depth.others).map(|faded| &faded.row);
    let rows: Vec<&Row> = suspects.chain(kept).chain(near).chain(faded).collect();
    let mut room = ALL_DIFFS;
    for row in rows {
        let text = match room {
            0 => String::new(),
            room => cut(origin::diff(reader, &reader.events_of(row.experiment)?)?, room.min(ONE_DIFF)),
        };
        room = room.saturating_sub(text.len());
        let text = if room == 0 { format!("{text}\n… overnight show {}", row.experiment) } else { text };
        diffs.insert(row.experiment, text);
    }
    Ok(diffs)
}

/// The beginning of a text that is longer than there is room for.
fn cut(mut text: String, room: usize) -> String {
    if text.len() > room {
        let end = (0..=room).rev().find(|end| text.is_char_boundary(*end)).unwrap_or(0);
        text.truncate(end);
        text += "…";
    }
    text
}

/// A chart needs a level to be drawn.
fn drawable(board: &Board) -> Outcome<&crate::views::board::Plot> {
    match board.plot.steps.is_empty() {
        true => Err(CliError::usage("there is nothing to draw yet: the baseline has no level")
            .hint("begin with `overnight run`")),
        false => Ok(&board.plot),
    }
}

pub(super) fn written(path: &Path, bytes: &[u8]) -> Outcome<()> {
    Sink::replace(path, bytes)?;
    ui::say(&format!("wrote      {} ({:.0} kB)", path.display(), (bytes.len() as f64 / 1000.0).max(1.0)));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_diff_that_is_too_long_is_cut_between_two_characters() {
        assert_eq!(cut("+ä+ö".to_owned(), 2), "+…");
        assert_eq!(cut("+ä+ö".to_owned(), 100), "+ä+ö");
    }
}
