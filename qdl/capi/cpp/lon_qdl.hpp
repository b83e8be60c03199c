// The C++ face of lon_qdl: a QueryDispatchLibrary and a QuerySampleLibrary for the official MLPerf LoadGen.
//
//   lon::Options options;
//   options.add("sut", "10.0.0.1:8000").add("benchmark", "digits").add("scenario", "Server").add("out", "results");
//   lon::Run run(options.json());
//   lon::Qdl qdl(run);
//   lon::Qsl qsl(run, "digits");
//   mlperf::StartTest(&qdl, &qsl, test_settings, log_settings, "");
//   run.close("results");
//
// C++14. It needs lon_qdl.h, liblon_qdl.so and the headers of the official LoadGen. All of it is in this file.
//
// The official interface cannot report an error: its functions return nothing, and a sample without an answer is
// waited for without end. So what goes wrong while a test runs is said on standard error and ends the process: with
// exit code 4 for the network, else with the status of lon_qdl.h (1 to 5) or with 1. Only lon::Run throws.
#ifndef LON_QDL_HPP
#define LON_QDL_HPP

#include <unistd.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <functional>
#include <map>
#include <mutex>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "loadgen.h"
#include "lon_qdl.h"
#include "query_dispatch_library.h"
#include "query_sample_library.h"

namespace lon {

// Samples go from LoadGen to the library, and indices too, as they lie in memory. This holds where a pointer has 64
// bits; elsewhere it does not compile.
static_assert(sizeof(mlperf::QuerySample) == sizeof(lon_sample), "mlperf::QuerySample has another size");
static_assert(offsetof(mlperf::QuerySample, id) == offsetof(lon_sample, id), "`id` lies elsewhere");
static_assert(offsetof(mlperf::QuerySample, index) == offsetof(lon_sample, index), "`index` lies elsewhere");
static_assert(sizeof(mlperf::QuerySampleIndex) == sizeof(size_t), "an index has another size");
static_assert(sizeof(mlperf::ResponseId) == sizeof(uint64_t), "an id has another size");

// An error in words, with the status of lon_qdl.h.
class Error : public std::runtime_error {
 public:
  Error(int32_t status, const std::string& what) : std::runtime_error(what), status_(status) {}

  int32_t status() const noexcept { return status_; }

  // The exit code for a program that ends because of it.
  int exit_code() const noexcept { return exit_code_of(status_); }

  // Statuses above 5 are mistakes in how the library was called, such as LON_ERROR_FORK after a fork: a bug of the
  // program.
  static int exit_code_of(int32_t status) noexcept { return status >= 1 && status <= 5 ? status : 1; }

 private:
  int32_t status_;
};

// Options of lon_open, by the names of the flags of `loadgen-node run`. Makes JSON of them.
class Options {
 public:
  // An option that is there several times becomes an array.
  Options& add(const std::string& key, const std::string& value) {
    values_[key].push_back(value);
    return *this;
  }

  // An option without a value.
  Options& set_flag(const std::string& key) {
    values_[key].clear();
    return *this;
  }

  Options& remove(const std::string& key) {
    values_.erase(key);
    return *this;
  }

  bool has(const std::string& key) const { return values_.count(key) > 0; }

  // Its first value; empty when there is none.
  std::string get(const std::string& key) const {
    const auto found = values_.find(key);
    return found == values_.end() || found->second.empty() ? std::string() : found->second.front();
  }

  std::string json() const {
    std::string json = "{";
    for (const auto& option : values_) {
      json += (json.size() > 1 ? ", " : "") + quoted(option.first) + (option.second.empty() ? ": true" : ": [");
      for (const std::string& value : option.second)
        json += (&value == &option.second.front() ? "" : ", ") + quoted(value);
      json += option.second.empty() ? "" : "]";
    }
    return json + "}";
  }

 private:
  static std::string quoted(const std::string& text) {
    std::string json = "\"";
    for (const unsigned char c : text) {
      char escaped[8];
      std::snprintf(escaped, sizeof escaped, "\\u%04x", static_cast<unsigned>(c));
      json += c == '"' || c == '\\' || c < 0x20 ? std::string(escaped) : std::string(1, static_cast<char>(c));
    }
    return json + '"';
  }

