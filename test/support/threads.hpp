// A parallel_for on plain std::threads, which ThreadSanitizer understands.
#pragma once

#include <octet/octet.hpp>

namespace octet::test {

/// A call that lends `threads` threads; each run starts and joins its own. `threads` 0: nothing is lent.
Call lend_threads(int threads);

}  // namespace octet::test
