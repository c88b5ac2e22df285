//! What can follow at the cursor: keywords, functions, and the databases, schemas, tables and
//! columns of the catalog as it is at that moment. Works on the text alone, which need not parse.

use engine::Instance;
use std::collections::BTreeSet;
use std::sync::Arc;
use syntax::Scanner;
use syntax::lexer::{Tok, tokenize};

/// A table or view with its columns.
#[derive(Clone, Debug, Default)]
pub struct Table {
    pub schema: String,
    pub name: String,
    pub columns: Vec<String>,
}

/// Where names come from.
pub trait NameSource {
    /// All databases.
    fn databases(&self) -> Vec<String>;
    /// Tables and system views of a database; none = the current one. Nothing for one that is not
    /// there.
    fn tables(&self, database: Option<&str>) -> Vec<Table>;
    /// Schemas, those without a table too.
    fn schemas(&self, database: Option<&str>) -> Vec<String>;
}

/// The names of an instance.
pub struct Live {
    pub instance: Arc<Instance>,
    /// The session's database.
    pub database: String,
}

impl NameSource for Live {
    fn databases(&self) -> Vec<String> {
        self.instance.databases().iter().map(|db| db.name().to_string()).collect()
    }

    fn tables(&self, database: Option<&str>) -> Vec<Table> {
        let Some(db) = self.instance.find_db(database.unwrap_or(&self.database)) else {
            return Vec::new();
        };
        let catalog = db.catalog();
        let own = catalog.sorted().into_iter().map(|table| Table {
            schema: table.schema.to_string(),
            name: table.name.to_string(),
            columns: table.columns.iter().map(|column| column.name.to_string()).collect(),
        });
        let views = engine::views::all().map(|view| Table {
            schema: view.schema().to_owned(),
            name: view.name().to_owned(),
            columns: view.columns().iter().map(|(name, ..)| (*name).to_owned()).collect(),
        });
        own.chain(views).collect()
    }

    fn schemas(&self, database: Option<&str>) -> Vec<String> {
        let Some(db) = self.instance.find_db(database.unwrap_or(&self.database)) else {
            return Vec::new();
        };
        let catalog = db.catalog();
        // Those of the fixed roles have nothing in them.
        let of_roles = engine::catalog::security::DB_OWNER;
        let own = catalog.schema_names.iter().filter(|(id, _)| **id < of_roles);
        let own = own.map(|(_, name)| name.to_string());
        own.chain(["sys".to_owned(), "INFORMATION_SCHEMA".to_owned()]).collect()
    }
}

/// Words that can follow anywhere.
const WORDS: &str = "add all alter and any as asc backup begin between break bulk by cascade case cast catch check \
checkpoint clustered coalesce collate column commit constraint continue convert create cross current_timestamp database \
dbcc declare default delayed_durability delete desc differential disk distinct drop else end escape exec execute exists \
fetch filegroup file for foreign from full getdate go goto group having identity if in index inner insert intersect into \
is join key kill left like log merge next nocount nolock nonclustered not null offset on openrowset option or order outer \
over output partition percent primary print procedure raiserror recovery references restore return returning rollback row \
rowcount rows save schema select set shutdown simple size snapshot statistics table then throw to top tran transaction \
truncate try union unique update use using values varchar nvarchar int bigint smallint tinyint bit decimal numeric money \
float real date datetime datetime2 time char nchar binary varbinary uniqueidentifier max view waitfor when where while \
with xact_abort avg count count_big sum min max abs ceiling floor round sqrt power len left right substring replace \
replicate reverse upper lower ltrim rtrim trim charindex concat concat_ws string_agg isnull nullif iif choose try_cast \
try_convert dateadd datediff datepart datename year month day sysdatetime row_number rank dense_rank lag lead \
scope_identity object_id object_name db_id db_name newid checksum error_message error_number";

/// System procedures.
const PROCEDURES: [&str; 8] = [
    "sp_configure",
    "sp_databases",
    "sp_executesql",
    "sp_flush_log",
    "sp_helpdb",
    "sp_rename",
    "sp_spaceused",
    "sp_who",
];

/// Whether a name needs no brackets.
fn is_plain(name: &str) -> bool {
    let mut chars = name.chars();
    chars.next().is_some_and(|c| c.is_alphabetic() || c == '_' || c == '#')
        && chars.all(|c| c.is_alphanumeric() || matches!(c, '_' | '@' | '#' | '$'))
        && !syntax::is_reserved(name)
}

