//! Operations and records: what is done is what is redone, versions lead back, no input panics.

use proptest::prelude::*;
use ringwood_pages::{
    ApplyCtx, BeforeImage, GHOST, Link, Lsn, Page, PageError, PageId, PageOp, PageType,
    RecordBuilder, RecordView, RowHeader, RowUpdate, TxnId, UnitId, apply, previous_version,
    row_op, split_keyed,
};
use std::collections::BTreeMap;

const P: PageId = PageId { file: 1, page: 400 };

fn lsn(n: u32) -> Lsn {
    Lsn { vlf: 3, block: n, slot: 7 }
}

/// Applies the record's operations for `P`.
fn run(page: &mut Page, bytes: &[u8], at: Lsn) -> Result<(), PageError> {
    let view = RecordView::decode(bytes)?;
    for op in view.ops() {
        let op = op?;
        apply(page, op.page, &op.op, &ApplyCtx { lsn: at, txn: view.txn(), index: op.index })?;
    }
    Ok(())
}

fn formatted(kind: PageType) -> Box<Page> {
    let mut page = Page::zeroed();
    let mut rec = RecordBuilder::new();
    rec.page(P);
    rec.format(kind, 0, UnitId(5), PageId::new(1, 3), PageId::NONE, PageId::new(2, 9)).unwrap();
    run(&mut page, rec.bytes(), lsn(1)).unwrap();
    page
}

#[derive(Clone, Debug)]
enum OpStep {
    Insert(u8, Vec<u8>),
    Ghost(u8),
    Update(u8, u8, u8, Vec<u8>),
    Remove(u8),
    Replace(u8, Vec<u8>),
    Move(u8, Vec<u8>),
}

fn steps() -> impl Strategy<Value = Vec<OpStep>> {
    let bytes = || prop::collection::vec(any::<u8>(), 0..900);
    let step = prop_oneof![
        4 => (any::<u8>(), bytes()).prop_map(|(s, b)| OpStep::Insert(s, b)),
        1 => any::<u8>().prop_map(OpStep::Ghost),
        3 => (any::<u8>(), any::<u8>(), any::<u8>(), bytes()).prop_map(|(s, a, n, b)| OpStep::Update(s, a, n, b)),
        1 => any::<u8>().prop_map(OpStep::Remove),
        1 => (any::<u8>(), bytes()).prop_map(|(s, b)| OpStep::Replace(s, b)),
        1 => (any::<u8>(), bytes()).prop_map(|(s, b)| OpStep::Move(s, b)),
    ];
    prop::collection::vec(step, 1..120)
}

/// Chooses operations that fit the page, and notes the record of each version.
struct Player {
    heap: bool,
    page: Box<Page>,
    /// Slot contents as a plain list: `None` is an empty slot.
    model: Vec<Option<(bool, Vec<u8>)>>,
    records: Vec<(Lsn, Vec<u8>)>,
    clock: u32,
}

