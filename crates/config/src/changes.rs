//! Compares two versions of a configuration key by key, and keeps old values in the new version.

use std::collections::BTreeSet;
use std::fmt;

use serde_json::{Map, Value};

use crate::ConfigDocument;
use crate::reader::is_for_secrets;

/// The path of a key: the names of its tables, and its own name. Names may contain dots.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct KeyPath(Vec<String>);

impl KeyPath {
    /// Makes a path of the names of its tables and of its key.
    #[must_use]
    pub fn from_names(names: &[&str]) -> Self {
        Self(names.iter().map(|name| (*name).to_owned()).collect())
    }

    /// Returns the names of the tables and of the key.
    #[must_use]
    pub fn names(&self) -> &[String] {
        &self.0
    }

    /// Returns `true` if this key is at `above`, or in the table there.
    #[must_use]
    pub fn is_in(&self, above: &[&str]) -> bool {
        self.0.len() >= above.len() && self.0.iter().zip(above).all(|(name, other)| name == other)
    }

    /// Returns `true` if a pattern fits the beginning of the path. In it, `*` is any one name.
    #[must_use]
    pub fn starts_like(&self, pattern: &str) -> bool {
        let mut names = self.0.iter();
        pattern
            .split('.')
            .all(|wanted| names.next().is_some_and(|name| wanted == "*" || wanted == name))
    }

    fn with_name(&self, name: &str) -> Self {
        Self(self.0.iter().cloned().chain([name.to_owned()]).collect())
    }
}

/// Shows the path as in errors: `agents.defaults.model`.
impl fmt::Display for KeyPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.join("."))
    }
}

impl ConfigDocument {
    /// Returns the keys whose values differ in a newer version of this document. References are
    /// compared by their values.
    #[must_use]
    pub fn changes(&self, newer: &Self) -> Vec<KeyPath> {
        let mut found = Vec::new();
        compare_values(&KeyPath(Vec::new()), Some(&self.root), Some(&newer.root), &mut found);
        found
    }

    /// Gives a key the value that it has in another document. If it has none there, removes it.
    pub fn keep_value(&mut self, key: &KeyPath, of: &Self) {
        put_value(&mut self.root, Some(&of.root), &key.0, value_at(&of.root, &key.0));
        let path = key.to_string();
        self.secret.retain(|other| !is_of_key(other, &path));
        self.secret.extend(of.secret.iter().filter(|other| is_of_key(other, &path)).cloned());
        self.secrets.extend(of.secrets.iter().cloned());
    }

    /// Returns `true` if the value of a key is a secret: the key is for secrets, or its value comes from
    /// a reference.
    #[must_use]
    pub fn is_secret(&self, key: &KeyPath) -> bool {
        let path = key.to_string();
        is_for_secrets(&path) || self.secret.iter().any(|other| is_of_key(other, &path))
    }

    /// `None` if the key is not set.
    #[must_use]
    pub fn value(&self, key: &KeyPath) -> Option<&Value> {
        value_at(&self.root, &key.0)
    }
}

/// Returns `true` for the key at `path`, and for the elements of a list there.
fn is_of_key(other: &str, path: &str) -> bool {
    other.strip_prefix(path).is_some_and(|rest| rest.is_empty() || rest.starts_with('['))
}

fn compare_values(
    path: &KeyPath,
    old: Option<&Value>,
    new: Option<&Value>,
    found: &mut Vec<KeyPath>,
) {
    let none = Map::new();
    let tables = match (old, new) {
        (old, new) if old == new => return,
        (Some(Value::Object(old)), Some(Value::Object(new))) => Some((old, new)),
        (None, Some(Value::Object(new))) if !new.is_empty() => Some((&none, new)),
        (Some(Value::Object(old)), None) if !old.is_empty() => Some((old, &none)),
        _ => None,
    };
    let Some((old, new)) = tables else {
        found.push(path.clone());
        return;
    };
    let names: BTreeSet<&String> = old.keys().chain(new.keys()).collect();
    for name in names {
        compare_values(&path.with_name(name), old.get(name), new.get(name), found);
    }
}

