// Own code, since no library at hand will do: the one that Debian has (xtensor 0.24) misreads headers of 128 bytes and
// more, wants the header's keys in one order, and takes a file that is cut off for a whole one.
#include "provider/cli/npy.hpp"

#include <fstream>
#include <regex>
#include <stdexcept>

namespace octet::cli {
namespace {

constexpr char kMagic[] = "\x93NUMPY";
constexpr std::size_t kMagicSize = sizeof kMagic - 1;
constexpr std::size_t kLongestHeader = 4096;  ///< far more than any shape takes; std::regex recurses on the length

struct TypeName {
  DataType type;
  const char* name;  ///< kind and bytes of an element
};
constexpr TypeName kTypes[] = {{DataType::float32, "f4"}, {DataType::float64, "f8"}, {DataType::float16, "f2"},
                               {DataType::int8, "i1"},    {DataType::int16, "i2"},   {DataType::int32, "i4"},
                               {DataType::int64, "i8"},   {DataType::uint8, "u1"},   {DataType::uint16, "u2"},
                               {DataType::uint32, "u4"},  {DataType::uint64, "u8"},  {DataType::boolean, "b1"}};

[[noreturn]] void fail(const std::string& path, const std::string& text) {
  throw std::runtime_error(path + ": " + text);
}

/// The Python dictionary that describes the array.
std::string read_header(std::istream& file, const std::string& path) {
  unsigned char start[kMagicSize + 2] = {};
  file.read(reinterpret_cast<char*>(start), sizeof start);
  if (!file || std::string(start, start + kMagicSize) != kMagic) fail(path, "is no .npy file");
  unsigned char length[4] = {};
  file.read(reinterpret_cast<char*>(length), start[kMagicSize] == 1 ? 2 : 4);
  const std::size_t size = length[0] | length[1] << 8 | static_cast<std::size_t>(length[2]) << 16 |
                           static_cast<std::size_t>(length[3]) << 24;
  if (!file || size > kLongestHeader) fail(path, "has a header of " + std::to_string(size) + " bytes");
  std::string header(size, '\0');
  if (!file.read(header.data(), static_cast<std::streamsize>(size))) fail(path, "is cut off");
  return header;
}

std::string entry(const std::string& header, const std::string& key, const std::string& value,
                  const std::string& path) {
  std::smatch match;
  if (!std::regex_search(header, match, std::regex("'" + key + "'\\s*:\\s*" + value)))
    fail(path, "has no '" + key + "' in its header that Octet can read");
  return match[1];
}

}  // namespace

ModelTensor read_npy(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) fail(path, "cannot be read");
  const std::string header = read_header(file, path);
  const std::string descr = entry(header, "descr", "'([^']*)'", path);
  const bool fortran = entry(header, "fortran_order", "(True|False)", path) == "True";
  const std::string shape = entry(header, "shape", "\\(([0-9, ]*)\\)", path);

  ModelTensor tensor;
  for (const TypeName& known : kTypes)
    if (descr == std::string("<") + known.name || descr == std::string("|") + known.name) tensor.dtype = known.type;
  if (tensor.dtype == DataType::undefined)
    fail(path, "has elements of type '" + descr + "', which Octet does not read");
  std::size_t size = static_cast<std::size_t>(descr.back() - '0');
  static const std::regex number("[0-9]+");
  for (std::sregex_iterator dim(shape.begin(), shape.end(), number), end; dim != end; ++dim) {
    const std::string text = dim->str();
    if (text.size() > 18) fail(path, "has the extent " + text);
    tensor.dims.push_back(std::stoll(text));
    if (__builtin_mul_overflow(size, static_cast<std::size_t>(tensor.dims.back()), &size)) fail(path, "is too large");
  }
  if (fortran && tensor.dims.size() > 1) fail(path, "is in Fortran order: save numpy.ascontiguousarray() of it");
  const std::streampos begin = file.tellg();
  file.seekg(0, std::ios::end);
  if (static_cast<std::size_t>(file.tellg() - begin) != size)
    fail(path, "has " + std::to_string(file.tellg() - begin) + " bytes of elements, expected " + std::to_string(size));
  file.seekg(begin);
  tensor.data.resize(size);
  if (size > 0 && !file.read(reinterpret_cast<char*>(tensor.data.data()), static_cast<std::streamsize>(size)))
    fail(path, "cannot be read");
  return tensor;
}

void write_npy(const std::string& path, const ModelTensor& tensor) {
  std::string descr;
  for (const TypeName& known : kTypes)
    if (tensor.dtype == known.type) descr = (known.name[1] == '1' ? "|" : "<") + std::string(known.name);
  if (descr.empty()) fail(path, std::string("type ") + data_type_name(tensor.dtype) + " cannot be written as .npy");
  std::string shape;
  for (const std::int64_t dim : tensor.dims) shape += std::to_string(dim) + ", ";
  std::string header = "{'descr': '" + descr + "', 'fortran_order': False, 'shape': (" + shape + "), }";
  header.resize((kMagicSize + 4 + header.size() + 1 + 63) / 64 * 64 - kMagicSize - 4 - 1, ' ');
  header += '\n';
  std::ofstream file(path, std::ios::binary);
  file.write(kMagic, kMagicSize);
  file.put(1).put(0);
  file.put(static_cast<char>(header.size() & 0xff)).put(static_cast<char>(header.size() >> 8));
  file << header;
  file.write(reinterpret_cast<const char*>(tensor.data.data()), static_cast<std::streamsize>(tensor.data.size()));
  file.close();
  if (!file) fail(path, "cannot be written");
}

}  // namespace octet::cli
