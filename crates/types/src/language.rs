//! The languages of sessions: what SET LANGUAGE knows, with the names of months and days, the order of dates and the first day of
//! the week that each brings (`sys.syslanguages`). Guarantees: every list has its twelve or seven names; a [`Dialect`] is one of
//! these languages with one of the six orders.

/// Order of day, month and year in dates of digits (SET DATEFORMAT).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum DateOrder {
    #[default]
    Mdy,
    Dmy,
    Ymd,
    Ydm,
    Myd,
    Dym,
}

/// All orders with their names.
const ORDERS: [(DateOrder, &str); 6] = [
    (DateOrder::Mdy, "mdy"),
    (DateOrder::Dmy, "dmy"),
    (DateOrder::Ymd, "ymd"),
    (DateOrder::Ydm, "ydm"),
    (DateOrder::Myd, "myd"),
    (DateOrder::Dym, "dym"),
];

impl DateOrder {
    /// `mdy` and the like.
    pub fn name(self) -> &'static str {
        ORDERS.iter().find(|(order, _)| *order == self).map_or("mdy", |(_, name)| name)
    }

    /// The order of a name such as `dmy`.
    pub fn from_name(name: &str) -> Option<DateOrder> {
        ORDERS.iter().find(|(_, own)| own.eq_ignore_ascii_case(name)).map(|(order, _)| *order)
    }

    /// Whether days stand before months.
    pub fn day_first(self) -> bool {
        matches!(self, DateOrder::Dmy | DateOrder::Ydm | DateOrder::Dym)
    }

    /// The order that a CONVERT style reads; `None` where the session's holds.
    pub fn of_style(style: i32) -> Option<DateOrder> {
        match style {
            1 | 10 | 22 | 101 | 110 => Some(DateOrder::Mdy),
            3..=6 | 13 | 103..=106 | 113 => Some(DateOrder::Dmy),
            2 | 11 | 12 | 20 | 21 | 23 | 25 | 102 | 111 | 112 | 120 | 121 | 126 | 127 => Some(DateOrder::Ymd),
            _ => None,
        }
    }
}

