//! Texts without their secrets, for views, the error log and whoever else shows what a client has sent.

/// What is starred out after which word, in texts that have one of some other words.
const SECRETS: [(&str, &[&str]); 2] = [("secret", &["credential"]), ("password", &["login", "user", "role"])];

/// Procedures whose arguments are passwords, and may stand in any form.
const PROCEDURES: [&str; 5] =
    ["sp_setapprole", "sp_addapprole", "sp_approlepassword", "sp_addlogin", "sp_password"];

/// A batch's text as views may show it: what follows `SECRET =` in a text about credentials, and `PASSWORD =` in one about logins
/// or users, and everything behind the name of a procedure that takes a password, is starred out, byte by byte, so that places in the text stay what they are.
pub fn conceal(text: &str) -> String {
    let mut out = text.to_string();
    for (secret, about) in SECRETS {
        if has(text, secret) && about.iter().any(|word| has(text, word)) {
            star_out(text, secret, &mut out);
        }
    }
    let lower = text.to_ascii_lowercase();
    for end in PROCEDURES.iter().filter_map(|name| Some(lower.find(name)? + name.len())) {
        out.replace_range(end.., &"*".repeat(text.len() - end));
    }
    out
}

fn has(text: &str, word: &str) -> bool {
    text.as_bytes().windows(word.len()).any(|part| part.eq_ignore_ascii_case(word.as_bytes()))
}

fn star_out(text: &str, secret: &str, out: &mut String) {
    let lower = text.to_ascii_lowercase();
    let mut from = 0;
    while let Some(found) = lower[from..].find(secret) {
        from += found + secret.len();
        if let Some((start, end)) = literal_behind_equals(text, from) {
            out.replace_range(start..end, &"*".repeat(end - start));
            from = end;
        }
    }
}

/// The content of the string literal after `=`, which may stand within another literal, its quotes doubled.
fn literal_behind_equals(text: &str, at: usize) -> Option<(usize, usize)> {
    let rest = text[at..].trim_start().strip_prefix('=')?.trim_start();
    let rest = rest.strip_prefix(['N', 'n']).unwrap_or(rest);
    // A string of QUOTED_IDENTIFIER OFF.
    if let Some(inner) = rest.strip_prefix('"') {
        let start = text.len() - inner.len();
        return Some((start, start + inner.find('"').unwrap_or(inner.len())));
    }
    let quotes = |text: &str| text.bytes().take_while(|b| *b == b'\'').count();
    // A run of quotes opens as many levels as it is long.
    let depth = quotes(rest);
    if depth == 0 {
        return None;
    }
    let start = text.len() - rest.len() + depth;
    let mut end = start;
    loop {
        end += text[end..].find('\'').unwrap_or(text.len() - end);
        let run = quotes(&text[end..]);
        // Twice as many are a quote within the literal.
        if run == 0 || !run.is_multiple_of(2 * depth) {
            return Some((start, end));
        }
        end += run;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_starred_out() {
        assert_eq!(
            conceal("create CREDENTIAL c with identity='i', secret = N'a:b''c';select 'x'"),
            "create CREDENTIAL c with identity='i', secret = N'******';select 'x'"
        );
        assert_eq!(
            conceal("exec('alter credential c with identity=''i'', SECRET=''abc''') -- it's"),
            "exec('alter credential c with identity=''i'', SECRET=''***''') -- it's"
        );
        assert_eq!(conceal("alter credential c with secret='ab"), "alter credential c with secret='**");
        assert_eq!(conceal("select secret = 'x'"), "select secret = 'x'");
        assert_eq!(
            conceal("ALTER LOGIN x WITH PASSWORD = N'new' OLD_PASSWORD = 'old', NAME = y"),
            "ALTER LOGIN x WITH PASSWORD = N'***' OLD_PASSWORD = '***', NAME = y"
        );
        assert_eq!(conceal("select password = 'x'"), "select password = 'x'");
        assert_eq!(
            conceal("select 1 exec SP_setapprole 'r', 'secret', @cookie = @c OUTPUT"),
            format!("select 1 exec SP_setapprole{}", "*".repeat("_'r', 'secret', @cookie = @c OUTPUT".len()))
        );
        let wide = conceal("create credential c with identity='i', secret='\u{e4}\u{e4}'");
        assert!(wide.ends_with("secret='****'"), "{wide}");
    }
}
