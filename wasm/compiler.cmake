# clang compiles C files itself, with the flags that emcc passes to it; emcc only links. emcc is a Python script, whose start
# takes longer than most of our files. Where its clang is not found, emcc compiles.
execute_process(COMMAND ${em_config} LLVM_ROOT
  OUTPUT_VARIABLE llvm OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
find_program(emcc_clang clang PATHS "${llvm}" NO_DEFAULT_PATH NO_CACHE)
execute_process(COMMAND ${CMAKE_C_COMPILER} --cflags
  OUTPUT_VARIABLE emcc_flags OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
if(emcc_clang AND emcc_flags MATCHES "^-")
  set(CMAKE_C_COMPILE_OBJECT
    "${emcc_clang} ${emcc_flags} <DEFINES> <INCLUDES> <FLAGS> -o <OBJECT> -c <SOURCE>")
endif()
# emcc adds the second flag to the first.
set(flags_for_size -Oz -fno-inline-functions)
