# Finds the installed Emscripten and hands over to its own toolchain file: em-config knows the root;
# where it is missing, the root is the folder that holds emcc.
find_program(em_config em-config NO_CACHE)
find_program(emcc emcc NO_CACHE)
set(root "")
if(em_config)
  execute_process(COMMAND ${em_config} EMSCRIPTEN_ROOT
    OUTPUT_VARIABLE root OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
endif()
if(NOT EXISTS "${root}/cmake" AND emcc)
  file(REAL_PATH "${emcc}" emcc)
  get_filename_component(root "${emcc}" DIRECTORY)
endif()
set(toolchain "${root}/cmake/Modules/Platform/Emscripten.cmake")
if(NOT EXISTS "${toolchain}")
  message(FATAL_ERROR "Emscripten not found: put emcc in PATH (Debian: apt-get install emscripten)")
endif()
include("${toolchain}")
