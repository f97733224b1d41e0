//! What a key means, by where the person is.

use super::keys::Key;
use super::screen::{Opened, Prompt, Screen, Tab, Wish};

/// Longer than anything that agents are told.
const LONGEST: usize = 1000;

/// Changes what is shown; what somebody else has to do comes back.
pub(crate) fn press(screen: &mut Screen, key: Key) -> Option<Wish> {
    match key {
        Key::Ctrl('z') => return Some(Wish::Suspend),
        Key::Ctrl('l') => return Some(Wish::Redraw),
        Key::Ctrl('c') if screen.is_own => {
            screen.prompt = None;
            return Some(Wish::Stop);
        }
        Key::Ctrl('c') => return Some(Wish::Leave),
        _ => {}
    }
    if let Some(prompt) = screen.prompt.take() {
        return answer(screen, prompt, key);
    }
    if screen.is_help {
        screen.is_help = false;
        return None;
    }
    match &mut screen.opened {
        Some(_) => look(screen, key),
        None => main(screen, key),
    }
}

fn main(screen: &mut Screen, key: Key) -> Option<Wish> {
    let page = screen.page.max(1) as isize;
    match key {
        Key::Char('p') => return Some(Wish::Pause(true)),
        Key::Char('r') => return Some(Wish::Pause(false)),
        Key::Char('s') => ask_stop(screen),
        Key::Char('q') if screen.is_own => ask_stop(screen),
        Key::Char('d' | 'q') => return Some(Wish::Leave),
        Key::Char('/') => screen.prompt = Some(Prompt::Search(screen.list.wanted.words.join(" "))),
        Key::Char('m' | ':') => screen.prompt = Some(Prompt::Say(String::new())),
        Key::Char('f') => {
            screen.list.next_group();
            screen.list.selected = None;
            return Some(Wish::List);
        }
        Key::Char('?' | 'h') => screen.is_help = true,
        Key::Up | Key::Char('k') => screen.list.step(-1),
        Key::Down | Key::Char('j') => screen.list.step(1),
        Key::PageUp => screen.list.step(-page),
        Key::PageDown | Key::Char(' ') => screen.list.step(page),
        Key::Home | Key::Char('g') => screen.list.step(isize::MIN / 2),
        Key::End | Key::Char('G') => screen.list.step(isize::MAX / 2),
        Key::Enter | Key::Right => {
            let first = screen.list.rows.first().map(|row| row.experiment);
            return screen.list.selected.or(first).map(Wish::Open);
        }
        Key::Escape => {
            let was_chosen = screen.list.wanted != Default::default();
            screen.list.selected = None;
            screen.list.wanted = Default::default();
            return was_chosen.then_some(Wish::List);
        }
        _ => {}
    }
    screen.list.is_near_end(page as usize).then_some(Wish::More)
}

fn ask_stop(screen: &mut Screen) {
    screen.prompt = Some(Prompt::Stop(screen.glance.doing.stopping.is_some()));
}

/// An experiment is open.
fn look(screen: &mut Screen, key: Key) -> Option<Wish> {
    let page = screen.page.max(1);
    let opened = screen.opened.as_mut()?;
    let turn = |opened: &mut Opened, tab: Tab| (opened.tab, opened.scroll) = (tab, 0);
    match key {
        Key::Escape | Key::Char('q') | Key::Backspace => screen.opened = None,
        Key::Tab | Key::Right | Key::Char('l') => turn(opened, opened.tab.next(1)),
        Key::BackTab | Key::Left => turn(opened, opened.tab.next(Tab::ALL.len() - 1)),
        Key::Char('1' | 'd') => turn(opened, Tab::Diff),
        Key::Char('2' | 'o') => turn(opened, Tab::Output),
        Key::Char('3' | 't') => turn(opened, Tab::Trace),
        Key::Up | Key::Char('k') => opened.scroll = opened.scroll.saturating_sub(1),
        Key::Down | Key::Char('j') => opened.scroll += 1,
        Key::PageUp => opened.scroll = opened.scroll.saturating_sub(page),
        Key::PageDown | Key::Char(' ') => opened.scroll += page,
        Key::Home | Key::Char('g') => opened.scroll = 0,
        Key::End | Key::Char('G') => opened.scroll = usize::MAX / 2,
        // The one above in the list is the later one.
        Key::Char('[') => return neighbour(screen, -1),
        Key::Char(']') => return neighbour(screen, 1),
        Key::Char('?' | 'h') => screen.is_help = true,
        _ => {}
    }
    None
}

fn neighbour(screen: &mut Screen, by: isize) -> Option<Wish> {
    screen.list.selected = screen.opened.as_ref().map(|opened| opened.row.experiment);
    screen.list.step(by);
    screen.list.selected.map(Wish::Open)
}

/// A line is being typed, or a question was asked.
fn answer(screen: &mut Screen, prompt: Prompt, key: Key) -> Option<Wish> {
    match prompt {
        Prompt::Stop(_) => return matches!(key, Key::Char('y' | 'Y') | Key::Enter).then_some(Wish::Stop),
        Prompt::Search(text) => match typed(text, key) {
            Typed::More(text) => screen.prompt = Some(Prompt::Search(text)),
            Typed::Left => {}
            Typed::Done(text) => {
                screen.list.wanted.words = text.split_whitespace().map(ToOwned::to_owned).collect();
                screen.list.selected = None;
                return Some(Wish::List);
            }
        },
        Prompt::Say(text) => match typed(text, key) {
            Typed::More(text) => screen.prompt = Some(Prompt::Say(text)),
            Typed::Left => {}
            Typed::Done(text) if text.trim().is_empty() => {}
            Typed::Done(text) => return Some(Wish::Say(text)),
        },
    }
    None
}

enum Typed {
    More(String),
    Done(String),
    Left,
}

fn typed(mut text: String, key: Key) -> Typed {
    match key {
        Key::Enter => return Typed::Done(text),
        Key::Escape => return Typed::Left,
        Key::Backspace => drop(text.pop()),
        Key::Ctrl('u') => text.clear(),
        Key::Ctrl('w') => {
            let kept = text.trim_end().rfind(' ').map_or(0, |at| at + 1);
            text.truncate(kept);
        }
        Key::Char(letter) if text.len() < LONGEST => text.push(letter),
        Key::Pasted(pasted) => {
            let room = LONGEST.saturating_sub(text.len());
            let words = crate::ui::one_line(pasted.trim());
            text.extend(words.chars().take(room));
        }
        _ => {}
    }
    Typed::More(text)
}
