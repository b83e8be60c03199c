// official_rate: how fast the official LoadGen goes, with a SUT in its own process or over the C++ face of our QDL.
//
//   official_rate PLACE SCENARIO BYTES AMOUNT OUT
//
// PLACE is "in-process", for a SUT that answers in the call that asks it, or HOST:PORT of a SUT node. SCENARIO is
// Server (AMOUNT queries per second are offered, for two seconds) or Offline (AMOUNT samples in one query). A sample
// has BYTES. OUT is the folder for LoadGen's logs, whose summary has the figures. wheel_rate.py takes the same
// arguments.
#include <filesystem>
#include <iostream>
#include <memory>

#include "lon_qdl.hpp"
#include "system_under_test.h"
#include "test_settings.h"

namespace {

constexpr uint64_t kSeconds = 2;
constexpr size_t kSamples = 64;

// Answers with nothing, in the call that asks it.
class AtOnce : public mlperf::SystemUnderTest {
 public:
  const std::string& Name() override { return name_; }

  void IssueQuery(const std::vector<mlperf::QuerySample>& samples) override {
    responses_.clear();
    for (const auto& sample : samples) responses_.push_back({sample.id, 0, 0});
    mlperf::QuerySamplesComplete(responses_.data(), responses_.size());
  }

  void FlushQueries() override {}

 private:
  const std::string name_ = "in process";
  std::vector<mlperf::QuerySampleResponse> responses_;
};

// Samples that nobody reads.
class NoSamples : public mlperf::QuerySampleLibrary {
 public:
  const std::string& Name() override { return name_; }
  size_t TotalSampleCount() override { return kSamples; }
  size_t PerformanceSampleCount() override { return kSamples; }
  void LoadSamplesToRam(const std::vector<mlperf::QuerySampleIndex>&) override {}
  void UnloadSamplesFromRam(const std::vector<mlperf::QuerySampleIndex>&) override {}

 private:
  const std::string name_ = "in process";
};

mlperf::TestSettings settings_of(const std::string& scenario, uint64_t amount) {
  mlperf::TestSettings settings;
  settings.mode = mlperf::TestMode::PerformanceOnly;
  settings.min_query_count = 1;
  if (scenario == "Server") {
    settings.scenario = mlperf::TestScenario::Server;
    settings.server_target_qps = static_cast<double>(amount);
    // The rate of answers is looked for, not a verdict.
    settings.server_target_latency_ns = 1'000'000'000'000;
    settings.min_duration_ms = kSeconds * 1000;
  } else if (scenario == "Offline") {
    settings.scenario = mlperf::TestScenario::Offline;
    settings.min_query_count = amount;
    settings.min_duration_ms = 0;
    settings.offline_expected_qps = 1;
  } else {
    throw std::invalid_argument("SCENARIO is Server or Offline, not " + scenario);
  }
  return settings;
}

void run(const std::vector<std::string>& words) {
  if (words.size() != 5) throw std::invalid_argument("usage: official_rate PLACE SCENARIO BYTES AMOUNT OUT");
  const std::string &place = words[0], &scenario = words[1], &folder = words[4];
  const mlperf::TestSettings settings = settings_of(scenario, std::stoull(words[3]));
  mlperf::LogSettings logs;
  logs.log_output.outdir = folder;
  logs.enable_trace = false;
  std::filesystem::create_directories(folder);
  if (place == "in-process") {
    AtOnce sut;
    NoSamples qsl;
    mlperf::StartTest(&sut, &qsl, settings, logs, "");
    return;
  }
  lon::Options options;
  options.add("sut", place).add("benchmark", "synthetic").add("scenario", scenario);
  options.add("dataset", "synthetic:u8[" + words[2] + "]x" + std::to_string(kSamples));
  lon::Run run(options.json());
  lon::Qdl qdl(run);
  lon::Qsl qsl(run, "synthetic");
  mlperf::StartTest(&qdl, &qsl, settings, logs, "");
  run.close(folder);
}

}  // namespace

int main(int argc, char** argv) try {
  run({argv + 1, argv + argc});
} catch (const std::exception& error) {
  std::cerr << "official_rate: " << error.what() << std::endl;
  return 1;
}
