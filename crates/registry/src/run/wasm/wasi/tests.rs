use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use tokio_util::sync::CancellationToken;

use super::super::errno::{Answer, Errno};
use super::super::files::FileMap;
use super::super::guest::Guest;
use super::super::host::{Host, Setup};
use super::descriptors::*;
use super::paths::{How, Path, *};
use super::{poll, process, rights};
use crate::run::limits::Limits;
use mcpkg_base::clock::Clock;

/// A host and a module's memory. The descriptor 3 is the package, 4 is `/tmp`, and 5 is `/output`.
struct Machine {
    host: Host,
    memory: Vec<u8>,
}

/// The addresses of results, texts and buffers in the memory.
const RESULT: u32 = 16;
const TEXT: u32 = 1000;
const OTHER: u32 = 2000;
const BUFFER: u32 = 4096;

impl Machine {
    fn new(limits: Limits) -> Self {
        let package: FileMap = ["a.txt", "data/b.txt", "data/c/d.txt"]
            .map(|path| (path.to_owned(), Arc::from(format!("this is {path}").as_bytes())))
            .into();
        let setup = Setup {
            package: &package,
            arguments: &["main.wasm".to_owned()],
            variables: &BTreeMap::new(),
            inputs: &FileMap::new(),
            limits,
            clock: Clock::fixed(1_000),
            cancelled: CancellationToken::new(),
        };
        Self { host: Host::new(&setup), memory: vec![0; 1 << 16] }
    }

