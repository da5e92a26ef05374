#pragma once
// Which weft this is.
#include <string>
#include <string_view>
#include <vector>

namespace weft::runtime {

std::string_view version();     ///< "0.1.0"
std::string_view build_info();  ///< compiler, build type, sanitizers: "g++ 12.2.0 Release"
/// Name and version of every backend of this build, with the libraries behind it and the CPU features in use.
std::vector<std::pair<std::string, std::string>> backend_versions();
std::string cpu_model();  ///< of this machine, for reports: "AMD EPYC ..."; "unknown" where the system does not say

}  // namespace weft::runtime
