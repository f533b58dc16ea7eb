#!/usr/bin/env python3
"""Runs a static x86-64 Linux program on the Bochs CPU, an Ice Lake with AVX-512 whatever this machine has.

    pip install bochscpu-python            # 0.4.0; CPython 3.11, Linux x86-64
    python avx512_bochs.py [--no-avx512] [--trace] [--executed FILE] PROGRAM [ARGUMENT...] > OUTPUT

The program is static and of fixed address (RUSTFLAGS="-C target-feature=+crt-static -C relocation-model=static"), has
one thread, no files and no signals. Its stdout and stderr are those of this process; at the end stderr gets how many
instructions were executed, those of AVX-512 (EVEX) by their width. 30 to 45 million instructions a second.

--no-avx512      the operating system does not save the registers of AVX-512 (XCR0): programs find AVX2 at most
--trace          every system call, on stderr
--executed FILE  `ADDRESS COUNT` of every instruction of the program that was executed

Needs a C compiler, `cc`, for the counter of instructions.
"""

import argparse
import ctypes
import errno
import mmap
import os
import struct
import subprocess
import sys
import tempfile
import time

# Ice Lake in Bochs' list of processors (cpudb.h).
MODEL = 28

# Symbols that are found before the wheel's own. What Bochs calls at every instruction goes to a counter here and not
# through hooks. The last two are of glibc 2.38, for machines with an older one.
INTERPOSED = r"""
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

struct { uint64_t all, vex, evex[4]; } executed;
const uint8_t *memory;
uint64_t (*program_counter)(uint32_t);
uint32_t *executed_at;  /* how often, per address below text_end */
uint64_t text_end, executing;

void bx_instr_before_execution(unsigned cpu, void *instruction) {
    const uint8_t *code = memory + (executing = program_counter(cpu));
    executed.all++;
    if (*code == 0x62) executed.evex[code[3] >> 5 & 3]++;
    if (*code == 0xc4 || *code == 0xc5) executed.vex++;
    if (executing < text_end) executed_at[executing]++;
}
void bx_instr_after_execution(unsigned cpu, void *instruction) {}
void bx_instr_repeat_iteration(unsigned cpu, void *instruction) {}
void bx_instr_lin_access(unsigned cpu, uint64_t a, uint64_t b, unsigned c, unsigned d, unsigned e) {}
void bx_instr_phy_access(unsigned cpu, uint64_t a, unsigned b, unsigned c, unsigned d) {}
void bx_instr_cnear_branch_taken(unsigned cpu, uint64_t from, uint64_t to) {}
void bx_instr_cnear_branch_not_taken(unsigned cpu, uint64_t from, uint64_t to) {}
void bx_instr_ucnear_branch(unsigned cpu, unsigned what, uint64_t from, uint64_t to) {}
void bx_instr_opcode(unsigned cpu, void *a, const uint8_t *b, unsigned c, int d, int e) {}

unsigned long long __isoc23_strtoull(const char *s, char **e, int b) { return strtoull(s, e, b); }
int __isoc23_sscanf(const char *s, const char *f, ...) { va_list a; va_start(a, f); return vsscanf(s, f, a); }
"""


def load_bochs():
    """The module `bochscpu`, its library, and what is interposed."""
    with tempfile.TemporaryDirectory() as folder:
        library = os.path.join(folder, "interposed.so")
        compiler = ["cc", "-O2", "-shared", "-fPIC", "-x", "c", "-o", library, "-"]
        subprocess.run(compiler, input=INTERPOSED.encode(), check=True)
        interposed = ctypes.CDLL(library, ctypes.RTLD_GLOBAL)
    import bochscpu
    import bochscpu.memory

    # The wheel is a Cannon Lake, which lacks a part of what Ice Lake has, and offers no choice.
    native = ctypes.CDLL(sys.modules["bochscpu._bochscpu"].__file__)
    native.sim_get_param_enum.restype = ctypes.c_void_p
    model = ctypes.c_void_p(native.sim_get_param_enum(b"cpu.model"))
    native._ZN14bx_param_num_c9set_rangeEmm(model, ctypes.c_ulong(0), ctypes.c_ulong(MODEL))
    native._ZN14bx_param_num_c3setEl(model, ctypes.c_long(MODEL))
    return bochscpu, native, interposed


