# How every target of the project is built: one place for the standard, the warnings, sanitizers and ccache.
include_guard()

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/bin")
if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "" FORCE)
endif()
set(CMAKE_CXX_FLAGS_RELEASE "-O2 -g1")
add_compile_options(-ffp-contract=off)  # a product and a sum are rounded each, on every machine, unless a kernel says MulAdd

set(WEFT_SANITIZE "" CACHE STRING "sanitizers for every target, for example address,undefined or thread")
if(WEFT_SANITIZE)
  add_compile_options(-fsanitize=${WEFT_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  add_link_options(-fsanitize=${WEFT_SANITIZE})
  if(WEFT_SANITIZE MATCHES thread AND CMAKE_CXX_COMPILER_ID STREQUAL Clang)  # why: tests/README.md
    add_compile_options(-fsanitize-ignorelist=${CMAKE_SOURCE_DIR}/tests/tsan_ignore.txt)
  endif()
endif()

find_program(WEFT_CCACHE ccache)
if(WEFT_CCACHE)
  # base_dir and no directory hash: a second checkout of the same sources hits the cache of the first.
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env CCACHE_BASEDIR=${CMAKE_SOURCE_DIR} CCACHE_NOHASHDIR=1
      CCACHE_SLOPPINESS=pch_defines,time_macros ${WEFT_CCACHE})
endif()
find_program(WEFT_LLD ld.lld NAMES ld.lld ld.lld-14)
if(WEFT_LLD)
  add_link_options(-fuse-ld=lld)
endif()

# weft_library(NAME ir SOURCES a.cpp b.cpp DEPS weft_x fmt::fmt PRIVATE_DEPS y): the library weft_<NAME>, alias weft::<NAME>.
# Libraries outside tests/ and tools/ are installed. Private dependencies that are headers alone stay out of the package.
function(weft_library)
  cmake_parse_arguments(ARG "" "NAME" "SOURCES;DEPS;PRIVATE_DEPS" ${ARGN})
  add_library(weft_${ARG_NAME} STATIC ${ARG_SOURCES})
  add_library(weft::${ARG_NAME} ALIAS weft_${ARG_NAME})
  target_include_directories(weft_${ARG_NAME} PUBLIC $<BUILD_INTERFACE:${CMAKE_SOURCE_DIR}>
                                                     $<INSTALL_INTERFACE:include/weft>)
  list(TRANSFORM ARG_PRIVATE_DEPS REPLACE "^((Boost|nlohmann_json)::.*)$" "$<BUILD_INTERFACE:\\1>")
  target_compile_features(weft_${ARG_NAME} PUBLIC cxx_std_20)
  target_link_libraries(weft_${ARG_NAME} PUBLIC ${ARG_DEPS} PRIVATE ${ARG_PRIVATE_DEPS})
  set_target_properties(weft_${ARG_NAME} PROPERTIES EXPORT_NAME ${ARG_NAME})
  cmake_path(RELATIVE_PATH CMAKE_CURRENT_SOURCE_DIR BASE_DIRECTORY ${CMAKE_SOURCE_DIR} OUTPUT_VARIABLE folder)
  if(NOT folder MATCHES "^(tests|tools)(/|$)")
    set_property(GLOBAL APPEND PROPERTY WEFT_LIBRARIES weft_${ARG_NAME})
  endif()
  weft_warnings(weft_${ARG_NAME})
endfunction()

# weft_program(NAME weft SOURCES main.cpp DEPS ...): the program bin/<NAME>.
function(weft_program)
  cmake_parse_arguments(ARG "" "NAME" "SOURCES;DEPS" ${ARGN})
  add_executable(${ARG_NAME} ${ARG_SOURCES})
  target_include_directories(${ARG_NAME} PRIVATE ${CMAKE_SOURCE_DIR})
  target_link_libraries(${ARG_NAME} PRIVATE ${ARG_DEPS})
  weft_warnings(${ARG_NAME})
endfunction()

function(weft_warnings TARGET)
  target_compile_options(${TARGET} PRIVATE -Wall -Wextra -Wshadow -Wnon-virtual-dtor -Woverloaded-virtual)
endfunction()

# weft_generate(embed_texts OUTPUT x.cpp FUNCTION weft::a::f FILES a.rules ...): generates x.cpp, which defines FUNCTION, from the
# files, by tools/cmake/<first argument>.cmake. embed_texts: `std::vector<weft::ir::RuleText> f()`, the files' names (from the root)
# and contents, sorted by name. hash_sources: `std::string_view f()`, a hash of names and contents.
function(weft_generate SCRIPT)
  cmake_parse_arguments(ARG "" "OUTPUT;FUNCTION" "FILES" ${ARGN})
  set(script ${CMAKE_SOURCE_DIR}/tools/cmake/${SCRIPT}.cmake)
  list(SORT ARG_FILES)
  string(REPLACE ";" "|" files "${ARG_FILES}")
  add_custom_command(
    OUTPUT ${ARG_OUTPUT}
    COMMAND ${CMAKE_COMMAND} -DOUTPUT=${ARG_OUTPUT} -DFUNCTION=${ARG_FUNCTION} -DROOT=${CMAKE_SOURCE_DIR} "-DFILES=${files}" -P ${script}
    DEPENDS ${ARG_FILES} ${script}
    VERBATIM)
endfunction()