fn value_at<'v>(value: &'v Value, names: &[String]) -> Option<&'v Value> {
    names.iter().try_fold(value, |value, name| value.as_object()?.get(name))
}

/// Writes a value into a table, or removes it there. A table that becomes empty is removed too,
/// unless `like`, the table of the other document, exists.
fn put_value(table: &mut Value, like: Option<&Value>, names: &[String], value: Option<&Value>) {
    let Some((name, rest)) = names.split_first() else { return };
    let Some(table) = table.as_object_mut() else { return };
    let like = like.and_then(|like| like.get(name));
    if rest.is_empty() {
        match value {
            Some(value) => drop(table.insert(name.clone(), value.clone())),
            None => drop(table.remove(name)),
        }
        return;
    }
    if value.is_none() && !table.contains_key(name) {
        return;
    }
    let below = table.entry(name.clone()).or_insert_with(|| Value::Object(Map::new()));
    put_value(below, like, rest, value);
    if like.is_none() && below.as_object().is_some_and(Map::is_empty) {
        table.remove(name);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn document(text: &str) -> ConfigDocument {
        let environment = |name: &str| Some(format!("value of {name}"));
        ConfigDocument::parse(text.to_owned(), None, &environment).unwrap()
    }

    fn changed(old: &str, new: &str) -> String {
        let keys = document(old).changes(&document(new));
        keys.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn changes_names_each_key_with_another_value() {
        let table = [
            ("a = 1", "a = 1", ""),
            ("a = 1\n[t]\nb = [1, 2]", "a = 2\n[t]\nb = [1]", "a t.b"),
            ("", "[t.u]\na = 1\nb = 2", "t.u.a t.u.b"),
            ("[t.u]\na = 1", "", "t.u.a"),
            ("", "[t]", "t"),
            ("[t]", "[t]\na = 1", "t.a"),
            ("t = 1", "[t]\na = 1", "t"),
            ("[m.\"a/b.c\"]\nx = 1", "[m.\"a/b.c\"]\nx = 2", "m.a/b.c.x"),
            ("a = \"${ONE}\"", "a = \"${TWO}\"", "a"),
            ("a = \"${ONE}\"", "a = \"value of ONE\"", ""),
        ];
        for (old, new, expected) in table {
            assert_eq!(changed(old, new), expected, "{old:?} {new:?}");
        }
    }

    #[test]
    fn keep_restores_old_values_until_the_documents_are_equal() {
        let texts = ["", "a = 1", "[t]", "[t]\na = 1\n[t.u]\nb = 1", "[t]\nc = 2", "t = 3"];
        for old in texts.map(document) {
            for new in texts.map(document) {
                let mut kept = new.clone();
                old.changes(&new).iter().for_each(|key| kept.keep_value(key, &old));
                assert_eq!(kept.root, old.root, "{:?}", new.root);
            }
        }
    }

    #[test]
    fn keep_hides_a_secret_of_the_old_document() {
        let old = document("token = \"${ONE}\"\nname = \"a\"");
        let mut new = document("token = \"plain\"\nname = \"${TWO}\"");
        old.changes(&new).iter().for_each(|key| new.keep_value(key, &old));
        assert_eq!(
            new.hide_reference("token", "value of ONE"),
            "(hidden: it comes from a reference)"
        );
        assert_eq!(new.hide_reference("name", "a"), "a");
        let of_secrets =
            [["token"], ["name"]].map(|names| new.is_secret(&KeyPath::from_names(&names)));
        assert_eq!(of_secrets, [true, false]);
        assert!(new.secrets().iter().any(|secret| secret.expose() == "value of ONE"));
    }

    #[test]
    fn fits_compares_names_with_a_pattern() {
        let key = KeyPath::from_names(&["agents", "a.b", "workspace"]);
        let table = [
            ("agents", true),
            ("agents.*.workspace", true),
            ("agents.*", true),
            ("agents.x.workspace", false),
            ("agents.*.model", false),
            ("agents.*.workspace.deeper", false),
        ];
        for (pattern, fits) in table {
            assert_eq!(key.starts_like(pattern), fits, "{pattern}");
        }
        assert!(key.is_in(&["agents", "a.b"]) && !key.is_in(&["agents", "a"]));
    }
}
