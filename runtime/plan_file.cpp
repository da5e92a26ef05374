#include "runtime/plan_file.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "backends/registry.hpp"
#include "ir/support/error.hpp"
#include "runtime/byte_stream.hpp"
#include "runtime/container.hpp"
#include "runtime/mapped_file.hpp"
#include "runtime/plan_codec.hpp"
#include "runtime/threads.hpp"
#include "runtime/version.hpp"

namespace weft::runtime {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr std::string_view kFileMagic = "WEFTFILE", kPlanMagic = "WEFTPLAN";
constexpr uint32_t kFileFormat = 1;  // of the provenance container: never changes its meaning, fields are only added
constexpr uint64_t kAlignment = 64;

uint64_t aligned(uint64_t offset) { return (offset + kAlignment - 1) / kAlignment * kAlignment; }

std::string to_json(const Provenance& p) {
  json shapes = json::array();
  for (const auto& [name, dims] : p.shapes) shapes.push_back({name, dims});
  json j = {{"weft", p.weft},
            {"backends", p.backends},
            {"cpu", p.cpu},
            {"rules", p.rules},
            {"model", p.model},
            {"model_hash", p.model_hash},
            {"precision", p.precision},
            {"level", p.level},
            {"threads", p.threads},
            {"time_limit", p.time_limit},
            {"skip", p.skip},
            {"backend_names", p.backend_names},
            {"shapes", shapes},
            {"dims", p.dims},
            {"binds", p.binds}};
  return j.dump(1, ' ', false, json::error_handler_t::replace);
}

Provenance from_json(std::string_view text) {
  try {
    json j = json::parse(text);
    Provenance p;
    j.at("weft").get_to(p.weft);
    j.at("backends").get_to(p.backends);
    j.at("cpu").get_to(p.cpu);
    j.at("rules").get_to(p.rules);
    j.at("model").get_to(p.model);
    j.at("model_hash").get_to(p.model_hash);
    j.at("precision").get_to(p.precision);
    j.at("level").get_to(p.level);
    j.at("threads").get_to(p.threads);
    j.at("time_limit").get_to(p.time_limit);
    j.at("skip").get_to(p.skip);
    j.at("backend_names").get_to(p.backend_names);
    j.at("shapes").get_to(p.shapes);
    j.at("dims").get_to(p.dims);
    j.at("binds").get_to(p.binds);
    return p;
  } catch (const json::exception& e) {
    fail(ErrorCode::parse, "provenance: {}", e.what());
  }
}

struct Parts {
  std::string_view provenance, plan;
  uint64_t weights_at = 0;
};
/// `plan` stays empty where only the provenance is wanted.
Parts split(std::string_view bytes, bool want_plan) {
  Parts parts;
  parts.provenance = container_body(bytes, kFileMagic, kFileFormat, true);
  if (!want_plan) return parts;
  uint64_t at = kContainerHeader + parts.provenance.size();
  parts.plan = container_body(bytes.substr(at), kPlanMagic, kPlanFormat, true);
  parts.weights_at = aligned(at + kContainerHeader + parts.plan.size());
  return parts;
}

std::string encode_body(const ir::Plan& plan, const std::vector<ParameterSource>& sources) {
  ByteWriter w;
  w.text(encode_plan(plan)).number<uint64_t>(sources.size());
  for (const ParameterSource& s : sources) w.number(s.content.low).number(s.content.high).text(s.file).number(s.offset);
  return w.take();
}

/// Finds weights in the model file by their bytes: an importer may have copied them out of it.
class ModelSearch {
 public:
  explicit ModelSearch(const std::string& model) : model_(model) {
    if (!model.empty()) mapped_ = MappedFile::open(model);
  }
  std::optional<MappedRanges::Place> find(const ir::Tensor& tensor) {
    if (!mapped_ || tensor.bytes() < kLeastBytes || failed_ >= kMostFailures) return std::nullopt;
    std::string_view needle(static_cast<const char*>(tensor.data()), tensor.bytes()), file = mapped_->bytes();
    for (size_t from : {at_, size_t{0}}) {  // weights mostly stand in order
      if (from > file.size()) continue;
      const void* found = memmem(file.data() + from, file.size() - from, needle.data(), needle.size());
      if (!found) continue;
      auto offset = static_cast<size_t>(static_cast<const char*>(found) - file.data());
      at_ = offset + needle.size();
      return MappedRanges::Place{model_, offset};
    }
    ++failed_;
    return std::nullopt;
  }

