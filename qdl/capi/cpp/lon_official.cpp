// lon-official: a test by the official LoadGen, against SUT nodes over a network. An example of how to use lon_qdl.hpp.
#include <algorithm>
#include <atomic>
#include <filesystem>
#include <iostream>
#include <regex>
#include <set>
#include <thread>

#include "lon_qdl.hpp"
#include "test_settings.h"

namespace {

const char kHelp[] = R"(Runs a test of the official MLPerf LoadGen against SUT nodes over a network.

  --sut HOST:PORT[,..]  the SUT nodes
  --benchmark NAME      digits, resnet50, bert, ...: the dataset, and the model's name in config files
  --scenario NAME       SingleStream, MultiStream, Server or Offline
  --mode NAME           PerformanceOnly (default), AccuracyOnly, SubmissionRun or FindPeakPerformance
  --out FOLDER          the folder for LoadGen's logs and the network's files
  --user-conf FILE      the submitter's settings
  --mlperf-conf FILE    settings above those that are built into LoadGen, which logs an error when user.conf follows
  --audit-conf FILE     settings of a compliance test; an audit.config in the current directory is not read
  --issue-threads N     issue queries from N threads (Server only)
  --trace-log           LoadGen also writes mlperf_log_trace.json
  --option KEY[=VALUE]  any other flag of `loadgen-node run`, without its dashes; can be repeated

Example:
  lon-official --sut 10.0.0.2:8000,10.0.0.3:8000 --option insecure --benchmark digits --scenario Server \
      --user-conf user.conf --out results/server

Exit codes: 0 every sample was answered (LoadGen's summary says what of it), 1 a bug, 2 usage, 3 unusable, 4 network.
)";

// In the order of LoadGen's enums.
const std::vector<std::string> kScenarios{"SingleStream", "MultiStream", "Server", "Offline"};
const std::vector<std::string> kModes{"SubmissionRun", "AccuracyOnly", "PerformanceOnly", "FindPeakPerformance"};
const std::set<std::string> kFlags = {"--sut", "--benchmark", "--scenario", "--mode", "--out", "--user-conf",
                                      "--mlperf-conf", "--audit-conf", "--issue-threads", "--trace-log", "--option"};

void expect(bool holds, const std::string& else_what) {
  if (!holds) throw lon::Error(LON_ERROR_USAGE, else_what + " (--help shows the options)");
}

long place(const std::vector<std::string>& names, const std::string& name) {
  const auto found = std::find(names.begin(), names.end(), name);
  expect(found != names.end(), "no scenario or no mode: " + name);
  return found - names.begin();
}

lon::Options parse(const std::vector<std::string>& words) {
  lon::Options options;
  for (size_t at = 0; at < words.size(); ++at) {
    const std::string& flag = words[at];
    expect(kFlags.count(flag), "unknown option " + flag);
    const bool has_value = flag != "--trace-log";
    expect(!has_value || ++at < words.size(), flag + " needs a value");
    const std::string option = flag == "--option" ? words[at] : flag.substr(2) + (has_value ? "=" + words[at] : "");
    const size_t equals = option.find('=');
    if (equals == std::string::npos) options.set_flag(option);
    else options.add(option.substr(0, equals), option.substr(equals + 1));
  }
  for (const std::string key : {"sut", "benchmark", "scenario", "out"})
    expect(!options.get(key).empty(), "--" + key + " is missing");
  if (!options.has("mode")) options.add("mode", "PerformanceOnly");
  // LoadGen passes over an audit file that it cannot open.
  expect(!options.has("audit-conf") || std::filesystem::is_regular_file(options.get("audit-conf")),
         "--audit-conf: there is no file " + options.get("audit-conf"));
  return options;
}

mlperf::TestSettings settings_of(const lon::Options& options) {
  mlperf::TestSettings settings;
  const std::string model = options.get("benchmark"), scenario = options.get("scenario");
  settings.FromConfig("", model, scenario, 0);  // the mlperf.conf that is built into LoadGen
  for (const auto key : {"mlperf-conf", "user-conf"})
    expect(!options.has(key) || settings.FromConfig(options.get(key), model, scenario) == 0,
           std::string("--") + key + ": LoadGen cannot read " + options.get(key));
  settings.scenario = static_cast<mlperf::TestScenario>(place(kScenarios, scenario));
  settings.mode = static_cast<mlperf::TestMode>(place(kModes, options.get("mode")));
  const std::string threads = "0" + options.get("issue-threads");
  expect(std::regex_match(threads, std::regex("[0-9]{1,4}")), "--issue-threads takes a number");
  settings.server_num_issue_query_threads = scenario == "Server" ? std::stoul(threads) : 0;
  return settings;
}

void run_test(lon::Options options) {
  const mlperf::TestSettings settings = settings_of(options);
  mlperf::LogSettings logs;
  const std::string folder = logs.log_output.outdir = options.get("out");
  logs.enable_trace = options.has("trace-log");
  // These two are nothing to the library.
  options.remove("trace-log").remove("issue-threads");
  lon::Run run(options.json());
  lon::Qdl qdl(run);
  lon::Qsl qsl(run, options.get("benchmark"));
  std::filesystem::create_directories(folder);
  std::vector<std::thread> threads;
  std::atomic<size_t> begun{0};
  while (threads.size() < settings.server_num_issue_query_threads)
    threads.emplace_back([&begun] { ++begun, mlperf::RegisterIssueQueryThread(); });
  // LoadGen is not woken by threads that register late: it sleeps for ten seconds then.
  while (begun < threads.size()) std::this_thread::yield();
  // Without a name of a file, LoadGen would take an audit.config of the current directory. No file has an empty name.
  mlperf::StartTest(&qdl, &qsl, settings, logs, options.get("audit-conf"));
  // When it cannot write it returns at once, and the threads wait for ever.
  if (!std::filesystem::exists(folder + "/mlperf_log_summary.txt")) _exit(LON_ERROR_BUG);
  for (auto& thread : threads) thread.join();
  std::cout << "LoadGen's logs: " << folder << "/mlperf_log_summary.txt and beside it" << std::endl;
  run.close(folder);
  std::cout << "Network: every sample was answered once; see " << folder << "/network_report.json" << std::endl;
}

}  // namespace

int main(int argc, char** argv) try {
  const std::vector<std::string> words(argv + 1, argv + argc);
  std::count(words.begin(), words.end(), "--help") ? void(std::cout << kHelp) : run_test(parse(words));
} catch (const std::exception& error) {
  std::cerr << "lon-official: " << error.what() << std::endl;
  const auto* known = dynamic_cast<const lon::Error*>(&error);
  return known ? known->exit_code() : LON_ERROR_BUG;
}
