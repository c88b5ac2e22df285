//! The families of collations: names, locales, code pages, versions, and which combinations of
//! suffixes there are. Guarantee: a number, a name and an entry of `all` stand for the same
//! collations. A family whose order of letters is not known here (most are ordered by strokes or
//! sounds of Han characters) has its binary collations only.

use super::words::{Rules, languages};
use super::{AI, BIN, BIN2, CS, Collation, FAMILY, KS, SC, UTF8, VERSION_SHIFT, WS};

/// One language or group of languages.
pub(super) struct Family {
    /// Part of the stored numbers: never given to another.
    number: u32,
    pub(super) name: &'static str,
    pub(super) lcid: u32,
    pub(super) code_page: u16,
    /// Bits of the versions that it has.
    versions: u8,
    /// What its order has of its own; `None`: binary only.
    pub(super) rules: Option<&'static Rules>,
    /// Of an SQL collation: case-sensitive, case-insensitive, accent-insensitive (0: none).
    pub(super) sort_ids: Option<[u8; 3]>,
}

/// Latin1_General: the number of its family.
pub(super) const LATIN1_GENERAL: u32 = 16;

const V80: u8 = 1;
const V90: u8 = 2;
const V100: u8 = 4;
const V140: u8 = 8;

const fn windows(
    number: u32,
    name: &'static str,
    lcid: u32,
    code_page: u16,
    versions: u8,
    rules: &'static Rules,
) -> Family {
    Family { number, name, lcid, code_page, versions, rules: Some(rules), sort_ids: None }
}

const fn binary(
    number: u32,
    name: &'static str,
    lcid: u32,
    code_page: u16,
    versions: u8,
) -> Family {
    Family { number, name, lcid, code_page, versions, rules: None, sort_ids: None }
}

const fn sql(
    number: u32,
    name: &'static str,
    lcid: u32,
    code_page: u16,
    sort_ids: [u8; 3],
) -> Family {
    let rules = Some(&languages::PLAIN);
    Family { number, name, lcid, code_page, versions: V80, rules, sort_ids: Some(sort_ids) }
}

