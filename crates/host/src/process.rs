//! A server that runs already, as `/proc` shows it: its environment, folder, program and threads.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::Read;
use std::iter;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use crate::check::Known;
use crate::elf;
use crate::error::HostError;
use crate::procfs::parse_stat;
use crate::roots::Roots;
use crate::serving::unreadable;
use crate::tree::Tree;

/// Program headers are at the beginning of a file.
const HEAD_BYTES: u64 = 1 << 16;
/// What Puma calls the threads that serve, as the kernel keeps the name: 15 bytes of it.
const PUMA_THREAD: &str = "puma srv tp";
/// What its threads are called that exist from when it serves, however few requests there are; Puma 5 has the last two.
const PUMA_SERVES: [&str; 3] = ["puma srv", "puma server", "puma threadpoo"];
/// How Puma's worker processes call themselves.
const PUMA_WORKER: &str = "puma: cluster worker";

/// One process, and what descends from it. Each with the reason where it is not known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProcessFacts {
    pub pid: u32,
    /// As it was when the program started: later changes by the program itself are not in it.
    pub environment: Known<BTreeMap<String, String>>,
    /// Its command line, or the title that it has put in that place, then those of the processes above it. Empty ones, and
    /// what cannot be read, are left out.
    pub commands: Vec<Vec<String>>,
    /// Files, pipes and the like that it and what descends from it have open, as the kernel names them.
    pub open_files: Known<BTreeSet<PathBuf>>,
    /// The folder that it is in. A name for people; files are read below `/proc/<pid>/cwd`.
    pub folder: Known<PathBuf>,
    /// The program's file. A name for people.
    pub program: Known<PathBuf>,
    /// What [`elf::interpreter`] says of the program.
    pub interpreter: Known<String>,
    /// The user that it belongs to.
    pub owner: u32,
    /// It has another root or other mounts than this process: a container.
    pub elsewhere: Known<bool>,
    /// Worker processes of Puma below it.
    pub puma_workers: Known<u32>,
    /// The most threads that serve in one of Puma's processes now; Puma starts them as they are needed.
    pub puma_threads: Known<u32>,
    /// Puma has started to serve in one of the processes.
    pub puma_serves: Known<bool>,
}

impl ProcessFacts {
    /// Reads them now.
    ///
    /// # Errors
    /// [`HostError::Gone`] when there is no such process.
    pub fn collect(roots: &Roots, pid: u32) -> Result<Self, HostError> {
        let process = roots.of(Some(pid));
        let owner = fs::metadata(&process)
            .map_err(|_| HostError::Gone { pid })?
            .uid();
        // A process that its parent has not waited for yet has no command and no environment.
        let stat = fs::read_to_string(process.join("stat")).unwrap_or_default();
        if parse_stat(&stat).is_some_and(|stat| stat.ended) {
            return Err(HostError::Gone { pid });
        }
        let tree = Tree::from(pid).at(&roots.proc);
        let pids = tree.pids().map_err(|e| e.to_string());
        let open_files = pids.as_ref().map_err(Clone::clone).and_then(|pids| {
            let each = pids.iter().map(|&pid| open_files(&roots.of(Some(pid))));
            // What another process of the tree keeps to itself, or took with it, is no reason to know nothing.
            let mut all = open_files(&process)?;
            all.extend(each.flatten().flatten());
            Ok(all)
        });
        let workers = pids.as_ref().map_err(Clone::clone).map(|pids| {
            let worker = |pid: &&u32| is_worker(&roots.of(Some(**pid)));
            pids.iter().filter(worker).count() as u32
        });
        let serves = pids.as_ref().map_err(Clone::clone).map(|pids| {
            let mut processes = pids.iter().map(|&pid| roots.of(Some(pid)));
            processes.any(|process| threads(&process).any(|name| serves(&name)))
        });
        let counted = pids.map(|pids| {
            let serving = pids
                .iter()
                .map(|&pid| serving_threads(&roots.of(Some(pid))));
            serving.max().unwrap_or(0)
        });
        Ok(Self {
            pid,
            environment: strings(&process.join("environ")).map(|words| {
                let pair = |word: &String| {
                    let (key, value) = word.split_once('=')?;
                    Some((key.to_owned(), value.to_owned()))
                };
                words.iter().filter_map(pair).collect()
            }),
            commands: commands(roots, pid),
            open_files,
            folder: link(&process.join("cwd")),
            program: link(&process.join("exe")),
            interpreter: interpreter_of(&process.join("exe")),
            owner,
            elsewhere: link(&process.join("ns/mnt")).and_then(|theirs| {
                let ours = link(&roots.of(None).join("ns/mnt"))?;
                Ok(theirs != ours || link(&process.join("root"))? != Path::new("/"))
            }),
            puma_workers: workers,
            puma_threads: counted,
            puma_serves: serves,
        })
    }
}