    fn call<T>(&mut self, call: impl FnOnce(&mut Host, &mut Guest<'_>) -> Answer<T>) -> Answer<T> {
        call(&mut self.host, &mut Guest::new(&mut self.memory))
    }

    fn text(&mut self, at: u32, text: &str) -> (u32, u32) {
        self.memory[at as usize..][..text.len()].copy_from_slice(text.as_bytes());
        (at, u32::try_from(text.len()).expect("short"))
    }

    fn path(&mut self, fd: u32, text: &str) -> Path {
        let (at, length) = self.text(TEXT, text);
        Path { fd, at, length }
    }

    fn result(&self) -> u32 {
        u32::from_le_bytes(self.memory[RESULT as usize..][..4].try_into().expect("four bytes"))
    }

    fn result_64(&self) -> u64 {
        u64::from_le_bytes(self.memory[RESULT as usize..][..8].try_into().expect("eight bytes"))
    }

    fn open(&mut self, fd: u32, path: &str, flags: u32, rights: u64) -> Answer<u32> {
        let path = self.path(fd, path);
        self.call(|host, guest| path_open(host, guest, path, How { flags, rights, status: 0 }, RESULT))?;
        Ok(self.result())
    }

    /// Writes a list with one buffer of this length, and returns its address.
    fn buffer(&mut self, length: u32) -> u32 {
        self.memory[..4].copy_from_slice(&BUFFER.to_le_bytes());
        self.memory[4..8].copy_from_slice(&length.to_le_bytes());
        0
    }

    fn write(&mut self, fd: u32, text: &str) -> Answer<u32> {
        let (_, length) = self.text(BUFFER, text);
        let list = self.buffer(length);
        self.call(|host, guest| fd_write(host, guest, fd, list, 1, RESULT))?;
        Ok(self.result())
    }

    fn read(&mut self, fd: u32) -> Answer<String> {
        let list = self.buffer(1000);
        self.call(|host, guest| fd_read(host, guest, fd, list, 1, RESULT))?;
        let read = &self.memory[BUFFER as usize..][..self.result() as usize];
        Ok(String::from_utf8(read.to_vec()).expect("text"))
    }

    /// Returns the names in a folder, read with a buffer of this length.
    fn list(&mut self, fd: u32, length: u32) -> Vec<String> {
        let (mut names, mut cookie) = (Vec::new(), 0);
        loop {
            self.call(|host, guest| fd_readdir(host, guest, fd, BUFFER, length, cookie, RESULT)).expect("a folder");
            let listed = self.memory[BUFFER as usize..][..self.result() as usize].to_vec();
            let mut rest = listed.as_slice();
            while rest.len() >= 24 {
                let next = u64::from_le_bytes(rest[..8].try_into().expect("eight bytes"));
                let name = u32::from_le_bytes(rest[16..20].try_into().expect("four bytes")) as usize;
                let Some(name) = rest.get(24..24 + name) else { break };
                names.push(String::from_utf8(name.to_vec()).expect("text"));
                (cookie, rest) = (next, &rest[24 + name.len()..]);
            }
            if listed.len() < length as usize {
                return names;
            }
        }
    }

    fn at(&mut self, call: fn(&mut Host, &mut Guest<'_>, Path) -> Answer, fd: u32, path: &str) -> Answer {
        let path = self.path(fd, path);
        self.call(|host, guest| call(host, guest, path))
    }

    fn rename(&mut self, from: (u32, &str), to: (u32, &str)) -> Answer {
        let from = self.path(from.0, from.1);
        let (at, length) = self.text(OTHER, to.1);
        self.call(|host, guest| path_rename(host, guest, from, Path { fd: to.0, at, length }))
    }
}

const BOTH: u64 = rights::READ | rights::WRITE;

#[test]
fn the_folders_that_are_given_have_names() {
    let mut machine = Machine::new(Limits::default());
    let mut names = Vec::new();
    for fd in 3..8 {
        machine.call(|host, guest| fd_prestat_get(host, guest, fd, RESULT)).expect("a folder");
        let length = u32::from_le_bytes(machine.memory[20..24].try_into().expect("four bytes"));
        machine.call(|host, guest| fd_prestat_dir_name(host, guest, fd, TEXT, length)).expect("a name");
        let name = &machine.memory[TEXT as usize..][..length as usize];
        names.push(String::from_utf8(name.to_vec()).expect("text"));
        let short = machine.call(|host, guest| fd_prestat_dir_name(host, guest, fd, TEXT, length - 1));
        assert_eq!(short, Err(Errno::NAMETOOLONG));
    }
    assert_eq!(names, ["/workspace", "/tmp", "/output", "/input", "."]);
    for fd in [0, 1, 8, u32::MAX] {
        assert_eq!(machine.call(|host, guest| fd_prestat_get(host, guest, fd, RESULT)), Err(Errno::BADF));
    }
}

#[test]
fn a_folder_is_listed_whole_whatever_the_buffer() {
    let mut machine = Machine::new(Limits::default());
    let data = machine.open(3, "data", 2, 0).expect("a folder");
    for length in [40, 60, 4000] {
        assert_eq!(machine.list(data, length), [".", "..", "b.txt", "c"]);
    }
    let file = machine.open(3, "a.txt", 0, rights::READ).expect("a file");
    let listed = machine.call(|host, guest| fd_readdir(host, guest, file, BUFFER, 100, 0, RESULT));
    assert_eq!(listed, Err(Errno::NOTDIR));
    // A subfolder that was opened does not give access to its parent.
    assert_eq!(machine.open(data, "../a.txt", 0, rights::READ), Err(Errno::NOTCAPABLE));
    assert!(machine.open(data, "c/../b.txt", 0, rights::READ).is_ok());
}

#[test]
fn a_file_is_read_and_sought_in() {
    let mut machine = Machine::new(Limits::default());
    let fd = machine.open(3, "data/b.txt", 0, rights::READ).expect("a file");
    assert_eq!(machine.read(fd).as_deref(), Ok("this is data/b.txt"));
    assert_eq!(machine.read(fd).as_deref(), Ok(""));
    let mut seek =
        |by, from| machine.call(|host, guest| fd_seek(host, guest, fd, by, from, RESULT)).map(|()| machine.result_64());
    assert_eq!([seek(5, 0), seek(3, 1), seek(-5, 2)], [Ok(5), Ok(8), Ok(13)]);
    assert_eq!([seek(-1, 0), seek(i64::MIN, 1), seek(0, 3)], [Err(Errno::INVAL); 3]);
    assert_eq!(machine.read(fd).as_deref(), Ok("b.txt"));
    let beyond = machine.call(|host, guest| fd_seek(host, guest, fd, i64::MAX, 0, RESULT));
    assert_eq!((beyond, machine.read(fd).as_deref()), (Ok(()), Ok("")));
    let list = machine.buffer(4);
    machine.call(|host, guest| fd_pread(host, guest, fd, list, 1, 8, RESULT)).expect("read");
    assert_eq!(&machine.memory[BUFFER as usize..][..4], b"data");
    assert_eq!(machine.write(fd, "x"), Err(Errno::BADF));
    machine.call(|host, guest| fd_filestat_get(host, guest, fd, TEXT)).expect("facts");
    let size = &machine.memory[TEXT as usize + 32..][..8];
    assert_eq!((size, machine.memory[TEXT as usize + 16]), (&18_u64.to_le_bytes()[..], 4));
    machine.call(|host, guest| fd_close(host, guest, fd)).expect("closed");
    assert_eq!(machine.read(fd), Err(Errno::BADF));
}

#[test]
fn files_are_created_moved_and_removed_only_where_allowed() {
    let mut machine = Machine::new(Limits::default());
    machine.at(path_create_directory, 5, "one/").expect("made");
    assert_eq!(machine.at(path_create_directory, 5, "one"), Err(Errno::EXIST));
    assert_eq!(machine.at(path_create_directory, 5, "two/three"), Err(Errno::NOENT));
    let fd = machine.open(5, "one/file", 1 | 4, BOTH).expect("made");
    assert_eq!(machine.write(fd, "hello"), Ok(5));
    assert_eq!(machine.open(5, "one/file", 1 | 4, BOTH), Err(Errno::EXIST));
    assert_eq!(machine.at(path_remove_directory, 5, "one"), Err(Errno::NOTEMPTY));
    assert_eq!(machine.at(path_unlink_file, 5, "one"), Err(Errno::ISDIR));
    assert_eq!(machine.rename((5, "one"), (5, "one/inside")), Err(Errno::INVAL));
    assert_eq!(machine.rename((5, "one/file"), (4, "file")), Err(Errno::XDEV));
    assert_eq!(machine.rename((3, "a.txt"), (5, "a.txt")), Err(Errno::ROFS));
    machine.rename((5, "one/file"), (5, "moved")).expect("moved");
    machine.at(path_remove_directory, 5, "one").expect("removed");
    let left = machine.host.files.collect();
    assert_eq!(left.files, [("moved".to_owned(), b"hello".to_vec())]);
    // An open file still works after it is removed.
    machine.at(path_unlink_file, 5, "moved").expect("removed");
    assert_eq!(machine.write(fd, " you"), Ok(4));
    assert_eq!(machine.host.files.collect().files, []);
    machine.call(|host, guest| fd_close(host, guest, fd)).expect("closed");
    assert_eq!(machine.at(path_create_directory, 3, "data/new"), Err(Errno::ROFS));
    for call in [path_unlink_file, path_remove_directory] {
        assert_eq!(machine.at(call, 3, "data/new"), Err(Errno::NOENT));
    }
    assert_eq!(machine.at(path_unlink_file, 3, "a.txt"), Err(Errno::ROFS));
    assert_eq!(machine.open(3, "a.txt", 0, BOTH), Err(Errno::ROFS));
    assert_eq!(machine.open(3, "a.txt", 8, rights::READ), Err(Errno::ROFS));
    assert_eq!(machine.open(3, "new", 1, BOTH), Err(Errno::ROFS));
    assert_eq!(machine.open(3, &"n".repeat(300), 0, BOTH), Err(Errno::NAMETOOLONG));
}

#[test]
fn x28_written_files_use_limited_space_and_free_it() {
    let limits = Limits { scratch: 1000, file_size: 600, files: 12, ..Limits::default() };
    let mut machine = Machine::new(limits);
    let one = machine.open(4, "one", 1, BOTH).expect("made");
    let long = "x".repeat(500);
    assert_eq!([machine.write(one, &long), machine.write(one, &long)], [Ok(500), Ok(100)]);
    assert_eq!(machine.write(one, &long), Err(Errno::FBIG));
    let two = machine.open(4, "two", 1, BOTH).expect("made");
    assert_eq!([machine.write(two, &long), machine.write(two, &long)], [Ok(400), Err(Errno::NOSPC)]);
    let size =
        |machine: &mut Machine, fd, size| machine.call(|host, guest| fd_filestat_set_size(host, guest, fd, size));
    assert_eq!(size(&mut machine, two, 601), Err(Errno::FBIG));
    assert_eq!(size(&mut machine, two, 401), Err(Errno::NOSPC));
    size(&mut machine, one, 0).expect("shorter");
    size(&mut machine, two, 600).expect("longer");
    assert_eq!(size(&mut machine, two, u64::MAX), Err(Errno::FBIG));
    machine.at(path_unlink_file, 4, "two").expect("removed");
    machine.call(|host, guest| fd_close(host, guest, two)).expect("closed");
    // The gap before a write at an offset counts as if it had been written.
    let list = machine.buffer(1);
    machine.call(|host, guest| fd_pwrite(host, guest, one, list, 1, 599, RESULT)).expect("written");
    let three = machine.open(4, "three", 1, BOTH).expect("made");
    assert_eq!(machine.write(three, &long), Ok(400));
    // The number of descriptors is limited too.
    let opened = (0..20).map(|_| machine.open(3, "a.txt", 0, rights::READ)).find_map(Result::err);
    assert_eq!(opened, Some(Errno::MFILE));
    // The number of files is limited even if they are empty.
    let mut machine = Machine::new(Limits::default());
    let made = (0..10_000)
        .map(|number| machine.at(path_create_directory, 4, &number.to_string()))
        .position(|made| made.is_err());
    assert_eq!(made, Some(4096));
}

#[test]
fn the_number_and_size_of_output_files_is_limited() {
    let mut machine = Machine::new(Limits::default());
    for number in 0..70 {
        let fd = machine.open(5, &format!("{number:02}"), 1, BOTH).expect("made");
        machine.call(|host, guest| fd_close(host, guest, fd)).expect("closed");
    }
    let left = machine.host.files.collect();
    assert_eq!((left.files.len(), left.left_out.len()), (64, 6));
    assert_eq!(left.left_out[0], "64");
}

#[test]
fn standard_streams_have_their_kinds_and_rights() {
    let mut machine = Machine::new(Limits::default());
    assert_eq!(machine.read(0).as_deref(), Ok(""));
    assert_eq!(machine.read(1), Err(Errno::BADF));
    assert_eq!(machine.write(0, "x"), Err(Errno::BADF));
    assert_eq!((machine.write(1, "out"), machine.write(2, "err")), (Ok(3), Ok(3)));
    assert_eq!((machine.host.stdout.text(), machine.host.stderr.text()), ("out".to_owned(), "err".to_owned()));
    assert_eq!(machine.call(|host, guest| fd_seek(host, guest, 1, 0, 0, RESULT)), Err(Errno::SPIPE));
    assert_eq!(machine.write(3, "x"), Err(Errno::ISDIR));
    // A file can replace a standard stream.
    let fd = machine.open(5, "log", 1, BOTH).expect("made");
    machine.call(|host, guest| fd_renumber(host, guest, fd, 1)).expect("moved");
    assert_eq!(machine.write(1, "more"), Ok(4));
    assert_eq!(machine.host.files.collect().files, [("log".to_owned(), b"more".to_vec())]);
    assert_eq!(machine.call(|host, guest| fd_renumber(host, guest, 77, 1)), Err(Errno::BADF));
}

#[test]
fn appended_text_goes_to_the_end() {
    let mut machine = Machine::new(Limits::default());
    let path = machine.path(4, "log");
    let how = How { flags: 1, rights: BOTH, status: u32::from(APPEND) };
    machine.call(|host, guest| path_open(host, guest, path, how, RESULT)).expect("made");
    let fd = machine.result();
    machine.write(fd, "one").expect("written");
    machine.call(|host, guest| fd_seek(host, guest, fd, 0, 0, RESULT)).expect("sought");
    machine.write(fd, "two").expect("written");
    machine.call(|host, guest| fd_fdstat_set_flags(host, guest, fd, 0)).expect("set");
    machine.call(|host, guest| fd_seek(host, guest, fd, 0, 0, RESULT)).expect("sought");
    machine.write(fd, "O").expect("written");
    machine.call(|host, guest| fd_seek(host, guest, fd, 0, 0, RESULT)).expect("sought");
    assert_eq!(machine.read(fd).as_deref(), Ok("Onetwo"));
}

#[test]
fn clocks_and_random_bytes_are_there() {
    let mut machine = Machine::new(Limits::default());
    let time = |machine: &mut Machine, clock| {
        machine.call(|host, guest| process::clock_time_get(host, guest, clock, 0, RESULT)).map(|()| machine.result_64())
    };
    assert_eq!(time(&mut machine, 0), Ok(1_000_000_000));
    let first = time(&mut machine, 1).expect("a time");
    assert!(first < 3_600_000_000_000 && time(&mut machine, 1).expect("a time") >= first);
    assert_eq!(time(&mut machine, 2), Err(Errno::INVAL));
    machine.call(|host, guest| process::random_get(host, guest, TEXT, 32)).expect("random bytes");
    assert_ne!(machine.memory[TEXT as usize..][..32], [0; 32]);
    for (at, length, errno) in [(0, u32::MAX, Errno::INVAL), (u32::MAX, 1, Errno::FAULT)] {
        assert_eq!(machine.call(|host, guest| process::random_get(host, guest, at, length)), Err(errno));
    }
}

#[test]
fn a_wait_ends_with_what_comes_first() {
    let mut machine = Machine::new(Limits { time: Duration::from_secs(20), ..Limits::default() });
    let subscribe = |machine: &mut Machine, index: usize, kind: u8, number: u32, time: u64, flags: u16| {
        let at = TEXT as usize + index * 48;
        machine.memory[at..at + 8].copy_from_slice(&(index as u64 + 70).to_le_bytes());
        machine.memory[at + 8] = kind;
        machine.memory[at + 16..at + 20].copy_from_slice(&number.to_le_bytes());
        machine.memory[at + 24..at + 32].copy_from_slice(&time.to_le_bytes());
        machine.memory[at + 40..at + 42].copy_from_slice(&flags.to_le_bytes());
    };
    let poll = |machine: &mut Machine, count| {
        machine
            .call(|host, guest| poll::poll_oneoff(host, guest, TEXT, BUFFER, count, RESULT))
            .map(|()| machine.result())
    };
    let user = |machine: &Machine, index: usize| machine.memory[BUFFER as usize + index * 32];
    // The first event waits for an hour, the second one for a millisecond.
    subscribe(&mut machine, 0, 0, 1, 3_600_000_000_000, 0);
    subscribe(&mut machine, 1, 0, 1, 1_000_000, 0);
    assert_eq!((poll(&mut machine, 2), user(&machine, 0)), (Ok(1), 71));
    // Three subscriptions are due: a time in the past, a ready descriptor, and an invalid descriptor.
    subscribe(&mut machine, 1, 0, 0, 5, 1);
    subscribe(&mut machine, 2, 1, 0, 0, 0);
    subscribe(&mut machine, 3, 2, 99, 0, 0);
    assert_eq!(poll(&mut machine, 4), Ok(3));
    assert_eq!([0, 1, 2].map(|index| user(&machine, index)), [71, 72, 73]);
    assert_eq!(machine.memory[BUFFER as usize + 2 * 32 + 8], 8);
    subscribe(&mut machine, 0, 9, 0, 0, 0);
    assert_eq!([poll(&mut machine, 0), poll(&mut machine, 1), poll(&mut machine, 1025)], [Err(Errno::INVAL); 3]);
}
