// Octet's C++ interface against bare oneDNN, by turns, with one thread where a case does not say otherwise. Reads a
// case a line from standard input and answers each with a line of JSON; the first line tells what runs. scripts/bench
// writes the cases and reads the answers.
#include "scripts/benchmark/native.hpp"

#include <omp.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <random>
#include <sstream>

#include "scripts/benchmark/bare_onednn.hpp"

namespace octet::benchmark {

DataType type_named(const std::string& name) {
  for (const DataType type : {DataType::float32, DataType::uint8, DataType::int8, DataType::int32})
    if (name == data_type_name(type)) return type;
  throw Error(ErrorCode::invalid_argument, "octet_bench: type '" + name + "' is not known");
}

std::vector<std::uint8_t> random_bytes(std::int64_t count, std::uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<std::uint8_t> bytes(static_cast<std::size_t>(count));
  for (std::uint8_t& byte : bytes) byte = static_cast<std::uint8_t>(random() >> 24);
  return bytes;
}

std::vector<float> random_floats(std::int64_t count, std::uint32_t seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<float> uniform(-1, 1);
  std::vector<float> floats(static_cast<std::size_t>(count));
  for (float& value : floats) value = uniform(random);
  return floats;
}

__attribute__((target_clones("avx512f", "avx2", "default"))) MinMax min_max(const float* x, std::int64_t count) {
  float min = 0, max = 0;
#pragma omp simd reduction(min : min) reduction(max : max)
  for (std::int64_t i = 0; i < count; ++i) {
    min = x[i] < min ? x[i] : min;
    max = x[i] > max ? x[i] : max;
  }
  return {min, max};
}

namespace {

void print(const Outcome& outcome) {
  std::string line = "{";
  char numbers[128];
  for (const Contender& contender : outcome.contenders) {
    std::snprintf(numbers, sizeof numbers, "\"median_us\": %.4g, \"min_us\": %.4g, \"ratio\": %.4g", contender.median,
                  contender.least, contender.ratio);
    line += "\"" + contender.name + "\": {" + numbers + ", \"implementation\": \"" + contender.implementation + "\"}, ";
  }
  std::printf("%s\"differing\": %lld}\n", line.c_str(), static_cast<long long>(outcome.differing));
  std::fflush(stdout);
}

void run_all(double seconds) {
  std::printf("{\"octet\": \"%s\", \"isa\": \"%s\", \"onednn\": \"%s\"}\n", version(), cpu_isa(),
              onednn_version().c_str());
  std::fflush(stdout);
  for (std::string line; std::getline(std::cin, line);) {
    std::istringstream words(line);
    std::string family;
    words >> family;
    if (family == "product")
      print(run_product(words, seconds));
    else if (family == "inner_product")
      print(run_inner_product(words, seconds));
    else if (family == "quantize")
      print(run_quantize(words, seconds));
    else if (family == "elementwise")
      print(run_elementwise(words, seconds));
    else if (family == "lstm")
      print(run_lstm(words, seconds));
    else if (family == "lstm_training")
      print(run_lstm_training(words, seconds));
    else
      throw Error(ErrorCode::invalid_argument, "octet_bench: case '" + line + "' is not known");
  }
}

}  // namespace
}  // namespace octet::benchmark

int main(int argc, char** argv) {
  try {
    omp_set_num_threads(1);
    octet::benchmark::run_all(argc > 1 ? std::strtod(argv[1], nullptr) : 0.2);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "octet_bench: %s\n", error.what());
    return 1;
  }
  return 0;
}
