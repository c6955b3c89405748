//! How much memory the library holds: the system's allocator, with a counter.
//!
//! The counter is spread over several, so that threads do not wait for each other's cache lines.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicIsize, Ordering};

const SHARDS: usize = 16;

#[repr(align(64))]
struct Shard(AtomicIsize);

static HELD: [Shard; SHARDS] = [const { Shard(AtomicIsize::new(0)) }; SHARDS];

/// Bytes that are allocated and not freed.
pub(crate) fn held() -> usize {
    let sum: isize = HELD.iter().map(|s| s.0.load(Ordering::Relaxed)).sum();
    // What one thread allocates another may free between two looks.
    usize::try_from(sum).unwrap_or_default()
}

/// Threads have stacks of a MiB or more, so an address on the stack tells them apart: a thread-local variable may not be
/// used while memory is allocated.
fn shard() -> &'static AtomicIsize {
    let here = 0_u8;
    let address = std::ptr::from_ref(&here).addr();
    &HELD[(address >> 20) % SHARDS].0
}

fn count(bytes: usize) {
    shard().fetch_add(bytes as isize, Ordering::Relaxed);
}

fn discount(bytes: usize) {
    shard().fetch_sub(bytes as isize, Ordering::Relaxed);
}

struct Counting;

#[global_allocator]
static ALLOCATOR: Counting = Counting;

// SAFETY: each method passes its arguments on to the system's allocator, whose contract is the same; counting neither
// allocates nor panics.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's.
        let allocated = unsafe { System.alloc(layout) };
        if !allocated.is_null() {
            count(layout.size());
        }
        allocated
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's.
        let allocated = unsafe { System.alloc_zeroed(layout) };
        if !allocated.is_null() {
            count(layout.size());
        }
        allocated
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        discount(layout.size());
        // SAFETY: the caller's.
        unsafe { System.dealloc(memory, layout) }
    }

    unsafe fn realloc(&self, memory: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: the caller's.
        let moved = unsafe { System.realloc(memory, layout, size) };
        if !moved.is_null() {
            discount(layout.size());
            count(size);
        }
        moved
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_held_is_counted_whoever_frees_it() {
        const SIZE: usize = 64 << 20;
        // Other tests allocate at the same time, but not as much.
        const NOISE: usize = 8 << 20;
        let before = held();
        let mut large = vec![1_u8; SIZE];
        assert!(held().abs_diff(before + SIZE) < NOISE);
        large.reserve_exact(SIZE);
        assert!(held().abs_diff(before + 2 * SIZE) < NOISE);
        std::thread::spawn(move || drop(large)).join().unwrap();
        assert!(held().abs_diff(before) < NOISE);
        drop(vec![0_u8; SIZE]);
        assert!(held().abs_diff(before) < NOISE);
    }
}