bochscpu, NATIVE, INTERPOSITION = load_bochs()

# Virtual and physical addresses are the same. Programs are linked at 4 MiB; the heap follows them.
MEMORY = 3 << 30
TABLES = 0x1000  # PML4, PDPT, then one page directory per GiB
ENTRY = 0x10000  # where `syscall` goes
SCRATCH = ENTRY + 0x100  # see Patches
MAPPINGS = 1 << 30  # mmap from here up
STACK_TOP = MEMORY - 0x1000
STACK_SIZE = 64 << 20
PAGE = 4096
HUGE = 2 << 20

CR0 = 0x8001_0033  # protected, paged, with an FPU
CR4 = 1 << 5 | 1 << 9 | 1 << 10 | 1 << 16 | 1 << 18  # PAE, SSE, its exceptions, FSGSBASE, XSAVE
EFER = 1 | 1 << 8 | 1 << 10 | 1 << 11  # SYSCALL, long mode, no-execute
XCR0_AVX2, XCR0_AVX512 = 0x07, 0xE7


class Memory:
    """All memory of the guest, one mapping of the host."""

    def __init__(self):
        self.bytes = mmap.mmap(-1, MEMORY, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        self.host = ctypes.addressof(ctypes.c_char.from_buffer(self.bytes))
        self.top = MAPPINGS
        directories = TABLES + 2 * PAGE
        self.words(TABLES, [TABLES + PAGE | 7])
        self.words(TABLES + PAGE, [directories + page * PAGE | 7 for page in range(MEMORY >> 30)])
        self.words(directories, [page * HUGE | 0x87 for page in range(MEMORY // HUGE)])

    def page_in(self, address):
        bochscpu.memory.page_insert(address & -PAGE, self.host + (address & -PAGE))

    def read(self, at, size):
        return self.bytes[at : at + size]

    def write(self, at, data):
        self.bytes[at : at + len(data)] = data

    def words(self, at, values):
        self.write(at, struct.pack(f"<{len(values)}Q", *values))

    def map(self, size):
        """Zeroed pages. No address is used twice."""
        at, self.top = self.top, self.top + (size + 2 * PAGE - 1 & -PAGE)
        return at if self.top < STACK_TOP - STACK_SIZE else -errno.ENOMEM

    def load(self, path):
        """The segments of an ELF file: entry point, first address behind, program headers' address and number."""
        with open(path, "rb") as file:
            elf = file.read()
        if elf[:5] != b"\x7fELF\x02" or struct.unpack_from("<HH", elf, 16) != (2, 62):
            sys.exit(f"{path} is not an x86-64 program of fixed address")
        entry, headers = struct.unpack_from("<QQ", elf, 24)
        size, count = struct.unpack_from("<HH", elf, 54)
        end, headers_at = 0, 0
        for at in range(headers, headers + count * size, size):
            kind, _, offset, to, _, in_file, in_memory, _ = struct.unpack_from("<IIQQQQQQ", elf, at)
            if kind == 1:
                self.write(to, elf[offset : offset + in_file])
                end = max(end, to + in_memory)
                if offset <= headers < offset + in_file:
                    headers_at = to + headers - offset
        return entry, end + PAGE - 1 & -PAGE, headers_at, count

    def stack(self, arguments, auxiliary):
        """The first stack of a process; its pointer."""
        at, argv = STACK_TOP, []
        for argument in arguments:
            text = argument.encode() + b"\0"
            at -= len(text)
            argv.append(at)
            self.write(at, text)
        at -= 16  # sixteen bytes, as random as zeros are
        words = [len(argv), *argv, 0, 0, *(word for pair in [*auxiliary, (25, at), (0, 0)] for word in pair)]
        at = at - 8 * len(words) & -64
        self.words(at, words)
        return at


class Linux:
    """The system calls of a program with one thread and no files."""

    # close, poll, mprotect, munmap, signals, sched_yield, madvise, robust list; ids; ioctl, clone; open and the like
    ALWAYS = dict.fromkeys((3, 7, 10, 11, 13, 14, 24, 28, 131, 273), 0) | dict.fromkeys((39, 186, 218), 1)
    ALWAYS |= {16: -errno.ENOTTY, 56: -errno.EAGAIN, 435: -errno.EAGAIN}
    ALWAYS |= dict.fromkeys((2, 21, 89, 257, 267), -errno.ENOENT)

    def __init__(self, memory, heap, trace):
        self.memory, self.heap, self.trace, self.status = memory, heap, trace, None

    def enter(self, session):
        cpu = session.cpu
        number, arguments = cpu.rax, (cpu.rdi, cpu.rsi, cpu.rdx, cpu.r10, cpu.r8, cpu.r9)
        result = self.call(session, number, *arguments)
        if self.trace:
            print(f"syscall {number} {[hex(a) for a in arguments]} = {result:#x}", file=sys.stderr)
        cpu.rax = result & 2**64 - 1

    def call(self, session, number, a, b, c, d, e, _):
        memory = self.memory
        if number == 1:  # write
            return os.write(a, memory.read(b, c)) if a in (1, 2) else -errno.EBADF
        if number == 20:  # writev
            pairs = [struct.unpack("<QQ", memory.read(b + 16 * i, 16)) for i in range(c)]
            return os.write(a, b"".join(memory.read(*pair) for pair in pairs)) if a in (1, 2) else -errno.EBADF
        if number == 9:  # mmap
            return memory.map(b) if d & 0x20 else -errno.ENODEV
        if number == 25:  # mremap
            at = memory.map(c)
            memory.write(at, memory.read(a, min(b, c))) if at > 0 else None
            return at
        if number == 12:  # brk
            self.heap = a if self.heap <= a < MAPPINGS else self.heap
            return self.heap
        if number == 158 and a == 0x1002:  # arch_prctl: the base of FS
            segment = session.cpu.fs
            segment.base = b
            session.cpu.fs = segment
            return 0
        if number == 204:  # sched_getaffinity: one processor
            memory.words(c, [1])
            return 8
        if number == 228:  # clock_gettime
            memory.words(b, divmod(time.monotonic_ns(), 10**9))
            return 0
        if number == 302:  # prlimit64: of the stack
            memory.words(d, [STACK_SIZE, STACK_SIZE]) if d else None
            return 0
        if number == 318:  # getrandom: always the same
            memory.write(a, bytes(i & 255 for i in range(b)))
            return b
        if number in (60, 231, 200, 234):  # exit, exit_group; tkill and tgkill, by abort
            self.status = a & 255 if number in (60, 231) else 134
            session.stop()
            return 0
        return self.ALWAYS.get(number, -errno.ENOSYS)


class Patches:
    """Bochs faults at gathers by registers 16 to 31. These are made to go by a lower one, saved and restored."""

    def __init__(self, memory):
        self.memory, self.top = memory, SCRATCH + 64

    def gather(self, at):
        """Whether the instruction is one of those, and is now mended."""
        code = bytearray(self.memory.read(at, 16))
        if code[0] != 0x62 or code[1] & 7 != 2 or code[4] not in range(0x90, 0x94) or code[3] & 8:
            return False
        size = 7 + {0: 4 if code[6] & 7 == 5 else 0, 1: 1, 2: 4}[code[5] >> 6]
        low = (code[6] >> 3 & 7) + (0 if code[1] & 0x40 else 8)
        high = low + 16
        target = (code[5] >> 3 & 7) + (0 if code[1] & 0x80 else 8) + (0 if code[1] & 0x10 else 16)
        code[3] |= 8
        if low == target:
            low ^= 8
            code[1] ^= 0x40
        register = (low < 8) << 7
        place = bytes([low % 8 << 3 | 4, 0x25]) + struct.pack("<I", SCRATCH)
        save, restore = (bytes([0x62, 0x71 | register, 0xFE, 0x48, kind]) + place for kind in (0x7F, 0x6F))
        from_high = bytes([0x11 | register | (high % 16 < 8) << 5, 0xFD, 0x48, 0x6F, 0xC0 | low % 8 << 3 | high % 8])
        there = save + b"\x62" + from_high + bytes(code[:size]) + restore
        self.memory.write(self.top, there + self.jump(self.top + len(there), at + size))
        self.memory.write(at, self.jump(at, self.top))
        self.top += len(there) + 5
        NATIVE._Z12flushICachesv()
        return True

    @staticmethod
    def jump(at, to):
        return struct.pack("<Bi", 0xE9, to - at - 5)


class Counter:
    """Of instructions executed."""

    def __init__(self, memory, text_end):
        self.at = (ctypes.c_uint32 * text_end)()
        pointers = {
            "memory": memory.host,
            "program_counter": ctypes.cast(NATIVE.cpu_get_pc, ctypes.c_void_p).value,
            "executed_at": ctypes.addressof(self.at),
            "text_end": text_end,
        }
        for name, value in pointers.items():
            ctypes.c_uint64.in_dll(INTERPOSITION, name).value = value
        self.executed = (ctypes.c_uint64 * 6).in_dll(INTERPOSITION, "executed")
        self.began = time.monotonic()

    def __str__(self):
        total, vex, xmm, ymm, zmm, _ = self.executed
        seconds = time.monotonic() - self.began
        evex = f"EVEX of 128 bits {xmm:,}, 256 {ymm:,}, 512 {zmm:,}"
        return f"{total:,} instructions in {seconds:.0f} s: {vex:,} VEX, {evex}"

    def write(self, path):
        with open(path, "w") as file:
            file.writelines(f"{at:x} {count}\n" for at, count in enumerate(self.at) if count)


def segment(selector, attributes):
    it = bochscpu.Segment()
    it.present, it.selector, it.base, it.limit, it.attr = True, selector, 0, 0xFFFF_FFFF, attributes
    return it


def start(memory, arguments, xcr0):
    """A session about to run the program's first instruction, in ring 0, and where its heap begins."""
    entry, heap, headers_at, header_count = memory.load(arguments[0])
    auxiliary = [(3, headers_at), (4, 56), (5, header_count), (6, PAGE), (9, entry), (23, 0)]
    memory.write(ENTRY, b"\xff\xe1")  # jmp rcx: behind the `syscall`
    session = bochscpu.Session()
    session.missing_page_handler = memory.page_in
    for page in range(0, ENTRY + PAGE, PAGE):
        memory.page_in(page)
    state = bochscpu.State()
    state.cr0, state.cr3, state.cr4, state.efer, state.xcr0 = CR0, TABLES, CR4, EFER, xcr0
    state.cs, state.ss = segment(0x08, 0x209B), segment(0x10, 0xC093)
    state.ds, state.es, state.fs, state.gs = (segment(0x10, 0xC093) for _ in range(4))
    state.star, state.lstar, state.sfmask = 0x08 << 32, ENTRY, 0
    state.rip, state.rsp, state.rflags = entry, memory.stack(arguments, auxiliary), 2
    state.mxcsr, state.mxcsr_mask, state.fpcw, state.fptw = 0x1F80, 0xFFFF, 0x37F, 0xFFFF
    session.cpu.state = state
    session.cpu.set_mode()
    return session, heap


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("--no-avx512", action="store_true")
    parser.add_argument("--trace", action="store_true")
    parser.add_argument("--executed")
    parser.add_argument("program", nargs=argparse.REMAINDER)
    options = parser.parse_args()
    memory = Memory()
    session, heap = start(memory, options.program, XCR0_AVX2 if options.no_avx512 else XCR0_AVX512)
    linux, patches, counter = Linux(memory, heap, options.trace), Patches(memory), Counter(memory, heap)
    executing = ctypes.c_uint64.in_dll(INTERPOSITION, "executing")
    fault = None

    def exception(session, _, vector, error):
        nonlocal fault
        at = executing.value
        if vector != 6 or not patches.gather(at):
            fault = f"exception {vector} ({error}) at {at:#x}, {memory.read(at, 16).hex()}, CR2 {session.cpu.cr2:#x}"
        session.cpu.rip = at
        session.stop()

    hook = bochscpu.Hook()
    hook.far_branch = lambda session, *_: linux.enter(session)
    hook.exception = exception
    while linux.status is None and not fault:
        session.run([hook])
    print(counter, file=sys.stderr)
    if options.executed:
        counter.write(options.executed)
    sys.exit(fault or linux.status)


if __name__ == "__main__":
    main()