/// A name as T-SQL writes it.
fn written(name: &str) -> String {
    if is_plain(name) { name.to_owned() } else { format!("[{}]", name.replace(']', "]]")) }
}

/// A name without brackets or quotes.
fn plain(text: &str) -> String {
    match text.as_bytes().first() {
        Some(b'[') => text.trim_start_matches('[').trim_end_matches(']').replace("]]", "]"),
        Some(b'"') => text.trim_matches('"').replace("\"\"", "\""),
        _ => text.to_owned(),
    }
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '_' | '@' | '#' | '$')
}

/// What is before the cursor: the names with dots after them, and the word that is being written.
struct Path {
    /// Where the word begins.
    start: usize,
    parents: Vec<String>,
}

fn path_before(before: &str) -> Path {
    let start = match before.rfind('[') {
        // A name in brackets that is not closed yet.
        Some(open) if !before[open..].contains(']') => open,
        _ => before
            .rfind(|c| !is_word(c))
            .map_or(0, |at| at + before[at..].chars().next().map_or(1, char::len_utf8)),
    };
    let mut parents = Vec::new();
    let mut rest = &before[..start];
    while let Some(inner) = rest.strip_suffix('.') {
        let begin = if inner.ends_with(']') {
            inner.rfind('[').unwrap_or(0)
        } else {
            inner
                .rfind(|c| !is_word(c))
                .map_or(0, |at| at + inner[at..].chars().next().map_or(1, char::len_utf8))
        };
        parents.insert(0, plain(&inner[begin..]));
        rest = &inner[..begin];
    }
    Path { start, parents }
}

/// A table that the batch names: its path and the name that the batch gives it.
struct MentionedTable {
    path: Vec<String>,
    alias: Option<String>,
}

/// The tables after FROM, JOIN, INTO, UPDATE and the like, wherever in the batch.
fn mentions(text: &str) -> Vec<MentionedTable> {
    let tokens = tokenize(text).list;
    let word = |at: usize| {
        tokens.get(at).map(|t| &text[t.span.start as usize..t.span.end as usize]).unwrap_or("")
    };
    let kind = |at: usize| tokens.get(at).map_or(Tok::Eof, |t| t.kind);
    let is_name = |at: usize| matches!(kind(at), Tok::Word | Tok::Quoted);
    let mut found = Vec::new();
    let mut at = 0;
    let mut in_from = false;
    while at < tokens.len() {
        let upper = word(at).to_ascii_uppercase();
        let begins = match upper.as_str() {
            "FROM" | "JOIN" => {
                in_from = true;
                true
            }
            "INTO" | "UPDATE" | "TABLE" | "INSERT" | "DELETE" => true,
            "," => in_from,
            "WHERE" | "GROUP" | "ORDER" | "SELECT" | "SET" | "HAVING" | ";" => {
                in_from = false;
                false
            }
            _ => false,
        };
        at += 1;
        if !begins || !is_name(at) {
            continue;
        }
        let mut path = vec![plain(word(at))];
        at += 1;
        while kind(at) == Tok::Dot {
            at += 1;
            path.push(if is_name(at) { plain(word(at)) } else { String::new() });
            at += usize::from(is_name(at));
        }
        at += usize::from(word(at).eq_ignore_ascii_case("as"));
        let alias = is_name(at).then(|| plain(word(at)));
        found.push(MentionedTable { path, alias });
    }
    found
}

fn same(a: &str, b: &str) -> bool {
    a.eq_ignore_ascii_case(b)
}

/// The table of a path, from the right: name, schema, database.
fn lookup(path: &[String], names: &dyn NameSource) -> Option<Table> {
    let name = path.last()?;
    let schema = path.len().checked_sub(2).map(|at| path[at].as_str()).filter(|s| !s.is_empty());
    let database = path.len().checked_sub(3).map(|at| path[at].as_str()).filter(|s| !s.is_empty());
    let tables = names.tables(database);
    tables.into_iter().find(|t| same(&t.name, name) && same(&t.schema, schema.unwrap_or("dbo")))
}

/// Names of the tables of a schema.
fn tables_of(schema: &str, database: Option<&str>, names: &dyn NameSource) -> Vec<String> {
    let tables = names.tables(database).into_iter();
    tables.filter(|t| same(&t.schema, schema)).map(|t| written(&t.name)).collect()
}

