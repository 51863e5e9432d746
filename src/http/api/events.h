// events.h -- streams of events (text/event-stream, WHATWG HTML 9.2) that a Reply carries.
#pragma once
#include <string>
#include <string_view>
#include "http/api/server.h"

namespace bora::http {
/// The headers of an answer of events, which nothing between server and client keeps back.
Headers event_stream();
/// "data: ..\n\n": one event; each line of the data becomes a line of it.
std::string event(std::string_view data);
}  // namespace bora::http
