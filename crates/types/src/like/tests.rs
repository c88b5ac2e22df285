//! What matches which pattern, and that no pattern takes long.

use proptest::prelude::*;

use super::*;

fn like(text: &str, pattern: &str) -> bool {
    LikePattern::new(pattern, Some("!")).unwrap().matches(text, Collation::DEFAULT, true)
}

#[test]
fn brackets_without_an_end_are_read_once() {
    // Minutes if each of them looked for its end.
    assert!(!like("[", &"[".repeat(2_000_000)));
    assert_eq!(LikePattern::new("ab[c", None).unwrap().prefix(), "ab");
}

#[test]
fn a_long_search_stops_when_it_is_told() {
    for (text, pattern) in [("a".repeat(1 << 22), "%aab"), ("ä".repeat(1 << 22), "%ääb")] {
        let pattern = LikePattern::new(pattern, None).unwrap();
        let stopped = pattern.matches_or_stop(&text, Collation::DEFAULT, true, |_| Err("stop"));
        assert_eq!(stopped, Err("stop"));
    }
}

#[test]
fn patterns() {
    for (text, pattern) in [
        ("Hello", "h%O"),
        ("", "%"),
        ("abc", "_b_"),
        ("50%", "50!%"),
        ("a_b", "a[_]b"),
        ("x5", "x[0-9]"),
        ("xa", "x[^0-9]"),
        ("a-b", "a[-]b"),
        ("aXbXc", "a%x%c"),
        ("é", "É"),
        ("]", "[!]]"),
    ] {
        assert!(like(text, pattern), "{text} LIKE {pattern}");
    }
    for (text, pattern) in [
        ("abc", "ab"),
        ("abc", "abcd"),
        ("e", "é"),
        ("x", "[]"),
        ("[", "["),
        ("abc ", "abc"),
        ("", "_"),
    ] {
        assert!(!like(text, pattern), "{text} NOT LIKE {pattern}");
    }
    let blanks = LikePattern::new("abc", None).unwrap();
    assert!(blanks.matches("abc  ", Collation::DEFAULT, false));
    assert!(!blanks.matches("ABC", Collation::BIN2, false));
    assert_eq!(LikePattern::new("ab%", None).unwrap().prefix(), "ab");
    assert!(LikePattern::new("ab%", None).unwrap().is_prefix_match());
    assert!(!LikePattern::new("a%b%", None).unwrap().is_prefix_match());
    assert_eq!(LikePattern::new("a", Some("!!")).unwrap_err().number, 506);
}

#[test]
fn a_character_of_two_units_is_two_unless_the_collation_counts_characters() {
    let counts = Collation::from_name("Latin1_General_100_CI_AS_SC").unwrap();
    let like = |text: &str, pattern: &str, collation| {
        LikePattern::new(pattern, Some("!")).unwrap().matches(text, collation, true)
    };
    // text, pattern, whether it matches by units, and by characters
    for (text, pattern, by_units, by_characters) in [
        ("a🙂", "a_", false, true),
        ("a🙂", "a__", true, false),
        ("🙂", "🙂", true, true),
        ("x🙂y", "%🙂_", true, true),
        ("🙂", "%\u{10FE42}", true, false),
        ("🙂", "\u{10F83D}%", true, false),
        ("🙂", "[🙂]", false, true),
        ("🙂", "[🙂][🙂]", true, false),
        ("🙂", "_[^🙂]", false, false),
        ("🙂", "!🙂", true, true),
        ("\u{10F83D}", "_", true, true),
        ("\u{10F83D}", "\u{10F83D}", true, true),
        ("\u{10F83D}", "\u{10F83E}", false, false),
        ("🙂", "[a-🙂]_", true, false),
        // By characters a symbol comes before the letters.
        ("b", "[a-🙂]", true, false),
    ] {
        let found = (like(text, pattern, Collation::BIN2), like(text, pattern, counts));
        assert_eq!(found, (by_units, by_characters), "{text:?} LIKE {pattern:?}");
    }
    // A text that begins with the whole character has no beginning in common with its first half.
    let half = LikePattern::new("ab\u{10F83D}%", None).unwrap();
    assert_eq!((half.prefix(), half.is_prefix_match()), ("ab", false));
    let whole = LikePattern::new("ab🙂%", None).unwrap();
    assert_eq!((whole.prefix(), whole.is_prefix_match()), ("ab🙂", true));
}

#[test]
fn many_wildcards_end_soon() {
    let text = "a".repeat(4000);
    let pattern = format!("{}b", "a%".repeat(200));
    assert!(!like(&text, &pattern));
}

proptest! {
    #[test]
    fn every_text_matches_itself_escaped(text in "[a-zA-Z%_\\[\\]^!-]{0,20}") {
        let escaped: String = text.chars().flat_map(|c| ['!', c]).collect();
        prop_assert!(like(&text, &escaped));
        let inside = format!("%{}%", escaped);
        let longer = format!("xx{}yy", text);
        prop_assert!(like(&longer, &inside));
    }

    #[test]
    fn bytes_match_as_characters_do(pattern in "[aAbB%_ \\[!]{0,9}", text in "[aAbB \\[!]{0,12}", unicode: bool) {
        let pattern = LikePattern::new(&pattern, None).unwrap();
        for collation in [Collation::DEFAULT, Collation::BIN2] {
            let mut work = MatchWork { look: |_| Ok::<(), Infallible>(()), done: 0 };
            let Ok(expected) =
                pattern.matches_chars(LikeText::new(&text), collation, unicode, &mut work);
            prop_assert_eq!(pattern.matches(&text, collation, unicode), expected);
        }
    }

    #[test]
    fn any_pattern_is_taken(pattern in "[a-c%_!\\[\\]^-]{0,12}|.{0,30}", text in "[a-c]{0,8}|.{0,30}") {
        let pattern = LikePattern::new(&pattern, Some("!")).unwrap();
        let mut work = MatchWork { look: |_| Ok::<(), Infallible>(()), done: 0 };
        let Ok(expected) = pattern.matches_chars(LikeText::new(&text), Collation::DEFAULT, true, &mut work);
        prop_assert_eq!(pattern.matches(&text, Collation::DEFAULT, true), expected);
    }
}
