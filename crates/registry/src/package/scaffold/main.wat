;; Greets its first argument: prints {"greeting": "Hello, ...!"}.
;;
;; main.wasm is made of this text by `wat2wasm main.wat`. What is compiled for `wasm32-wasip1`, as from Rust, C, Go or Zig, takes its
;; place.
(module
  (import "wasi_snapshot_preview1" "args_sizes_get" (func $args_sizes_get (param i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "args_get" (func $args_get (param i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "fd_write" (func $fd_write (param i32 i32 i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "proc_exit" (func $proc_exit (param i32)))

  ;; An argument has 128 KiB at most, which is two pages.
  (memory (export "memory") 3)
  (data (i32.const 64) "{\"greeting\": \"Hello, ")
  (data (i32.const 96) "!\"}\n")

  (func (export "_start")
    ;; 0: how many arguments there are. 4: their bytes, each with a NUL at its end.
    (drop (call $args_sizes_get (i32.const 0) (i32.const 4)))
    (if (i32.ne (i32.load (i32.const 0)) (i32.const 2)) (then (call $proc_exit (i32.const 2))))
    ;; 128: where each of them is. 1024: the arguments.
    (drop (call $args_get (i32.const 128) (i32.const 1024)))
    ;; 8: three parts, each with where it is and its bytes.
    (i32.store (i32.const 8) (i32.const 64))
    (i32.store (i32.const 12) (i32.const 21))
    (i32.store (i32.const 16) (i32.load (i32.const 132)))
    (i32.store (i32.const 20)
      (i32.sub (i32.sub (i32.add (i32.const 1024) (i32.load (i32.const 4))) (i32.load (i32.const 132))) (i32.const 1)))
    (i32.store (i32.const 24) (i32.const 96))
    (i32.store (i32.const 28) (i32.const 4))
    ;; 32: how many bytes were printed.
    (call $proc_exit (call $fd_write (i32.const 1) (i32.const 8) (i32.const 3) (i32.const 32)))))