/// What can follow names and dots.
fn children(parents: &[String], text: &str, names: &dyn NameSource) -> Vec<String> {
    let columns = |table: Table| table.columns.iter().map(|name| written(name)).collect::<Vec<_>>();
    if let [name] = parents {
        let mentioned = mentions(text);
        let of = |mention: &&MentionedTable| match &mention.alias {
            Some(alias) => same(alias, name),
            None => mention.path.last().is_some_and(|last| same(last, name)),
        };
        if let Some(table) =
            mentioned.iter().find(of).and_then(|mention| lookup(&mention.path, names))
        {
            return columns(table);
        }
        let mut found = tables_of(name, None, names);
        if found.is_empty() && names.databases().iter().any(|db| same(db, name)) {
            found = names.schemas(Some(name)).iter().map(|schema| written(schema)).collect();
        }
        return found;
    }
    if let [database, schema] = parents {
        let schema = if schema.is_empty() { "dbo" } else { schema };
        let found = tables_of(schema, Some(database), names);
        if !found.is_empty() {
            return found;
        }
    }
    lookup(parents, names).map(columns).unwrap_or_default()
}

/// What can follow without a dot, given the word before and whether anything was written of this
/// one.
fn anything(before: &str, text: &str, prefix: &str, names: &dyn NameSource) -> Vec<String> {
    let last = before
        .trim_end()
        .rsplit(|c: char| !is_word(c))
        .next()
        .unwrap_or_default()
        .to_ascii_uppercase();
    let written_all = |list: Vec<String>| list.iter().map(|name| written(name)).collect::<Vec<_>>();
    match last.as_str() {
        "USE" => return written_all(names.databases()),
        "EXEC" | "EXECUTE" => return PROCEDURES.map(str::to_owned).to_vec(),
        _ => {}
    }
    let tables = || {
        let mut found = tables_of("dbo", None, names);
        found.extend(written_all(names.schemas(None)));
        found.extend(written_all(names.databases()));
        found
    };
    if matches!(
        last.as_str(),
        "FROM" | "JOIN" | "INTO" | "UPDATE" | "TABLE" | "REFERENCES" | "DELETE" | "INSERT"
    ) {
        return tables();
    }
    let mut found = Vec::new();
    for mention in mentions(text) {
        found.extend(mention.alias.iter().map(|alias| written(alias)));
        if let Some(table) = lookup(&mention.path, names) {
            found.extend(table.columns.iter().map(|name| written(name)));
        }
    }
    if !prefix.is_empty() {
        let upper = prefix.chars().any(char::is_uppercase);
        found.extend(
            WORDS
                .split_whitespace()
                .map(|w| if upper { w.to_ascii_uppercase() } else { w.to_owned() }),
        );
        found.extend(tables());
    }
    found
}

/// What can stand at `pos` in `text`, from which byte on, in order and each once. `scanner` is what
/// the text before `text` ends inside of; `whole` is the batch with the text, whose tables and
/// variables are known.
pub fn complete(
    text: &str,
    pos: usize,
    scanner: Scanner,
    whole: &str,
    names: &dyn NameSource,
) -> (usize, Vec<String>) {
    let before = &text[..pos];
    let Path { start, parents } = path_before(before);
    let inside = scanner.after(&before[..start]);
    if inside.is_open() || inside.in_comment() {
        return (pos, Vec::new());
    }
    let prefix = &before[start..];
    let candidates = if prefix.starts_with('@') {
        let tokens = tokenize(whole).list.into_iter().filter(|token| token.kind == Tok::Variable);
        tokens
            .map(|t| whole[t.span.start as usize..t.span.end as usize].to_owned())
            .filter(|v| v != prefix)
            .collect()
    } else if parents.is_empty() {
        anything(&before[..start], whole, prefix, names)
    } else {
        children(&parents, whole, names)
    };
    let wanted = prefix.trim_start_matches('[').to_lowercase();
    let fits = |name: &String| name.trim_start_matches('[').to_lowercase().starts_with(&wanted);
    let mut found: Vec<String> =
        candidates.into_iter().filter(fits).collect::<BTreeSet<_>>().into_iter().collect();
    found.sort_by_key(|name| name.trim_start_matches('[').to_lowercase());
    (start, found)
}

