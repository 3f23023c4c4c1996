// The table of what the process shares.
#include <gtest/gtest.h>

#include <deque>
#include <memory>

#include "provider/core/weak_table.hpp"

namespace octet::core {
namespace {

TEST(WeakTable, SharesWhatIsHeld) {
  WeakTable<int, const int> table;
  const auto get = [&](int key, int value) {
    return table.get(key, [=](int held) { return held == value; }, [=] { return std::make_shared<const int>(value); });
  };
  const auto first = get(1, 5), second = get(1, 6);
  EXPECT_NE(first, second);
  EXPECT_EQ(get(1, 5), first);
  EXPECT_EQ(get(1, 6), second);
  EXPECT_NE(get(2, 5), first);
}

TEST(WeakTable, KeepsNothingOfWhatIsGone) {
  constexpr std::size_t kHeld = 100;
  WeakTable<int, const int> table;
  std::deque<std::shared_ptr<const int>> held;
  for (int i = 0; i < 100000; ++i) {
    held.push_back(table.get(i, [](int) { return true; }, [=] { return std::make_shared<const int>(i); }));
    if (held.size() > kHeld) held.pop_front();
    ASSERT_LE(table.size(), 2 * kHeld + table.kLeast);
  }
  for (const auto& value : held) {
    const auto found =
        table.get(*value, [](int) { return true; }, []() -> std::shared_ptr<const int> { return nullptr; });
    EXPECT_EQ(found, value);
  }
}

}  // namespace
}  // namespace octet::core
