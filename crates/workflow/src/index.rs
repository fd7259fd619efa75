//! A search index of commands: ranks them by how well their words match a query.

use std::cmp::Ordering;
use std::collections::HashMap;

use super::source::Brief;
use super::words::{indexed, of_query, singular, synonyms};
use mcpkg_store::search::is_spaceless;

/// Weights of a matching word, by where it occurs in the command.
const ID: f32 = 8.0;
const SUMMARY: f32 = 6.0;
const ARGUMENTS: f32 = 2.0;

/// Weights of a match, by how the word matches.
const WHOLE: f32 = 1.0;
const STEM: f32 = 0.95;
const SYNONYM: f32 = 0.9;
const PREFIX: f32 = 0.6;
const TYPO: f32 = 0.5;

/// Penalty for each word of a command's id, so that shorter ids rank higher.
const DAMPING: f64 = 0.08;

/// Minimum length of a word in a query to match as a prefix.
const SHORTEST_PREFIX: usize = 2;

/// Words of up to this many letters may have one typo, longer words two.
const SHORT: usize = 5;

/// The index of one source.
pub struct Index {
    briefs: Vec<Brief>,
    /// Number of words in the id of each command.
    lengths: Vec<f64>,
    words: Vec<Word>,
    /// Positions in `words`, by stem.
    stems: HashMap<Box<str>, Vec<usize>>,
    /// Positions of commands, by id and alias in lower case.
    ids: HashMap<Box<str>, Vec<usize>>,
}

struct Word {
    text: Box<str>,
    /// The commands with this word, and its weight in each.
    commands: Vec<(usize, f32)>,
}

/// A search result.
#[derive(Clone, Copy)]
pub struct SearchHit<'a> {
    pub brief: &'a Brief,
    /// Number of words of the query that match.
    pub matched: usize,
    /// Sum of the weights of the matches.
    pub score: f64,
}

/// The sort key of a search result.
pub struct Rank<'a> {
    pub deprecated: bool,
    /// Number of words of the query that match.
    pub matched: usize,
    /// Sum of the weights of the matches.
    pub score: f64,
    pub id: &'a str,
}

impl<'a> SearchHit<'a> {
    pub fn rank(&self) -> Rank<'a> {
        let Brief { deprecated, id, .. } = self.brief;
        Rank { deprecated: *deprecated, matched: self.matched, score: self.score, id }
    }

    pub fn order(&self, other: &Self) -> Ordering {
        self.rank().order(&other.rank())
    }
}

impl Rank<'_> {
    /// Sorts deprecated commands last, then by number of matching words, score, length of the id, and id.
    pub fn order(&self, other: &Rank<'_>) -> Ordering {
        let (ours, theirs) = (self.id, other.id);
        let words = self.deprecated.cmp(&other.deprecated).then(other.matched.cmp(&self.matched));
        let scores = words.then_with(|| other.score.total_cmp(&self.score));
        scores.then_with(|| ours.len().cmp(&theirs.len()).then_with(|| ours.cmp(theirs)))
    }
}

impl Index {
    pub fn new(mut briefs: Vec<Brief>) -> Self {
        let mut of_words: HashMap<String, Vec<(usize, f32)>> = HashMap::new();
        let mut ids: HashMap<Box<str>, Vec<usize>> = HashMap::new();
        let mut lengths = Vec::with_capacity(briefs.len());
        for (command, brief) in briefs.iter_mut().enumerate() {
            let of_id = indexed(&brief.id);
            lengths.push(of_id.iter().fold(0.0, |length, _| length + 1.0));
            // The words are needed only here, so free them.
            let of_arguments = indexed(&std::mem::take(&mut brief.words));
            for (found, weight) in [(of_id, ID), (indexed(&brief.summary), SUMMARY), (of_arguments, ARGUMENTS)] {
                for word in found {
                    let commands = of_words.entry(word).or_default();
                    // Places with higher weights come first, so keep the first weight of a word.
                    if commands.last().is_none_or(|(last, _)| *last != command) {
                        commands.push((command, weight));
                    }
                }
            }
            for id in std::iter::once(&brief.id).chain(&brief.aliases) {
                let same = ids.entry(id.to_lowercase().into()).or_default();
                if !same.contains(&command) {
                    same.push(command);
                }
            }
        }
        let word = |(text, commands): (String, Vec<_>)| Word { text: text.into(), commands };
        let mut words: Vec<Word> = of_words.into_iter().map(word).collect();
        words.sort_unstable_by(|a, b| a.text.cmp(&b.text));
        let mut stems: HashMap<Box<str>, Vec<usize>> = HashMap::new();
        for (place, word) in words.iter().enumerate() {
            stems.entry(singular(&word.text).into()).or_default().push(place);
        }
        Self { briefs, lengths, words, stems, ids }
    }

    pub fn briefs(&self) -> &[Brief] {
        &self.briefs
    }

