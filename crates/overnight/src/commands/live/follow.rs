//! Follows a ledger that somebody else writes to, and tells a screen what is new.

use std::collections::BTreeSet;

use overnight_engine::clock;
use overnight_engine::holdout::openings;
use overnight_engine::ledger::Reader;
use overnight_engine::load::Site;
use overnight_model::study::{SeedUse, Summary};
use overnight_model::{ExperimentId, Verdict, What};

use crate::commands::standing;
use crate::error::Outcome;
use crate::views::board::{Glance, Setting, Terms};
use crate::views::night::Asked;
use crate::views::terminal::{Opened, Screen, trace};

/// More than a busy second brings. Whoever is farther behind begins anew.
const MOST: usize = 2000;
/// How many experiments the list begins with, and how many more it gets at a time.
const PAGE: usize = 300;
/// What is shown of an output: the end of it, a few hundred screens.
const OUTPUT: usize = 512 * 1024;

/// Where in a ledger a view is.
pub(super) struct Follower {
    site: Site,
    reader: Reader,
    version: i64,
    seq: u64,
    /// What `check` found of the seed, where the ledger does not say.
    probed: SeedUse,
}

impl Follower {
    /// Begins to follow; what is there already comes as a glance.
    pub(super) fn open(site: &Site, is_running: bool) -> Outcome<(Follower, Glance)> {
        let reader = Reader::open(&site.state())?;
        let version = reader.version()?;
        let mut follower = Follower { site: site.clone(), reader, version, seq: 0, probed: SeedUse::Unknown };
        let glance = follower.glance(is_running)?;
        Ok((follower, glance))
    }

    /// The study as it is, read with as little as will do.
    fn glance(&mut self, is_running: bool) -> Outcome<Glance> {
        let reader = Reader::snapshot(&self.site.state())?;
        self.seq = reader.end()?;
        let mut summary = reader.summary()?;
        if let Some(summary) = &mut summary {
            standing::add_probe(&self.site, summary);
            self.probed = summary.noise.seed;
        }
        let spec = summary.as_ref().and_then(|summary| standing::spec(&self.site, summary));
        let setting = Setting {
            study: self.site.study.clone(),
            flag: crate::commands::study_flag(&self.site),
            is_running,
            asked: spec.as_ref().map(Asked::from).unwrap_or_default(),
            holdout: openings(&self.site),
            now: clock::now(),
        };
        let terms = spec.map_or_else(Terms::default, |spec| Terms {
            budget: Some(spec.evaluate.budget),
            limits: spec.limits,
            agents: Some(spec.agent),
        });
        let running: Vec<ExperimentId> =
            summary.iter().flat_map(|summary| &summary.running).map(|running| running.experiment).collect();
        let experiments = summary.as_ref().map_or(0, |summary| summary.experiments);
        let mut glance = Glance::new(setting, terms, summary.clone(), experiments);
        let mut begun = 0;
        for stored in reader.last_run()? {
            begun = if matches!(stored.event.what, What::RunStarted(_)) { stored.seq } else { begun };
            glance.goes_on(&stored.event);
        }
        let (mut standing, mut open) = (Vec::new(), BTreeSet::from_iter(running));
        reader.each_mark(|mark| {
            glance.mark(&mark);
            match mark.verdict {
                None => drop(open.insert(mark.experiment)),
                Some(Verdict::Baseline | Verdict::Kept | Verdict::Retracted) => standing.push(mark.experiment),
                Some(_) => {}
            }
        })?;
        for (begun, stored) in reader.moves(&standing)? {
            glance.moved(begun, &stored.event);
        }
        for id in standing {
            reader.row(id)?.iter().for_each(|row| glance.level(row));
        }
        let mut going_on = Vec::new();
        for id in open {
            reader.row(id)?.iter().for_each(|row| glance.row(row));
            going_on.extend(reader.events_of(id)?.into_iter().filter(|stored| stored.seq > begun));
        }
        going_on.sort_by_key(|stored| stored.seq);
        going_on.iter().for_each(|stored| glance.goes_on(&stored.event));
        glance.update(summary, is_running, clock::now());
        Ok(glance)
    }

