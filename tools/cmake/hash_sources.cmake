# cmake -DOUTPUT=x.cpp -DFUNCTION=a::b::f -DROOT=dir -DFILES=a|b -P hash_sources.cmake (see weft_generate)
# Writes `std::string_view f()`: one SHA-256 over the names (from ROOT) and contents of the files. Whatever they decide
# can be cached under it without a version number that someone has to remember to raise.
string(REPLACE "|" ";" files "${FILES}")
set(all "")
foreach(file ${files})
  file(SHA256 ${file} hash)
  file(RELATIVE_PATH name ${ROOT} ${file})
  string(APPEND all "${name} ${hash}\n")
endforeach()
string(SHA256 hash "${all}")
string(REGEX REPLACE "::[^:]*$" "" namespace "${FUNCTION}")
string(REGEX REPLACE "^.*::" "" function "${FUNCTION}")
file(WRITE ${OUTPUT} "#include <string_view>
namespace ${namespace} {
std::string_view ${function}();
std::string_view ${function}() { return \"${hash}\"; }
}  // namespace ${namespace}
")
