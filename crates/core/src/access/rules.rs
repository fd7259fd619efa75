//! Access rules: decide what a token allows, based on the claims of the token.
//!
//! All rules that fit a token and the requested project are combined: the token gets every right that any of them
//! gives.

use super::refused::Refused;
use super::token::Claims;
use crate::op::{Grant, Holder, Namespace, SignedIn};
use mcpkg_base::error::{Code, Error, Result};
use mcpkg_store::{Db, access_rules, projects};

/// The access rules of a database. Rules for projects that were deleted are left out.
#[derive(Debug, Default)]
pub struct Rules(Vec<Loaded>);

#[derive(Debug)]
struct Loaded {
    claim: String,
    /// What the rule allows. The holder is filled in when somebody signs in.
    grant: Grant,
}

impl Rules {
    pub fn load(db: &Db<'_>) -> Result<Self> {
        let mut rules = Vec::new();
        for rule in access_rules::list(db)? {
            let project_name = match rule.project {
                None => None,
                Some(uuid) => match projects::by_uuid(db, uuid)? {
                    Some(project) => Some(project.name),
                    None => continue,
                },
            };
            let grant = Grant {
                holder: Holder::SignedIn(SignedIn::default()),
                project: rule.project,
                project_name,
                read_only: rule.read_only,
                consent: false,
                publish: namespaces(&rule.publish, || format!("the access rule for '{}'", rule.claim))?,
                attest: rule.attest,
                execute: rule.execute,
                expires_at: None,
            };
            rules.push(Loaded { claim: rule.claim, grant });
        }
        Ok(Self(rules))
    }

    /// Returns what a token allows in a project. Without a project, the rules for all projects decide. If none of those
    /// fits the token, but rules for one project fit, the request is for that project. If rules for several projects
    /// fit, the request is refused.
    pub fn grant(&self, claims: &Claims, project: Option<&str>) -> std::result::Result<Grant, Refused> {
        let fits = |claim: &str| claim.split_once('=').is_some_and(|(name, value)| claims.has(name, value));
        let asked = project.map(str::to_owned);
        let holder = SignedIn { name: claims.name().to_owned(), by: Vec::new(), asked };
        Ok(Grant { expires_at: Some(claims.expires_at()), ..self.combined(fits, holder)? })
    }

    /// Whether `holder`, who signed in before, would now get the same rights as in `grant`.
    pub(super) fn hold(&self, grant: &Grant, holder: &SignedIn) -> bool {
        let fits = |claim: &str| holder.by.iter().any(|by| by == claim);
        let now = self.combined(fits, SignedIn { by: Vec::new(), ..holder.clone() });
        now.is_ok_and(|now| Grant { expires_at: grant.expires_at, ..now } == *grant)
    }

    /// Returns the scopes that give access to a project, so that a client can request them. Without a project, returns
    /// the scopes of all rules.
    pub fn scopes(&self, project: Option<&str>) -> impl Iterator<Item = &str> {
        let reaches = move |rule: &&Loaded| {
            let only = rule.grant.project_name.as_deref();
            only.is_none() || project.is_none() || only == project
        };
        let scope = |rule: &'_ Loaded| rule.claim.strip_prefix("scope=").map(str::len);
        self.0.iter().filter(reaches).filter_map(move |rule| Some(&rule.claim[rule.claim.len() - scope(rule)?..]))
    }

    fn combined(&self, fits: impl Fn(&str) -> bool, mut holder: SignedIn) -> std::result::Result<Grant, Refused> {
        let mut fitting: Vec<&Loaded> = self.0.iter().filter(|rule| fits(&rule.claim)).collect();
        let is_for_all = |rule: &&Loaded| rule.grant.project.is_none();
        if let Some(asked) = &holder.asked {
            fitting.retain(|rule| rule.grant.project_name.as_ref().is_none_or(|project| project == asked));
        } else if fitting.iter().any(is_for_all) {
            fitting.retain(is_for_all);
        } else if fitting.iter().any(|rule| rule.grant.project != fitting[0].grant.project) {
            return Err(Refused::SeveralProjects);
        }
        holder.by = fitting.iter().map(|rule| rule.claim.clone()).collect();
        holder.by.dedup();
        let Some(all) = united(fitting.iter().copied()) else { return Err(Refused::NoRule) };
        // A grant gives the same rights in every project. If the rules for one project add rights, the grant is
        // limited to that project.
        let everywhere = united(fitting.iter().copied().filter(is_for_all));
        let is_everywhere = everywhere.is_some_and(|everywhere| same(&everywhere, &all));
        let narrow = fitting.iter().find(|rule| !is_everywhere && !is_for_all(rule));
        let (project, project_name) =
            narrow.map_or((None, None), |rule| (rule.grant.project, rule.grant.project_name.clone()));
        Ok(Grant { holder: Holder::SignedIn(holder), project, project_name, ..all })
    }
}

/// Returns the rights that the rules give together; `None` without rules.
fn united<'a>(rules: impl Iterator<Item = &'a Loaded>) -> Option<Grant> {
    rules.map(|rule| rule.grant.clone()).reduce(|mut all, grant| {
        all.read_only &= grant.read_only;
        all.attest |= grant.attest;
        all.execute |= grant.execute;
        all.publish.extend(grant.publish);
        all.publish.sort();
        all.publish.dedup();
        all
    })
}

