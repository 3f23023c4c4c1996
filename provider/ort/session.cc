#include "provider/ort/session.hpp"

#include <algorithm>
#include <cstdio>
#include <fstream>

#include "primitives/onednn.hpp"
#include "provider/ort/api.hpp"

namespace octet::ort {
namespace {

std::string quoted(const std::string& text) {
  std::string json = "\"";
  for (const char c : text) {
    char escaped[8];
    if (c == '"' || c == '\\')
      json += {'\\', c};
    else if (static_cast<unsigned char>(c) < 0x20)
      json.append(escaped, static_cast<std::size_t>(std::snprintf(escaped, sizeof(escaped), "\\u%04x", c)));
    else
      json += c;
  }
  return json + "\"";
}

}  // namespace

Session::Session(Settings settings, const OrtLogger* logger)
    : settings_(std::move(settings)), logger_(logger), threads_(settings_.threads, settings_.spinning) {
  cpu_isa();  // throws, and so refuses the session, where the CPU lacks what Octet needs
}

Session::~Session() {
  try {
    if (!settings_.report.empty()) write_report();
  } catch (const std::exception& error) {
    std::fprintf(stderr, "octet: report '%s' not written: %s\n", settings_.report.c_str(), error.what());
  }
}

void Session::set_coverage(const Coverage& coverage) {
  const std::lock_guard<std::mutex> lock(mutex_);
  coverage_ = coverage;
}

void Session::announce() {
  if (is_announced_.load(std::memory_order_relaxed) || is_announced_.exchange(true)) return;
  const std::lock_guard<std::mutex> lock(mutex_);
  log(logger_, ORT_LOGGING_LEVEL_INFO,
      std::string("Octet ") + version() + " (" + cpu_isa() + ", oneDNN " + onednn::version() + ") runs " +
          std::to_string(coverage_.quantized_taken) + " of " + std::to_string(coverage_.quantized_nodes) +
          " quantized nodes: " + std::to_string(coverage_.nodes_taken) + " nodes in all, " +
          std::to_string(coverage_.groups) + " fused groups");
}

void Session::add(std::vector<OperatorRecord> records) {
  const std::lock_guard<std::mutex> lock(mutex_);
  records_.insert(records_.end(), std::make_move_iterator(records.begin()), std::make_move_iterator(records.end()));
}

void Session::trace(const std::string& line) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (std::find(traced_.begin(), traced_.end(), line) != traced_.end()) return;
  traced_.push_back(line);
  std::fprintf(stderr, "octet: %s\n", line.c_str());
}

void Session::write_report() const {
  std::ofstream file;
  file.exceptions(std::ios::failbit | std::ios::badbit);
  file.open(settings_.report);
  const auto field = [&](const char* name, const auto& value) { file << "  \"" << name << "\": " << value << ",\n"; };
  file << "{\n";
  field("version", quoted(version()));
  field("isa", quoted(cpu_isa()));
  field("onednn", quoted(onednn::version()));
  field("nodes_taken", coverage_.nodes_taken);
  field("groups", coverage_.groups);
  field("quantized_nodes", coverage_.quantized_nodes);
  field("quantized_taken", coverage_.quantized_taken);
  field("threads", threads_.size());
  field("spinning", settings_.spinning ? "true" : "false");
  field("runs", runs_.load());
  file << "  \"operators\": [";
  const char* separator = "\n";
  for (const OperatorRecord& record : records_) {
    file << separator << "    {\"name\": " << quoted(record.name) << ", \"op_type\": " << quoted(record.op_type)
         << ", \"backend\": " << quoted(record.backend) << ", \"implementation\": " << quoted(record.implementation)
         << ", \"runs\": " << record.runs << "}";
    separator = ",\n";
  }
  file << "\n  ]\n}\n";
  file.close();
}

}  // namespace octet::ort
