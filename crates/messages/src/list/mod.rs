//! The files of the list, together. Guarantees: the numbers of the main files are in order, and
//! none is there twice; a further text belongs to a number of a main file.

mod further;
mod to_12999;
mod to_14999;
mod to_15999;
mod to_1899;
mod to_3699;
mod to_399;
mod to_4899;
mod to_65535;
mod to_6999;
mod to_9999;

use crate::Listed;

/// The constants of all files.
pub(crate) mod all_names {
    pub use super::further::names::*;
    pub use super::to_399::names::*;
    pub use super::to_1899::names::*;
    pub use super::to_3699::names::*;
    pub use super::to_4899::names::*;
    pub use super::to_6999::names::*;
    pub use super::to_9999::names::*;
    pub use super::to_12999::names::*;
    pub use super::to_14999::names::*;
    pub use super::to_15999::names::*;
    pub use super::to_65535::names::*;
}

const FILES: &[&[Listed]] = &[
    to_399::LIST,
    to_1899::LIST,
    to_3699::LIST,
    to_4899::LIST,
    to_6999::LIST,
    to_9999::LIST,
    to_12999::LIST,
    to_14999::LIST,
    to_15999::LIST,
    to_65535::LIST,
];

const _: () = {
    let mut last = 0;
    let mut file = 0;
    while file < FILES.len() {
        let mut at = 0;
        while at < FILES[file].len() {
            assert!(FILES[file][at].number > last, "the list is in the order of the numbers");
            last = FILES[file][at].number;
            at += 1;
        }
        file += 1;
    }
};

/// The list without further texts, in the order of the numbers.
pub fn all() -> impl Iterator<Item = &'static Listed> {
    FILES.iter().flat_map(|file| file.iter())
}

/// The message of a number.
pub fn find(number: i32) -> Option<&'static Listed> {
    let file = FILES.iter().find(|file| file.last().is_some_and(|last| number <= last.number))?;
    file.binary_search_by_key(&number, |listed| listed.number).ok().map(|at| &file[at])
}

/// All texts of a number, the one of the list first.
pub fn texts(number: i32) -> impl Iterator<Item = &'static Listed> {
    let further = further::LIST.iter().filter(move |listed| listed.number == number);
    find(number).into_iter().chain(further)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_number_is_found() {
        assert!(all().count() > 1000);
        for listed in all() {
            assert_eq!(find(listed.number), Some(listed));
            assert!(texts(listed.number).count() < 10, "a number has few texts");
        }
        assert_eq!(find(0), None);
        assert_eq!(find(100), None);
        assert_eq!(find(i32::MAX), None);
    }

    #[test]
    fn further_texts_belong_to_a_number_and_differ() {
        for listed in further::LIST {
            let main = find(listed.number).unwrap_or_else(|| panic!("no main text of {listed:?}"));
            assert_ne!(main.text, listed.text);
        }
        assert!(further::LIST.is_sorted_by_key(|listed| listed.number));
    }

    #[test]
    fn severities_are_sql_servers() {
        for listed in all().chain(further::LIST) {
            assert!(listed.severity <= 25 && !listed.text.is_empty(), "{listed:?}");
        }
    }
}