impl Player {
    fn play(&mut self, step: &OpStep) {
        let live: Vec<u16> =
            (0..self.page.slot_count()).filter(|&s| self.model[s as usize].is_some()).collect();
        let pick = |n: u8| live.get(n as usize % live.len().max(1)).copied();
        let key = if self.heap { None } else { Some(&b"key"[..]) };
        let mut rec = RecordBuilder::new();
        rec.stamp(TxnId(u64::from(self.clock) + 10), lsn(self.clock));
        rec.page(P);
        let body = |value: &[u8]| match key {
            None => value.to_vec(),
            Some(k) => [&(k.len() as u16).to_le_bytes()[..], k, value].concat(),
        };
        let head = body(&[]).len();
        match step {
            OpStep::Insert(at, value) => {
                let empty = self.model.iter().position(Option::is_none);
                let reuse = self.heap && empty.is_some();
                let slot = if self.heap {
                    empty.unwrap_or(self.model.len())
                } else {
                    *at as usize % (self.model.len() + 1)
                };
                if !self.page.fits(18 + head + value.len(), reuse) {
                    return;
                }
                rec.insert(slot as u16, 0, key, value).unwrap();
                let row = Some((false, body(value)));
                if reuse { self.model[slot] = row } else { self.model.insert(slot, row) }
            }
            OpStep::Ghost(n) => {
                let Some(slot) = pick(*n) else { return };
                let (old, _) = self.page.row(slot).unwrap().unwrap();
                rec.ghost(slot, &old, key).unwrap();
                self.model[slot as usize].as_mut().unwrap().0 = true;
            }
            OpStep::Update(n, at, len, new) => {
                let Some(slot) = pick(*n) else { return };
                let (old, body) = self.page.row(slot).unwrap().unwrap();
                let at = head + *at as usize % (body.len() - head + 1);
                let len = *len as usize % (body.len() - at + 1);
                if new.len() > len && self.page.free_bytes() < new.len() - len {
                    return;
                }
                let before = BeforeImage::whole(&body[at..at + len]);
                rec.update(&RowUpdate {
                    slot,
                    flags: old.flags,
                    old: &old,
                    key,
                    at: at as u16,
                    before,
                    new_bytes: new,
                })
                .unwrap();
                let row = self.model[slot as usize].as_mut().unwrap();
                row.1.splice(at..at + len, new.iter().copied());
            }
            OpStep::Remove(n) => {
                let Some(slot) = pick(*n) else { return };
                rec.remove(slot, 1).unwrap();
                if self.heap {
                    self.model[slot as usize] = None
                } else {
                    drop(self.model.remove(slot as usize))
                }
            }
            OpStep::Replace(n, new) => {
                let Some(slot) = pick(*n) else { return };
                let (old, body) = self.page.row(slot).unwrap().unwrap();
                if self.page.free_bytes() + body.len() - head < new.len() {
                    return;
                }
                rec.replace(slot, 0, &old, key, &body[head..], new).unwrap();
                let row = self.model[slot as usize].as_mut().unwrap();
                row.0 = false;
                row.1.splice(head.., new.iter().copied());
            }
            OpStep::Move(n, value) => {
                let Some(slot) = pick(*n) else { return };
                let header = RowHeader { flags: GHOST, txn: TxnId(3), lsn: Lsn::ZERO, index: 0 };
                let content = [&header.to_bytes()[..], &body(value)].concat();
                if self.page.free_bytes() + self.page.slot(slot).unwrap().len() < content.len() {
                    return;
                }
                rec.replace_raw(slot, &content).unwrap();
                self.model[slot as usize] = Some((true, body(value)));
            }
        }
        self.clock += 1;
        let at = lsn(self.clock);
        run(&mut self.page, rec.bytes(), at).unwrap();
        self.records.push((at, rec.bytes().to_vec()));
    }

