#pragma once
// The envelope of our files: magic, format version, size, checksum, then the body.
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>

namespace weft::runtime {

inline constexpr size_t kContainerHeader = 40;

/// The header for a body: 8 bytes of magic, version, zero, size, 128-bit checksum (little-endian).
std::string container_header(std::string_view magic, uint32_t version, std::string_view body);
/// The body of a container at the start of `bytes`. Throws Error(parse) that tells apart: another kind of file, another
/// format version, a file cut short, a damaged one. `trailing` permits bytes behind the body.
std::string_view container_body(std::string_view bytes, std::string_view magic, uint32_t version,
                                bool trailing = false);

/// Reads a regular file whole. Throws Error(not_found or io or limit), never blocks on a FIFO.
std::string read_file(const std::filesystem::path& file, int64_t most_bytes = int64_t{1} << 34);
/// Writes so that other processes see the old file or the new one, never a part: temporary file, fsync, rename.
/// Throws Error(io) and leaves no temporary file behind. A symbolic link is followed; what is no regular file (a
/// device, a pipe) is written to, not replaced.
void write_file_atomically(const std::filesystem::path& file, std::string_view head, std::string_view tail = {});
void write_file_atomically(const std::filesystem::path& file, std::span<const std::string_view> pieces);
/// Removes a folder or a symbolic link where a file of our own will be written: nothing is written through a link that
/// others put there.
void clear_place(const std::filesystem::path& file);
/// Throws what write_file_atomically would throw of a folder that is missing or not to be written to: to be asked
/// before work whose result could not be kept.
void check_writable(const std::filesystem::path& file);
/// True for the names that write_file_atomically gives its temporary files.
bool is_temporary_name(std::string_view name);
/// Whether the process that made a temporary file of this name is gone (or the file older than ten minutes).
bool is_stale_temporary(const std::filesystem::path& file);

}  // namespace weft::runtime
