// Which backend multiplies.
#pragma once

#include "provider/core/product.hpp"

namespace octet::core {

/// The first backend, in the order that measurements gave, that the option `backend` allows and that does not refuse.
/// The decision names its implementation.
Choice<Product> choose_product(const Options& options, const std::string& label, const ProductRequest& request);

}  // namespace octet::core
