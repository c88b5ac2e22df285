//! Texts without their secrets, for views, Query Store, the error log, events and whoever else
//! shows what a client has sent.
//!
//! Guarantees: what is hidden is found by the tokens of the real lexer, so that comments, blanks,
//! brackets, `N''` and `0x` between or around the words change nothing; a text within a string is
//! looked at as one itself. A text that names secrets and cannot be read is hidden whole. Stars
//! take the place of bytes, so that places in the text stay what they are.

use syntax::ParseError;
use syntax::ParseSettings;
use syntax::lexer::{Tok, Token, tokenize_while};

/// Parts of words that every text with a secret has: a text without one is shown as it is, after
/// one look at it.
const SIGNS: [&str; 7] =
    ["password", "passphrase", "secret", "approle", "pwd", "addlogin", "linkedsrvlogin"];
/// Signs of functions that take a password as one argument of several.
const KEY_SIGNS: [&str; 3] = ["signby", "decryptby", "certprivatekey"];
/// Words before `=` whose value is a secret.
const VALUES: [&str; 5] = ["PASSWORD", "OLD_PASSWORD", "MEDIAPASSWORD", "SECRET", "PWD"];
/// One of these words is in each statement that has such a value. A column may be called so
/// elsewhere.
const STATEMENTS: [&str; 14] = [
    "LOGIN",
    "USER",
    "ROLE",
    "CREDENTIAL",
    "KEY",
    "CERTIFICATE",
    "BACKUP",
    "RESTORE",
    "DUMP",
    "LOAD",
    "OPENROWSET",
    "OPENDATASOURCE",
    "UID",
    "SERVER",
];
/// Procedures whose arguments have passwords, and may stand in any form.
const PROCEDURES: [&str; 9] = [
    "SP_SETAPPROLE",
    "SP_ADDAPPROLE",
    "SP_APPROLEPASSWORD",
    "SP_ADDLOGIN",
    "SP_PASSWORD",
    "SP_ADDLINKEDSRVLOGIN",
    "SP_ADDREMOTELOGIN",
    "SP_CHANGE_USERS_LOGIN",
    "SP_CONTROL_DBMASTERKEY_PASSWORD",
];
/// Functions whose literals are passwords, or what they protect.
const FUNCTIONS: [&str; 12] = [
    "ENCRYPTBYPASSPHRASE",
    "DECRYPTBYPASSPHRASE",
    "PWDENCRYPT",
    "PWDCOMPARE",
    "SIGNBYASYMKEY",
    "SIGNBYCERT",
    "DECRYPTBYASYMKEY",
    "DECRYPTBYCERT",
    "DECRYPTBYKEYAUTOCERT",
    "DECRYPTBYKEYAUTOASYMKEY",
    "CERTPRIVATEKEY",
    "SYMKEYPROPERTY",
];
/// Texts within texts that are looked at. Quotes double with each level, so that nobody writes as
/// many.
const DEEPEST: usize = 8;

/// Tokens that are looked at between two questions whether the text is still wanted.
const BETWEEN: usize = 512;

/// A batch's text as it may be shown.
pub fn conceal(text: &str) -> String {
    conceal_while(text, &|| true).unwrap_or_default()
}

/// As [`conceal`], as long as `wanted` says so; none when the text is not wanted any more.
pub fn conceal_while(text: &str, wanted: &dyn Fn() -> bool) -> Option<String> {
    if !has_sign(text) {
        return Some(text.to_string());
    }
    let mut hidden = vec![false; text.len()];
    if hide(text, 0, &mut hidden, wanted)? == Seen::Unreadable {
        hidden.fill(true);
    }
    let mut shown = text.to_string();
    let mut at = 0;
    while at < hidden.len() {
        let end = at + hidden[at..].iter().take_while(|h| **h == hidden[at]).count();
        if hidden[at] {
            shown.replace_range(at..end, &"*".repeat(end - at));
        }
        at = end;
    }
    Some(shown)
}

/// Whether a text has something that must not be shown.
pub fn has_secret(text: &str) -> bool {
    has_sign(text) && conceal(text) != text
}

