//! The log's part of a backup set: its blocks in log order, in pieces of about 1 MB.

use std::sync::mpsc::{channel, sync_channel};

use wal::LogArchive;

use super::error::BackupError;
use super::piece::PieceKind;
use super::set::LogStart;
use super::take::BackupProgress;
use super::write::SetWriter;

/// Bytes of log in a piece.
const LOG_PIECE: usize = 1 << 20;
/// Pieces of log that are read ahead of their packing.
const PIECES_AHEAD: usize = 2;

/// Writes the stretch of log; returns its bytes. With threads the next piece is read and checked
/// while this one is packed.
pub(super) fn write_log(
    set: &SetWriter,
    archive: &mut LogArchive,
    progress: BackupProgress<'_>,
) -> Result<u64, BackupError> {
    let start = LogStart {
        from: archive.from(),
        layout: archive.layout().clone(),
        vlfs: archive.vlfs().to_vec(),
    };
    set.put(PieceKind::LogStart, &start.encode())?;
    let span = archive.span();
    let mut bytes = 0;
    // Gives the bytes so far.
    let mut put = |piece: &[u8]| {
        set.put(PieceKind::LogBlocks, piece)?;
        bytes += piece.len() as u64;
        let goes_on = progress((bytes * 98).checked_div(span).unwrap_or(98).min(98) as u8);
        if goes_on { Ok(bytes) } else { Err(BackupError::Cancelled) }
    };
    if !set.has_threads() {
        let (mut piece, mut written) = (log_piece(), 0);
        while read_piece(archive, &mut piece)? {
            written = put(&piece)?;
        }
        return Ok(written);
    }
    std::thread::scope(|scope| {
        let (sender, receiver) = sync_channel(PIECES_AHEAD);
        let (back, free) = channel();
        scope.spawn(move || {
            loop {
                let mut piece = free.try_recv().unwrap_or_else(|_| log_piece());
                let read = match read_piece(archive, &mut piece) {
                    Ok(false) => return,
                    read => read.map(|_| piece),
                };
                // Nobody takes it: the backup has failed elsewhere.
                let failed = read.is_err();
                if sender.send(read).is_err() || failed {
                    return;
                }
            }
        });
        let mut written = 0;
        for piece in receiver {
            let piece = piece?;
            written = put(&piece)?;
            // The reader has gone once it has read all.
            let _ = back.send(piece);
        }
        Ok(written)
    })
}

fn log_piece() -> Vec<u8> {
    Vec::with_capacity(LOG_PIECE + (64 << 10))
}

/// Fills a piece with the next blocks; false at the end of the stretch.
fn read_piece(archive: &mut LogArchive, piece: &mut Vec<u8>) -> Result<bool, BackupError> {
    piece.clear();
    Ok(archive.read_blocks(LOG_PIECE, piece)? > 0)
}
