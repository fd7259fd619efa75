//! The table of all WASI calls: the name, the parameters, and the function that implements each.

use wasmi::{Caller, Error, Linker};

use super::super::errno::{Answer, Errno};
use super::super::guest::Guest;
use super::super::host::Host;
use super::paths::{How, Path};
use super::{descriptors, paths, poll, process};

/// The name of the module that the calls are imported from.
pub const MODULE: &str = "wasi_snapshot_preview1";

/// The fuel that each call costs, in addition to the fuel for the bytes that it moves. One unit of fuel pays for about
/// one instruction.
const CALL: u64 = 100;

/// Runs a call, and subtracts its cost from the remaining fuel. If no fuel remains, the module pauses at its next
/// instruction.
fn answer(mut caller: Caller<'_, Host>, call: impl FnOnce(&mut Host, &mut Guest<'_>) -> Answer) -> Result<u32, Error> {
    let answered = match caller.data().memory {
        Some(memory) => {
            let (bytes, host) = memory.data_and_store_mut(&mut caller);
            call(host, &mut Guest::new(bytes))
        }
        None => call(caller.data_mut(), &mut Guest::new(&mut [])),
    };
    let work = std::mem::take(&mut caller.data_mut().work).saturating_add(CALL);
    let left = caller.get_fuel()?.saturating_sub(work);
    caller.set_fuel(left)?;
    Ok(answered.map_or_else(|errno| u32::from(errno.0), |()| 0))
}

/// Defines calls, each with its name, parameters and implementation.
macro_rules! calls {
    ($linker:ident, $($name:ident($($number:ident: $kind:ty),*) => $answer:expr;)*) => {$(
        $linker.func_wrap(MODULE, stringify!($name), |caller: Caller<'_, Host>, $($number: $kind),*| {
            answer(caller, $answer)
        })?;
    )*};
}

/// Defines calls that always fail as unsupported.
macro_rules! missing {
    ($linker:ident, $($name:ident($($kind:ty),*);)*) => {$(
        $linker.func_wrap(MODULE, stringify!($name), |caller: Caller<'_, Host>, $(_: $kind),*| {
            answer(caller, |_, _| Err(Errno::NOSYS))
        })?;
    )*};
}

/// Defines all calls of WASI preview 1. This cannot fail, since each name is defined once.
pub fn define(linker: &mut Linker<Host>) -> Result<(), Error> {
    of_process(linker)?;
    of_descriptors(linker)?;
    of_paths(linker)?;
    missing! { linker,
        fd_allocate(u32, u64, u64);
        fd_fdstat_set_rights(u32, u64, u64);
        fd_filestat_set_times(u32, u64, u64, u32);
        path_filestat_set_times(u32, u32, u32, u32, u64, u64, u32);
        path_link(u32, u32, u32, u32, u32, u32, u32);
        path_symlink(u32, u32, u32, u32, u32);
        proc_raise(u32);
        sock_accept(u32, u32, u32);
        sock_recv(u32, u32, u32, u32, u32, u32);
        sock_send(u32, u32, u32, u32, u32);
        sock_shutdown(u32, u32);
    }
    Ok(())
}

fn of_process(linker: &mut Linker<Host>) -> Result<(), Error> {
    calls! { linker,
        args_get(list: u32, buffer: u32) => |host, guest| process::args_get(host, guest, list, buffer);
        args_sizes_get(number: u32, bytes: u32) => |host, guest| process::args_sizes_get(host, guest, number, bytes);
        environ_get(list: u32, buffer: u32) => |host, guest| process::environ_get(host, guest, list, buffer);
        environ_sizes_get(number: u32, bytes: u32) =>
            |host, guest| process::environ_sizes_get(host, guest, number, bytes);
        clock_res_get(clock: u32, at: u32) => |host, guest| process::clock_res_get(host, guest, clock, at);
        clock_time_get(clock: u32, precision: u64, at: u32) =>
            |host, guest| process::clock_time_get(host, guest, clock, precision, at);
        random_get(at: u32, length: u32) => |host, guest| process::random_get(host, guest, at, length);
        sched_yield() => process::sched_yield;
        poll_oneoff(list: u32, events: u32, count: u32, number: u32) =>
            |host, guest| poll::poll_oneoff(host, guest, list, events, count, number);
    }
    // This call does not return.
    linker.func_wrap(MODULE, "proc_exit", |_: Caller<'_, Host>, status: i32| -> Result<(), Error> {
        Err(Error::i32_exit(status))
    })?;
    Ok(())
}

