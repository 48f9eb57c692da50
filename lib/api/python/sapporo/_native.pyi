from cffi import FFI

ffi: FFI
