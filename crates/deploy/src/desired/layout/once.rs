//! Chooses where each text is written, so that each target loads it exactly once, if that is possible.

use std::collections::BTreeMap;
use std::ops::Add;

use super::folder::{Folder, Mode, Place, own_file, own_rules};
use super::importing::{AGENTS_MD, Import};
use crate::targets::Target;
use mcpkg_agents::agents::places::AgentsMd;

/// The maximum number of places with several readers that are tried in all combinations. Further places are ignored.
const MAX_PLACES: usize = 8;

/// A text that always applies. Equal texts get the same places.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Text {
    /// The targets that the text is for.
    pub wanting: Vec<Target>,
    /// The places where the user's own files contain the text.
    pub held: Vec<Place>,
    /// Whether the text is the user's AGENTS.md, so that it stays there.
    pub is_agents_md: bool,
}

/// The places of some texts.
pub(super) struct Choice {
    pub mode: Mode,
    /// The places to write each text to.
    pub places: Vec<Vec<Place>>,
    cost: Cost,
}

/// How bad a choice of places is. Costs are compared field by field, so the most serious fault comes first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
struct Cost {
    /// How many targets do not load the text although it is for them.
    missing: usize,
    /// How many targets load the text twice.
    twice: usize,
    /// How many targets load the text although it is not for them.
    extra: usize,
    /// How many of the user's files get a block.
    users_files: usize,
    places: usize,
}

impl Cost {
    const fn is_faultless(self) -> bool {
        self.missing == 0 && self.twice == 0
    }
}

impl Add for Cost {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            missing: self.missing + other.missing,
            twice: self.twice + other.twice,
            extra: self.extra + other.extra,
            users_files: self.users_files + other.users_files,
            places: self.places + other.places,
        }
    }
}

/// Chooses the places of some texts. The usual places are preferred if each target loads each text once from there.
pub(super) fn choose(folder: &Folder, texts: &[Text], modes: Vec<Mode>) -> Choice {
    let mut best: Option<Choice> = None;
    for mode in modes {
        let choice = in_mode(folder, texts, mode);
        let is_usual = best.is_none() && choice.cost.is_faultless();
        if best.as_ref().is_none_or(|best| choice.cost < best.cost) {
            best = Some(choice);
        }
        if is_usual {
            break;
        }
    }
    best.unwrap_or_else(|| Choice {
        mode: Mode::default(),
        places: vec![Vec::new(); texts.len()],
        cost: Cost::default(),
    })
}

/// Returns a target that can be removed so that no target loads any of these texts twice. Prefers targets that are not
/// in `twice`, the last one first.
pub(super) fn remedy(folder: &Folder, texts: &[Text], modes: &[Mode], twice: &[Target]) -> Option<Target> {
    let ends_it = |target: &&Target| {
        let rest: Vec<Target> = folder.targets.iter().copied().filter(|other| other != *target).collect();
        let without = |text: &Text| Text {
            wanting: text.wanting.iter().copied().filter(|other| other != *target).collect(),
            ..text.clone()
        };
        let folder = folder.with_targets(rest);
        let texts: Vec<Text> = texts.iter().map(without).collect();
        choose(&folder, &texts, modes.to_vec()).cost.twice == 0
    };
    let others = folder.targets.iter().rev().filter(|target| !twice.contains(target));
    others.chain(twice).find(ends_it).copied()
}

fn in_mode(folder: &Folder, texts: &[Text], mode: Mode) -> Choice {
    let available = folder.places(&mode);
    let mut known: BTreeMap<&Text, (Vec<Place>, Cost)> = BTreeMap::new();
    let mut choice = Choice { mode, places: Vec::new(), cost: Cost::default() };
    for text in texts {
        let (places, cost) = known.entry(text).or_insert_with(|| {
            let readers = Readers::of(folder, text, &choice.mode);
            let usual = usual(folder, text, &choice.mode);
            let cost = readers.cost(usual.iter().copied());
            if cost.is_faultless() { (usual, cost) } else { readers.best(&available) }
        });
        choice.places.push(places.clone());
        choice.cost = choice.cost + *cost;
    }
    for import in &choice.mode.imports {
        if choice.is_needed(folder, texts, import) {
            let users_files = usize::from(folder.is_users(Place::File(import.from)));
            choice.cost = choice.cost + Cost { users_files, ..Cost::default() };
        }
    }
    choice
}

impl Choice {
    /// Whether a target needs the line that imports a file.
    pub(super) fn is_needed(&self, folder: &Folder, texts: &[Text], import: &Import) -> bool {
        let (from, of) = (Place::File(import.from), Place::File(folder.real(import.of)));
        let wants = |at: usize| texts[at].wanting.contains(&import.target);
        let is_in = |at: usize| self.places[at].contains(&of) || texts[at].held.contains(&of);
        let is_block = || self.places.iter().any(|places| places.contains(&from));
        let others = || self.mode.imports.iter().filter(|other| other.from == import.from && other.of != import.of);
        if import.of == AGENTS_MD && folder.hides(import) {
            return is_block() || others().any(|other| self.is_needed(folder, texts, other));
        }
        (0..texts.len()).any(|at| wants(at) && is_in(at))
    }
}

