//! The settings of a database: kept with its data, durable when a change returns (unless it says
//! otherwise), and the few that every commit asks for where it needs no lock.

use super::Database;
use crate::error::TxnError;
use crate::options::{DbState, DelayedDurability, LossWindow, RecoveryModel};
use std::sync::atomic::Ordering;

impl Database {
    /// Settings and meta bytes.
    pub fn settings(&self) -> parking_lot::RwLockReadGuard<'_, DbState> {
        self.settings.read()
    }

    /// Delayed durability, without a lock: every commit asks.
    pub fn delayed_durability(&self) -> DelayedDurability {
        DelayedDurability::from_u8(self.delayed.load(Ordering::Relaxed))
            .unwrap_or(DelayedDurability::Disabled)
    }

    /// What delayed commits may lose.
    pub fn loss_window(&self) -> LossWindow {
        LossWindow {
            ms: self.window_ms.load(Ordering::Relaxed),
            kb: self.window_kb.load(Ordering::Relaxed),
        }
    }

    /// Whether the recovery model is SIMPLE, without a lock: who looks for log that can be freed
    /// may not wait for a change of settings, which may wait for log.
    pub(crate) fn is_simple(&self) -> bool {
        self.simple.load(Ordering::Acquire)
    }

    fn publish_settings(&self, settings: &DbState) {
        self.window_ms.store(settings.window.ms, Ordering::Relaxed);
        self.window_kb.store(settings.window.kb, Ordering::Relaxed);
        self.delayed.store(settings.delayed as u8, Ordering::Relaxed);
        self.simple.store(settings.recovery_model == RecoveryModel::Simple, Ordering::Release);
    }

    /// Recovery has made the boot page readable.
    pub(crate) fn adopt_settings(&self, settings: DbState) {
        self.publish_settings(&settings);
        *self.settings.write() = settings;
    }

    /// Changes settings or meta bytes; durable on return.
    pub fn change_settings(&self, change: impl FnOnce(&mut DbState)) -> Result<(), TxnError> {
        self.change_settings_as(true, change)
    }

    /// The same, but durable no sooner than the next flush of the log: for what may be forgotten in
    /// a crash.
    pub fn note_settings(&self, change: impl FnOnce(&mut DbState)) -> Result<(), TxnError> {
        self.change_settings_as(false, change)
    }

    fn change_settings_as(
        &self,
        durable: bool,
        change: impl FnOnce(&mut DbState),
    ) -> Result<(), TxnError> {
        let mut s = self.settings.write();
        let mut new = s.clone();
        change(&mut new);
        // Leaving for SIMPLE ends the log chain: the way back needs a new full backup.
        new.log_chain &= new.recovery_model != RecoveryModel::Simple;
        if new.meta.len() > DbState::MAX_META {
            return Err(TxnError::Invalid("the database's meta bytes are too long"));
        }
        if !new.window.is_valid() {
            return Err(TxnError::Invalid("the loss window of delayed durability is out of range"));
        }
        self.check_online()?;
        self.store.write_boot(&mut self.system_sink(), &new.encode())?;
        if durable {
            self.log.flush_all()?;
        }
        self.publish_settings(&new);
        let left_chain = new.recovery_model == RecoveryModel::Simple;
        *s = new;
        drop(s);
        // After the model is known: a backup that ends later finds it and leaves the chain alone.
        if left_chain { self.end_log_chain() } else { Ok(()) }
    }
}
