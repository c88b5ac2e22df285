//! Scripting variables: `$(NAME)`, where their values come from, and what the names that sqlcmd
//! reserves stand for. Names compare without regard to case. `:setvar` goes before `-v`, that
//! before the environment.

use std::collections::BTreeMap;

/// Variables and the environment behind them.
#[derive(Clone, Debug, Default)]
pub struct Variables {
    /// By upper-case name: name as written, value.
    set: BTreeMap<String, (String, String)>,
    /// The process's environment; empty under `-X`.
    environment: BTreeMap<String, String>,
}

/// What a reserved name is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ReservedName {
    /// Set at the start.
    Fixed,
    /// A number within bounds.
    Number(i64, i64),
    /// Any text.
    Text,
}

fn reserved(upper: &str) -> Option<ReservedName> {
    Some(match upper {
        "SQLCMDUSER" | "SQLCMDPASSWORD" | "SQLCMDSERVER" | "SQLCMDWORKSTATION" | "SQLCMDDBNAME"
        | "SQLCMDPACKETSIZE" | "SQLCMDINI" | "SQLCMDLOGINTIMEOUT" => ReservedName::Fixed,
        "SQLCMDSTATTIMEOUT" => ReservedName::Number(0, 65_534),
        "SQLCMDHEADERS" => ReservedName::Number(-1, i32::MAX as i64),
        "SQLCMDCOLWIDTH" => ReservedName::Number(0, 65_535),
        "SQLCMDERRORLEVEL" => ReservedName::Number(-1, 25),
        "SQLCMDMAXVARTYPEWIDTH" | "SQLCMDMAXFIXEDTYPEWIDTH" => {
            ReservedName::Number(0, u32::MAX as i64)
        }
        "SQLCMDCOLSEP" | "SQLCMDEDITOR" => ReservedName::Text,
        _ => return None,
    })
}

/// Whether `text` can be a variable's name.
pub fn is_name(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '-' | '.'))
}

impl Variables {
    /// Variables with an environment behind them.
    pub fn new(environment: impl IntoIterator<Item = (String, String)>) -> Variables {
        let environment =
            environment.into_iter().map(|(name, value)| (name.to_uppercase(), value)).collect();
        Variables { set: BTreeMap::new(), environment }
    }

    /// The value of a name.
    pub fn get(&self, name: &str) -> Option<&str> {
        let upper = name.to_uppercase();
        let set = self.set.get(&upper).map(|(_, value)| value.as_str());
        set.or_else(|| self.environment.get(&upper).map(String::as_str))
    }

    /// A reserved variable's number, if it is one.
    pub fn number(&self, name: &str) -> Option<i64> {
        self.get(name)?.trim().parse().ok()
    }

    /// What options say: no name is refused.
    pub fn put(&mut self, name: &str, value: &str) {
        self.set.insert(name.to_uppercase(), (name.to_owned(), value.to_owned()));
    }

    /// `:setvar`; no value drops the variable. Errors: a reserved name that is fixed or takes
    /// another kind of value.
    pub fn set(&mut self, name: &str, value: Option<&str>) -> Result<(), String> {
        if !is_name(name) {
            return Err(format!("'{name}' is not a name for a scripting variable."));
        }
        let upper = name.to_uppercase();
        match (reserved(&upper), value) {
            (Some(ReservedName::Fixed), _) => {
                return Err(format!("The scripting variable: '{name}' is read-only"));
            }
            (Some(ReservedName::Number(least, most)), Some(value))
                if !value.trim().parse().is_ok_and(|n: i64| (least..=most).contains(&n)) =>
            {
                return Err(format!(
                    "'{name}' takes a number from {least} to {most}, not '{value}'."
                ));
            }
            _ => {}
        }
        match value {
            Some(value) => self.put(name, value),
            None => drop(self.set.remove(&upper)),
        }
        Ok(())
    }

    /// `NAME = "VALUE"` for each variable that is set here, for `:listvar`. A password is not
    /// shown.
    pub fn list(&self) -> String {
        let lines =
            self.set.values().filter(|(name, _)| !name.eq_ignore_ascii_case("SQLCMDPASSWORD"));
        lines.map(|(name, value)| format!("{name} = \"{value}\"\n")).collect()
    }

    /// Puts values in the place of `$(NAME)` but in comments. `$(` without a name and a closing
    /// parenthesis stays. Values are not searched again. Errors: the first name without a value,
    /// with the line of `text` from 0.
    pub fn expand(&self, text: &str) -> Result<String, (String, u32)> {
        let mut result = String::with_capacity(text.len());
        let mut scanner = syntax::Scanner::default();
        let mut done = 0;
        for (line_number, line) in (0..).zip(text.split_inclusive('\n')) {
            let mut at = 0;
            while let Some(found) = line[at..].find("$(").map(|n| at + n) {
                let Some(name) =
                    line[found + 2..].find(')').map(|n| &line[found + 2..found + 2 + n])
                else {
                    break;
                };
                at = found + 2;
                if !is_name(name) || scanner.after(&line[..found]).in_comment() {
                    continue;
                }
                let value = self.get(name).ok_or_else(|| (name.to_owned(), line_number))?;
                at += name.len() + 1;
                let here = line.as_ptr() as usize - text.as_ptr() as usize;
                result.push_str(&text[done..here + found]);
                result.push_str(value);
                done = here + at;
            }
            scanner = scanner.after(line);
        }
        result.push_str(&text[done..]);
        Ok(result)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn variables() -> Variables {
        let mut variables =
            Variables::new([("Home".into(), "/any/x".into()), ("A".into(), "outer".into())]);
        variables.put("a", "1");
        variables.set("Words", Some("two words")).unwrap();
        variables
    }

    #[test]
    fn values_by_precedence_and_without_regard_to_case() {
        let mut variables = variables();
        assert_eq!(variables.expand("$(A) $(words) $(HOME)").unwrap(), "1 two words /any/x");
        variables.set("A", None).unwrap();
        assert_eq!(variables.get("a"), Some("outer"));
        assert_eq!(variables.list(), "Words = \"two words\"\n");
    }

    #[test]
    fn what_is_not_a_variable_stays() {
        let text = "select '$(', $(1+1), $ (a) -- $(nowhere)\n/* $(nowhere)\n$(nowhere) */ '$(a)' [$(a)] '--$(a)'";
        let expected =
            "select '$(', $(1+1), $ (a) -- $(nowhere)\n/* $(nowhere)\n$(nowhere) */ '1' [1] '--1'";
        assert_eq!(variables().expand(text).unwrap(), expected);
        assert_eq!(variables().expand("a\nb $(a) $(x)\n"), Err(("x".into(), 1)));
    }

    #[test]
    fn reserved_names() {
        let mut variables = variables();
        assert!(variables.set("SQLCMDUSER", Some("x")).unwrap_err().contains("read-only"));
        assert!(variables.set("sqlcmdheaders", Some("many")).is_err());
        assert!(variables.set("sqlcmdcolwidth", Some("-1")).is_err());
        variables.set("sqlcmdheaders", Some("-1")).unwrap();
        assert_eq!(variables.number("SQLCMDHEADERS"), Some(-1));
        assert!(variables.set("$(x)", Some("1")).is_err());
    }
}