fn of_descriptors(linker: &mut Linker<Host>) -> Result<(), Error> {
    calls! { linker,
        fd_advise(fd: u32, at: u64, length: u64, advice: u32) =>
            |host, guest| descriptors::fd_advise(host, guest, fd, at, length, advice);
        fd_close(fd: u32) => |host, guest| descriptors::fd_close(host, guest, fd);
        fd_datasync(fd: u32) => |host, guest| descriptors::fd_sync(host, guest, fd);
        fd_fdstat_get(fd: u32, at: u32) => |host, guest| descriptors::fd_fdstat_get(host, guest, fd, at);
        fd_fdstat_set_flags(fd: u32, flags: u32) =>
            |host, guest| descriptors::fd_fdstat_set_flags(host, guest, fd, flags);
        fd_filestat_get(fd: u32, at: u32) => |host, guest| descriptors::fd_filestat_get(host, guest, fd, at);
        fd_filestat_set_size(fd: u32, size: u64) =>
            |host, guest| descriptors::fd_filestat_set_size(host, guest, fd, size);
        fd_pread(fd: u32, list: u32, count: u32, at: u64, number: u32) =>
            |host, guest| descriptors::fd_pread(host, guest, fd, list, count, at, number);
        fd_prestat_get(fd: u32, at: u32) => |host, guest| descriptors::fd_prestat_get(host, guest, fd, at);
        fd_prestat_dir_name(fd: u32, at: u32, length: u32) =>
            |host, guest| descriptors::fd_prestat_dir_name(host, guest, fd, at, length);
        fd_pwrite(fd: u32, list: u32, count: u32, at: u64, number: u32) =>
            |host, guest| descriptors::fd_pwrite(host, guest, fd, list, count, at, number);
        fd_read(fd: u32, list: u32, count: u32, number: u32) =>
            |host, guest| descriptors::fd_read(host, guest, fd, list, count, number);
        fd_readdir(fd: u32, buffer: u32, length: u32, cookie: u64, number: u32) =>
            |host, guest| descriptors::fd_readdir(host, guest, fd, buffer, length, cookie, number);
        fd_renumber(from: u32, to: u32) => |host, guest| descriptors::fd_renumber(host, guest, from, to);
        fd_seek(fd: u32, by: i64, from: u32, result: u32) =>
            |host, guest| descriptors::fd_seek(host, guest, fd, by, from, result);
        fd_sync(fd: u32) => |host, guest| descriptors::fd_sync(host, guest, fd);
        fd_tell(fd: u32, result: u32) => |host, guest| descriptors::fd_tell(host, guest, fd, result);
        fd_write(fd: u32, list: u32, count: u32, number: u32) =>
            |host, guest| descriptors::fd_write(host, guest, fd, list, count, number);
    }
    Ok(())
}

fn of_paths(linker: &mut Linker<Host>) -> Result<(), Error> {
    calls! { linker,
        path_create_directory(fd: u32, at: u32, length: u32) =>
            |host, guest| paths::path_create_directory(host, guest, Path { fd, at, length });
        path_filestat_get(fd: u32, _follow: u32, at: u32, length: u32, result: u32) =>
            |host, guest| paths::path_filestat_get(host, guest, Path { fd, at, length }, result);
        path_open(
            fd: u32, _follow: u32, at: u32, length: u32, flags: u32, rights: u64, _inherited: u64, status: u32, result: u32
        ) => |host, guest| paths::path_open(host, guest, Path { fd, at, length }, How { flags, rights, status }, result);
        path_readlink(fd: u32, at: u32, length: u32, _buffer: u32, _room: u32, _result: u32) =>
            |host, guest| paths::path_readlink(host, guest, Path { fd, at, length });
        path_remove_directory(fd: u32, at: u32, length: u32) =>
            |host, guest| paths::path_remove_directory(host, guest, Path { fd, at, length });
        path_rename(fd: u32, at: u32, length: u32, to: u32, to_at: u32, to_length: u32) =>
            |host, guest| {
                let to = Path { fd: to, at: to_at, length: to_length };
                paths::path_rename(host, guest, Path { fd, at, length }, to)
            };
        path_unlink_file(fd: u32, at: u32, length: u32) =>
            |host, guest| paths::path_unlink_file(host, guest, Path { fd, at, length });
    }
    Ok(())
}
