// GraphBuilder: files, and external data in files of its own.
#include <algorithm>
#include <fstream>
#include <limits>

#include "provider/onnx/graph_state.hpp"
#include "provider/onnx/tensor_data.hpp"

namespace octet {
namespace {

namespace fs = std::filesystem;
using onnx_side::fail;

/// A file that takes its place when everything is written, and leaves nothing behind where something goes wrong.
class NewFile {
 public:
  explicit NewFile(fs::path path) : path_(std::move(path)), unfinished_(path_.string() + ".unfinished") {}
  ~NewFile() {
    stream_.close();
    std::error_code ignored;
    if (opened_) fs::remove(unfinished_, ignored);
  }
  NewFile(const NewFile&) = delete;
  NewFile& operator=(const NewFile&) = delete;

  std::ofstream& stream() {
    if (!opened_) stream_.open(unfinished_, std::ios::binary | std::ios::trunc);
    opened_ = true;
    return stream_;
  }
  void require(bool good) const {
    if (!good) fail(path_.string() + ": cannot be written");
  }
  /// Ends writing: what was written can be read.
  void close() {
    if (!opened_) return;
    stream_.close();
    require(stream_.good());
  }
  void take_place() {
    if (!opened_) return;
    std::error_code error;
    fs::rename(unfinished_, path_, error);
    require(!error);
    opened_ = false;
  }

 private:
  fs::path path_;
  fs::path unfinished_;
  std::ofstream stream_;
  bool opened_ = false;
};

/// External data of a model that is written: appended to one file beside it.
class DataFile {
 public:
  DataFile(const fs::path& model, const fs::path& source_folder)
      : name_(model.filename().string() + ".data"), file_(model.parent_path() / name_), source_folder_(source_folder) {
    std::error_code error;
    const auto folder = [](const fs::path& path) { return path.empty() ? fs::path(".") : path; };
    same_folder_ = fs::equivalent(folder(model.parent_path()), folder(source_folder), error) && !error;
  }

  /// Writes `data`, and makes `tensor` refer to it.
  void append(onnx::TensorProto& tensor, const std::string& data) {
    begin(tensor, data.size());
    write(data.data(), data.size());
  }

  /// Copies the external data of a loaded model's tensor, unless it can stay where it is.
  void relocate(onnx::TensorProto& tensor) {
    if (tensor.data_location() != onnx::TensorProto::EXTERNAL) return;
    const onnx_side::Place place(tensor);
    if (same_folder_ && place.location != name_) return;
    std::ifstream source = place.open(source_folder_);
    std::uint64_t rest = onnx_side::byte_count(tensor);
    begin(tensor, rest);
    std::vector<char> buffer(static_cast<std::size_t>(std::min<std::uint64_t>(rest, std::uint64_t{1} << 20)));
    while (rest > 0) {
      const auto count = static_cast<std::streamsize>(std::min<std::uint64_t>(rest, buffer.size()));
      if (!source.read(buffer.data(), count))
        fail("tensor '" + tensor.name() + "' cannot be read from '" + (source_folder_ / place.location).string() + "'");
      write(buffer.data(), static_cast<std::size_t>(count));
      rest -= static_cast<std::uint64_t>(count);
    }
  }

  NewFile& file() { return file_; }

 private:
  void begin(onnx::TensorProto& tensor, std::uint64_t size) {
    constexpr std::uint64_t kLarge = std::uint64_t{1} << 20;
    const std::uint64_t alignment = size >= kLarge ? 4096 : 64;  // a page: readers map what is large
    const std::string padding((alignment - end_ % alignment) % alignment, '\0');
    write(padding.data(), padding.size());
    tensor.set_data_location(onnx::TensorProto::EXTERNAL);
    tensor.clear_external_data();
    const auto add = [&](const char* key, std::string value) {
      auto& entry = *tensor.add_external_data();
      entry.set_key(key);
      entry.set_value(std::move(value));
    };
    add("location", name_);
    add("offset", std::to_string(end_));
    add("length", std::to_string(size));
  }

  void write(const char* data, std::size_t size) {
    file_.require(file_.stream().write(data, static_cast<std::streamsize>(size)).good());
    end_ += size;
  }

  std::string name_;
  NewFile file_;
  fs::path source_folder_;
  bool same_folder_ = false;
  std::uint64_t end_ = 0;
};

/// All of a tensor but its elements.
onnx::TensorProto without_data(const onnx::TensorProto& tensor) {
  onnx::TensorProto result;
  result.set_name(tensor.name());
  result.set_data_type(tensor.data_type());
  *result.mutable_dims() = tensor.dims();
  if (tensor.has_doc_string()) result.set_doc_string(tensor.doc_string());
  *result.mutable_metadata_props() = tensor.metadata_props();
  return result;
}

}  // namespace

void GraphBuilder::save(const std::string& path, std::uint64_t external_data_threshold) const {
  DataFile data(path, state_->directory);
  onnx::ModelProto model = state_->without_constants();
  onnx::GraphProto& graph = *model.mutable_graph();
  onnx_side::for_each_inner_tensor(graph, [&](onnx::TensorProto& tensor) { data.relocate(tensor); });
  for (const onnx::TensorProto& tensor : state_->constants) {
    // A tensor without elements needs no place in a file.
    if (!tensor.raw_data().empty() && tensor.raw_data().size() >= external_data_threshold) {
      *graph.add_initializer() = without_data(tensor);
      data.append(*graph.mutable_initializer()->rbegin(), tensor.raw_data());
    } else {
      *graph.add_initializer() = tensor;
      data.relocate(*graph.mutable_initializer()->rbegin());
    }
  }
  const std::size_t size = model.ByteSizeLong();
  if (size > static_cast<std::size_t>(std::numeric_limits<std::int32_t>::max()))
    fail(path + ": the model takes " + std::to_string(size) + " bytes without its external data, more than the " +
         "2147483647 of a serialized ModelProto: lower the threshold");
  NewFile file(path);
  file.require(model.SerializeToOstream(&file.stream()));
  file.close();
  data.file().close();
  data.file().take_place();
  file.take_place();
}

}  // namespace octet