static FAMILIES: &[Family] = &[
    sql(0, "SQL_Latin1_General_CP1", 0x0409, 1252, [51, 52, 54]),
    sql(240, "SQL_Latin1_General_CP1250", 0x0409, 1250, [81, 82, 0]),
    sql(241, "SQL_Latin1_General_CP1251", 0x0419, 1251, [105, 106, 0]),
    sql(242, "SQL_Latin1_General_CP1253", 0x0408, 1253, [113, 114, 124]),
    sql(243, "SQL_Latin1_General_CP1254", 0x041F, 1254, [129, 130, 0]),
    sql(244, "SQL_Latin1_General_CP1255", 0x040D, 1255, [137, 138, 0]),
    sql(245, "SQL_Latin1_General_CP1256", 0x0401, 1256, [145, 146, 0]),
    sql(246, "SQL_Latin1_General_CP1257", 0x0425, 1257, [153, 154, 0]),
    windows(LATIN1_GENERAL, "Latin1_General", 0x0409, 1252, V80 | V100, &languages::PLAIN),
    windows(17, "Albanian", 0x041C, 1250, V80 | V100, &languages::ALBANIAN),
    windows(18, "Arabic", 0x0401, 1256, V80 | V100, &languages::PLAIN),
    windows(19, "Azeri_Latin", 0x042C, 1254, V90 | V100, &languages::AZERI),
    windows(20, "Bosnian_Latin", 0x141A, 1250, V100, &languages::CROATIAN),
    windows(21, "Croatian", 0x041A, 1250, V80 | V100, &languages::CROATIAN),
    windows(22, "Cyrillic_General", 0x0419, 1251, V80 | V100, &languages::PLAIN),
    windows(23, "Czech", 0x0405, 1250, V80 | V100, &languages::CZECH),
    windows(24, "Danish_Norwegian", 0x0406, 1252, V80, &languages::DANISH),
    windows(25, "Danish_Greenlandic", 0x0406, 1252, V100, &languages::DANISH),
    windows(26, "Estonian", 0x0425, 1257, V80 | V100, &languages::ESTONIAN),
    windows(27, "Finnish_Swedish", 0x040B, 1252, V80 | V100, &languages::SWEDISH),
    windows(28, "French", 0x040C, 1252, V80 | V100, &languages::FRENCH),
    windows(29, "German_PhoneBook", 0x1_0407, 1252, V80 | V100, &languages::PHONE_BOOK),
    windows(30, "Greek", 0x0408, 1253, V80 | V100, &languages::PLAIN),
    windows(31, "Hebrew", 0x040D, 1255, V80 | V100, &languages::PLAIN),
    windows(32, "Hungarian", 0x040E, 1250, V80 | V100, &languages::HUNGARIAN),
    windows(33, "Icelandic", 0x040F, 1252, V80 | V100, &languages::ICELANDIC),
    windows(34, "Korean_Wansung", 0x0412, 949, V80, &languages::PLAIN),
    windows(35, "Korean", 0x0412, 949, V90 | V100, &languages::PLAIN),
    windows(36, "Latvian", 0x0426, 1257, V80 | V100, &languages::LATVIAN),
    windows(37, "Lithuanian", 0x0427, 1257, V80 | V100, &languages::LITHUANIAN),
    windows(38, "Macedonian_FYROM", 0x042F, 1251, V90 | V100, &languages::PLAIN),
    windows(39, "Modern_Spanish", 0x0C0A, 1252, V80 | V100, &languages::SPANISH),
    windows(40, "Norwegian", 0x0414, 1252, V100, &languages::DANISH),
    windows(41, "Polish", 0x0415, 1250, V80 | V100, &languages::POLISH),
    windows(42, "Romanian", 0x0418, 1250, V80 | V100, &languages::ROMANIAN),
    windows(43, "Serbian_Cyrillic", 0x0C1A, 1251, V100, &languages::PLAIN),
    windows(44, "Serbian_Latin", 0x081A, 1250, V100, &languages::CROATIAN),
    windows(45, "Slovak", 0x041B, 1250, V80 | V100, &languages::SLOVAK),
    windows(46, "Slovenian", 0x0424, 1250, V80 | V100, &languages::SLOVENIAN),
    windows(47, "Traditional_Spanish", 0x040A, 1252, V80 | V100, &languages::OLD_SPANISH),
    windows(48, "Turkish", 0x041F, 1254, V80 | V100, &languages::TURKISH),
    windows(49, "Ukrainian", 0x0422, 1251, V80 | V100, &languages::PLAIN),
    windows(50, "Vietnamese", 0x042A, 1258, V80 | V100, &languages::VIETNAMESE),
    windows(51, "Welsh", 0x0452, 1252, V100, &languages::WELSH),
    windows(52, "Persian", 0x0429, 1256, V100, &languages::PLAIN),
    windows(53, "Urdu", 0x0420, 1256, V100, &languages::PLAIN),
    windows(54, "Romansh", 0x0417, 1252, V100, &languages::PLAIN),
    windows(55, "Breton", 0x047E, 1252, V100, &languages::PLAIN),
    windows(56, "Corsican", 0x0483, 1252, V100, &languages::PLAIN),
    windows(57, "Frisian", 0x0462, 1252, V100, &languages::PLAIN),
    binary(80, "Azeri_Cyrillic", 0x082C, 1251, V90 | V100),
    binary(81, "Bashkir", 0x046D, 1251, V100),
    binary(82, "Bosnian_Cyrillic", 0x201A, 1251, V100),
    binary(83, "Chinese_Hong_Kong_Stroke", 0x0C04, 950, V90),
    binary(84, "Chinese_PRC", 0x0804, 936, V80 | V90),
    binary(85, "Chinese_PRC_Stroke", 0x2_0804, 936, V80 | V90),
    binary(86, "Chinese_Simplified_Pinyin", 0x0804, 936, V100),
    binary(87, "Chinese_Simplified_Stroke_Order", 0x2_0804, 936, V100),
    binary(88, "Chinese_Taiwan_Bopomofo", 0x3_0404, 950, V80 | V90),
    binary(89, "Chinese_Taiwan_Stroke", 0x0404, 950, V80 | V90),
    binary(90, "Chinese_Traditional_Bopomofo", 0x3_0404, 950, V100),
    binary(91, "Chinese_Traditional_Pinyin", 0x1404, 950, V100),
    binary(92, "Chinese_Traditional_Stroke_Count", 0x0404, 950, V100),
    binary(93, "Chinese_Traditional_Stroke_Order", 0x2_1404, 950, V100),
    binary(94, "Dari", 0x048C, 1256, V100),
    binary(95, "Georgian_Modern_Sort", 0x1_0437, 1252, V80 | V100),
    binary(96, "Hungarian_Technical", 0x1_040E, 1250, V80 | V100),
    binary(97, "Japanese", 0x0411, 932, V80 | V90),
    binary(98, "Japanese_Bushu_Kakusu", 0x4_0411, 932, V100 | V140),
    binary(99, "Japanese_Unicode", 0x1_0411, 932, V80),
    binary(100, "Japanese_XJIS", 0x0411, 932, V100 | V140),
    binary(101, "Kazakh", 0x043F, 1251, V90 | V100),
    binary(102, "Tatar", 0x0444, 1251, V90 | V100),
    binary(103, "Thai", 0x041E, 874, V80 | V100),
    binary(104, "Turkmen", 0x0442, 1250, V100),
    binary(105, "Uighur", 0x0480, 1256, V100),
    binary(106, "Uzbek_Latin", 0x0443, 1254, V90 | V100),
    binary(107, "Yakut", 0x0485, 1251, V100),
];