  std::map<std::string, std::vector<std::string>> values_;
};

// Is told that the run became unusable, and why. See lon_callbacks.lost in lon_qdl.h for what holds when it returns.
using LossHandler = std::function<void(const std::string& reason)>;

namespace detail {

// Ends the process at once. Destructors do not run: threads of LoadGen and of the library still use what they destroy.
[[noreturn]] inline void end_process(int code, const char* what, const char* reason) noexcept {
  std::fprintf(stderr, "lon_qdl: %s: %s\n", what, reason);
  _exit(code);
}

inline void check(int32_t status) {
  if (status != LON_OK) throw Error(status, lon_last_error());
}

using Complete = void (*)(mlperf::QuerySampleResponse*, size_t, const mlperf::ResponseCallback&);

// Hands responses to LoadGen. The vector of each thread is kept, so that nothing is allocated for a sample.
template <Complete complete>
void hand_over(void* /*user*/, const lon_response* responses, size_t count) noexcept {
  try {
    static thread_local std::vector<mlperf::QuerySampleResponse> batch;
    batch.clear();
    batch.reserve(count);
    for (size_t at = 0; at < count; ++at) {
      const lon_response& response = responses[at];
      batch.emplace_back(static_cast<mlperf::ResponseId>(response.id), reinterpret_cast<uintptr_t>(response.data),
                         response.size, response.n_tokens);
    }
    complete(batch.data(), batch.size(), {});
  } catch (const std::exception& error) {
    // An exception cannot pass through the library, and LoadGen would wait for these samples without end.
    end_process(LON_ERROR_BUG, "an answer could not be handed to LoadGen", error.what());
  } catch (...) {
    end_process(LON_ERROR_BUG, "an answer could not be handed to LoadGen", "unknown exception");
  }
}

}  // namespace detail

// A run: nodes that are claimed for it, and the dataset that is sent to them. It must live until StartTest has
// returned, and longer than every Qdl and Qsl made of it.
class Run {
 public:
  // Opens a run with the options of lon_open (JSON); throws lon::Error. Without a loss handler, a loss is said on
  // standard error and ends the process with exit code 4.
  explicit Run(const std::string& options, LossHandler on_loss = nullptr) : on_loss_(std::move(on_loss)) {
    if (lon_abi() != LON_ABI) {
      throw Error(LON_ERROR_USAGE, std::string("liblon_qdl ") + lon_version() + " has interface " +
                                       std::to_string(lon_abi()) + ", this program was built for " +
                                       std::to_string(LON_ABI));
    }
    lon_callbacks callbacks{};
    callbacks.struct_size = sizeof callbacks;
    callbacks.user = this;
    callbacks.completed = detail::hand_over<mlperf::QuerySamplesComplete>;
    callbacks.first_tokens = detail::hand_over<mlperf::FirstTokenComplete>;
    callbacks.lost = lost;
    detail::check(lon_open(options.c_str(), &callbacks, &handle_));
  }

  // The library's callbacks have the address of the object.
  Run(const Run&) = delete;
  Run& operator=(const Run&) = delete;

  // Lets the nodes go. What close() would have reported is lost.
  ~Run() {
    if (handle_ != 0) lon_close(handle_, nullptr);
  }

  // Ends the run and writes the library's files into `folder`; throws lon::Error when the run is unusable or not
  // everything was written. The run is closed in every case. Call it after StartTest.
  void close(const std::string& folder) {
    const lon_handle handle = handle_;
    handle_ = 0;
    detail::check(lon_close(handle, folder.c_str()));
  }

  // Returns true when the loss handler was called.
  bool is_lost() const noexcept { return is_lost_; }

  // Returns true when a handler of the caller's own decides what follows a loss.
  bool has_handler() const noexcept { return static_cast<bool>(on_loss_); }

  // For functions of lon_qdl.h that have no method here.
  lon_handle handle() const noexcept { return handle_; }

