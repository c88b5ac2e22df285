//! Looking into a running instance from another process: a socket in its folder that answers each
//! connection with one picture ([`InstanceStatus`]) as a line of JSON. Guarantees: it costs nothing
//! while nobody connects; a client that reads slowly is left; only the owner of the folder gets in.

use std::fs::{File, Permissions};
use std::io::{self, Read, Write};
use std::os::fd::AsRawFd;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Weak};
use std::thread::JoinHandle;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags};
use rustix::io::Errno;

use instance::InstanceCore;
use metadata::status::{self, InstanceStatus};

/// Name of the socket in the instance's folder.
const SOCKET: &str = "instance.sock";
/// A reader that takes nothing for so long is left.
const PATIENCE: Duration = Duration::from_secs(2);

/// A path that fits the address of a socket, however deep the folder is; the folder stays open as
/// long as the value lives.
struct Address(PathBuf, #[allow(dead_code)] File);

impl Address {
    fn of(folder: &Path) -> io::Result<Address> {
        let dir = File::open(folder)?;
        let path = PathBuf::from(format!("/proc/self/fd/{}/{SOCKET}", dir.as_raw_fd()));
        Ok(Address(path, dir))
    }
}

/// The socket of an instance and its thread. When it is dropped, the thread has ended and holds the
/// instance no more.
struct Watch {
    address: Address,
    /// Closed to end the thread.
    stop: Option<UnixStream>,
    thread: Option<JoinHandle<()>>,
}

impl Drop for Watch {
    fn drop(&mut self) {
        // The other end of what the thread waits at: it needs neither a name in the folder nor room
        // for a connection.
        drop(self.stop.take());
        let _ = std::fs::remove_file(&self.address.0);
        if let Some(thread) = self.thread.take()
            // It can be the last to hold the instance, and so drop it.
            && thread.thread().id() != std::thread::current().id()
        {
            // A panic of the thread has been reported by the panic hook already.
            let _ = thread.join();
        }
    }
}

/// Lets other processes of this user look in: [`look`]. To be called once; ends when the instance
/// is closed.
///
/// # Errors
/// The socket cannot be made; the instance works without it.
pub(crate) fn open(instance: &Arc<InstanceCore>) -> io::Result<()> {
    if instance.is_read_only() {
        // The folder is left as it is.
        return Ok(());
    }
    let address = Address::of(instance.paths.root())?;
    // The folder's lock is ours, so a socket that is there belongs to a process that is gone.
    match std::fs::remove_file(&address.0) {
        Err(e) if e.kind() != io::ErrorKind::NotFound => return Err(e),
        _ => {}
    }
    let listener = UnixListener::bind(&address.0)?;
    std::fs::set_permissions(&address.0, Permissions::from_mode(0o600))?;
    listener.set_nonblocking(true)?;
    let held = Arc::downgrade(instance);
    let (stop, stopped) = UnixStream::pair()?;
    let body = move || serve(&listener, &held, &stopped);
    let thread = std::thread::Builder::new().name("watch".into()).spawn(body)?;
    *instance.watch.lock() =
        Some(Box::new(Watch { address, stop: Some(stop), thread: Some(thread) }));
    Ok(())
}

fn serve(listener: &UnixListener, instance: &Weak<InstanceCore>, stopped: &UnixStream) {
    loop {
        let (someone, end) = (PollFlags::IN, PollFlags::IN | PollFlags::HUP);
        let mut fds = [PollFd::new(listener, someone), PollFd::new(stopped, end)];
        match rustix::event::poll(&mut fds, None) {
            Ok(_) if fds[1].revents().is_empty() => {}
            Err(Errno::INTR) => continue,
            _ => return,
        }
        let Some(instance) = instance.upgrade() else { return };
        // A client that goes away or does not read is no error.
        if let Ok((client, _)) = listener.accept() {
            // A panic costs this client its answer and nobody anything else.
            let _ = catch_unwind(AssertUnwindSafe(|| answer(client, &instance)));
        }
    }
}

fn answer(mut client: UnixStream, instance: &InstanceCore) -> io::Result<()> {
    client.set_nonblocking(false)?;
    client.set_write_timeout(Some(PATIENCE))?;
    let mut line = serde_json::to_vec(&status::of(instance))?;
    line.push(b'\n');
    client.write_all(&line)
}

/// A picture of the instance that some process has open in a folder.
///
/// # Errors
/// `NotFound` or `ConnectionRefused` when no process has it open to view.
pub fn look(folder: &Path) -> io::Result<InstanceStatus> {
    let address = Address::of(folder)?;
    let mut stream = UnixStream::connect(&address.0)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    let mut text = Vec::new();
    stream.read_to_end(&mut text)?;
    if text.is_empty() {
        return Err(io::Error::new(io::ErrorKind::ConnectionRefused, "the instance is closing"));
    }
    Ok(serde_json::from_slice(&text)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Instance, InstanceOptions};

    #[test]
    fn another_process_would_see_the_instance_until_it_closes() {
        let scratch = tempfile::tempdir().unwrap();
        // Deeper than the address of a socket can say.
        let folder = scratch.path().join("d".repeat(120));
        let options =
            InstanceOptions { memory_bytes: Some(8 << 20), ..InstanceOptions::new(&folder) };
        let instance = Instance::open(options.clone()).unwrap();
        assert_eq!(look(&folder).unwrap_err().kind(), io::ErrorKind::NotFound);
        instance.open_to_view().unwrap();
        let first = look(&folder).unwrap();
        assert_eq!(first.pid, std::process::id());
        assert!(
            first
                .databases
                .iter()
                .any(|db| db.name == "master" && db.log.vlfs > 0 && db.files.len() == 2)
        );
        let bytes = |s: &InstanceStatus| {
            s.databases
                .iter()
                .map(|db| db.log.runs.iter().map(|r| r.bytes).sum::<u64>())
                .sum::<u64>()
        };
        assert!(bytes(&first) > 0);
        // A client that connects and never reads keeps no other out for long, nor the instance from
        // closing.
        let silent = UnixStream::connect(&Address::of(&folder).unwrap().0).unwrap();
        assert!(look(&folder).unwrap().at_us >= first.at_us);
        drop(silent);
        let mode = std::fs::metadata(folder.join(SOCKET)).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        instance.close().unwrap();
        assert!(look(&folder).is_err());
        // With its socket gone it closes all the same.
        let gone = Instance::open(options.clone()).unwrap();
        gone.open_to_view().unwrap();
        std::fs::remove_file(folder.join(SOCKET)).unwrap();
        let (done, closed) = std::sync::mpsc::channel();
        std::thread::spawn(move || done.send(gone.close().is_ok()));
        assert_eq!(closed.recv_timeout(Duration::from_secs(20)), Ok(true));
        // A socket left by a process that died is replaced.
        drop(UnixListener::bind(Address::of(&folder).unwrap().0).unwrap());
        assert_eq!(look(&folder).unwrap_err().kind(), io::ErrorKind::ConnectionRefused);
        let again = Instance::open(options).unwrap();
        again.open_to_view().unwrap();
        assert_eq!(look(&folder).unwrap().sessions, 0);
        again.close().unwrap();
    }
}
