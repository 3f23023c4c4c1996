// The flat C interface: every wrong use is an error with a text and nothing else.
#include <algorithm>
#include <limits>
#include <thread>
#include <tuple>

#include "product.hpp"

namespace {

// -----------------------------------------------------------------------------------------------------------

TEST(CApiMisuse, NullHandles) {
  octet_status_release(nullptr);
  octet_node_release(nullptr);
  octet_operator_release(nullptr);
  octet_call_release(nullptr);
  EXPECT_EQ(octet_status_code(nullptr), OCTET_OK);
  EXPECT_STREQ(octet_status_text(nullptr), "");
  EXPECT_EQ(octet_node_create("", nullptr, 1, ""), nullptr);
  expect_last_error({"octet_node_create", "'op_type' is null"});
  EXPECT_EQ(octet_operator_create(nullptr), nullptr);
  expect_last_error({"octet_operator_create", "'node' is null"});
  EXPECT_EQ(octet_call_create(nullptr), nullptr);
  expect_last_error({"octet_call_create", "'op' is null"});

  const Dims dims{1};
  std::int64_t integer = 0;
  std::uint64_t size = 0;
  const float real = 0;
  const char* const text = "";
  expect_error(octet_node_set_int(nullptr, "a", 1), {"octet_node_set_int", "'node' is null"});
  expect_error(octet_node_set_float(nullptr, "a", 1), {"'node' is null"});
  expect_error(octet_node_set_string(nullptr, "a", "b"), {"'node' is null"});
  expect_error(octet_node_set_ints(nullptr, "a", &integer, 1), {"'node' is null"});
  expect_error(octet_node_set_floats(nullptr, "a", &real, 1), {"'node' is null"});
  expect_error(octet_node_set_strings(nullptr, "a", &text, 1), {"'node' is null"});
  expect_error(octet_node_set_input(nullptr, 0, 2, dims.data(), 1), {"'node' is null"});
  expect_error(octet_node_set_constant(nullptr, 0, 2, dims.data(), 1, "x", 1), {"'node' is null"});
  expect_error(octet_node_set_output(nullptr, 0, 2), {"'node' is null"});
  expect_error(octet_node_set_option(nullptr, "threads", "1"), {"'node' is null"});
  expect_error(octet_call_set_input(nullptr, 0, 2, dims.data(), 1, "x", 1), {"'call' is null"});
  expect_error(octet_call_copy_input(nullptr, 0, 2, dims.data(), 1, "x", 1), {"'call' is null"});
  expect_error(octet_call_infer(nullptr), {"'call' is null"});
  expect_error(octet_call_output_count(nullptr, &size), {"'call' is null"});
  expect_error(octet_call_output_info(nullptr, 0, nullptr, nullptr, &size), {"'call' is null"});
  expect_error(octet_call_output_dims(nullptr, 0, &integer, 1), {"'call' is null"});
  expect_error(octet_call_explain(nullptr, nullptr, &size), {"'call' is null"});
  expect_error(octet_call_set_output(nullptr, 0, 6, dims.data(), 1, &integer, 8), {"'call' is null"});
  expect_error(octet_call_run(nullptr), {"octet_call_run", "'call' is null"});
  expect_error(octet_call_copy_output(nullptr, 0, &integer, 8), {"'call' is null"});
}

TEST(CApiMisuse, NullArguments) {
  octet_node* const node = octet_node_create(nullptr, "MatMulInteger", 10, nullptr);
  ASSERT_NE(node, nullptr);
  const char* const strings[] = {"a", nullptr};
  expect_error(octet_node_set_int(node, nullptr, 1), {"'attribute' is null"});
  expect_error(octet_node_set_string(node, "a", nullptr), {"octet_node_set_string", "'value' is null"});
  expect_error(octet_node_set_ints(node, "a", nullptr, 1), {"octet_node_set_ints", "'values' is null"});
  expect_error(octet_node_set_floats(node, "a", nullptr, 1), {"'values' is null"});
  expect_error(octet_node_set_floats(node, "a", nullptr, std::numeric_limits<std::uint64_t>::max()), {"count"});
  expect_error(octet_node_set_strings(node, "a", nullptr, 1), {"'values' is null"});
  expect_error(octet_node_set_strings(node, "a", strings, 2), {"octet_node_set_strings", "is null"});
  expect_error(octet_node_set_option(node, nullptr, "1"), {"'key' is null"});
  expect_error(octet_node_set_option(node, "threads", nullptr), {"'value' is null"});
  octet_node_release(node);

  const Product product(2, 3, 4);
  octet_call* const call = product.call();
  expect_ok(octet_call_infer(call));
  expect_error(octet_call_output_count(call, nullptr), {"octet_call_output_count", "'count' is null"});
  expect_error(octet_call_explain(call, nullptr, nullptr), {"octet_call_explain", "'size' is null"});
  char small[4];
  std::uint64_t size = sizeof small;
  expect_error(octet_call_explain(call, small, &size), {"the buffer has 4 bytes"});
  EXPECT_GT(size, sizeof small);
  octet_call_release(call);
}

TEST(CApiMisuse, TensorsOfANode) {
  octet_node* const node = octet_node_create("", "MatMulInteger", 10, "fc1");
  const std::int64_t huge = std::int64_t{1} << 40;
  const Dims dims{2, 3};
  const Dims negative{2, -2};
  const Dims unknown{2, -1};
  const Dims large{huge, huge};
  const Dims large_but_empty{huge, huge, 0};
  const Dims ranks(65, 1);
  const std::int8_t data[6] = {};
  const std::string port = "MatMulInteger 'fc1': input 'A'";
  expect_error(octet_node_set_input(node, 0, 99, dims.data(), 2), {port, "element type 99"});
  expect_error(octet_node_set_input(node, 0, -1, dims.data(), 2), {port, "element type -1"});
  expect_error(octet_node_set_input(node, 0, 8, dims.data(), 2), {port, "element type 8"});  // string
  expect_error(octet_node_set_input(node, 0, OCTET_TYPE_UINT8, dims.data(), -2), {port, "rank -2"});
  expect_error(octet_node_set_input(node, 0, OCTET_TYPE_UINT8, ranks.data(), 65), {port, "rank 65"});
  expect_error(octet_node_set_input(node, 0, OCTET_TYPE_UINT8, nullptr, 2147483647), {port, "rank 2147483647"});
  expect_error(octet_node_set_input(node, 0, OCTET_TYPE_UINT8, nullptr, 2), {port, "'dims' is null"});
  expect_error(octet_node_set_input(node, 0, OCTET_TYPE_UINT8, negative.data(), 2), {port, "extent -2", "axis 1"});
  expect_error(octet_node_set_input(node, std::uint64_t{1} << 63, OCTET_TYPE_UINT8, dims.data(), 2), {"no input"});
  expect_error(octet_node_set_output(node, std::uint64_t{1} << 63, OCTET_TYPE_INT32), {"no output"});
  expect_error(octet_node_set_output(node, 0, 99), {"output 0", "element type 99"});
  expect_ok(octet_node_set_input(node, 0, OCTET_TYPE_UINT8, nullptr, -1));
  expect_ok(octet_node_set_input(node, 0, OCTET_TYPE_UINT8, unknown.data(), 2));
  expect_ok(octet_node_set_input(node, 0, OCTET_TYPE_ABSENT, nullptr, -7));

  const std::string b = "MatMulInteger 'fc1': input 'B'";
  expect_error(octet_node_set_constant(node, 1, OCTET_TYPE_ABSENT, dims.data(), 2, data, 6), {b, "element type 0"});
  expect_error(octet_node_set_constant(node, 1, OCTET_TYPE_INT8, nullptr, -1, data, 6), {b, "rank -1"});
  expect_error(octet_node_set_constant(node, 1, OCTET_TYPE_INT8, unknown.data(), 2, data, 6), {b, "extent -1"});
  expect_error(octet_node_set_constant(node, 1, OCTET_TYPE_INT8, dims.data(), 2, data, 5),
               {b, "5 bytes", "at least 6"});
  expect_error(octet_node_set_constant(node, 1, OCTET_TYPE_FLOAT, dims.data(), 2, data, 6),
               {b, "6 bytes", "at least 24"});
  expect_error(octet_node_set_constant(node, 1, OCTET_TYPE_INT8, dims.data(), 2, nullptr, 6), {b, "no data"});
  expect_error(octet_node_set_constant(node, 1, OCTET_TYPE_INT8, large.data(), 2, data, 6),
               {b, "more than memory can hold"});
  expect_error(octet_node_set_constant(node, 1, OCTET_TYPE_INT8, large_but_empty.data(), 3, nullptr, 0),
               {b, "more than memory"});
  octet_node_release(node);
}

/// Shapes of up to 3 extents of every kind, through every function that takes extents.
TEST(CApiMisuse, ExtentsAreCheckedBeforeTheyAreMultiplied) {
  const std::int64_t extents[] = {
      0, 1, 3, std::int64_t{1} << 31, std::int64_t{1} << 56, std::int64_t{1} << 62, INT64_MAX, -1, -2, INT64_MIN};
  std::vector<Dims> shapes{{}};
  for (std::size_t next = 0; shapes[next].size() < 3; ++next)
    for (const std::int64_t extent : extents) {
      shapes.push_back(shapes[next]);
      shapes.back().push_back(extent);
    }
  const auto code = [](octet_status* status) {
    const std::int32_t found = octet_status_code(status);
    octet_status_release(status);
    return found;
  };
  octet_node* const node = octet_node_create("", "MatMulInteger", 10, "");
  const Product product(2, 3, 4);
  octet_call* const call = product.call();
  std::int32_t data[27] = {};
  for (const Dims& dims : shapes) {
    const auto rank = static_cast<std::int32_t>(dims.size());
    double elements = 1;
    for (const std::int64_t dim : dims) elements *= static_cast<double>(std::max<std::int64_t>(dim, 1));
    const bool possible =
        std::all_of(dims.begin(), dims.end(), [](std::int64_t dim) { return dim >= 0; }) && elements < 0x1p57;
    const bool empty = std::count(dims.begin(), dims.end(), 0) > 0;
    const std::int32_t expected = possible && (empty || elements <= 27) ? OCTET_OK : OCTET_INVALID_ARGUMENT;
    std::string text;
    for (const std::int64_t dim : dims) text += (text.empty() ? "" : ",") + std::to_string(dim);
    SCOPED_TRACE("[" + text + "]");
    EXPECT_EQ(code(octet_node_set_constant(node, 1, OCTET_TYPE_INT32, dims.data(), rank, data, sizeof data)), expected);
    EXPECT_EQ(code(octet_call_set_input(call, 0, OCTET_TYPE_INT32, dims.data(), rank, data, sizeof data)), expected);
    EXPECT_EQ(code(octet_call_copy_input(call, 0, OCTET_TYPE_INT32, dims.data(), rank, data, sizeof data)), expected);
    EXPECT_EQ(code(octet_call_set_output(call, 0, OCTET_TYPE_INT32, dims.data(), rank, data, sizeof data)), expected);
    // What a node says of an input is checked when all is known: by the operator, or by inference.
    octet_node* const described = octet_node_create("", "MatMulInteger", 10, "");
    octet_status_release(octet_node_set_input(described, 0, OCTET_TYPE_UINT8, dims.data(), rank));
    octet_status_release(octet_node_set_input(described, 1, OCTET_TYPE_UINT8, nullptr, -1));
    octet_operator_release(octet_operator_create(described));
    octet_node_release(described);
    std::uint64_t size = 0;
    const std::string json = R"({"op_type": "MatMulInteger", "opset_version": 10, "inputs": [{"dtype": 2, "dims": [)" +
                             text + R"(]}, {"dtype": 2}]})";
    const std::int32_t inferred = code(octet_infer_json(json.c_str(), nullptr, &size));
    EXPECT_EQ(inferred, possible && rank > 0 ? OCTET_OK : OCTET_INVALID_ARGUMENT);
    if (rank == 3)
      octet_dqip_release(octet_dqip_init(static_cast<std::uint64_t>(dims[0]), static_cast<std::uint64_t>(dims[1]),
                                         static_cast<std::uint64_t>(dims[2]), OCTET_TYPE_FLOAT, OCTET_TYPE_FLOAT,
                                         OCTET_TYPE_FLOAT, 1, 0, 0, 0));
  }
  octet_call_release(call);
  octet_node_release(node);
}

/// Numbers that no type here holds, in every place of a node that has numbers.
TEST(CApiMisuse, NumbersOfJson) {
  const auto infer = [](const char* version, const char* dtype, const char* dim, const char* axis, const char* alpha) {
    const std::string sum =
        std::string(R"({"op_type": "ReduceSumInteger", "domain": "com.microsoft", "opset_version": )") + version +
        R"(, "attributes": {"keepdims": )" + axis + R"(, "axes": [)" + axis + R"(]}, "inputs": [{"dtype": )" + dtype +
        R"(, "dims": [3, )" + dim + "]}]}";
    const std::string relu =
        std::string(R"({"op_type": "QLinearLeakyRelu", "domain": "com.microsoft", "opset_version": 1,
      "attributes": {"alpha": )") +
        alpha + R"(}, "inputs": [{}, {}, {}, {}, {}]})";
    std::uint64_t size = 0;
    octet_status* status = octet_infer_json(sum.c_str(), nullptr, &size);
    return status ? status : octet_infer_json(relu.c_str(), nullptr, &size);
  };
  expect_ok(infer("1", "2", "4", "1", "0.5"));
  expect_ok(infer("9223372036854775807", "2", "4", "1", "-3.4e38"));
  for (const char* wrong : {"1e300", "-1e300", "9223372036854775808", "18446744073709551615", "-9223372036854775809",
                            "2.5", "1.0", "true", "[]", "{}"}) {
    SCOPED_TRACE(wrong);
    expect_error(infer(wrong, "2", "4", "1", "1"), {"octet_infer_json"});
    expect_error(infer("1", wrong, "4", "1", "1"), {"octet_infer_json"});
    expect_error(infer("1", "2", wrong, "1", "1"), {"octet_infer_json"});
    expect_error(infer("1", "2", "4", wrong, "1"), {});
  }
  expect_error(infer("1", "2147483648", "4", "1", "1"), {"octet_infer_json", "32 bits"});
  for (const char* wrong : {"1e39", "-1e300", "1e999", "[1e39]", "null"}) {
    SCOPED_TRACE(wrong);
    expect_error(infer("1", "2", "4", "1", wrong), {});
  }
}

TEST(CApiMisuse, Options) {
  octet_node* const node = Product(1, 2, 3).node();
  for (const char* threads : {"0", "-1", "1025", "two", "", "2x", "99999999999999999999"})
    expect_error(octet_node_set_option(node, "threads", threads), {"'threads'", "1 to 1024"});
  expect_error(octet_node_set_option(node, "speed", "high"),
               {"'speed'", "threads, backend, accuracy, lstm_quantization or rowwise"});
  for (const auto& [key, values, expected] :
       {std::tuple<const char*, std::vector<const char*>, const char*>{
            "backend", {"auto", "onednn", "vector", "eigen"}, "auto, onednn, vector or eigen"},
        {"accuracy", {"exact", "fast"}, "exact or fast"},
        {"lstm_quantization", {"per_row", "per_tensor"}, "per_row or per_tensor"},
        {"rowwise", {"0", "1"}, "0 or 1"}}) {
    for (const char* wrong : {"", "Auto", "2", "exact ", "cuda"})
      expect_error(octet_node_set_option(node, key, wrong),
                   {std::string("option '") + key + "' is '" + wrong + "', expected " + expected});
    for (const char* value : values) expect_ok(octet_node_set_option(node, key, value));
  }
  octet_operator* const op = octet_operator_create(node);  // of the last values; none of the errors has changed it
  EXPECT_NE(op, nullptr) << octet_last_error();
  octet_operator_release(op);
  octet_node_release(node);
}

/// What octet_operator_create() says of a node; it must refuse it.
void expect_refused(octet_node* node, const std::vector<std::string>& parts,
                    std::int32_t code = OCTET_INVALID_ARGUMENT) {
  ASSERT_NE(node, nullptr);
  octet_operator* const op = octet_operator_create(node);
  EXPECT_EQ(op, nullptr);
  expect_last_error(parts, code);
  octet_operator_release(op);
  octet_node_release(node);
}

TEST(CApiMisuse, Nodes) {
  expect_refused(octet_node_create("", "Conv2", 10, "c"), {"Conv2"}, OCTET_NOT_IMPLEMENTED);
  expect_refused(octet_node_create("org.example", "MatMulInteger", 10, "c"), {"org.example"}, OCTET_NOT_IMPLEMENTED);
  expect_refused(octet_node_create("", "MatMulInteger", -5, "c"), {"-5"}, OCTET_NOT_IMPLEMENTED);
  expect_refused(octet_node_create("", "", 0, ""), {"operator"}, OCTET_NOT_IMPLEMENTED);
  expect_refused(octet_node_create("", "MatMulInteger", 10, "empty"), {"MatMulInteger 'empty'", "'A'", "missing"});

  octet_node* node = Product(1, 2, 3).node();
  expect_ok(octet_node_set_int(node, "transA", 1));
  expect_refused(node, {"MatMulInteger 'product'", "transA"});

  node = Product(1, 2, 3).node();
  expect_ok(octet_node_set_input(node, 0, OCTET_TYPE_FLOAT, nullptr, -1));
  expect_refused(node, {"MatMulInteger 'product'", "'A'", "float"});

  node = Product(1, 2, 3).node();
  expect_ok(octet_node_set_input(node, 4, OCTET_TYPE_UINT8, nullptr, -1));
  expect_refused(node, {"MatMulInteger 'product'", "5 inputs", "at most 4"});

  node = Product(1, 2, 3).node();
  const Dims five{5};
  const std::int8_t zero_points[5] = {};
  expect_ok(octet_node_set_constant(node, 3, OCTET_TYPE_INT8, five.data(), 1, zero_points, 5));
  expect_refused(node, {"MatMulInteger 'product'", "'b_zero_point'", "5", "N=3"});

  node = Product(1, 2, 3).node();
  expect_ok(octet_node_set_output(node, 0, OCTET_TYPE_FLOAT));
  expect_refused(node, {"MatMulInteger 'product'", "'Y'", "float"});
}

TEST(CApiMisuse, TensorsOfACall) {
  const Product product(2, 3, 4);
  octet_call* const call = product.call();
  const std::string a = "MatMulInteger 'product': input 'A'";
  const std::string y = "MatMulInteger 'product': output 'Y'";
  const Dims negative{2, -1};
  const Dims large{std::int64_t{1} << 62, std::int64_t{1} << 62};
  const Dims& dims = product.a_dims;
  std::int32_t target[8] = {};
  for (const auto set : {octet_call_set_input, octet_call_copy_input}) {
    expect_error(set(call, 0, 99, dims.data(), 2, target, 32), {a, "element type 99"});
    expect_error(set(call, 0, OCTET_TYPE_UINT8, dims.data(), -1, target, 32), {a, "rank -1"});
    expect_error(set(call, 0, OCTET_TYPE_UINT8, nullptr, 1000, target, 32), {a, "rank 1000"});
    expect_error(set(call, 0, OCTET_TYPE_UINT8, nullptr, 2, target, 32), {a, "'dims' is null"});
    expect_error(set(call, 0, OCTET_TYPE_UINT8, negative.data(), 2, target, 32), {a, "extent -1"});
    expect_error(set(call, 0, OCTET_TYPE_UINT8, large.data(), 2, target, 32), {a, "more than memory can hold"});
    expect_error(set(call, 0, OCTET_TYPE_UINT8, dims.data(), 2, target, 5), {a, "5 bytes", "at least 6"});
    expect_error(set(call, 4, OCTET_TYPE_UINT8, dims.data(), 2, target, 32), {"there is no input 4"});
    expect_error(set(call, std::uint64_t{1} << 63, OCTET_TYPE_UINT8, dims.data(), 2, target, 32),
                 {"there is no input"});
  }
  expect_error(octet_call_copy_input(call, 0, OCTET_TYPE_UINT8, dims.data(), 2, nullptr, 6), {a, "no data"});
  const Dims& y_dims = product.y_dims;
  expect_error(octet_call_set_output(call, 0, 99, y_dims.data(), 2, target, 32), {y, "element type 99"});
  expect_error(octet_call_set_output(call, 0, OCTET_TYPE_INT32, y_dims.data(), -1, target, 32), {y, "rank -1"});
  expect_error(octet_call_set_output(call, 0, OCTET_TYPE_INT32, nullptr, 2, target, 32), {y, "'dims' is null"});
  expect_error(octet_call_set_output(call, 0, OCTET_TYPE_INT32, negative.data(), 2, target, 32), {y, "extent -1"});
  expect_error(octet_call_set_output(call, 0, OCTET_TYPE_INT32, large.data(), 2, target, 32), {y, "more than memory"});
  expect_error(octet_call_set_output(call, 0, OCTET_TYPE_INT32, y_dims.data(), 2, target, 31), {y, "31 bytes", "32"});
  expect_error(octet_call_set_output(call, 0, OCTET_TYPE_INT32, y_dims.data(), 2, nullptr, 32), {y, "no data"});
  expect_error(octet_call_set_output(call, 1, OCTET_TYPE_INT32, y_dims.data(), 2, target, 32),
               {"there is no output 1"});
  expect_ok(octet_call_run(call));  // none of the errors has changed the call
  std::vector<std::int32_t> result(8);
  expect_ok(octet_call_copy_output(call, 0, result.data(), 32));
  EXPECT_EQ(result, product.expected());
  octet_call_release(call);
}

TEST(CApiMisuse, Runs) {
  const Product product(2, 3, 4);
  octet_call* const call = product.call();
  const Dims wrong_k{2, 5};
  const Dims wrong_y{4, 2};
  std::int32_t target[8] = {};
  const auto set_a = [&](std::int32_t dtype, const Dims& dims, const void* data) {
    expect_ok(octet_call_set_input(call, 0, dtype, dims.data(), static_cast<std::int32_t>(dims.size()), data, 1000));
  };
  set_a(OCTET_TYPE_UINT8, wrong_k, target);
  expect_error(octet_call_infer(call), {"MatMulInteger 'product'", "5", "3"});
  expect_error(octet_call_run(call), {"MatMulInteger 'product'", "5", "3"});
  set_a(OCTET_TYPE_FLOAT, product.a_dims, target);
  expect_error(octet_call_run(call), {"MatMulInteger 'product'", "'A'", "float"});
  std::uint64_t size = 0;
  expect_error(octet_call_explain(call, nullptr, &size), {"MatMulInteger 'product'", "'A'", "float"});
  set_a(OCTET_TYPE_ABSENT, product.a_dims, target);
  expect_error(octet_call_run(call), {"MatMulInteger 'product'", "'A'", "missing"});
  set_a(OCTET_TYPE_UINT8, product.a_dims, nullptr);
  expect_error(octet_call_run(call), {"MatMulInteger 'product'", "'A'", "no data"});

  set_a(OCTET_TYPE_UINT8, product.a_dims, product.a.data());
  expect_ok(octet_call_set_output(call, 0, OCTET_TYPE_INT32, wrong_y.data(), 2, target, 32));
  expect_error(octet_call_run(call), {"MatMulInteger 'product'", "'Y'", "[4,2]", "[2,4]"});
  expect_ok(octet_call_set_output(call, 0, OCTET_TYPE_FLOAT, product.y_dims.data(), 2, target, 32));
  expect_error(octet_call_run(call), {"MatMulInteger 'product'", "'Y'", "float", "int32"});
  expect_ok(octet_call_set_output(call, 0, OCTET_TYPE_ABSENT, nullptr, 0, nullptr, 0));
  expect_ok(octet_call_run(call));
  octet_call_release(call);
}

/// The third of QLinearConcat's `inputs`, in errors of the node, the call and the run.
TEST(CApiMisuse, MembersOfVariadicInputsAreToldApart) {
  const std::string port = "QLinearConcat 'c': input 'inputs[2]' has ";
  octet_node* const node = octet_node_create("com.microsoft", "QLinearConcat", 1, "c");
  expect_ok(octet_node_set_int(node, "axis", 0));
  const std::int32_t types[] = {OCTET_TYPE_FLOAT, OCTET_TYPE_UINT8, OCTET_TYPE_UINT8, OCTET_TYPE_FLOAT,
                                OCTET_TYPE_UINT8};
  for (std::uint64_t i = 0; i < 5; ++i) expect_ok(octet_node_set_input(node, i, types[i], nullptr, -1));
  expect_error(octet_node_set_input(node, 4, 99, nullptr, -1), {port + "the element type 99"});
  octet_operator* const op = octet_operator_create(node);
  ASSERT_NE(op, nullptr) << octet_last_error();
  octet_call* const call = octet_call_create(op);
  const Dims one{1};
  const float data = 1;
  for (std::uint64_t i = 0; i < 5; ++i)
    expect_ok(
        octet_call_set_input(call, i, types[i], one.data(), i == 2 ? 1 : 0, i == 4 ? nullptr : &data, sizeof data));
  expect_error(octet_call_set_input(call, 4, OCTET_TYPE_UINT8, nullptr, -1, &data, 1), {port + "rank -1"});
  expect_error(octet_call_run(call), {port + "no data"});
  octet_call_release(call);
  octet_operator_release(op);
  octet_node_release(node);
}

TEST(CApiMisuse, LastErrorIsOfTheThreadAndOfTheLastCall) {
  EXPECT_EQ(octet_operator_create(nullptr), nullptr);
  EXPECT_NE(octet_last_error_code(), OCTET_OK);
  std::thread([] {
    EXPECT_EQ(octet_last_error_code(), OCTET_OK);
    EXPECT_STREQ(octet_last_error(), "");
  }).join();
  octet_node* const node = octet_node_create("", "MatMulInteger", 10, "");
  EXPECT_EQ(octet_last_error_code(), OCTET_OK);
  EXPECT_STREQ(octet_last_error(), "");
  octet_node_release(node);
}

}  // namespace
