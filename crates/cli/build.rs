//! Names the commit of the build for the lab's reports: `RINGWOOD_COMMIT`, 12 digits, with `+`
//! after it where the sources have changes that are not committed; empty without git. An
//! environment variable of that name wins, for builds of archives.

use std::process::Command;

fn git(arguments: &[&str]) -> Option<String> {
    let output = Command::new("git").args(arguments).output().ok()?;
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

fn commit() -> Option<String> {
    // Not the commit of a repository that this folder merely lies in.
    git(&["ls-files", "--error-unmatch", "Cargo.toml"])?;
    let commit = git(&["rev-parse", "--short=12", "HEAD"])?;
    let changed = !git(&["status", "--porcelain", "--untracked-files=no"])?.is_empty();
    Some(if changed { format!("{commit}+") } else { commit })
}

fn main() {
    println!("cargo::rerun-if-env-changed=RINGWOOD_COMMIT");
    // What a commit, a checkout and a change of the sources touch.
    println!("cargo::rerun-if-changed=..");
    for name in ["HEAD", "logs/HEAD"] {
        if let Some(path) =
            git(&["rev-parse", "--git-path", name]).filter(|p| std::path::Path::new(p).exists())
        {
            println!("cargo::rerun-if-changed={path}");
        }
    }
    let commit = std::env::var("RINGWOOD_COMMIT").ok().or_else(commit).unwrap_or_default();
    println!("cargo::rustc-env=RINGWOOD_COMMIT={commit}");
}