  // For errors that LoadGen cannot be told. Lets the nodes go and writes the library's files first, into the folder
  // "out" of the options.
  void end_process_unless_ok(int32_t status, const char* what) noexcept {
    if (status == LON_OK) return;
    const char* reason = lon_last_error();
    std::fprintf(stderr, "lon_qdl: %s: %s\n", what, reason);
    lon_close(handle_, nullptr);
    _exit(Error::exit_code_of(status));
  }

 private:
  static void lost(void* user, const char* reason) noexcept {
    Run* run = static_cast<Run*>(user);
    run->is_lost_ = true;
    if (!run->on_loss_) detail::end_process(LON_ERROR_NETWORK, "the run is unusable", reason);
    try {
      run->on_loss_(reason);
    } catch (const std::exception& error) {
      detail::end_process(LON_ERROR_NETWORK, "the loss handler failed", error.what());
    } catch (...) {
      detail::end_process(LON_ERROR_NETWORK, "the loss handler failed", reason);
    }
  }

  LossHandler on_loss_;
  std::atomic<bool> is_lost_{false};
  lon_handle handle_ = 0;
};

// The nodes of a run as one SUT.
class Qdl : public mlperf::QueryDispatchLibrary {
 public:
  explicit Qdl(Run& run) : run_(run) {}

  // Asks every node, each time. References that were returned before stay valid, since LoadGen keeps them. LoadGen asks
  // once more when it writes its summary. A run that was lost by then, with a loss handler that returned, has the name
  // that it had before.
  const std::string& Name() override {
    std::string name(4096, '\0');
    size_t length = 0;
    int32_t status = lon_name(run_.handle(), &name[0], name.size(), &length);
    while (status == LON_OK && length >= name.size()) {
      name.resize(length + 1);
      status = lon_name(run_.handle(), &name[0], name.size(), &length);
    }
    std::lock_guard<std::mutex> lock(mutex_);
    // A handler is told of the loss in a moment; LoadGen goes on until then, and needs a name.
    const bool goes_on = run_.is_lost() || run_.has_handler();
    if (status != LON_OK && last_name_ != nullptr && goes_on) return *last_name_;
    run_.end_process_unless_ok(status, "the nodes' names");
    name.resize(length);
    last_name_ = &*names_.insert(std::move(name)).first;
    return *last_name_;
  }

  // Returns when all samples are on their way. LoadGen may call it from several threads.
  void IssueQuery(const std::vector<mlperf::QuerySample>& samples) override {
    if (samples.empty()) return;
    const lon_sample* first = reinterpret_cast<const lon_sample*>(samples.data());
    run_.end_process_unless_ok(lon_issue_loaded(run_.handle(), first, samples.size()), "IssueQuery");
  }

  void FlushQueries() override { run_.end_process_unless_ok(lon_flush(run_.handle()), "FlushQueries"); }

 private:
  Run& run_;
  std::mutex mutex_;
  std::set<std::string> names_;
  const std::string* last_name_ = nullptr;
};

// The dataset of a run.
class Qsl : public mlperf::QuerySampleLibrary {
 public:
  // `name` is what LoadGen's detail log shows as the name of the QSL.
  Qsl(Run& run, std::string name) : run_(run), name_(std::move(name)) {}

  const std::string& Name() override { return name_; }

  size_t TotalSampleCount() override { return count(lon_total_count, "TotalSampleCount"); }

  size_t PerformanceSampleCount() override { return count(lon_performance_count, "PerformanceSampleCount"); }

  void LoadSamplesToRam(const std::vector<mlperf::QuerySampleIndex>& samples) override {
    if (samples.empty()) return;
    run_.end_process_unless_ok(lon_load(run_.handle(), samples.data(), samples.size()), "LoadSamplesToRam");
  }

  void UnloadSamplesFromRam(const std::vector<mlperf::QuerySampleIndex>& samples) override {
    if (samples.empty()) return;
    run_.end_process_unless_ok(lon_unload(run_.handle(), samples.data(), samples.size()), "UnloadSamplesFromRam");
  }

 private:
  size_t count(int32_t (*ask)(lon_handle, size_t*), const char* what) {
    size_t count = 0;
    run_.end_process_unless_ok(ask(run_.handle(), &count), what);
    return count;
  }

  Run& run_;
  std::string name_;
};

}  // namespace lon

#endif  // LON_QDL_HPP
