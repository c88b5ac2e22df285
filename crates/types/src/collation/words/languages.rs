//! What each language has of its own: letters, pairs, letters that are two, letters that count as
//! another with an accent.

use super::Rules;

/// Nothing of its own.
pub(in crate::collation) const PLAIN: Rules = Rules {
    letters: &[],
    pairs: &[],
    doubles: &[],
    variants: &[],
    dotless: false,
    backwards: false,
};
pub(in crate::collation) const FRENCH: Rules = Rules { backwards: true, ..PLAIN };
pub(in crate::collation) const PHONE_BOOK: Rules =
    Rules { doubles: &[('ä', "ae"), ('ö', "oe"), ('ü', "ue")], ..PLAIN };
pub(in crate::collation) const SPANISH: Rules = Rules { letters: &[('n', &["ñ"])], ..PLAIN };
pub(in crate::collation) const OLD_SPANISH: Rules =
    Rules { pairs: &[('c', &["ch"]), ('l', &["ll"])], ..SPANISH };
pub(in crate::collation) const DANISH: Rules = Rules {
    letters: &[('z', &["æä", "øöő", "å"])],
    pairs: &[('z', &["", "", "aa"])],
    variants: &[('ü', 'y'), ('ű', 'y')],
    ..PLAIN
};
pub(in crate::collation) const SWEDISH: Rules =
    Rules {
        letters: &[('z', &["å", "äæ", "öø"])], variants: &[('ü', 'y'), ('w', 'v')], ..PLAIN
    };
pub(in crate::collation) const ICELANDIC: Rules = Rules {
    letters: &[
        ('a', &["á"]),
        ('d', &["ðđ"]),
        ('e', &["é"]),
        ('i', &["í"]),
        ('o', &["ó"]),
        ('u', &["ú"]),
        ('y', &["ý"]),
        ('z', &["þ", "æä", "öø", "å"]),
    ],
    ..PLAIN
};
pub(in crate::collation) const POLISH: Rules = Rules {
    letters: &[
        ('a', &["ą"]),
        ('c', &["ć"]),
        ('e', &["ę"]),
        ('l', &["ł"]),
        ('n', &["ń"]),
        ('o', &["ó"]),
        ('s', &["ś"]),
        ('z', &["ź", "ż"]),
    ],
    ..PLAIN
};
pub(in crate::collation) const CZECH: Rules = Rules {
    letters: &[('c', &["č"]), ('r', &["ř"]), ('s', &["š"]), ('z', &["ž"])],
    pairs: &[('h', &["ch"])],
    ..PLAIN
};
pub(in crate::collation) const SLOVAK: Rules = Rules {
    letters: &[('a', &["ä"]), ('c', &["č"]), ('o', &["ô"]), ('s', &["š"]), ('z', &["ž"])],
    pairs: &[('h', &["ch"])],
    ..PLAIN
};
pub(in crate::collation) const HUNGARIAN: Rules = Rules {
    letters: &[('o', &["öő"]), ('u', &["üű"])],
    pairs: &[
        ('c', &["cs"]),
        ('d', &["dz", "dzs"]),
        ('g', &["gy"]),
        ('l', &["ly"]),
        ('n', &["ny"]),
        ('s', &["sz"]),
        ('t', &["ty"]),
        ('z', &["zs"]),
    ],
    ..PLAIN
};
pub(in crate::collation) const CROATIAN: Rules = Rules {
    letters: &[('c', &["č", "ć"]), ('d', &["", "đ"]), ('s', &["š"]), ('z', &["ž"])],
    pairs: &[('d', &["dž"]), ('l', &["lj"]), ('n', &["nj"])],
    ..PLAIN
};
pub(in crate::collation) const SLOVENIAN: Rules = Rules {
    letters: &[('c', &["č", "ć"]), ('d', &["đ"]), ('s', &["š"]), ('z', &["ž"])],
    ..PLAIN
};
pub(in crate::collation) const ESTONIAN: Rules =
    Rules { letters: &[('s', &["š", "z", "ž"]), ('w', &["õ", "ä", "ö", "ü"])], ..PLAIN };
pub(in crate::collation) const LATVIAN: Rules = Rules {
    letters: &[
        ('c', &["č"]),
        ('g', &["ģ"]),
        ('i', &["y"]),
        ('k', &["ķ"]),
        ('l', &["ļ"]),
        ('n', &["ņ"]),
        ('r', &["ŗ"]),
        ('s', &["š"]),
        ('z', &["ž"]),
    ],
    ..PLAIN
};
pub(in crate::collation) const LITHUANIAN: Rules =
    Rules { letters: &[('c', &["č"]), ('i', &["y"]), ('s', &["š"]), ('z', &["ž"])], ..PLAIN };
pub(in crate::collation) const ROMANIAN: Rules = Rules {
    letters: &[('a', &["ă", "â"]), ('i', &["î"]), ('s', &["șş"]), ('t', &["țţ"])],
    ..PLAIN
};
pub(in crate::collation) const TURKISH: Rules = Rules {
    letters: &[
        ('c', &["ç"]),
        ('g', &["ğ"]),
        ('h', &["ı"]),
        ('o', &["ö"]),
        ('s', &["ş"]),
        ('u', &["ü"]),
    ],
    dotless: true,
    ..PLAIN
};
pub(in crate::collation) const AZERI: Rules = Rules {
    letters: &[
        ('c', &["ç"]),
        ('e', &["ə"]),
        ('g', &["ğ"]),
        ('h', &["x", "ı"]),
        ('k', &["q"]),
        ('o', &["ö"]),
        ('s', &["ş"]),
        ('u', &["ü"]),
    ],
    dotless: true,
    ..PLAIN
};
pub(in crate::collation) const ALBANIAN: Rules = Rules {
    letters: &[('c', &["ç"]), ('e', &["ë"])],
    pairs: &[
        ('d', &["dh"]),
        ('g', &["gj"]),
        ('l', &["ll"]),
        ('n', &["nj"]),
        ('r', &["rr"]),
        ('s', &["sh"]),
        ('t', &["th"]),
        ('x', &["xh"]),
        ('z', &["zh"]),
    ],
    ..PLAIN
};
pub(in crate::collation) const WELSH: Rules = Rules {
    pairs: &[
        ('c', &["ch"]),
        ('d', &["dd"]),
        ('f', &["ff"]),
        ('g', &["ng"]),
        ('l', &["ll"]),
        ('p', &["ph"]),
        ('r', &["rh"]),
        ('t', &["th"]),
    ],
    ..PLAIN
};
pub(in crate::collation) const VIETNAMESE: Rules = Rules {
    letters: &[('a', &["ă", "â"]), ('d', &["đ"]), ('e', &["ê"]), ('o', &["ô", "ơ"]), ('u', &["ư"])],
    ..PLAIN
};
