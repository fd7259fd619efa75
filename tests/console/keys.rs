//! Tests the keys of all screens: no key has two meanings on a screen, and each label is in the table of the screens.

use std::collections::HashSet;

use mcpkg_console::keys::KEYS;
use mcpkg_console::place::{Place, ROOTS};
use mcpkg_console::screen::Body;
use mcpkg_console::screens::SCREENS;
use mcpkg_console::{Action, Does, Part, Screen, load};
use mcpkg_core::op::Context;

use super::ground;

/// The keys that move, open and ask on every screen. No action may use them.
const OF_EVERY_SCREEN: &str = "jkhlgGqyvcCM:/?.,[]123456";

/// Loads the places that can be reached from the top-level screens with enter and the keys of actions: at most 600, and
/// no forms.
fn reached(context: &Context) -> Vec<(Place, Screen)> {
    let mut known: HashSet<Place> = HashSet::new();
    let mut next: Vec<Place> = ROOTS.into_iter().map(|(_, _, place)| place).collect();
    let mut screens = Vec::new();
    while let Some(place) = next.pop() {
        // A form has no actions.
        let is_form = matches!(place, Place::Form(_) | Place::Filled(..));
        if is_form || !known.insert(place.clone()) || known.len() > 600 {
            continue;
        }
        for view in 0..3 {
            let Ok(screen) = load(&place, context, &Part::of_view(view)) else { break };
            let opens = |action: &Action| match &action.does {
                Does::Open(place) => Some(place.clone()),
                _ => None,
            };
            next.extend(screen.actions.iter().filter_map(opens));
            if let Body::List(list) = &screen.body {
                next.extend(list.rows.iter().filter_map(|row| row.look.clone()));
                next.extend(list.rows.iter().flat_map(|row| &row.actions).filter_map(opens));
            }
            let views = screen.views.len();
            screens.push((place.clone(), screen));
            if view + 1 >= views {
                break;
            }
        }
    }
    screens
}

#[test]
fn no_key_means_two_things_on_a_screen_and_every_word_is_in_the_table() {
    let (ground, _client) = ground::filled();
    let screens = reached(&ground.scratch.context());
    let of = |wanted: fn(&Place) -> bool| screens.iter().filter(|(place, _)| wanted(place)).count();
    assert!(of(|place| matches!(place, Place::Consent(_))) >= 3, "requests");
    assert!(of(|place| matches!(place, Place::Draft(_) | Place::DraftDiff(..))) >= 4, "drafts");
    assert!(of(|place| matches!(place, Place::Run(_) | Place::Proposal(..))) >= 2, "a run and a proposal");
    assert!(of(|place| matches!(place, Place::Answers(_) | Place::Undo(_))) >= 2, "answers and an undo");
    let mut used = HashSet::new();
    let mut check = |place: &Place, actions: &[&Action]| {
        for action in actions {
            assert!(!OF_EVERY_SCREEN.contains(action.key), "{place:?}: {action:?}");
            let same = actions.iter().filter(|other| other.key == action.key);
            let labels: HashSet<&str> = same.map(|other| other.label).collect();
            assert_eq!(labels.len(), 1, "{place:?}: {} is {labels:?}", action.key);
            used.insert(action.key);
        }
    };
    let of_table = |place: &Place, actions: &mut dyn Iterator<Item = &Action>| {
        let name = place.screen().expect("a screen of the table");
        let listed = SCREENS.iter().find(|keys| keys.screen == name).expect("a screen of the table").keys;
        for action in actions {
            assert!(listed.contains(&(action.key, action.label)), "{place:?}: {action:?} is not in the table");
        }
    };
    for (place, screen) in screens.iter().filter(|(place, _)| place.screen().is_some()) {
        match &screen.body {
            Body::List(list) => {
                of_table(place, &mut list.rows.iter().flat_map(|row| &row.actions).chain(&screen.actions))
            }
            Body::Diff(diff) => {
                of_table(place, &mut (1..=diff.hunks()).flat_map(|hunk| diff.actions(hunk)).chain(&screen.actions));
            }
            _ => of_table(place, &mut screen.actions.iter()),
        }
    }
    for (place, screen) in &screens {
        let own: Vec<&Action> = screen.actions.iter().collect();
        match &screen.body {
            Body::List(list) => {
                for row in &list.rows {
                    // The keys of the row, the screen and the preview work at the same time.
                    let preview = row.look.as_ref().and_then(|look| screens.iter().find(|(place, _)| place == look));
                    let of_preview = preview.into_iter().flat_map(|(_, screen)| &screen.actions);
                    let of_preview = of_preview.filter(|action| !matches!(&action.does, Does::Open(to) if to == place));
                    let all: Vec<&Action> = row.actions.iter().chain(own.iter().copied()).chain(of_preview).collect();
                    check(place, &all);
                }
            }
            Body::Diff(diff) => {
                for hunk in 1..=diff.hunks() {
                    check(place, &diff.actions(hunk).iter().chain(own.iter().copied()).collect::<Vec<_>>());
                }
            }
            _ => check(place, &own),
        }
    }
    assert!(used.len() >= 14, "{used:?}");
    for (key, _) in SCREENS.iter().flat_map(|screen| screen.keys) {
        let name = match key {
            ' ' => "space".to_owned(),
            '\n' => "enter".to_owned(),
            key => key.to_string(),
        };
        assert!(
            KEYS.iter().any(|row| row.keys.split([' ', ',']).any(|known| known == name)),
            "{name} is not in the help"
        );
    }
}