    fn check(&self) {
        self.page.verify().unwrap();
        assert_eq!(self.page.slot_count() as usize, self.model.len());
        for (slot, row) in self.model.iter().enumerate() {
            let now = self.page.row(slot as u16).unwrap().map(|(h, b)| (h.is_ghost(), b.to_vec()));
            assert_eq!(&now, row, "slot {slot}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    #[test]
    fn pages_follow_the_model_and_redo_is_do(heap: bool, steps in steps()) {
        let kind = if heap { PageType::Data } else { PageType::Index };
        let mut player = Player { heap, page: formatted(kind), model: Vec::new(), records: Vec::new(), clock: 1 };
        for step in &steps {
            player.play(step);
            player.check();
        }
        let mut again = formatted(kind);
        for (at, bytes) in &player.records {
            run(&mut again, bytes, *at).unwrap();
        }
        prop_assert!(again.bytes() == player.page.bytes());
        // An image makes the same page as well.
        let mut rec = RecordBuilder::new();
        rec.page(P);
        rec.image(&player.page).unwrap();
        let mut copy = Page::zeroed();
        run(&mut copy, rec.bytes(), lsn(1)).unwrap();
        copy.verify().unwrap();
        for s in 0..copy.slot_count() {
            prop_assert_eq!(copy.slot(s).unwrap(), player.page.slot(s).unwrap());
        }
    }

    #[test]
    fn versions_lead_back_to_every_earlier_state(steps in steps()) {
        let mut player = Player { heap: true, page: formatted(PageType::Data), model: Vec::new(), records: Vec::new(), clock: 1 };
        // What slot 0 held after the record at each LSN, as long as the row lives.
        let mut history: BTreeMap<Lsn, (RowHeader, Vec<u8>)> = BTreeMap::new();
        for step in steps.iter().filter(|s| !matches!(s, OpStep::Move(..))) {
            player.play(step);
            if player.page.slot_count() > 0 {
                match player.page.row(0).unwrap() {
                    Some((head, body)) => drop(history.insert(head.lsn, (head, body.to_vec()))),
                    None => history.clear(),
                }
            }
        }
        let records: BTreeMap<Lsn, Vec<u8>> = player.records.iter().cloned().collect();
        if player.page.slot_count() == 0 {
            return Ok(());
        }
        let Some((mut head, body)) = player.page.row(0).unwrap() else { return Ok(()) };
        let mut body = body.to_vec();
        let mut out = Vec::new();
        let mut seen = 0;
        loop {
            prop_assert_eq!(history.get(&head.lsn), Some(&(head, body.clone())));
            seen += 1;
            let view = RecordView::decode(&records[&head.lsn]).unwrap();
            let op = row_op(&view, head.index).unwrap();
            match previous_version(&body, &op.op, None, &mut out).unwrap() {
                None => break,
                Some(old) => { head = old; body = out.clone(); }
            }
        }
        // Every version since the row's insert was met.
        prop_assert_eq!(seen, history.len());
    }

    #[test]
    fn random_bytes_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..400), seed: u64) {
        let mut rng = fastrand::Rng::with_seed(seed);
        let mut image = [0u8; 8192];
        if rng.bool() {
            image = *formatted(PageType::Data).bytes();
            for _ in 0..rng.usize(0..20) {
                let at = if rng.bool() { rng.usize(0..64) } else { rng.usize(0..8192) };
                image[at] = rng.u8(..);
            }
        } else {
            rng.fill(&mut image);
            image[1] = *rng.choice(&[1u8, 2, 3, 8]).unwrap();
        }
        let mut page = Page::from_bytes(&image);
        let _ = page.verify();
        for s in [0, 1, 5, 2030, 2031, 2032, u16::MAX] {
            let _ = page.slot(s);
            let _ = page.row(s);
        }
        let _ = run(&mut page, &bytes, lsn(9));
        // A well-formed record on a damaged page.
        let mut rec = RecordBuilder::new();
        rec.page(P);
        let old = RowHeader::default();
        let v = &bytes[..];
        let made = rng.usize(0..400);
        match rng.u8(0..10) {
            0 => rec.insert(rng.u16(0..4), 0, None, v).unwrap(),
            1 => rec.update(&RowUpdate {
                slot: rng.u16(..),
                flags: 0,
                old: &old,
                key: None,
                at: rng.u16(..),
                before: BeforeImage::whole(v),
                new_bytes: b"xyz",
            }).unwrap(),
            2 => rec.replace(rng.u16(0..4), 0, &old, Some(b"k"), v, v).unwrap(),
            3 => rec.remove(rng.u16(0..4), rng.u16(..)).unwrap(),
            4 => rec.restore(rng.u16(0..4), &old, rng.u16(0..99), rng.u16(0..99), v).unwrap(),
            5 => rec.insert_raw(rng.u16(0..4), v).unwrap(),
            6 => rec.replace_raw(rng.u16(0..4), v).unwrap(),
            7 => {
                let before = BeforeImage::without(v, 5, made..400);
                rec.update(&RowUpdate {
                    slot: rng.u16(0..4),
                    flags: 0,
                    old: &old,
                    key: None,
                    at: 5,
                    before,
                    new_bytes: b"xyz",
                }).unwrap();
            }
            8 => rec.set_bits(rng.u32(..), rng.u32(..), true).unwrap(),
            _ => rec.put_bytes(rng.u16(..), v).unwrap(),
        }
        let _ = run(&mut page, rec.bytes(), lsn(9));
        let _ = page.verify();
        // Whatever the page has become, a row that it gives lies in it.
        for s in 0..5 {
            if let Ok(Some((_, body))) = page.row(s) {
                prop_assert!(body.len() < page.bytes().len(), "{} bytes", body.len());
            }
        }
    }

    #[test]
    fn damaged_records_never_panic(cut in 0usize..400, flips in prop::collection::vec((0usize..400, any::<u8>()), 0..6)) {
        let mut rec = RecordBuilder::new();
        rec.compensation(lsn(4));
        rec.root(PageId::new(1, 7)).unwrap();
        rec.page(P);
        rec.insert(0, 0, Some(b"abc"), &[1; 100]).unwrap();
        rec.update(&RowUpdate {
            slot: 0,
            flags: 0,
            old: &RowHeader::default(),
            key: Some(b"abc"),
            at: 5,
            before: BeforeImage::whole(b"old"),
            new_bytes: b"newer",
        }).unwrap();
        rec.update(&RowUpdate {
            slot: 0,
            flags: 0,
            old: &RowHeader::default(),
            key: None,
            at: 5,
            before: BeforeImage::without(&[7; 300], 5, 20..290),
            new_bytes: b"again",
        }).unwrap();
        rec.restore(0, &RowHeader { flags: 1, txn: TxnId(9), lsn: lsn(2), index: 4 }, 5, 5, b"old").unwrap();
        rec.page(PageId::new(2, 70_000));
        rec.set_link(Link::Next, P).unwrap();
        rec.payload(b"extra").unwrap();
        let mut bytes = rec.bytes().to_vec();
        for (at, v) in flips {
            if let Some(b) = bytes.get_mut(at) { *b = v; }
        }
        bytes.truncate(cut);
        if let Ok(view) = RecordView::decode(&bytes) {
            let _ = view.pages();
            let _ = view.payload();
            for i in 0..4 {
                let Ok(op) = row_op(&view, i) else { continue };
                for earlier in [None, row_op(&view, 0).ok()] {
                    let earlier = earlier.as_ref().map(|e| &e.op);
                    let _ = previous_version(&[1; 600], &op.op, earlier, &mut Vec::new());
                }
            }
            let mut page = formatted(PageType::Index);
            let _ = run(&mut page, &bytes, lsn(9));
        }
    }
}

#[test]
fn a_record_reads_back_as_built() {
    let mut rec = RecordBuilder::new();
    rec.compensation(lsn(40));
    rec.root(PageId::new(1, 7)).unwrap();
    assert!(rec.is_empty());
    rec.page(P);
    let old = RowHeader { flags: GHOST, txn: TxnId::MAX, lsn: lsn(u32::MAX), index: 254 };
    let next = RowHeader { index: 255, flags: 0, ..old };
    rec.ghost(3, &old, Some(b"k")).unwrap();
    rec.ghost(4, &next, None).unwrap();
    rec.page(PageId::new(2, 1 << 31));
    rec.set_bits(77, 3, true).unwrap();
    rec.page(P);
    rec.insert(5, 4, None, b"v").unwrap();
    rec.payload(b"hello").unwrap();
    rec.stamp(TxnId(77), lsn(2));
    let view = RecordView::decode(rec.bytes()).unwrap();
    assert_eq!((view.txn(), view.prev_lsn(), view.undo_next()), (TxnId(77), lsn(2), lsn(40)));
    assert_eq!((view.root(), view.payload().unwrap()), (PageId::new(1, 7), &b"hello"[..]));
    assert_eq!(view.pages().unwrap().as_slice(), [P, PageId::new(2, 1 << 31)]);
    let ops: Vec<_> = view.ops().map(Result::unwrap).collect();
    assert_eq!(ops[0].op, PageOp::Ghost { slot: 3, old, key: Some(b"k") });
    assert_eq!(ops[1].op, PageOp::Ghost { slot: 4, old: next, key: None });
    assert_eq!(ops[3].op, PageOp::Insert { slot: 5, flags: 4, key: None, value: b"v" });
    assert_eq!((ops[0].index, ops[1].index, ops[3].index), (0, 1, 2));
    assert!(rec.root(P).is_err(), "too late");
    assert_eq!(split_keyed(b"\x01\x00kv"), Some((&b"k"[..], &b"v"[..])));
}

#[test]
fn the_builder_says_when_it_is_full() {
    let mut rec = RecordBuilder::new();
    rec.page(P);
    for i in 0..255 {
        assert!(rec.can_take(10));
        rec.insert(i, 0, None, b"0123456789").unwrap();
    }
    assert_eq!(rec.insert(255, 0, None, b"x"), Err(PageError::RecordFull));
    rec.change();
    rec.page(P);
    let mut n = 0;
    while rec.insert(0, 0, None, &[7; 1000]).is_ok() {
        n += 1;
    }
    assert!(
        (46..=49).contains(&n) && rec.bytes().len() <= ringwood_pages::MAX_RECORD,
        "{n} rows, {} bytes",
        rec.bytes().len()
    );
}

#[test]
fn deleting_neighbours_costs_a_few_bytes_each() {
    let mut rec = RecordBuilder::new();
    rec.page(P);
    for i in 0..100u16 {
        let old = RowHeader { flags: 0, txn: TxnId(123_456), lsn: lsn(400), index: i as u8 };
        rec.ghost(i, &old, None).unwrap();
    }
    assert!(rec.bytes().len() < 100 * 4, "{} bytes for 100 deletes", rec.bytes().len());
}

/// Readers and undo would not agree on what stands between the two parts of its before image.
#[test]
fn an_update_that_names_an_earlier_one_for_nothing_is_no_record() {
    let mut rec = RecordBuilder::new();
    rec.page(P);
    rec.update(&RowUpdate {
        slot: 0,
        flags: 0,
        old: &RowHeader::default(),
        key: None,
        at: 5,
        before: BeforeImage::without(&[7; 200], 5, 6..134),
        new_bytes: b"x",
    })
    .unwrap();
    let mut bytes = rec.bytes().to_vec();
    assert!(row_op(&RecordView::decode(&bytes).unwrap(), 0).is_ok());
    // 128 bytes become 0.
    let at = bytes.windows(4).position(|four| four == [1, 7, 0x80, 0x01]).unwrap();
    bytes[at + 3] = 0;
    let failed = row_op(&RecordView::decode(&bytes).unwrap(), 0);
    assert!(
        matches!(failed, Err(PageError::Record { what: "update leaves nothing out" })),
        "{failed:?}"
    );
}
