#include "runtime/executable.hpp"

#include <algorithm>
#include <map>

#include "backends/registry.hpp"
#include "ir/support/error.hpp"
#include "runtime/plan_check.hpp"
#include "runtime/shared_weights.hpp"
#include "runtime/threads.hpp"

namespace weft::runtime {

std::string describe_step(const ir::Step& step) {
  return step.source.empty() ? fmt::format("{}.{}", step.backend, step.kernel)
                             : fmt::format("{} ({}.{})", step.source, step.backend, step.kernel);
}

namespace {

struct Wanted {
  Hash128 key;
  const ir::Step* step;
  int threads;
  bool contract;
};

SharedKernel compile_one(const Wanted& wanted) {
  if (SharedKernel there = find_kernel(wanted.key)) return there;
  const ir::Step& step = *wanted.step;
  try {
    return share_kernel(
        wanted.key,
        backends::backend(step.backend).compile({step.program, step.operands, wanted.threads, wanted.contract}));
  } catch (const Error& e) {
    throw e.within(describe_step(step));
  }
}

/// The kernel may have become another since the plan was made (a new library, another CPU): its scratch must fit.
void check_fit(const ir::Step& step, const backends::Kernel& kernel) {
  const ir::KernelResources& now = kernel.resources();
  bool in_place = std::all_of(step.resources.in_place.begin(), step.resources.in_place.end(), [&](int operand) {
    return std::count(now.in_place.begin(), now.in_place.end(), operand) > 0;
  });
  if (now.parts < 1 || scratch_total(now) > scratch_total(step.resources) || !in_place)
    throw Error(ErrorCode::unsupported,
                fmt::format("the kernel takes {} parts with {} bytes of scratch, the plan has room for {} with {}",
                            now.parts, now.scratch_bytes, step.resources.parts, step.resources.scratch_bytes),
                describe_step(step));
}

}  // namespace

std::shared_ptr<const Executable> compile_kernels(std::shared_ptr<const ir::Plan> plan, int compile_threads) {
  check_plan(*plan);
  std::vector<const ir::Step*> steps;
  for (const ir::Step& s : plan->prologue) steps.push_back(&s);
  for (const ir::Step& s : plan->steps) steps.push_back(&s);

  std::map<Hash128, size_t> index_of;
  std::vector<Wanted> distinct;
  std::vector<size_t> kernel_of;
  for (size_t i = 0; i < steps.size(); ++i) {
    int threads = i < plan->prologue.size() ? 1 : plan->threads;  // the prologue is planned for one thread a step
    Hash128 key = kernel_key(*steps[i], threads, plan->contract);
    auto [at, inserted] = index_of.try_emplace(key, distinct.size());
    if (inserted) distinct.push_back({key, steps[i], threads, plan->contract});
    kernel_of.push_back(at->second);
  }
  std::vector<SharedKernel> kernels(distinct.size());
  for_each_index(compile_threads, distinct.size(), [&](size_t i) { kernels[i] = compile_one(distinct[i]); });

  auto executable = std::make_shared<Executable>();
  for (size_t i = 0; i < steps.size(); ++i) {
    const SharedKernel& kernel = kernels[kernel_of[i]];
    check_fit(*steps[i], *kernel);
    (i < plan->prologue.size() ? executable->prologue : executable->steps).push_back(kernel);
  }
  executable->plan = std::move(plan);
  return executable;
}

}  // namespace weft::runtime