/// Other processes that have a file of this name open, each with the file's path, by process id. Those of other users are left out
/// where they cannot be read.
pub fn holders(roots: &Roots, name: &str) -> Vec<(u32, PathBuf)> {
    let entries = fs::read_dir(&roots.proc).into_iter().flatten().flatten();
    let mut pids: Vec<u32> = entries
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .filter(|pid| *pid != std::process::id())
        .collect();
    pids.sort_unstable();
    let files_of = |pid| {
        let open = open_files(&roots.of(Some(pid))).unwrap_or_default();
        open.into_iter().map(move |path| (pid, path))
    };
    let of_name = |(_, path): &(u32, PathBuf)| path.file_name().is_some_and(|last| last == name);
    pids.into_iter()
        .flat_map(files_of)
        .filter(of_name)
        .collect()
}

/// The C library's loader that a program asks for; the reason where it is no such program.
pub fn interpreter_of(program: &Path) -> Known<String> {
    let mut head = Vec::new();
    let file = fs::File::open(program).map_err(|e| unreadable(program, &e))?;
    file.take(HEAD_BYTES)
        .read_to_end(&mut head)
        .map_err(|e| unreadable(program, &e))?;
    elf::interpreter(&head)
        .ok_or_else(|| format!("{} names no loader of a C library", program.display()))
}

fn link(path: &Path) -> Known<PathBuf> {
    fs::read_link(path).map_err(|e| unreadable(path, &e))
}

/// What NULs end.
fn strings(path: &Path) -> Known<Vec<String>> {
    let bytes = fs::read(path).map_err(|e| unreadable(path, &e))?;
    let words = bytes
        .split(|&byte| byte == 0)
        .filter(|word| !word.is_empty());
    Ok(words
        .map(|word| String::from_utf8_lossy(word).into_owned())
        .collect())
}

/// The words of a process's command line, or of the title in its place; empty for a thread of the kernel.
///
/// # Errors
/// Why it cannot be read.
pub fn command_line(roots: &Roots, pid: u32) -> Known<Vec<String>> {
    strings(&roots.of(Some(pid)).join("cmdline"))
}

fn commands(roots: &Roots, pid: u32) -> Vec<Vec<String>> {
    let parent = |pid: &u32| {
        let stat = fs::read_to_string(roots.of(Some(*pid)).join("stat")).ok()?;
        parse_stat(&stat)
            .map(|stat| stat.parent_pid)
            .filter(|&parent| parent > 0)
    };
    iter::successors(Some(pid), parent)
        .filter_map(|pid| command_line(roots, pid).ok())
        .filter(|words| !words.is_empty())
        .collect()
}

fn open_files(process: &Path) -> Known<BTreeSet<PathBuf>> {
    let folder = process.join("fd");
    let entries = fs::read_dir(&folder).map_err(|e| unreadable(&folder, &e))?;
    Ok(entries
        .flatten()
        .filter_map(|entry| fs::read_link(entry.path()).ok())
        .collect())
}

fn is_worker(process: &Path) -> bool {
    strings(&process.join("cmdline")).is_ok_and(|words| {
        words
            .first()
            .is_some_and(|word| word.starts_with(PUMA_WORKER))
    })
}

/// Names of its threads.
fn threads(process: &Path) -> impl Iterator<Item = String> {
    let tasks = fs::read_dir(process.join("task")).into_iter().flatten();
    tasks
        .flatten()
        .filter_map(|task| fs::read_to_string(task.path().join("comm")).ok())
}

fn serving_threads(process: &Path) -> u32 {
    threads(process).filter(|name| is_of_pool(name)).count() as u32
}

fn serves(name: &str) -> bool {
    PUMA_SERVES.iter().any(|known| name.starts_with(known))
}

/// `puma srv tp 001`; one with a word in place of the number looks after the others.
fn is_of_pool(name: &str) -> bool {
    let number = name.trim_end().strip_prefix(PUMA_THREAD);
    number.is_some_and(|number| number.trim_start().parse::<u32>().is_ok())
}