    /// Returns the commands with this id or alias, ignoring case.
    pub fn named(&self, id: &str) -> impl Iterator<Item = &Brief> {
        self.ids.get(id.to_lowercase().as_str()).into_iter().flatten().map(|command| &self.briefs[*command])
    }

    /// Returns the commands that match a word of a query.
    fn met(&self, asked: &str) -> Meeting<'_> {
        let mut met = Meeting::new(self);
        let stem = singular(asked);
        met.whole(asked);
        met.stem(&stem, STEM);
        for same in synonyms(asked).iter().chain(synonyms(&stem)) {
            met.stem(same, SYNONYM);
        }
        if asked.chars().count() >= SHORTEST_PREFIX || asked.starts_with(is_spaceless) {
            let first = self.words.partition_point(|word| &*word.text < asked);
            let begun = self.words[first..].iter().take_while(|word| word.text.starts_with(asked));
            begun.for_each(|word| met.take(word, PREFIX));
        }
        met
    }

    /// Returns the commands that match a likely correction of a word.
    fn nearly_met(&self, asked: &str) -> Meeting<'_> {
        let mut met = Meeting::new(self);
        // In scripts without spaces, the index has pairs of letters instead of words. Pairs that share a letter are unrelated,
        // so there is no typo matching.
        if asked.starts_with(is_spaceless) {
            return met;
        }
        let letters = asked.chars().count();
        let most = if letters <= SHORT { 1 } else { 2 };
        for word in &self.words {
            let is_near = || strsim::osa_distance(asked, &word.text) <= most;
            if word.text.chars().count().abs_diff(letters) <= most && is_near() {
                met.take(word, TYPO);
            }
        }
        met
    }
}

/// Collects how well each command matches one word of a query.
struct Meeting<'a> {
    index: &'a Index,
    /// The weight of the best match of each command; 0 if it does not match.
    best: Vec<f32>,
    /// The commands that match.
    commands: Vec<usize>,
}

impl<'a> Meeting<'a> {
    fn new(index: &'a Index) -> Self {
        Self { index, best: vec![0.0; index.briefs.len()], commands: Vec::new() }
    }

    fn take(&mut self, word: &Word, quality: f32) {
        for (command, weight) in &word.commands {
            let best = &mut self.best[*command];
            if *best == 0.0 {
                self.commands.push(*command);
            }
            *best = best.max(weight * quality);
        }
    }

    fn whole(&mut self, text: &str) {
        if let Ok(place) = self.index.words.binary_search_by(|word| (*word.text).cmp(text)) {
            self.take(&self.index.words[place], WHOLE);
        }
    }

    fn stem(&mut self, stem: &str, quality: f32) {
        for place in self.index.stems.get(stem).into_iter().flatten() {
            self.take(&self.index.words[*place], quality);
        }
    }
}

/// Returns the commands that match a word of the query and are admitted, in no particular order. An empty query returns all
/// admitted commands.
pub fn search<'a>(indexes: &[&'a Index], query: &str, admits: impl Fn(&Brief) -> bool) -> Vec<SearchHit<'a>> {
    let asked = of_query(query);
    let mut matched: Vec<Vec<usize>> = indexes.iter().map(|index| vec![0; index.briefs.len()]).collect();
    let mut scores: Vec<Vec<f64>> = indexes.iter().map(|index| vec![0.0; index.briefs.len()]).collect();
    let all = count(indexes.iter().map(|index| index.briefs.len()).sum());
    for word in &asked {
        let mut met: Vec<Meeting<'_>> = indexes.iter().map(|index| index.met(word)).collect();
        if met.iter().all(|met| met.commands.is_empty()) {
            met = indexes.iter().map(|index| index.nearly_met(word)).collect();
        }
        let hits: usize = met.iter().map(|met| met.commands.len()).sum();
        let rarity = (1.0 + all / count(hits.max(1))).ln();
        for (place, met) in met.iter().enumerate() {
            for &command in &met.commands {
                matched[place][command] += 1;
                scores[place][command] += f64::from(met.best[command]) * rarity;
            }
        }
    }
    let mut found = Vec::new();
    for ((index, matched), scores) in indexes.iter().zip(&matched).zip(&scores) {
        for (command, brief) in index.briefs.iter().enumerate() {
            if (asked.is_empty() || matched[command] > 0) && admits(brief) {
                let score = scores[command] / (1.0 + DAMPING * index.lengths[command]);
                found.push(SearchHit { brief, matched: matched[command], score });
            }
        }
    }
    found
}