/// Returns the usual places of a text: AGENTS.md if several targets read it, and the own places of those targets that
/// do not get the text from there.
fn usual(folder: &Folder, text: &Text, mode: &Mode) -> Vec<Place> {
    let over = |target: &Target| target.facts().project.agents_md_override.filter(|_| mode.overrides);
    let own = |target: &Target| {
        own_rules(*target).map(|rules| Place::Rules(rules.folder)).or_else(|| own_file(*target).map(Place::File))
    };
    let overriding = text.wanting.iter().filter_map(over).map(Place::File);
    let others = text.wanting.iter().filter(|target| over(target).is_none());
    let (sometimes, readily): (Vec<&Target>, Vec<&Target>) =
        others.partition(|target| matches!(target.facts().project.agents_md, AgentsMd::UnlessHiddenBy(_)));
    let needs_it = |target: &&&Target| own(target).is_none();
    let is_shared = text.is_agents_md || readily.len() > 1 || readily.iter().any(|target| needs_it(&target));
    let mut places: Vec<Place> = match readily.first() {
        _ if is_shared => vec![Place::File(AGENTS_MD)],
        Some(target) => own(target).into_iter().collect(),
        None => Vec::new(),
    };
    let reads = |target: &Target, place: &Place| folder.reads(*target, *place, mode);
    for target in sometimes {
        let is_read = is_shared && reads(target, &Place::File(AGENTS_MD));
        if !is_read && !text.held.iter().any(|place| reads(target, place)) {
            places.extend(own(target));
        }
    }
    places.extend(overriding);
    let written = places.into_iter().filter_map(|place| folder.written(place));
    let mut places: Vec<Place> = written.collect();
    places.dedup();
    places
}

/// Finds which targets read a place. Each target is one bit.
struct Readers<'f> {
    folder: &'f Folder,
    text: &'f Text,
    mode: &'f Mode,
    wanting: u32,
    /// The targets that load the text from the user's own files.
    holding: u32,
}

impl<'f> Readers<'f> {
    fn of(folder: &'f Folder, text: &'f Text, mode: &'f Mode) -> Self {
        let mut readers = Self { folder, text, mode, wanting: 0, holding: 0 };
        readers.wanting = readers.bits(|target| text.wanting.contains(&target));
        readers.holding = readers.bits(|target| text.held.iter().any(|place| folder.reads(target, *place, mode)));
        readers
    }

    fn bits(&self, is_one: impl Fn(Target) -> bool) -> u32 {
        let targets = self.folder.targets.iter().enumerate();
        targets.filter(|(_, target)| is_one(**target)).fold(0, |bits, (at, _)| bits | 1 << at)
    }

    fn cost(&self, places: impl Iterator<Item = Place>) -> Cost {
        let places = places.map(|place| {
            (self.bits(|target| self.folder.reads(target, place, self.mode)), self.folder.is_users(place))
        });
        self.cost_of(places)
    }

    fn cost_of(&self, places: impl Iterator<Item = (u32, bool)>) -> Cost {
        let (mut once, mut twice, mut cost) = (self.holding, 0_u32, Cost::default());
        for (readers, is_users) in places {
            twice |= once & readers;
            once |= readers;
            cost.users_files += usize::from(is_users);
            cost.places += 1;
        }
        let count = |bits: u32| bits.count_ones() as usize;
        cost.missing = count(self.wanting & !once);
        cost.twice = count(twice);
        cost.extra = count(once & !self.wanting & !self.holding);
        cost
    }

    /// Returns the best of all sets of places. If several are equally good, earlier places are preferred.
    fn best(&self, available: &[Place]) -> (Vec<Place>, Cost) {
        let useful = |place: &Place| {
            let readers = self.bits(|target| self.folder.reads(target, *place, self.mode));
            let is_needed = self.text.is_agents_md && *place == Place::File(AGENTS_MD);
            (is_needed || readers & self.wanting != 0).then(|| (*place, readers, self.folder.is_users(*place)))
        };
        let mut places: Vec<(Place, u32, bool)> = Vec::new();
        for (place, readers, is_users) in available.iter().filter_map(useful) {
            // Of several places with the same readers, the first one is enough, unless only a later one is free of the
            // user's text.
            let is_better = |known: &(Place, u32, bool)| known.1 == readers && (is_users || !known.2);
            if !places.iter().any(is_better) {
                places.push((place, readers, is_users));
            }
        }
        // A place with only one reader is needed exactly if this reader does not load the text from another place.
        let is_alone = |(place, readers, _): &(Place, u32, bool)| {
            readers.count_ones() == 1 && (!self.text.is_agents_md || *place != Place::File(AGENTS_MD))
        };
        let (alone, mut shared): (Vec<_>, Vec<_>) = places.into_iter().partition(is_alone);
        shared.truncate(MAX_PLACES);
        let chosen = |bits: u32| {
            let mut chosen: Vec<(Place, u32, bool)> =
                shared.iter().enumerate().filter(|(at, _)| bits >> at & 1 == 1).map(|(_, place)| *place).collect();
            let mut loading = chosen.iter().fold(self.holding, |loading, (_, readers, _)| loading | readers);
            for place in &alone {
                if place.1 & self.wanting & !loading != 0 {
                    loading |= place.1;
                    chosen.push(*place);
                }
            }
            chosen
        };
        let stays = |chosen: &[(Place, u32, bool)]| {
            !self.text.is_agents_md || chosen.iter().any(|(place, ..)| *place == Place::File(AGENTS_MD))
        };
        let cost = |chosen: &[(Place, u32, bool)]| {
            self.cost_of(chosen.iter().map(|(_, readers, is_users)| (*readers, *is_users)))
        };
        let sets = (0..1_u32 << shared.len()).map(chosen).filter(|chosen| stays(chosen));
        let best = sets.map(|chosen| (cost(&chosen), chosen)).min_by_key(|(cost, _)| *cost);
        let (cost, chosen) = best.unwrap_or_default();
        (chosen.into_iter().map(|(place, ..)| place).collect(), cost)
    }
}