 private:
  static constexpr size_t kLeastBytes = 4096;  // smaller ones are embedded: not worth a search
  static constexpr int kMostFailures = 16;     // each costs a pass over the file
  std::string model_;
  std::shared_ptr<const MappedFile> mapped_;
  size_t at_ = 0;
  int failed_ = 0;
};

/// Where each parameter will be found: in the file that it is mapped from, in the model file, or behind the plan.
std::vector<ParameterSource> place_parameters(const ir::Plan& plan, const std::vector<ir::Tensor>& parameters,
                                              const std::string& model, bool embed) {
  MappedRanges ranges;
  ModelSearch search(embed ? "" : model);
  std::vector<ParameterSource> sources;
  uint64_t embedded = 0;
  for (size_t i = 0; i < parameters.size(); ++i) {
    ParameterSource source{plan.parameters[i].name, plan.parameters[i].type, parameters[i].content_hash(), {}, 0};
    auto place = embed ? std::nullopt : ranges.locate(parameters[i].data(), parameters[i].bytes());
    if (!embed && !place) place = search.find(parameters[i]);
    if (place) {
      source.file = place->file;
      source.offset = place->offset;
    } else {
      source.offset = embedded;
      embedded = aligned(embedded + parameters[i].bytes());
    }
    sources.push_back(std::move(source));
  }
  return sources;
}

/// The source file of a weight: where it was, or of the same name beside the plan (both moved together).
fs::path find_source(const std::string& recorded, const fs::path& plan_file) {
  std::error_code error;
  if (fs::exists(recorded, error)) return recorded;
  fs::path beside = plan_file.parent_path() / fs::path(recorded).filename();
  if (fs::exists(beside, error)) return beside;
  throw Error(ErrorCode::not_found,
              fmt::format("the weights are in '{}', which is not there (nor beside the plan)", recorded),
              plan_file.string());
}

}  // namespace

void write_plan_file(const fs::path& file, const Provenance& provenance, const ir::Plan& plan,
                     const std::vector<ir::Tensor>& parameters, bool embed_weights) {
  WEFT_CHECK(parameters.size() == plan.parameters.size());
  std::vector<ParameterSource> sources = place_parameters(plan, parameters, provenance.model, embed_weights);
  std::string json_text = to_json(provenance), body = encode_body(plan, sources);
  std::string head = container_header(kFileMagic, kFileFormat, json_text) + json_text;
  head += container_header(kPlanMagic, kPlanFormat, body) + body;
  head.resize(aligned(head.size()), '\0');
  std::string weights;
  for (size_t i = 0; i < sources.size(); ++i) {
    if (!sources[i].file.empty()) continue;
    weights.resize(sources[i].offset, '\0');
    weights.append(static_cast<const char*>(parameters[i].data()), parameters[i].bytes());
  }
  write_file_atomically(file, head, weights);
}

Provenance read_provenance(std::string_view bytes) { return from_json(split(bytes, false).provenance); }