#[expect(clippy::cast_precision_loss, reason = "there are not so many commands")]
fn count(number: usize) -> f64 {
    number as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spec::CommandEffect;

    fn brief(id: &str, summary: &str, arguments: &str) -> Brief {
        Brief {
            id: id.to_owned(),
            summary: summary.to_owned(),
            words: arguments.to_owned(),
            aliases: Vec::new(),
            effect: CommandEffect::Write,
            deprecated: false,
            lists: id.ends_with("list"),
            executed: false,
        }
    }

    fn hosting() -> Index {
        Index::new(vec![
            brief("addons:create", "Attach add-on", "app plan postgres"),
            brief("addons:list", "List add-ons", "app"),
            brief("apps:create", "Create an app", "name region"),
            brief("apps:delete", "Delete an app", "app"),
            brief("apps:info", "Info about an app", "app"),
            brief("apps:list", "List apps", ""),
            brief("apps:releases:list", "List the releases of an app", "app"),
            brief("pipelines:list", "List pipelines", ""),
        ])
    }

    fn ranked<'a>(indexes: &[&'a Index], query: &str) -> Vec<&'a str> {
        let mut found = search(indexes, query, |_| true);
        found.sort_by(SearchHit::order);
        found.iter().map(|found| found.brief.id.as_str()).collect()
    }

    #[test]
    fn a_rare_word_counts_more_than_common_ones() {
        assert_eq!(ranked(&[&hosting()], "create app postgres")[..2], ["addons:create", "apps:create"]);
        let both = Index::new(vec![
            brief("apps:create", "Create an app", "name region"),
            brief("addons:create", "Attach add-on", "app plan"),
        ]);
        assert_eq!(ranked(&[&both], "create app postgres"), ["apps:create", "addons:create"]);
    }

    #[test]
    fn the_best_match_comes_first() {
        let index = hosting();
        for (query, first) in [
            ("list apps", "apps:list"),
            ("apps list", "apps:list"),
            ("list of the releases", "apps:releases:list"),
            ("remove app", "apps:delete"),
            ("get app", "apps:info"),
            ("find pipelines", "pipelines:list"),
            ("pipeline", "pipelines:list"),
            ("rel", "apps:releases:list"),
        ] {
            assert_eq!(ranked(&[&index], query).first(), Some(&first), "{query}");
        }
        assert!(ranked(&[&index], "kangaroo").is_empty());
    }

    #[test]
    fn a_misspelled_word_matches_the_most_similar_word() {
        let index = hosting();
        assert_eq!(ranked(&[&index], "piplines"), ["pipelines:list"]);
        assert_eq!(ranked(&[&index], "pipelnies"), ["pipelines:list"]);
        assert!(ranked(&[&index], "ppilnise").is_empty());
        assert_eq!(ranked(&[&index], "regoin"), ["apps:create"]);
        assert!(!ranked(&[&index], "app").contains(&"pipelines:list"));
    }

    #[test]
    fn words_in_text_without_spaces_are_found() {
        let index = Index::new(vec![
            brief("db:backup", "データベースの復元とバックアップ", ""),
            brief("db:list", "查询数据库列表", ""),
            brief("db:drop", "데이터베이스를 삭제", ""),
            brief("db:show", "ดูฐานข้อมูลทั้งหมด", ""),
        ]);
        for (query, first) in [
            ("復元", "db:backup"),
            ("バックアップ", "db:backup"),
            ("数据库", "db:list"),
            ("列", "db:list"),
            ("베이스", "db:drop"),
            ("ข้อมูล", "db:show"),
        ] {
            assert_eq!(ranked(&[&index], query).first(), Some(&first), "{query}");
        }
        assert!(ranked(&[&index], "復活").is_empty(), "one letter of a pair is not nearly the pair");
    }

    #[test]
    fn several_indexes_are_ranked_as_one() {
        let (one, other) = (hosting(), Index::new(vec![brief("tool:apps", "Apps", "")]));
        assert_eq!(ranked(&[&one, &other], "tool apps").first(), Some(&"tool:apps"));
        assert_eq!(ranked(&[&other, &one], "apps"), ranked(&[&one, &other], "apps"));
    }

    #[test]
    fn deprecated_commands_come_last_and_filtered_ones_are_left_out() {
        let old = Brief { deprecated: true, ..brief("apps:create", "Create an app", "") };
        let index = Index::new(vec![old, brief("x:other", "Makes things for an app", "")]);
        assert_eq!(ranked(&[&index], "create app"), ["x:other", "apps:create"]);
        assert!(search(&[&index], "create app", |brief| brief.deprecated).iter().all(|found| found.brief.deprecated));
    }

    #[test]
    fn a_query_without_words_finds_all_by_their_ids() {
        let index = Index::new(vec![brief("b:b", "", ""), brief("a:a", "", ""), brief("c:cc", "", "")]);
        assert_eq!(ranked(&[&index], " "), ["a:a", "b:b", "c:cc"]);
    }

    #[test]
    fn ids_and_aliases_are_found_in_whichever_case() {
        let listed =
            Brief { aliases: vec!["GET /apps".to_owned(), "listApps".to_owned()], ..brief("apps:list", "", "") };
        let index = Index::new(vec![listed, brief("apps:info", "", "")]);
        for id in ["apps:list", "APPS:List", "get /apps", "listapps"] {
            assert_eq!(index.named(id).map(|brief| brief.id.as_str()).collect::<Vec<_>>(), ["apps:list"], "{id}");
        }
        assert_eq!(index.named("apps").count(), 0);
    }
}