fn has_sign(text: &str) -> bool {
    let lower = text.to_ascii_lowercase();
    SIGNS.iter().chain(&KEY_SIGNS).any(|sign| lower.contains(sign))
}

/// What became of a text that was looked at.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Seen {
    /// Its secrets are hidden.
    Read,
    /// It names secrets, and nobody can say where they are.
    Unreadable,
}

/// Hides the secrets of a text; none when it is not wanted any more.
fn hide(text: &str, depth: usize, hidden: &mut [bool], wanted: &dyn Fn() -> bool) -> Option<Seen> {
    let tokens = tokenize_while(text, ParseSettings::default(), wanted)?;
    let list = &tokens.list;
    let words: Vec<String> = list.iter().map(|token| word(text, token)).collect();
    let is_about = words.iter().any(|word| STATEMENTS.contains(&word.as_str()));
    let (mut names, mut strings_too) = (false, false);
    // Calls up to here have their arguments hidden: those within a call are among its own.
    let mut calls = 0;
    for at in 0..list.len() {
        if at % BETWEEN == BETWEEN - 1 && !wanted() {
            return None;
        }
        let name = words[at].as_str();
        if VALUES.contains(&name) && is_about {
            names = true;
            hide_value(list, at, hidden);
        } else if PROCEDURES.contains(&name) {
            hidden[list[at].span.end as usize..].fill(true);
            break;
        } else if FUNCTIONS.contains(&name) {
            names = true;
            if at >= calls {
                calls = hide_arguments(list, at, hidden);
            }
        }
        if matches!(list[at].kind, Tok::Str | Tok::NStr | Tok::Quoted) {
            strings_too |= hide_within(text, &list[at], depth, hidden, wanted)? == Seen::Unreadable;
        }
    }
    if strings_too {
        // A text that is put together of several: any of them may have the secret.
        let literals = list.iter().filter(|token| is_literal(token.kind));
        literals.for_each(|token| fill(token, hidden));
    }
    Some(if names && !parses(text, wanted)? { Seen::Unreadable } else { Seen::Read })
}

/// A token as the name or keyword that it is, in upper case; empty for all else.
fn word(text: &str, token: &Token) -> String {
    let written = token.span.text(text);
    match token.kind {
        Tok::Word | Tok::Reserved => written.to_ascii_uppercase(),
        Tok::Quoted => {
            written.get(1..written.len().saturating_sub(1)).unwrap_or("").to_ascii_uppercase()
        }
        _ => String::new(),
    }
}

/// What may be a value: also `"x"`, which is a string where QUOTED_IDENTIFIER is OFF.
fn is_literal(kind: Tok) -> bool {
    matches!(kind, Tok::Str | Tok::NStr | Tok::Binary | Tok::Quoted)
}

/// Stars out what stands within the quotes of a literal, or a number as a whole.
fn fill(token: &Token, hidden: &mut [bool]) {
    let (start, end) = (token.span.start as usize, token.span.end as usize);
    let before = match token.kind {
        Tok::NStr | Tok::Binary => 2,
        Tok::Str | Tok::Quoted => 1,
        _ => 0,
    };
    let after = usize::from(matches!(token.kind, Tok::Str | Tok::NStr | Tok::Quoted));
    if start + before < end.saturating_sub(after) {
        hidden[start + before..end - after].fill(true);
    }
}

/// The value of `PASSWORD = value`: whatever stands behind `=` but a variable, and the literals up
/// to the next word, with or without `=`, as a statement may be wrong.
fn hide_value(list: &[Token], at: usize, hidden: &mut [bool]) {
    let mut behind_equals = false;
    for token in &list[at + 1..] {
        match token.kind {
            Tok::Variable | Tok::Eof | Tok::Bad | Tok::Comma | Tok::Semi => return,
            Tok::Word | Tok::Reserved => {
                if behind_equals {
                    fill(token, hidden);
                }
                return;
            }
            kind if is_literal(kind) => fill(token, hidden),
            // A number is a word that is none.
            Tok::Integer | Tok::Decimal | Tok::Float | Tok::Money => fill(token, hidden),
            _ => {}
        }
        behind_equals = token.kind == Tok::Eq;
    }
}

