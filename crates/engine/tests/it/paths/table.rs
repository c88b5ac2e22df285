//! The table as text. Places that come to the same with every statement as every role are one kind,
//! which has the name of its first place, so that a reader sees at once what happens to which; each
//! place was tried nevertheless.

use std::collections::BTreeMap;
use std::fmt::Write as _;

/// What statements came to.
pub struct Table<'p> {
    places: Vec<&'p str>,
    statements: Vec<(&'static str, Vec<Row>)>,
}

/// What a statement came to as a role, by place.
struct Row {
    role: &'static str,
    outcomes: Vec<String>,
}

impl<'p> Table<'p> {
    pub fn new(places: &'p [(String, String)]) -> Table<'p> {
        let places = places.iter().map(|(shown, _)| shown.as_str()).collect();
        Table { places, statements: Vec::new() }
    }

    /// Takes an outcome; those of a statement and of a role come one after the other.
    pub fn add(&mut self, statement: &'static str, role: &'static str, place: usize, said: String) {
        if self.statements.last().is_none_or(|(name, _)| *name != statement) {
            self.statements.push((statement, Vec::new()));
        }
        let (_, rows) = self.statements.last_mut().expect("it was added");
        if rows.last().is_none_or(|row| row.role != role) {
            rows.push(Row { role, outcomes: Vec::new() });
        }
        let outcomes = &mut rows.last_mut().expect("it was added").outcomes;
        assert_eq!(outcomes.len(), place, "{statement} as {role} has each place once");
        outcomes.push(said);
    }

    /// The first place of each kind, with all of them.
    fn kinds(&self) -> Vec<Vec<usize>> {
        let mut kinds: BTreeMap<Vec<&str>, Vec<usize>> = BTreeMap::new();
        for place in 0..self.places.len() {
            let rows = self.statements.iter().flat_map(|(_, rows)| rows);
            let all = rows.map(|row| row.outcomes[place].as_str()).collect();
            kinds.entry(all).or_default().push(place);
        }
        let mut kinds: Vec<_> = kinds.into_values().collect();
        kinds.sort();
        kinds
    }

    pub fn text(&self) -> String {
        let kinds = self.kinds();
        let mut text = String::from("Kinds of places, each with the name of its first one\n");
        for kind in &kinds {
            let _ = writeln!(text, "  [{}]", self.places[kind[0]]);
            text += &filled(kind.iter().map(|place| self.places[*place].to_string()));
        }
        for (name, rows) in &self.statements {
            let _ = writeln!(text, "{name}");
            let mut groups: Vec<(Vec<&str>, &Row)> = Vec::new();
            for row in rows {
                match groups.iter_mut().find(|(_, other)| other.outcomes == row.outcomes) {
                    Some((roles, _)) => roles.push(row.role),
                    None => groups.push((vec![row.role], row)),
                }
            }
            for (roles, row) in groups {
                let _ = writeln!(text, "  {}", roles.join(", "));
                let mut found: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
                for kind in &kinds {
                    found.entry(&row.outcomes[kind[0]]).or_default().push(kind[0]);
                }
                for (said, first) in found {
                    let all = first.len() == kinds.len();
                    let _ = writeln!(text, "    {said}:{}", if all { " every place" } else { "" });
                    if !all {
                        text +=
                            &filled(first.iter().map(|place| format!("[{}]", self.places[*place])));
                    }
                }
            }
        }
        text
    }
}

/// Lines of names, filled up to a width.
fn filled(names: impl Iterator<Item = String>) -> String {
    let mut lines = String::new();
    let mut line = String::from("       ");
    for name in names {
        if line.len() + name.len() > 99 && line.trim() != "" {
            lines += &line;
            lines.push('\n');
            line = String::from("       ");
        }
        let _ = write!(line, " {name}");
    }
    lines + &line + "\n"
}
