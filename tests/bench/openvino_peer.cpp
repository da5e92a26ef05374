#include "tests/bench/openvino_peer.hpp"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "ir/support/error.hpp"
#include "runtime/tensor_io.hpp"

namespace weft::bench {
namespace {

namespace fs = std::filesystem;

/// A child process with its standard input and output in our hands.
class Child {
 public:
  explicit Child(const std::vector<std::string>& command) {
    int to[2], from[2];
    if (::pipe2(to, O_CLOEXEC) != 0 || ::pipe2(from, O_CLOEXEC) != 0) fail(ErrorCode::io, "no pipe for OpenVINO");
    pid_ = ::fork();
    if (pid_ < 0) fail(ErrorCode::io, "no process for OpenVINO");
    if (pid_ == 0) {
      ::dup2(to[0], 0);
      ::dup2(from[1], 1);
      std::vector<char*> words;
      for (const std::string& word : command) words.push_back(const_cast<char*>(word.c_str()));
      words.push_back(nullptr);
      ::execvp(words[0], words.data());
      ::_exit(127);
    }
    ::close(to[0]);
    ::close(from[1]);
    to_ = ::fdopen(to[1], "w");
    from_ = ::fdopen(from[0], "r");
  }
  ~Child() {
    std::fclose(to_);
    std::fclose(from_);
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  void say(const std::string& line) {
    std::fprintf(to_, "%s\n", line.c_str());
    std::fflush(to_);
  }
  std::string answer() {
    char line[256];
    if (!std::fgets(line, sizeof line, from_)) fail(ErrorCode::io, "OpenVINO's process ended; see its message above");
    line[std::strcspn(line, "\n")] = '\0';
    return line;
  }

 private:
  pid_t pid_ = 0;
  FILE *to_ = nullptr, *from_ = nullptr;
};

class OpenvinoRunner : public Runner {
 public:
  OpenvinoRunner(fs::path model, int threads) : model_(std::move(model)), threads_(threads) {
    char name[] = "/tmp/weft-openvino-XXXXXX";
    if (!::mkdtemp(name)) fail(ErrorCode::io, "no folder for OpenVINO's tensors");
    folder_ = name;
  }
  ~OpenvinoRunner() override {
    child_.reset();
    std::error_code ignored;
    fs::remove_all(folder_, ignored);
  }

  std::string engine() const override { return "OpenVINO " + version_; }
  std::vector<PortInfo> inputs() const override { return {}; }
  void bind(const ir::NamedTensors& inputs) override {
    const fs::path file = folder_ / "inputs.npz";
    runtime::save_tensors(file, inputs);
    child_ =
        std::make_unique<Child>(std::vector<std::string>{"python3", WEFT_OPENVINO_PEER, WEFT_OPENVINO_ENVIRONMENT,
                                                         model_.string(), std::to_string(threads_), file.string()});
    const std::string ready = child_->answer();
    if (!ready.starts_with("ready ")) fail(ErrorCode::io, "OpenVINO's process said '{}'", ready);
    version_ = ready.substr(6);
  }
  void run() override { timed_run(); }
  double timed_run() override {
    child_->say("run");
    return std::strtod(child_->answer().c_str(), nullptr);
  }
  ir::NamedTensors outputs() const override {
    const fs::path file = folder_ / "outputs.npz";
    child_->say("save " + file.string());
    child_->answer();
    return runtime::load_tensors(file);
  }

 private:
  fs::path model_, folder_;
  int threads_;
  std::string version_;
  std::unique_ptr<Child> child_;
};

}  // namespace

std::unique_ptr<Runner> load_openvino(const fs::path& model, int threads) {
  return std::make_unique<OpenvinoRunner>(model, threads);
}

}  // namespace weft::bench