    /// Tells the screen what happened since; false where nothing did.
    pub(super) fn catch_up(&mut self, screen: &mut Screen, is_running: bool) -> Outcome<bool> {
        let version = self.reader.version()?;
        if version == self.version {
            return Ok(false);
        }
        // Taken first: what is written from now on is seen as another change.
        self.version = version;
        let events = self.reader.events_after(self.seq, MOST)?;
        if events.len() >= MOST {
            screen.glance = self.glance(is_running)?;
            self.list(screen)?;
            return Ok(true);
        }
        let mut touched = BTreeSet::new();
        for stored in &events {
            self.seq = stored.seq;
            screen.glance.event(&stored.event);
            touched.extend(stored.event.what.experiment());
        }
        let summary = self.summary()?;
        screen.glance.update(summary.clone(), is_running, clock::now());
        for id in &touched {
            if let Some(row) = self.reader.row(*id)? {
                screen.glance.row(&row);
                screen.row(&row);
            }
        }
        screen.glance.update(summary, is_running, clock::now());
        if let Some(opened) = screen.opened.as_ref().filter(|opened| touched.contains(&opened.row.experiment)) {
            let (tab, scroll) = (opened.tab, opened.scroll);
            screen.opened = Some(Opened { tab, scroll, ..self.opened(opened.row.experiment)? });
        }
        Ok(true)
    }

    fn summary(&self) -> Outcome<Option<Summary>> {
        let mut summary = self.reader.summary()?;
        if let Some(seed) = summary.as_mut().map(|summary| &mut summary.noise.seed)
            && *seed == SeedUse::Unknown
        {
            *seed = self.probed;
        }
        Ok(summary)
    }

    /// How often what is held out was looked at: that is no event.
    pub(super) fn look_around(&self, screen: &mut Screen) {
        screen.glance.setting.holdout = openings(&self.site);
    }

    /// Fills the list with what is wanted.
    pub(super) fn list(&self, screen: &mut Screen) -> Outcome<()> {
        screen.list.rows = self.reader.rows_before(None, &screen.list.wanted, PAGE)?;
        screen.list.is_whole = screen.list.rows.len() < PAGE;
        Ok(())
    }

    /// Adds older ones.
    pub(super) fn more(&self, screen: &mut Screen) -> Outcome<()> {
        let last = screen.list.rows.last().map(|row| row.experiment);
        let older = self.reader.rows_before(last, &screen.list.wanted, PAGE)?;
        screen.list.is_whole = older.len() < PAGE;
        screen.list.rows.extend(older);
        Ok(())
    }

    /// One experiment in full.
    pub(super) fn opened(&self, id: ExperimentId) -> Outcome<Opened> {
        let sheet = crate::commands::show::sheet(&self.site, &self.reader, id)?;
        let mut output = String::new();
        for (title, text) in crate::commands::show::printed(&self.reader, id)? {
            output += &format!("== {title}\n{}\n", text.trim_end());
        }
        let mut course = trace(&self.reader.events_of(id)?);
        let asked = crate::commands::show::conversation(&self.site, &self.reader, id);
        if !asked.is_empty() {
            course += &format!("\n{}\n", asked.join("\n"));
        }
        Ok(Opened {
            row: crate::commands::show::row_of(&self.reader, id)?,
            facts: sheet.facts,
            diff: sheet.diff,
            output: end_of(output),
            trace: course,
            tab: Default::default(),
            scroll: 0,
        })
    }
}

fn end_of(text: String) -> String {
    let from = text.len().saturating_sub(OUTPUT);
    let from = (from..text.len()).find(|at| text.is_char_boundary(*at)).unwrap_or(0);
    match from {
        0 => text,
        from => format!("… the beginning is left out: `overnight show --output` has all of it\n{}", &text[from..]),
    }
}