/// The first words of commands that begin with `prefix`.
pub fn commands(prefix: &str) -> Vec<String> {
    let listed = super::script::HELP.split_whitespace().filter(|word| {
        word.starts_with([':', '\\', '.']) && word.len() > 1 && !word.ends_with("...")
    });
    let all: BTreeSet<String> = listed
        .map(|word| word.split('(').next().unwrap_or(word).trim_end_matches(',').to_owned())
        .collect();
    all.into_iter().filter(|word| word.starts_with(&prefix.to_ascii_lowercase())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    struct FixedNames;

    impl NameSource for FixedNames {
        fn databases(&self) -> Vec<String> {
            ["master", "Sales", "old sales"].map(str::to_owned).to_vec()
        }
        fn tables(&self, database: Option<&str>) -> Vec<Table> {
            let table = |schema: &str, name: &str, columns: &[&str]| Table {
                schema: schema.into(),
                name: name.into(),
                columns: columns.iter().map(|c| (*c).to_owned()).collect(),
            };
            match database {
                None => vec![
                    table("dbo", "customer", &["c_id", "c_name", "order"]),
                    table("dbo", "cust orders", &["o_id"]),
                    table("web", "click", &["at"]),
                    table("sys", "databases", &["name"]),
                ],
                Some(name) if same(name, "sales") => vec![table("dbo", "invoice", &["i_id"])],
                Some(_) => Vec::new(),
            }
        }
        fn schemas(&self, _: Option<&str>) -> Vec<String> {
            ["dbo", "web", "sys"].map(str::to_owned).to_vec()
        }
    }

    /// The candidates at `|`, and the text that they stand for.
    fn at(marked: &str) -> (String, Vec<String>) {
        let pos = marked.find('|').unwrap();
        let text = marked.replace('|', "");
        let (start, found) = complete(&text, pos, Scanner::default(), &text, &FixedNames);
        (text[start..pos].to_owned(), found)
    }

    #[test]
    fn tables_schemas_and_databases() {
        assert_eq!(at("use |").1, ["master", "[old sales]", "Sales"]);
        assert_eq!(
            at("select * from cus|"),
            ("cus".into(), vec!["[cust orders]".into(), "customer".into()])
        );
        assert_eq!(
            at("select * from [cus|"),
            ("[cus".into(), vec!["[cust orders]".into(), "customer".into()])
        );
        assert_eq!(at("select * from web.|").1, ["click"]);
        assert_eq!(at("select * from sys.da|").1, ["databases"]);
        assert_eq!(at("select * from sales.|").1, ["dbo", "sys", "web"]);
        assert_eq!(at("select * from Sales..|").1, ["invoice"]);
        assert_eq!(at("select * from Sales.dbo.inv|").1, ["invoice"]);
    }

    #[test]
    fn columns_of_the_tables_that_the_batch_names() {
        assert_eq!(at("select c.| from customer as c").1, ["c_id", "c_name", "[order]"]);
        assert_eq!(at("select customer.c_n| from dbo.customer").1, ["c_name"]);
        assert_eq!(at("select c_| from dbo.customer").1, ["c_id", "c_name"]);
        assert_eq!(at("select i.| from customer c join sales.dbo.invoice i on 1 = 1").1, ["i_id"]);
        assert_eq!(at("update customer set c_na|").1, ["c_name"]);
        assert_eq!(at("select Sales.dbo.invoice.| from x").1, ["i_id"]);
    }

    #[test]
    fn keywords_keep_the_case_of_what_is_typed() {
        assert_eq!(at("sel|").1, ["select"]);
        assert_eq!(at("SEL|").1, ["SELECT"]);
        assert_eq!(at("exec sp_sp|").1, ["sp_spaceused"]);
        assert_eq!(at("declare @count int, @other int select @co|").1, ["@count"]);
    }

    #[test]
    fn nothing_inside_of_strings_and_comments() {
        for text in ["select 'sel|", "-- sel|", "/* sel|", "select 'it''s sel|"] {
            assert_eq!(at(text).1, [""; 0], "{text}");
        }
        let inside = Scanner::default().after("select 'a\n");
        assert!(complete("sel", 3, inside, "select 'a\nsel", &FixedNames).1.is_empty());
        assert_eq!(commands(":re"), [":reset"]);
        assert!(commands("\\d").len() >= 4);
    }
}
