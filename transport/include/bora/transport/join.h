// join.h -- joining a job whose launcher may know, sooner than the ranks that meet, that one of them will not come.
#pragma once
#include <functional>
#include <string>
#include "bora/transport/transport.h"

namespace bora::transport {
/// As join(). While ranks are missing `given_up` is asked, some 20 times a second, on this thread: a text that is not
/// empty ends the wait with RankLost of that text.
ContextPtr join(const Config&, const std::function<std::string()>& given_up);
}  // namespace bora::transport
