//! Texts beside the sequences of units that they stand for.

use proptest::prelude::*;

use super::*;

/// Sequences in which halves often meet, also those of the last characters of all.
fn sequences() -> impl Strategy<Value = Vec<u16>> {
    let some = [
        0x61, 0xE9, 0x20AC, 0xFFFF, 0xD83D, 0xDE42, 0xD800, 0xDBFD, 0xDBFE, 0xDBFF, 0xDC00, 0xDFFF,
    ];
    proptest::collection::vec(
        prop_oneof![4 => prop::sample::select(some.to_vec()), 1 => any::<u16>()],
        0..12,
    )
}

fn text(units: &[u16]) -> CompactString {
    text_of(units.iter().copied())
}

fn part(units: &[u16], from: usize, to: usize) -> CompactString {
    text(units.get(from.min(units.len())..to.min(units.len())).unwrap_or_default())
}

#[test]
fn halves_stand_for_themselves() {
    assert_eq!(text(&[0xD83D, 0xDE42]), "🙂");
    assert_eq!(text(&[0xD83D, 0x61]), "\u{10F83D}a");
    assert_eq!((lone('\u{10F83D}'), of_lone(0xD83D)), (Some(0xD83D), Some('\u{10F83D}')));
    assert_eq!((lone('🙂'), of_lone(0x61), of_lone(0xE000)), (None, None, None));
    assert_eq!(halves('🙂'), Some(('\u{10F83D}', '\u{10FE42}')));
    assert_eq!((halves('é'), halves('\u{10F83D}')), (None, None));
    // The first and the last of the characters that are held as their halves, and the one before.
    assert_eq!(held("\u{10F7FF}"), "\u{10F7FF}");
    assert_eq!(held("\u{10F800}"), "\u{10FBFE}\u{10FC00}");
    assert_eq!(held("\u{10FFFF}"), "\u{10FBFF}\u{10FFFF}");
    assert_eq!(plain("a\u{10FBFF}\u{10FFFF}\u{10F83D}"), "a\u{10FFFF}\u{FFFD}");
    assert_eq!(first_code("\u{10FBFF}\u{10FFFF}"), Some(0x10_FFFF));
    assert_eq!((first_code("\u{10F83D}x"), first_code("")), (Some(0xD83D), None));
}

#[test]
fn halves_that_make_a_character_are_not_alone() {
    let pair = held("\u{10FFFF}").into_owned();
    assert_eq!(
        (unpaired_at(&pair, 0), unpaired_at(&pair, 4), first_unpaired(&pair)),
        (None, None, None)
    );
    let text = format!("a🙂{}", of_lone(0xDE42).unwrap_or_default());
    assert_eq!((first_unpaired(&text), unpaired_at(&text, 5)), (Some(5), Some(0xDE42)));
    assert_eq!(unpaired_at("a", 0), None);
}

proptest! {
    #[test]
    fn a_text_is_its_units(sequence in sequences()) {
        let text = text(&sequence);
        prop_assert_eq!(units(&text).collect::<Vec<u16>>(), sequence.clone());
        prop_assert_eq!(utf16_len(&text), sequence.len());
        prop_assert!(is_joined(&text));
        prop_assert_eq!(plain(&text), String::from_utf16_lossy(&sequence));
        let wide = |unit: &u16| (0xD800..=0xDFFF).contains(unit);
        prop_assert!(sequence.iter().any(wide) || !(may_have_pairs(&text) || has_halves(&text)));
    }

    #[test]
    fn parts_are_those_of_the_units(sequence in sequences(), from in 0usize..14, to in 0usize..14) {
        let text = text(&sequence);
        let expected = part(&sequence, from, to);
        prop_assert_eq!(cut(&text, from, to), expected.as_str());
        let place = place(&text, from);
        let before = utf16_len(&text[..place.byte]) + usize::from(place.second);
        prop_assert_eq!(before, from.min(sequence.len()));
    }

    #[test]
    fn texts_join_as_units_do(left in sequences(), right in sequences()) {
        let whole = text(&[left.as_slice(), &right].concat());
        let (a, b) = (text(&left), text(&right));
        prop_assert_eq!(concat(&a, &b), whole.clone());
        let mut pushed = a.to_string();
        push_text(&mut pushed, &b);
        prop_assert_eq!(&pushed, whole.as_str());
        pushed = a.to_string();
        b.chars().for_each(|c| push_char(&mut pushed, c));
        prop_assert_eq!(&pushed, whole.as_str());
        pushed.clear();
        left.iter().chain(&right).for_each(|unit| push_unit(&mut pushed, *unit));
        prop_assert_eq!(&pushed, whole.as_str());
        prop_assert_eq!(joined(format!("{a}{b}")), whole.as_str());
        let apart = apart(&whole);
        prop_assert_eq!(apart.chars().count(), left.len() + right.len());
        prop_assert_eq!(joined(apart), whole.as_str());
    }

    #[test]
    fn what_comes_from_outside_goes_out_again(text in "[a-cé€🙂\u{10F7FF}-\u{10FFFF}]{0,9}") {
        let held = held(&text);
        prop_assert!(units(&held).eq(text.encode_utf16()));
        prop_assert!(is_joined(&held));
        prop_assert_eq!(plain(&held), text.clone());
    }
}

#[test]
fn units_are_read_in_blocks() {
    for ascii in 0..70 {
        for tail in
            [&[][..], &[0xE9], &[0xD83D], &[0xD83D, 0xDE42, 0x61], &[0xDE42, 0xD83D, 0x20AC]]
        {
            let sequence: Vec<u16> =
                std::iter::repeat_n(0x61, ascii).chain(tail.repeat(40)).collect();
            let bytes: Vec<[u8; 2]> = sequence.iter().map(|unit| unit.to_le_bytes()).collect();
            let mut read = String::new();
            push_le(&bytes, &mut read);
            assert_eq!(read, text(&sequence).as_str());
        }
    }
}