/// The literals between the brackets of a call; the token behind them.
fn hide_arguments(list: &[Token], at: usize, hidden: &mut [bool]) -> usize {
    let mut open = 0;
    for (behind, token) in list.iter().enumerate().skip(at + 1) {
        match token.kind {
            Tok::LParen => open += 1,
            Tok::RParen => open -= 1,
            kind if is_literal(kind) => fill(token, hidden),
            _ => {}
        }
        if open <= 0 {
            return behind;
        }
    }
    list.len()
}

/// A text within a string: that of EXEC, of sp_executesql, of a job's step.
fn hide_within(
    text: &str,
    token: &Token,
    depth: usize,
    hidden: &mut [bool],
    wanted: &dyn Fn() -> bool,
) -> Option<Seen> {
    let written = token.span.text(text);
    if !has_sign(written) {
        return Some(Seen::Read);
    }
    if depth == DEEPEST {
        fill(token, hidden);
        return Some(Seen::Read);
    }
    let prefix = if token.kind == Tok::NStr { 2 } else { 1 };
    let Some(inner) = written.get(prefix..written.len() - 1) else { return Some(Seen::Read) };
    let quote = if token.kind == Tok::Quoted { written.as_bytes()[0] } else { b'\'' };
    let quote = match quote {
        b'[' => b']',
        other => other,
    };
    // The text as it is when the quotes are no longer doubled, and where each of its bytes stands.
    let (mut plain, mut places) =
        (Vec::with_capacity(inner.len()), Vec::with_capacity(inner.len()));
    let mut at = 0;
    while at < inner.len() {
        let byte = inner.as_bytes()[at];
        plain.push(byte);
        places.push(at);
        at += if byte == quote && inner.as_bytes().get(at + 1) == Some(&quote) { 2 } else { 1 };
    }
    // Only whole ASCII characters were left out.
    let Ok(plain) = String::from_utf8(plain) else { return Some(Seen::Unreadable) };
    let mut within = vec![false; plain.len()];
    let seen = hide(&plain, depth + 1, &mut within, wanted)?;
    let begin = token.span.start as usize + prefix;
    places.push(inner.len());
    for (i, _) in within.iter().enumerate().filter(|(_, hide)| **hide) {
        hidden[begin + places[i]..begin + places[i + 1]].fill(true);
    }
    Some(seen)
}