PlanFile parse_plan_file(std::string_view bytes) {
  Parts parts = split(bytes, true);
  PlanFile result;
  result.provenance = from_json(parts.provenance);
  ByteReader r(parts.plan);
  result.plan = decode_plan(r.text("plan"));
  size_t count = r.count(32, "parameters");
  if (count != result.plan.parameters.size())
    fail(ErrorCode::parse, "{} weights for {} parameters", count, result.plan.parameters.size());
  uint64_t end = parts.weights_at;  // of the file
  for (size_t i = 0; i < count; ++i) {
    ParameterSource source;
    source.name = result.plan.parameters[i].name;
    source.type = result.plan.parameters[i].type;
    source.content.low = r.number<uint64_t>("content hash");
    source.content.high = r.number<uint64_t>("content hash");
    source.file = r.text("file");
    source.offset = r.number<uint64_t>("offset");
    if (source.file.empty()) {
      uint64_t there = bytes.size() - std::min<uint64_t>(bytes.size(), parts.weights_at),
               size = static_cast<uint64_t>(source.type.bytes());
      if (source.offset > there || size > there - source.offset)
        fail(ErrorCode::parse, "cut short: weight '{}' of {} bytes at {} of {}", source.name, size, source.offset,
             there);
      source.offset += parts.weights_at;
      end = std::max(end, source.offset + size);
    }
    result.parameters.push_back(std::move(source));
  }
  r.expect_end();
  if (bytes.size() != end) fail(ErrorCode::parse, "{} bytes where {} were written", bytes.size(), end);
  return result;
}

PlanFile read_plan_file(const fs::path& file) {
  try {
    return parse_plan_file(MappedFile::open(file)->bytes());
  } catch (const Error& e) {
    if (e.where() == file.string()) throw;
    throw e.within(file.string());
  }
}

std::string unusable_here(const Provenance& p) {
  if (p.weft != version()) return fmt::format("made by weft {}, this is {}", p.weft, version());
  auto here = backend_versions();
  for (const auto& [name, wanted] : p.backends) {
    auto found =
        std::find_if(here.begin(), here.end(), [&, n = std::string_view(name)](const auto& b) { return b.first == n; });
    if (found == here.end()) return fmt::format("made for backend {}, which this build lacks", name);
    if (found->second != wanted) return fmt::format("made for backend {} {}, here is {}", name, wanted, found->second);
  }
  return {};
}

std::vector<ir::Tensor> load_parameters(const PlanFile& plan_file, const fs::path& file, int threads) {
  std::map<std::string, std::shared_ptr<const MappedFile>> files;
  std::vector<ir::Tensor> tensors;
  for (const ParameterSource& source : plan_file.parameters) {
    auto& mapped = files[source.file];
    if (!mapped) mapped = MappedFile::open(source.file.empty() ? file : find_source(source.file, file));
    std::string_view bytes = mapped->bytes();
    auto size = static_cast<uint64_t>(source.type.bytes());
    if (source.offset > bytes.size() || size > bytes.size() - source.offset)
      throw Error(ErrorCode::parse,
                  fmt::format("{} bytes at {} of a file of {}: the file has changed since the plan was made", size,
                              source.offset, bytes.size()),
                  fmt::format("weight '{}' in '{}'", source.name, source.file));
    ir::Tensor tensor = ir::Tensor::view(source.type, bytes.data() + source.offset, mapped);
    if (reinterpret_cast<uintptr_t>(tensor.data()) % size_of(source.type.dtype)) {  // a model file aligns nothing
      ir::Tensor copy = ir::Tensor::allocate(source.type);
      std::copy_n(static_cast<const char*>(tensor.data()), size, static_cast<char*>(copy.mutable_data()));
      tensor = copy;
    }
    tensors.push_back(std::move(tensor));
  }
  for_each_index(threads, tensors.size(), [&](size_t i) {
    const ParameterSource& source = plan_file.parameters[i];
    if (tensors[i].content_hash() != source.content)
      throw Error(ErrorCode::parse, "the bytes are not those that the plan was made with",
                  fmt::format("weight '{}' in '{}'", source.name, source.file.empty() ? file.string() : source.file));
  });
  return tensors;
}

}  // namespace weft::runtime
