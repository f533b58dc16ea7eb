//! A program for `wasm32-wasip1` run in an interpreter: no arguments, no environment, no files; it may print.

use wasmi::{Caller, Engine, Error, ExternType, Linker, Memory, Module, Store, Val};

const WASI: &str = "wasi_snapshot_preview1";
const SUCCESS: i32 = 0;
const STDOUT: i32 = 1;

/// What the program printed.
#[derive(Default)]
struct Printed {
    out: Vec<u8>,
    err: Vec<u8>,
}

/// What the program in `module` prints on stdout, if it ends well.
pub fn run(module: &[u8]) -> Result<String, String> {
    let engine = Engine::default();
    let mut store = Store::new(&engine, Printed::default());
    let ended = start(&engine, &mut store, module);
    let Printed { out, err } = store.into_data();
    match ended {
        Err(error) if error.i32_exit_status() != Some(SUCCESS) => {
            Err(format!("it ended with: {error}\n{}", String::from_utf8_lossy(&err)))
        }
        _ => String::from_utf8(out).map_err(|error| format!("what it printed is no text: {error}")),
    }
}

fn start(engine: &Engine, store: &mut Store<Printed>, module: &[u8]) -> Result<(), Error> {
    let module = Module::new(engine, module)?;
    let mut linker = Linker::new(engine);
    linker.func_wrap(WASI, "fd_write", fd_write)?;
    linker.func_wrap(WASI, "proc_exit", |status: i32| -> Result<(), Error> { Err(Error::i32_exit(status)) })?;
    for list in ["args", "environ"] {
        linker.func_wrap(WASI, &format!("{list}_get"), |_: i32, _: i32| SUCCESS)?;
        linker.func_wrap(WASI, &format!("{list}_sizes_get"), nothing)?;
    }
    // The rest of the standard library is linked whether it is called or not.
    linker.allow_shadowing(false);
    for import in module.imports() {
        if let ExternType::Func(kind) = import.ty() {
            let name = import.name().to_owned();
            let refused = move |_: Caller<'_, Printed>, _: &[Val], _: &mut [Val]| -> Result<(), Error> {
                Err(Error::new(format!("it called {name}, and may only print")))
            };
            // An error says that it is defined above.
            let _ = linker.func_new(import.module(), import.name(), kind.clone(), refused);
        }
    }
    let instance = linker.instantiate_and_start(&mut *store, &module)?;
    instance.get_typed_func::<(), ()>(&*store, "_start")?.call(store, ())
}

/// Zero strings of zero bytes.
fn nothing(mut caller: Caller<'_, Printed>, count: u32, bytes: u32) -> Result<i32, Error> {
    let memory = memory(&caller)?;
    for at in [count, bytes] {
        memory.write(&mut caller, at as usize, &0u32.to_le_bytes())?;
    }
    Ok(SUCCESS)
}

/// Writes `count` slices, whose addresses and lengths are at `slices`.
fn fd_write(mut caller: Caller<'_, Printed>, fd: i32, slices: u32, count: u32, written: u32) -> Result<i32, Error> {
    let memory = memory(&caller)?;
    let mut bytes = Vec::new();
    for slice in 0..count {
        let word = |index: u32| -> Result<usize, Error> {
            let mut word = [0; 4];
            memory.read(&caller, slices as usize + 8 * slice as usize + 4 * index as usize, &mut word)?;
            Ok(u32::from_le_bytes(word) as usize)
        };
        let (at, len) = (word(0)?, word(1)?);
        let slice = memory.data(&caller).get(at..at + len).ok_or_else(|| Error::new("it printed what is not there"))?;
        bytes.extend_from_slice(slice);
    }
    memory.write(&mut caller, written as usize, &(bytes.len() as u32).to_le_bytes())?;
    let printed = caller.data_mut();
    let stream = if fd == STDOUT { &mut printed.out } else { &mut printed.err };
    stream.append(&mut bytes);
    Ok(SUCCESS)
}

fn memory(caller: &Caller<'_, Printed>) -> Result<Memory, Error> {
    let export = caller.get_export("memory").and_then(|export| export.into_memory());
    export.ok_or_else(|| Error::new("it exports no memory"))
}
