// What the parts of one session share: settings, threads, counters and the report at its end.
#pragma once

#include <atomic>
#include <mutex>
#include <string>
#include <vector>

#include "provider/ort/settings.hpp"
#include "provider/ort/thread_pool.hpp"

namespace octet::ort {

/// What one operator did in a session.
struct OperatorRecord {
  std::string name;
  std::string op_type;
  std::string backend;  ///< of the last plan; "" where it never ran
  std::string implementation;
  std::uint64_t runs = 0;
};

/// How much of the model Octet runs.
struct Coverage {
  int nodes_taken = 0;      ///< the model's nodes that run here, float ones in fused groups included
  int groups = 0;           ///< fused groups
  int quantized_nodes = 0;  ///< of the whole model
  int quantized_taken = 0;  ///< of these, run here
};

/// Lives until the provider and the last operator are gone; then the report is written, if one is wanted.
class Session {
 public:
  Session(Settings settings, const OrtLogger* logger);
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  const Settings& settings() const noexcept { return settings_; }
  const OrtLogger* logger() const noexcept { return logger_; }
  ThreadPool& threads() noexcept { return threads_; }

  void set_coverage(const Coverage& coverage);
  /// Writes the session's one line to its log, at the first call. To be called when all nodes have been given out.
  void announce();
  void count_run() noexcept { runs_.fetch_add(1, std::memory_order_relaxed); }
  void add(std::vector<OperatorRecord> records);
  /// A line to stderr, each text once.
  void trace(const std::string& line);

 private:
  void write_report() const;

  const Settings settings_;
  const OrtLogger* const logger_;
  ThreadPool threads_;
  std::atomic<std::uint64_t> runs_{0};
  std::atomic<bool> is_announced_{false};
  std::mutex mutex_;  ///< guards what follows
  Coverage coverage_;
  std::vector<OperatorRecord> records_;
  std::vector<std::string> traced_;
};

}  // namespace octet::ort