/// A language.
#[derive(Debug)]
pub struct Language {
    /// Its number (@@LANGID): its place in the list.
    pub id: u8,
    /// Its own name (@@LANGUAGE), and its English one.
    pub name: &'static str,
    pub alias: &'static str,
    pub order: DateOrder,
    /// First day of the week, 1 (Monday) to 7 (Sunday).
    pub first_day: u8,
    /// Windows' number of it, and that of its messages.
    pub lcid: u16,
    pub messages: u16,
    /// From January.
    pub months: [&'static str; 12],
    pub short_months: [&'static str; 12],
    /// From Monday.
    pub days: [&'static str; 7],
}

const ENGLISH_MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];
const ENGLISH_SHORT: [&str; 12] =
    ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
const ENGLISH_DAYS: [&str; 7] =
    ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"];
const DIGITS: [&str; 12] = ["01", "02", "03", "04", "05", "06", "07", "08", "09", "10", "11", "12"];
const ROMAN: [&str; 12] = ["I", "II", "III", "IV", "V", "VI", "VII", "VIII", "IX", "X", "XI", "XII"];
const NORWEGIAN_MONTHS: [&str; 12] = [
    "januar",
    "februar",
    "mars",
    "april",
    "mai",
    "juni",
    "juli",
    "august",
    "september",
    "oktober",
    "november",
    "desember",
];
const NORWEGIAN_SHORT: [&str; 12] =
    ["jan", "feb", "mar", "apr", "mai", "jun", "jul", "aug", "sep", "okt", "nov", "des"];
const NORDIC_DAYS: [&str; 7] = ["mandag", "tirsdag", "onsdag", "torsdag", "fredag", "lørdag", "søndag"];
const PORTUGUESE_MONTHS: [&str; 12] = [
    "Janeiro",
    "Fevereiro",
    "Março",
    "Abril",
    "Maio",
    "Junho",
    "Julho",
    "Agosto",
    "Setembro",
    "Outubro",
    "Novembro",
    "Dezembro",
];
const PORTUGUESE_SHORT: [&str; 12] =
    ["Jan", "Fev", "Mar", "Abr", "Mai", "Jun", "Jul", "Ago", "Set", "Out", "Nov", "Dez"];
const CHINESE_DAYS: [&str; 7] = ["星期一", "星期二", "星期三", "星期四", "星期五", "星期六", "星期日"];
const BULGARIAN_MONTHS: [&str; 12] = [
    "януари",
    "февруари",
    "март",
    "април",
    "май",
    "юни",
    "юли",
    "август",
    "септември",
    "октомври",
    "ноември",
    "декември",
];

/// The languages by number.
pub static LANGUAGES: [Language; 34] = [
    Language {
        id: 0,
        name: "us_english",
        alias: "English",
        order: DateOrder::Mdy,
        first_day: 7,
        lcid: 1033,
        messages: 1033,
        months: ENGLISH_MONTHS,
        short_months: ENGLISH_SHORT,
        days: ENGLISH_DAYS,
    },
    Language {
        id: 1,
        name: "Deutsch",
        alias: "German",
        order: DateOrder::Dmy,
        first_day: 1,
        lcid: 1031,
        messages: 1031,
        months: [
            "Januar",
            "Februar",
            "März",
            "April",
            "Mai",
            "Juni",
            "Juli",
            "August",
            "September",
            "Oktober",
            "November",
            "Dezember",
        ],
        short_months: ["Jan", "Feb", "Mär", "Apr", "Mai", "Jun", "Jul", "Aug", "Sep", "Okt", "Nov", "Dez"],
        days: ["Montag", "Dienstag", "Mittwoch", "Donnerstag", "Freitag", "Samstag", "Sonntag"],
    },
    Language {
        id: 2,
        name: "Français",
        alias: "French",
        order: DateOrder::Dmy,
        first_day: 1,
        lcid: 1036,
        messages: 1036,
        months: [
            "janvier",
            "février",
            "mars",
            "avril",
            "mai",
            "juin",
            "juillet",
            "août",
            "septembre",
            "octobre",
            "novembre",
            "décembre",
        ],
        short_months: [
            "janv", "févr", "mars", "avr", "mai", "juin", "juil", "août", "sept", "oct", "nov", "déc",
        ],
        days: ["lundi", "mardi", "mercredi", "jeudi", "vendredi", "samedi", "dimanche"],
    },
    Language {
        id: 3,
        name: "日本語",
        alias: "Japanese",
        order: DateOrder::Ymd,
        first_day: 7,
        lcid: 1041,
        messages: 1041,
        months: DIGITS,
        short_months: DIGITS,
        days: ["月曜日", "火曜日", "水曜日", "木曜日", "金曜日", "土曜日", "日曜日"],
    },
    Language {
        id: 4,
        name: "Dansk",
        alias: "Danish",
        order: DateOrder::Dmy,
        first_day: 1,
        lcid: 1030,
        messages: 1030,
        months: [
            "januar",
            "februar",
            "marts",
            "april",
            "maj",
            "juni",
            "juli",
            "august",
            "september",
            "oktober",
            "november",
            "december",
        ],
        short_months: ["jan", "feb", "mar", "apr", "maj", "jun", "jul", "aug", "sep", "okt", "nov", "dec"],
        days: NORDIC_DAYS,
    },
    Language {
        id: 5,
        name: "Español",
        alias: "Spanish",
        order: DateOrder::Dmy,
        first_day: 1,
        lcid: 3082,
        messages: 3082,
        months: [
            "Enero",
            "Febrero",
            "Marzo",
            "Abril",
            "Mayo",
            "Junio",
            "Julio",
            "Agosto",
            "Septiembre",
            "Octubre",
            "Noviembre",
            "Diciembre",
        ],
        short_months: ["Ene", "Feb", "Mar", "Abr", "May", "Jun", "Jul", "Ago", "Sep", "Oct", "Nov", "Dic"],
        days: ["Lunes", "Martes", "Miércoles", "Jueves", "Viernes", "Sábado", "Domingo"],
    },
    Language {
        id: 6,
        name: "Italiano",
        alias: "Italian",
        order: DateOrder::Dmy,
        first_day: 1,
        lcid: 1040,
        messages: 1040,
        months: [
            "gennaio",
            "febbraio",
            "marzo",
            "aprile",
            "maggio",
            "giugno",
            "luglio",
            "agosto",
            "settembre",
            "ottobre",
            "novembre",
            "dicembre",
        ],
        short_months: ["gen", "feb", "mar", "apr", "mag", "giu", "lug", "ago", "set", "ott", "nov", "dic"],
        days: ["lunedì", "martedì", "mercoledì", "giovedì", "venerdì", "sabato", "domenica"],
    },
    Language {
        id: 7,
        name: "Nederlands",
        alias: "Dutch",
        order: DateOrder::Dmy,
        first_day: 1,
        lcid: 1043,
        messages: 1043,
        months: [
            "januari",
            "februari",
            "maart",
            "april",
            "mei",
            "juni",
            "juli",
            "augustus",
            "september",
            "oktober",
            "november",
            "december",
        ],
        short_months: ["jan", "feb", "mrt", "apr", "mei", "jun", "jul", "aug", "sep", "okt", "nov", "dec"],
        days: ["maandag", "dinsdag", "woensdag", "donderdag", "vrijdag", "zaterdag", "zondag"],
    },
    Language {
        id: 8,
        name: "Norsk",
        alias: "Norwegian",
        order: DateOrder::Dmy,
        first_day: 1,
        lcid: 2068,
        messages: 2068,
        months: NORWEGIAN_MONTHS,
        short_months: NORWEGIAN_SHORT,
        days: NORDIC_DAYS,
    },
    Language {
        id: 9,
        name: "Português",
        alias: "Portuguese",
        order: DateOrder::Dmy,
        first_day: 7,
        lcid: 2070,
        messages: 2070,
        months: PORTUGUESE_MONTHS,
        short_months: PORTUGUESE_SHORT,
        days: [
            "segunda-feira",
            "terça-feira",
            "quarta-feira",
            "quinta-feira",
            "sexta-feira",
            "sábado",
            "domingo",
        ],
    },
    Language {
        id: 10,
        name: "Suomi",
        alias: "Finnish",
        order: DateOrder::Dmy,
        first_day: 1,
        lcid: 1035,
        messages: 1035,
        months: [
            "tammikuuta",
            "helmikuuta",
            "maaliskuuta",
            "huhtikuuta",
            "toukokuuta",
            "kesäkuuta",
            "heinäkuuta",
            "elokuuta",
            "syyskuuta",
            "lokakuuta",
            "marraskuuta",
            "joulukuuta",
        ],
        short_months: [
            "tammi", "helmi", "maalis", "huhti", "touko", "kesä", "heinä", "elo", "syys", "loka", "marras",
            "joulu",
        ],
        days: ["maanantai", "tiistai", "keskiviikko", "torstai", "perjantai", "lauantai", "sunnuntai"],
    },
    Language {
        id: 11,
        name: "Svenska",
        alias: "Swedish",
        order: DateOrder::Ymd,
        first_day: 1,
        lcid: 1053,
        messages: 1053,
        months: [
            "januari",
            "februari",
            "mars",
            "april",
            "maj",
            "juni",
            "juli",
            "augusti",
            "september",
            "oktober",
            "november",
            "december",
        ],
        short_months: ["jan", "feb", "mar", "apr", "maj", "jun", "jul", "aug", "sep", "okt", "nov", "dec"],
        days: ["måndag", "tisdag", "onsdag", "torsdag", "fredag", "lördag", "söndag"],
    },
    Language {
        id: 12,
        name: "čeština",
        alias: "Czech",
        order: DateOrder::Dmy,
        first_day: 1,
        lcid: 1029,
        messages: 1029,
        months: [
            "leden",
            "únor",
            "březen",
            "duben",
            "květen",
            "červen",
            "červenec",
            "srpen",
            "září",
            "říjen",
            "listopad",
            "prosinec",
        ],
        short_months: ROMAN,
        days: ["pondělí", "úterý", "středa", "čtvrtek", "pátek", "sobota", "neděle"],
    },
    Language {
        id: 13,
        name: "magyar",
        alias: "Hungarian",
        order: DateOrder::Ymd,
        first_day: 1,
        lcid: 1038,
        messages: 1038,
        months: [
            "január",
            "február",
            "március",
            "április",
            "május",
            "június",
            "július",
            "augusztus",
            "szeptember",
            "október",
            "november",
            "december",
        ],
        short_months: [
            "jan", "febr", "márc", "ápr", "máj", "jún", "júl", "aug", "szept", "okt", "nov", "dec",
        ],
        days: ["hétfő", "kedd", "szerda", "csütörtök", "péntek", "szombat", "vasárnap"],
    },
    Language {
        id: 14,
        name: "polski",
        alias: "Polish",
        order: DateOrder::Dmy,
        first_day: 1,
        lcid: 1045,
        messages: 1045,
        months: [
            "styczeń",
            "luty",
            "marzec",
            "kwiecień",
            "maj",
            "czerwiec",
            "lipiec",
            "sierpień",
            "wrzesień",
            "październik",
            "listopad",
            "grudzień",
        ],
        short_months: ROMAN,
        days: ["poniedziałek", "wtorek", "środa", "czwartek", "piątek", "sobota", "niedziela"],
    },
    Language {
        id: 15,
        name: "română",
        alias: "Romanian",
        order: DateOrder::Dmy,
        first_day: 1,
        lcid: 1048,
        messages: 1048,
        months: [
            "ianuarie",
            "februarie",
            "martie",
            "aprilie",
            "mai",
            "iunie",
            "iulie",
            "august",
            "septembrie",
            "octombrie",
            "noiembrie",
            "decembrie",
        ],
        short_months: ["Ian", "Feb", "Mar", "Apr", "Mai", "Iun", "Iul", "Aug", "Sep", "Oct", "Nov", "Dec"],
        days: ["luni", "marţi", "miercuri", "joi", "vineri", "sîmbătă", "duminică"],
    },
    Language {
        id: 16,
        name: "hrvatski",
        alias: "Croatian",
        order: DateOrder::Ymd,
        first_day: 1,
        lcid: 1050,
        messages: 1050,
        months: [
            "siječanj",
            "veljača",
            "ožujak",
            "travanj",
            "svibanj",
            "lipanj",
            "srpanj",
            "kolovoz",
            "rujan",
            "listopad",
            "studeni",
            "prosinac",
        ],
        short_months: ["sij", "vel", "ožu", "tra", "svi", "lip", "srp", "kol", "ruj", "lis", "stu", "pro"],
        days: ["ponedjeljak", "utorak", "srijeda", "četvrtak", "petak", "subota", "nedjelja"],
    },
    Language {
        id: 17,
        name: "slovenčina",
        alias: "Slovak",
        order: DateOrder::Dmy,
        first_day: 1,
        lcid: 1051,
        messages: 1051,
        months: [
            "január",
            "február",
            "marec",
            "apríl",
            "máj",
            "jún",
            "júl",
            "august",
            "september",
            "október",
            "november",
            "december",
        ],
        short_months: ROMAN,
        days: ["pondelok", "utorok", "streda", "štvrtok", "piatok", "sobota", "nedeľa"],
    },
    Language {
        id: 18,
        name: "slovenski",
        alias: "Slovenian",
        order: DateOrder::Dmy,
        first_day: 1,
        lcid: 1060,
        messages: 1060,
        months: [
            "januar",
            "februar",
            "marec",
            "april",
            "maj",
            "junij",
            "julij",
            "avgust",
            "september",
            "oktober",
            "november",
            "december",
        ],
        short_months: ["jan", "feb", "mar", "apr", "maj", "jun", "jul", "avg", "sept", "okt", "nov", "dec"],
        days: ["ponedeljek", "torek", "sreda", "četrtek", "petek", "sobota", "nedelja"],
    },
    Language {
        id: 19,
        name: "ελληνικά",
        alias: "Greek",
        order: DateOrder::Dmy,
        first_day: 1,
        lcid: 1032,
        messages: 1032,
        months: [
            "Ιανουαρίου",
            "Φεβρουαρίου",
            "Μαρτίου",
            "Απριλίου",
            "Μαΐου",
            "Ιουνίου",
            "Ιουλίου",
            "Αυγούστου",
            "Σεπτεμβρίου",
            "Οκτωβρίου",
            "Νοεμβρίου",
            "Δεκεμβρίου",
        ],
        short_months: ["Ιαν", "Φεβ", "Μαρ", "Απρ", "Μαϊ", "Ιουν", "Ιουλ", "Αυγ", "Σεπ", "Οκτ", "Νοε", "Δεκ"],
        days: ["Δευτέρα", "Τρίτη", "Τετάρτη", "Πέμπτη", "Παρασκευή", "Σάββατο", "Κυριακή"],
    },
    Language {
        id: 20,
        name: "български",
        alias: "Bulgarian",
        order: DateOrder::Dmy,
        first_day: 1,
        lcid: 1026,
        messages: 1026,
        months: BULGARIAN_MONTHS,
        short_months: BULGARIAN_MONTHS,
        days: ["понеделник", "вторник", "сряда", "четвъртък", "петък", "събота", "неделя"],
    },
    Language {
        id: 21,
        name: "русский",
        alias: "Russian",
        order: DateOrder::Dmy,
        first_day: 1,
        lcid: 1049,
        messages: 1049,
        months: [
            "Январь",
            "Февраль",
            "Март",
            "Апрель",
            "Май",
            "Июнь",
            "Июль",
            "Август",
            "Сентябрь",
            "Октябрь",
            "Ноябрь",
            "Декабрь",
        ],
        short_months: ["янв", "фев", "мар", "апр", "май", "июн", "июл", "авг", "сен", "окт", "ноя", "дек"],
        days: ["понедельник", "вторник", "среда", "четверг", "пятница", "суббота", "воскресенье"],
    },
    Language {
        id: 22,
        name: "Türkçe",
        alias: "Turkish",
        order: DateOrder::Dmy,
        first_day: 1,
        lcid: 1055,
        messages: 1055,
        months: [
            "Ocak", "Şubat", "Mart", "Nisan", "Mayıs", "Haziran", "Temmuz", "Ağustos", "Eylül", "Ekim",
            "Kasım", "Aralık",
        ],
        short_months: ["Oca", "Şub", "Mar", "Nis", "May", "Haz", "Tem", "Ağu", "Eyl", "Eki", "Kas", "Ara"],
        days: ["Pazartesi", "Salı", "Çarşamba", "Perşembe", "Cuma", "Cumartesi", "Pazar"],
    },
    Language {
        id: 23,
        name: "British",
        alias: "British English",
        order: DateOrder::Dmy,
        first_day: 1,
        lcid: 2057,
        messages: 1033,
        months: ENGLISH_MONTHS,
        short_months: ENGLISH_SHORT,
        days: ENGLISH_DAYS,
    },
    Language {
        id: 24,
        name: "eesti",
        alias: "Estonian",
        order: DateOrder::Dmy,
        first_day: 1,
        lcid: 1061,
        messages: 1061,
        months: [
            "jaanuar",
            "veebruar",
            "märts",
            "aprill",
            "mai",
            "juuni",
            "juuli",
            "august",
            "september",
            "oktoober",
            "november",
            "detsember",
        ],
        short_months: [
            "jaan", "veebr", "märts", "apr", "mai", "juuni", "juuli", "aug", "sept", "okt", "nov", "dets",
        ],
        days: ["esmaspäev", "teisipäev", "kolmapäev", "neljapäev", "reede", "laupäev", "pühapäev"],
    },
    Language {
        id: 25,
        name: "latviešu",
        alias: "Latvian",
        order: DateOrder::Ymd,
        first_day: 1,
        lcid: 1062,
        messages: 1062,
        months: [
            "janvāris",
            "februāris",
            "marts",
            "aprīlis",
            "maijs",
            "jūnijs",
            "jūlijs",
            "augusts",
            "septembris",
            "oktobris",
            "novembris",
            "decembris",
        ],
        short_months: ["jan", "feb", "mar", "apr", "mai", "jūn", "jūl", "aug", "sep", "okt", "nov", "dec"],
        days: ["pirmdiena", "otrdiena", "trešdiena", "ceturtdiena", "piektdiena", "sestdiena", "svētdiena"],
    },
    Language {
        id: 26,
        name: "lietuvių",
        alias: "Lithuanian",
        order: DateOrder::Ymd,
        first_day: 1,
        lcid: 1063,
        messages: 1063,
        months: [
            "sausis",
            "vasaris",
            "kovas",
            "balandis",
            "gegužė",
            "birželis",
            "liepa",
            "rugpjūtis",
            "rugsėjis",
            "spalis",
            "lapkritis",
            "gruodis",
        ],
        short_months: ["sau", "vas", "kov", "bal", "geg", "bir", "lie", "rgp", "rgs", "spl", "lap", "grd"],
        days: [
            "pirmadienis",
            "antradienis",
            "trečiadienis",
            "ketvirtadienis",
            "penktadienis",
            "šeštadienis",
            "sekmadienis",
        ],
    },
    Language {
        id: 27,
        name: "Português (Brasil)",
        alias: "Brazilian",
        order: DateOrder::Dmy,
        first_day: 7,
        lcid: 1046,
        messages: 1046,
        months: PORTUGUESE_MONTHS,
        short_months: PORTUGUESE_SHORT,
        days: [
            "Segunda-Feira",
            "Terça-Feira",
            "Quarta-Feira",
            "Quinta-Feira",
            "Sexta-Feira",
            "Sábado",
            "Domingo",
        ],
    },
    Language {
        id: 28,
        name: "繁體中文",
        alias: "Traditional Chinese",
        order: DateOrder::Ymd,
        first_day: 7,
        lcid: 1028,
        messages: 1028,
        months: DIGITS,
        short_months: DIGITS,
        days: CHINESE_DAYS,
    },
    Language {
        id: 29,
        name: "한국어",
        alias: "Korean",
        order: DateOrder::Ymd,
        first_day: 7,
        lcid: 1042,
        messages: 1042,
        months: DIGITS,
        short_months: DIGITS,
        days: ["월요일", "화요일", "수요일", "목요일", "금요일", "토요일", "일요일"],
    },
    Language {
        id: 30,
        name: "简体中文",
        alias: "Simplified Chinese",
        order: DateOrder::Ymd,
        first_day: 7,
        lcid: 2052,
        messages: 2052,
        months: DIGITS,
        short_months: DIGITS,
        days: CHINESE_DAYS,
    },
    Language {
        id: 31,
        name: "Arabic",
        alias: "Arabic",
        order: DateOrder::Dmy,
        first_day: 1,
        lcid: 1025,
        messages: 1025,
        months: [
            "Muharram",
            "Safar",
            "Rabie I",
            "Rabie II",
            "Jumada I",
            "Jumada II",
            "Rajab",
            "Shaaban",
            "Ramadan",
            "Shawwal",
            "Thou Alqadah",
            "Thou Alhajja",
        ],
        short_months: ENGLISH_SHORT,
        days: ENGLISH_DAYS,
    },
    Language {
        id: 32,
        name: "ไทย",
        alias: "Thai",
        order: DateOrder::Dmy,
        first_day: 7,
        lcid: 1054,
        messages: 1054,
        months: [
            "มกราคม",
            "กุมภาพันธ์",
            "มีนาคม",
            "เมษายน",
            "พฤษภาคม",
            "มิถุนายน",
            "กรกฎาคม",
            "สิงหาคม",
            "กันยายน",
            "ตุลาคม",
            "พฤศจิกายน",
            "ธันวาคม",
        ],
        short_months: [
            "ม.ค.",
            "ก.พ.",
            "มี.ค.",
            "เม.ย.",
            "พ.ค.",
            "มิ.ย.",
            "ก.ค.",
            "ส.ค.",
            "ก.ย.",
            "ต.ค.",
            "พ.ย.",
            "ธ.ค.",
        ],
        days: ["จันทร์", "อังคาร", "พุธ", "พฤหัสบดี", "ศุกร์", "เสาร์", "อาทิตย์"],
    },
    Language {
        id: 33,
        name: "norsk (bokmål)",
        alias: "Bokmål",
        order: DateOrder::Dmy,
        first_day: 1,
        lcid: 1044,
        messages: 1044,
        months: NORWEGIAN_MONTHS,
        short_months: NORWEGIAN_SHORT,
        days: NORDIC_DAYS,
    },
];

impl Language {
    /// The language of a name or an alias, compared without case.
    pub fn find(name: &str) -> Option<&'static Language> {
        let wanted = name.trim().to_lowercase();
        LANGUAGES.iter().find(|l| l.name.to_lowercase() == wanted || l.alias.to_lowercase() == wanted)
    }

    /// The month that a text begins with, as `(month, bytes of its name)`: the longest name that fits, whole or short, and
    /// followed by no letter.
    fn month_at(&self, text: &str) -> Option<(i64, usize)> {
        let own = self.months.iter().zip(1..).chain(self.short_months.iter().zip(1..));
        let fits = |name: &str| {
            let end = prefix_without_case(text, name)?;
            (!text[end..].starts_with(char::is_alphabetic)).then_some(end)
        };
        own.filter_map(|(name, month)| Some((month, fits(name)?))).max_by_key(|(_, end)| *end)
    }
}

/// The bytes of a text that are a name but for case.
fn prefix_without_case(text: &str, name: &str) -> Option<usize> {
    let mut end = 0;
    let mut chars = text.chars();
    for wanted in name.chars() {
        let found = chars.next()?;
        if found != wanted && !found.to_lowercase().eq(wanted.to_lowercase()) {
            return None;
        }
        end += found.len_utf8();
    }
    Some(end)
}

/// How a session reads and writes dates: its language, and the order of dates of digits.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Dialect {
    language: u8,
    pub order: DateOrder,
}