impl Family {
    /// Its name in a description.
    pub(super) fn title(&self) -> String {
        let name = self.name.strip_prefix("SQL_").unwrap_or(self.name);
        name.split("_CP").next().unwrap_or(name).replace('_', "-")
    }

    fn has(&self, c: Collation) -> bool {
        let flags = c.0 & !(FAMILY | 3 << VERSION_SHIFT);
        let version = 1 << c.version();
        if self.versions & version == 0 || c.0 & FAMILY != self.number {
            return false;
        }
        let newer = version & (V90 | V100) != 0;
        match self.sort_ids {
            Some(_) if flags == CS || flags == 0 => return true,
            Some([_, _, id]) => return flags == AI && id != 0,
            None => {}
        }
        match flags & (BIN | BIN2) {
            // UTF-8 has the one binary order of code points.
            0 => {
                let known = flags & !(CS | AI | KS | WS | SC | UTF8) == 0;
                let utf8 = flags & UTF8 == 0 || flags & SC != 0;
                self.rules.is_some() && known && utf8 && (flags & SC == 0 || newer)
            }
            _ => flags == BIN || flags == BIN2 || (flags == BIN2 | UTF8 && version == V100),
        }
    }

    fn all(&self) -> impl Iterator<Item = Collation> {
        let versions = (0..4u32).filter(|v| self.versions & (1 << v) != 0);
        let words = [CS, AI, KS, WS, SC, UTF8];
        // Every set of the words that a name may have, then the binary ones.
        let sets = (0..1u32 << words.len()).map(move |set| {
            words
                .iter()
                .enumerate()
                .filter(|(i, _)| set >> i & 1 == 1)
                .map(|(_, flag)| flag)
                .sum::<u32>()
        });
        let sets: Vec<u32> = sets.chain([BIN, BIN2, BIN2 | UTF8]).collect();
        versions
            .flat_map(move |v| {
                sets.clone()
                    .into_iter()
                    .map(move |set| Collation(self.number | v << VERSION_SHIFT | set))
            })
            .filter(|c| self.has(*c))
    }
}

/// The family of a number. Numbers come from names and checked ids alone, so there is one.
pub(super) fn of(number: u32) -> &'static Family {
    FAMILIES.iter().find(|family| family.number == number).unwrap_or(&FAMILIES[0])
}

/// Whether there is such a collation.
pub(super) fn exists(c: Collation) -> bool {
    FAMILIES.iter().any(|family| family.has(c))
}

/// The collations of these flags, of all families.
pub(super) fn with_flags(flags: u32) -> impl Iterator<Item = Collation> {
    FAMILIES.iter().map(move |family| Collation(family.number | flags)).filter(|c| exists(*c))
}

/// All collations, the default first.
pub(super) fn all() -> impl Iterator<Item = Collation> {
    FAMILIES.iter().flat_map(Family::all)
}

/// The collation of a name.
pub(super) fn named(name: &str) -> Option<Collation> {
    FAMILIES.iter().find_map(|family| {
        let start = name.get(..family.name.len())?;
        let rest = name.get(family.name.len()..)?.strip_prefix('_')?;
        let found =
            start.eq_ignore_ascii_case(family.name).then(|| suffixed(family.number, rest))??;
        // Words in another order make no name.
        family.has(found).then_some(found).filter(|c| c.name().eq_ignore_ascii_case(name))
    })
}

/// The collation that the words after a family's name say.
fn suffixed(number: u32, words: &str) -> Option<Collation> {
    let mut bits = number;
    for word in words.split('_') {
        bits |= match word.to_ascii_uppercase().as_str() {
            "90" => 1 << VERSION_SHIFT,
            "100" => 2 << VERSION_SHIFT,
            "140" => 3 << VERSION_SHIFT,
            "CI" | "AS" => 0,
            "CS" => CS,
            "AI" => AI,
            "KS" => KS,
            "WS" => WS,
            "BIN" => BIN,
            "BIN2" => BIN2,
            "SC" => SC,
            "UTF8" => UTF8,
            _ => return None,
        };
    }
    Some(Collation(bits))
}
