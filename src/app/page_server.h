// page_server.h -- the page of a run behind Bora's HTTP server. Private to the command.
#pragma once
#include "bora/track/page.h"
#include "bora/train/settings.h"

namespace bora::app {
/// Serves a run's page where the settings say, as long as the function or a copy of it lives. Sources that come later
/// take the place of the first one, under the same address. It throws IoError if nothing can listen there, or for the
/// token's file.
track::ServePage page_server(const training::PageSettings&);
}  // namespace bora::app