fn same(one: &Grant, other: &Grant) -> bool {
    (one.read_only, one.attest, one.execute, &one.publish)
        == (other.read_only, other.attest, other.execute, &other.publish)
}

/// Parses the namespaces that a stored key or rule allows publishing in.
pub(super) fn namespaces(stored: &[String], whose: impl Fn() -> String) -> Result<Vec<Namespace>> {
    let odd = |error: Error| {
        let why = format!("The database is damaged: {} has an invalid namespace", whose());
        Error::new(Code::Damaged, why).with_source(error)
    };
    stored.iter().map(|namespace| namespace.parse().map_err(odd)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};
    use uuid::Uuid;

    const ISSUER: &str = "https://login.example";

    fn claims(more: Value) -> Claims {
        let mut all = json!({ "iss": ISSUER, "sub": "u1", "exp": 1_000 });
        all.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        Claims::check(all.as_object().unwrap().clone(), ISSUER, 0).ok().unwrap()
    }

    fn rule(claim: &str, project: Option<(u128, &str)>, read_only: bool) -> Loaded {
        let grant = Grant {
            holder: Holder::SignedIn(SignedIn::default()),
            project: project.map(|(id, _)| Uuid::from_u128(id)),
            project_name: project.map(|(_, name)| name.to_owned()),
            read_only,
            consent: false,
            publish: Vec::new(),
            attest: false,
            execute: false,
            expires_at: None,
        };
        Loaded { claim: claim.to_owned(), grant }
    }

    /// What a token of these groups may do in a project: `read` or `write`, and where.
    fn may(rules: &Rules, groups: &[&str], project: Option<&str>) -> Result<String, Refused> {
        let grant = rules.grant(&claims(json!({ "groups": groups })), project)?;
        let may = if grant.read_only { "read" } else { "write" };
        Ok(format!("{may} {}", grant.project_name.as_deref().unwrap_or("all")))
    }

    #[test]
    fn rules_are_combined_and_apply_only_to_their_projects() {
        let rules = Rules(vec![
            rule("groups=staff", None, true),
            rule("groups=platform", Some((1, "p")), false),
            rule("groups=support", Some((1, "p")), true),
            rule("groups=support", Some((2, "q")), true),
        ]);
        let may = |groups: &[&str], project| may(&rules, groups, project);
        assert_eq!(may(&["staff"], None).as_deref(), Ok("read all"));
        assert_eq!(may(&["staff"], Some("q")).as_deref(), Ok("read all"));
        assert_eq!(may(&["platform"], None).as_deref(), Ok("write p"));
        assert_eq!(may(&["platform"], Some("q")), Err(Refused::NoRule));
        assert_eq!(may(&["staff", "platform"], Some("p")).as_deref(), Ok("write p"));
        assert_eq!(may(&["staff", "platform"], None).as_deref(), Ok("read all"));
        assert_eq!(may(&["staff", "support"], Some("q")).as_deref(), Ok("read all"));
        assert_eq!(may(&["support"], Some("q")).as_deref(), Ok("read q"));
        assert_eq!(may(&["support"], None), Err(Refused::SeveralProjects));
        for groups in [&[][..], &["other"], &["Staff"], &["staff "]] {
            assert_eq!(may(groups, Some("p")), Err(Refused::NoRule), "{groups:?}");
        }
    }

    #[test]
    fn a_grant_holds_until_its_rules_change() {
        let rules = Rules(vec![rule("groups=staff", None, true), rule("groups=platform", Some((1, "p")), false)]);
        let grant = rules.grant(&claims(json!({ "groups": ["staff", "platform"] })), Some("p")).unwrap();
        let Holder::SignedIn(holder) = &grant.holder else { panic!("it signed in") };
        assert_eq!((holder.name.as_str(), holder.by.len()), ("person:u1", 2));
        assert!(rules.hold(&grant, holder));
        for fewer in [
            vec![rule("groups=staff", None, true)],
            vec![rule("groups=staff", None, true), rule("groups=platform", Some((1, "p")), true)],
            vec![rule("groups=staff", None, true), rule("groups=platform", Some((1, "renamed")), false)],
            Vec::new(),
        ] {
            assert!(!Rules(fewer).hold(&grant, holder));
        }
        let more = vec![
            rule("groups=staff", None, true),
            rule("groups=platform", Some((1, "p")), false),
            rule("groups=other", None, false),
        ];
        assert!(Rules(more).hold(&grant, holder), "a rule for others changes nothing");
    }

    #[test]
    fn the_scopes_of_the_rules_for_a_project_are_listed() {
        let rules = Rules(vec![
            rule("scope=mcp:read", None, true),
            rule("scope=p:write", Some((1, "p")), false),
            rule("groups=a", None, true),
        ]);
        let scopes = |project| rules.scopes(project).collect::<Vec<_>>();
        assert_eq!(scopes(Some("p")), ["mcp:read", "p:write"]);
        assert_eq!(scopes(Some("q")), ["mcp:read"]);
    }
}
