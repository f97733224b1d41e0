//! Links lead somewhere, commands and options exist, and every triplet that is shown can be read.

use std::collections::BTreeMap;
use std::path::Path;

use overnight_engine::load::{self, Tree, Triplet};
use overnight_model::Verdict;
use regex::Regex;

use super::page::{Block, Page};
use super::{book, everything};
use crate::support::Repo;

#[test]
fn every_link_leads_somewhere() {
    let pages = everything();
    let mut followed = 0;
    for page in &pages {
        for link in page.links().iter().filter(|link| !link.contains("://")) {
            followed += 1;
            let (file, anchor) = link.split_once('#').unwrap_or((link, ""));
            let target = match file.is_empty() {
                true => page.path.clone(),
                false => page.path.parent().unwrap().join(file),
            };
            assert!(target.exists(), "{}: {link} leads nowhere", page.name());
            if !anchor.is_empty() {
                let anchors = Page::read(target).anchors();
                assert!(
                    anchors.iter().any(|known| known == anchor),
                    "{}: {link} is not among {anchors:?}",
                    page.name()
                );
            }
        }
    }
    assert!(followed > 20, "only {followed} links were found");
}

#[test]
fn every_page_of_the_book_is_in_its_index() {
    let pages = book();
    let index = pages.iter().find(|page| page.path.ends_with("docs/README.md")).unwrap();
    let links = index.links();
    for page in pages.iter().filter(|page| page.path.parent() == index.path.parent() && page.path != index.path) {
        let name = page.path.file_name().unwrap().to_str().unwrap();
        assert!(links.iter().any(|link| link == name), "docs/README.md has no link to {name}");
    }
}

#[test]
fn the_contract_names_every_verdict() {
    let json = book().into_iter().find(|page| page.path.ends_with("docs/json.md")).unwrap();
    let spans = json.spans();
    for verdict in Verdict::ALL {
        assert!(spans.iter().any(|code| code == verdict.name()), "docs/json.md has no `{}`", verdict.name());
    }
}

#[test]
fn every_command_and_option_that_is_named_exists() {
    let repo = Repo::empty();
    let mut helps: BTreeMap<String, String> = BTreeMap::new();
    let named = Regex::new(r"(?:^|[\s(;|&$])overnight((?: -C \S+| --study \S+)*) ([a-z]+)(?:\s|$|[).,:;])").unwrap();
    let option = Regex::new(r"(?:^|\s)(--[a-z-]+)").unwrap();
    let mut seen = 0;
    for page in everything() {
        let shell = |block: &Block| ["", "sh", "console"].contains(&block.language.as_str());
        let blocks: Vec<Block> = page.blocks().into_iter().filter(shell).collect();
        let lines = blocks.iter().flat_map(|block| block.text.lines().map(ToOwned::to_owned));
        // For cargo, `overnight` is a package.
        for code in lines.chain(page.spans()).filter(|code| !code.contains("cargo ")) {
            for found in named.captures_iter(&code) {
                seen += 1;
                let command = found[2].to_owned();
                let help = helps.entry(command.clone()).or_insert_with(|| {
                    let ran = repo.overnight(&["help", &command]);
                    assert_eq!(ran.code, Some(0), "{}: `{code}` names a command that does not exist", page.name());
                    ran.stdout
                });
                // What stands behind the command: to the next one, a comment, or a pipe.
                let own = &code[found.get(2).unwrap().end()..];
                let own = own.split(['#', '|', ';', '&', '·', '`', '(']).next().unwrap();
                for option in option.captures_iter(own) {
                    assert!(help.contains(&option[1]), "{}: `{code}`: unknown option {}", page.name(), &option[1]);
                }
            }
        }
    }
    assert!(seen > 50, "only {seen} commands were found");
}

#[test]
fn every_triplet_that_is_shown_can_be_read() {
    let mut read = 0;
    for page in everything() {
        for block in page.blocks().iter().filter(|block| block.language == "toml") {
            for text in triplets(&block.text) {
                let at = format!("{}:{}", page.name(), block.line);
                parse(&text).unwrap_or_else(|problems| panic!("{at}: {problems}\n\nin\n{text}"));
                read += 1;
            }
        }
    }
    assert!(read > 8, "only {read} triplets were found");
}

/// A whole triplet as it is; a part of one with the rest added. Several lines `surface = …` are as many triplets.
fn triplets(text: &str) -> Vec<String> {
    let has = |start: &str| text.lines().any(|line| line.starts_with(start));
    let top: String = text.lines().take_while(|line| !line.starts_with('[')).map(|line| format!("\n{line}")).collect();
    let surfaces: Vec<&str> = text.lines().filter(|line| line.starts_with("surface")).collect();
    let mut head = String::new();
    if surfaces.is_empty() {
        head += "surface = \"train.py\"\n";
    }
    if !top.contains("\nmetric") && !has("[metric]") {
        head += "metric = { name = \"val_loss\", goal = \"min\" }\n";
    }
    let tail = if has("[evaluate]") { "" } else { "\n[evaluate]\nrun = \"python3 train.py\"\nbudget = \"5m\"\n" };
    match surfaces.len() {
        0 | 1 => vec![format!("{head}{text}{tail}")],
        _ => surfaces.into_iter().map(|line| format!("{head}{line}\n{tail}")).collect(),
    }
}

fn parse(text: &str) -> Result<(), load::Problems> {
    let own =
        ["train.py", "model.py", "optim.py", "src/lib.rs", "score.py", "labels.csv", "labels/a.csv", "propose.py"];
    let tracked = [&own[..], &["pystache/parser.py", "pystache/renderer.py", "jsonparse.js"]].concat();
    let tracked: Vec<String> = tracked.into_iter().map(ToOwned::to_owned).collect();
    let triplet = Triplet { file: "overnight.toml", text, study: "main", folder: "" };
    let exists = |_: &str| true;
    let names = |_: &str| Vec::new();
    let (dir, home) = (Path::new("/home/ann/project"), Some(Path::new("/home/ann")));
    load::parse(&triplet, &Tree { tracked: &tracked, exists: &exists, names: &names, dir, home }).map(|_| ())
}