/// Whether a text is T-SQL, with one setting of QUOTED_IDENTIFIER or the other; none when that is
/// not wanted any more.
fn parses(text: &str, wanted: &dyn Fn() -> bool) -> Option<bool> {
    for quoted_identifier in [true, false] {
        let settings = ParseSettings { quoted_identifier, ..ParseSettings::default() };
        match syntax::parse_while(text, settings, wanted) {
            Ok(_) => return Some(true),
            Err(ParseError::Syntax(_)) => {}
            Err(ParseError::Stopped) => return None,
        }
    }
    Some(false)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, shown: &str) {
        assert_eq!(conceal(text), shown);
    }

    /// Texts in each of which `S3cret` or its bytes must not show.
    const HIDDEN: &[&str] = &[
        "create login a with password='S3cret'",
        "create login pwl5 with password/**/=/*x*/N'S3cret'",
        "create login a with password--\n=\n'S3cret'",
        "create login a with [password] = 'S3cret'",
        "CREATE LOGIN a WITH PASSWORD = 0x53336372 HASHED",
        "alter login a with password = 'S3cret' old_password/* = */=/**/'S3cret'",
        "create user u with password = N'S3cret'",
        "create application role r with password = 'S3cret'",
        "create credential c with identity = 'i', secret = 'S3cret'",
        "create credential c with identity = 'i', secret/*'*/= N'S3cret'",
        "open master key decryption by password = 'S3cret'",
        "create certificate c encryption by password = 'S3cret' with subject = 's'",
        "backup database d to disk = 'x' with password = 'S3cret', mediapassword = 'S3cret'",
        "restore database d from disk = 'x' with password = 'S3cret'",
        "exec sp_addlogin 'a', 'S3cret'",
        "exec master..[sp_addlogin] 'a', 'S3cret'",
        "sp_password null, S3cret, a",
        "exec \"sp_password\" @new = 'S3cret'",
        "{call sp_setapprole('r', 'S3cret')}",
        "select encryptbypassphrase('S3cret', 'S3cret')",
        "select decryptbypassphrase/**/(N'S3cret', 0x5333)",
        "select pwdcompare('S3cret', 0x0200)",
        "exec('create login a with password = ''S3cret''')",
        "exec sp_executesql N'exec(''alter login a with password = ''''S3cret'''''')'",
        "set quoted_identifier off exec(\"create login a with password = 'S3cret'\")",
        "set quoted_identifier off; create login a with password = \"S3cret\"",
        // Put together, or not T-SQL: hidden as far as it takes.
        "exec('create login a with password = ''' + 'S3cret' + '''')",
        "create login a with password 'S3cret'",
        "create login a with password = 'x' + ('S3cret')",
        "create login a with password = S3cret",
        "create login a with password = 'S3cret",
        "create login a with with password = 'x' + 'S3cret'",
        "select * from openrowset('SQLNCLI', 'Server=x;Uid=sa;Pwd=S3cret;', 'select 1') r",
        "exec sp_addlinkedsrvlogin 'x', 'false', null, 'sa', 'S3cret'",
    ];

    #[test]
    fn no_spelling_shows_a_secret() {
        for text in HIDDEN {
            let shown = conceal(text);
            assert!(!shown.contains("S3cret") && !shown.contains("5333"), "{text}\n{shown}");
            assert_eq!(shown.len(), text.len(), "{text}");
            assert!(has_secret(text), "{text}");
        }
    }

    #[test]
    fn what_stands_around_a_secret_is_shown() {
        check(
            "create CREDENTIAL c with identity='i', secret = N'a:b''c';select 'x'",
            "create CREDENTIAL c with identity='i', secret = N'******';select 'x'",
        );
        check(
            "exec('alter credential c with identity=''i'', SECRET=''abc''') -- it's",
            "exec('alter credential c with identity=''i'', SECRET=''***''') -- it's",
        );
        check(
            "ALTER LOGIN x WITH PASSWORD = N'new' OLD_PASSWORD = 'old', NAME = y",
            "ALTER LOGIN x WITH PASSWORD = N'***' OLD_PASSWORD = '***', NAME = y",
        );
        check(
            "select 1 exec SP_setapprole 'r', 'secret', @cookie = @c OUTPUT",
            &format!(
                "select 1 exec SP_setapprole{}",
                "*".repeat("_'r', 'secret', @cookie = @c OUTPUT".len())
            ),
        );
        check(
            "select encryptbypassphrase('k', 'v'), 'k'",
            "select encryptbypassphrase('*', '*'), 'k'",
        );
        check(
            "create credential c with identity='i', secret='\u{e4}\u{e4}'",
            "create credential c with identity='i', secret='****'",
        );
    }

    #[test]
    fn calls_within_calls_are_looked_at_once() {
        // A look at the rest of the text for each of them would take minutes.
        let calls = "pwdcompare(".repeat(100_000);
        let shown = conceal(&format!("select {calls}'S3cret'"));
        assert!(!shown.contains("S3cret"));
    }

    #[test]
    fn a_text_that_is_not_wanted_is_not_made() {
        let text = format!("select pwdcompare('S3cret', 0x02){}", ", 1".repeat(5_000));
        let asked = std::cell::Cell::new(0);
        let until = |last: usize| {
            asked.set(0);
            conceal_while(&text, &|| {
                asked.set(asked.get() + 1);
                asked.get() < last
            })
        };
        assert!(until(usize::MAX).is_some_and(|shown| !shown.contains("S3cret")));
        let all = asked.get();
        assert!(all > 10, "{all}");
        for last in 1..=all {
            assert_eq!((until(last), asked.get()), (None, last));
        }
    }

    #[test]
    fn what_is_no_secret_is_shown() {
        for text in [
            "select password = 'x'",
            "select secret = 'x'",
            "select 'the password is wrong'",
            "alter login a with password = @p",
            "select [password] from dbo.accounts where secret = 'x'",
            "create login a with check_policy = off",
            "selec password",
        ] {
            check(text, text);
            assert!(!has_secret(text));
        }
    }
}