impl Dialect {
    /// us_english with its order.
    pub const DEFAULT: Dialect = Dialect { language: 0, order: DateOrder::Mdy };

    /// A language with its own order.
    pub fn of(language: &Language) -> Dialect {
        Dialect { language: language.id, order: language.order }
    }

    /// The same language with another order.
    pub fn with_order(self, order: DateOrder) -> Dialect {
        Dialect { order, ..self }
    }

    /// Its language.
    #[inline]
    pub fn language(self) -> &'static Language {
        LANGUAGES.get(usize::from(self.language)).unwrap_or(&LANGUAGES[0])
    }

    /// The month that a text begins with, and the bytes of its name.
    pub(crate) fn month_at(self, text: &str) -> Option<(i64, usize)> {
        self.language().month_at(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_places_and_names_are_found() {
        for (at, language) in LANGUAGES.iter().enumerate() {
            assert_eq!(usize::from(language.id), at);
            let by_name = Language::find(&language.name.to_uppercase()).map(|l| l.id);
            assert_eq!(by_name, Some(language.id), "{}", language.name);
            assert_eq!(Language::find(language.alias).map(|l| l.id), Some(language.id), "{}", language.alias);
            for (month, name) in (1i64..).zip(&language.months) {
                let text = format!("{} 2020", name.to_lowercase());
                assert_eq!(language.month_at(&text).map(|(m, _)| m), Some(month), "{text}");
            }
        }
        assert!(Language::find("Elvish").is_none());
    }

    #[test]
    fn a_month_is_the_longest_name_that_ends() {
        let czech = &LANGUAGES[12];
        assert_eq!(czech.month_at("VIII 2020"), Some((8, 4)));
        assert_eq!(czech.month_at("XIV"), None);
        assert_eq!(LANGUAGES[0].month_at("Mayor"), None);
        assert_eq!(LANGUAGES[0].month_at("march5"), Some((3, 5)));
    }
}
