#include "serve/exchange.h"
#include <algorithm>
#include <utility>
#include "bora/base/text.h"
#include "text/api/utf8.h"

namespace bora::serve {
using generate::Finish;

namespace {
/// Each piece by itself, so that a stream's pieces are the whole text also where bytes are no characters.
std::string as_utf8(const std::string& text) {
  std::string copy;
  return std::string(text::valid_utf8(text, copy));
}
}  // namespace

void send_json(Reply& reply, int status, std::string body, Headers more) {
  more.emplace_back("Content-Type", "application/json");
  reply.send(status, std::move(more), std::move(body));
}
void send_error(Reply& reply, const Refused& e, std::chrono::seconds retry_after) {
  Headers more;
  // Clients repeat these by themselves, and must not repeat what has cost work.
  if (e.status == 429 || e.status == 503) more.emplace_back("Retry-After", std::to_string(retry_after.count()));
  else if (e.status >= 500) more.emplace_back("x-should-retry", "false");
  send_json(reply, e.status, error_body(e), std::move(more));
}

Exchange::Exchange(Common& common, Desk& writing, Call call, std::shared_ptr<const Model> model,
                   std::shared_ptr<const Names> names, std::shared_ptr<Reply> reply)
    : common_(common), writing_(writing), call_(std::move(call)), model_(std::move(model)),
      forms_(call_, model_, std::move(names), new_id(call_.kind),
             std::chrono::duration_cast<std::chrono::seconds>(std::chrono::system_clock::now().time_since_epoch())
                 .count()),
      reply_(std::move(reply)), choices_(call_.prompts.size() * static_cast<std::size_t>(call_.n)),
      tracks_(choices_.size()), echoed_(call_.prompts.size(), !call_.echo) {
  for (std::size_t i = 0; i < choices_.size(); ++i) choices_[i].index = static_cast<std::int64_t>(i);
}
std::size_t Exchange::at(std::size_t prompt, std::int64_t choice) const {
  return prompt * static_cast<std::size_t>(call_.n) + static_cast<std::size_t>(choice);
}
generate::Listener Exchange::listener(std::size_t p) {
  auto self = shared_from_this();
  // The weights may be replaced between requests, on the engine's thread.
  auto post = [self](auto f) {
    if (!std::exchange(self->told_, true)) {
      auto weights = self->common_.current()->fingerprint;
      self->writing_.post([self, weights] { self->begin(weights); });
    }
    self->writing_.post([self, f = std::move(f)]() mutable { f(*self); });
  };
  return {.prompt = [post, p](const std::vector<std::optional<Chosen>>& all) {
            post([p, all](Exchange& e) { e.echo(p, all); });
          },
          .token = [post, p](std::int64_t choice, const Chosen& chosen, const std::string& text) {
            post([p, choice, chosen, text, now = Clock::now()](Exchange& e) { e.token(p, choice, chosen, text, now); });
          },
          .end = [post, p](std::int64_t choice, const End& end) {
            post([p, choice, end](Exchange& e) { e.ended(p, choice, end); });
          },
          .done = [post](std::int64_t cached) { post([cached](Exchange& e) { e.done(cached); }); }};
}
void Exchange::submit() {
  reply_->on_gone([weak = weak_from_this()] {
    if (auto self = weak.lock()) self->gone();
  });
  for (std::size_t p = 0; p < call_.prompts.size() && !over_; ++p) {
    auto request = std::move(call_.prompts[p].request);
    usage_.prompt += std::ssize(request.inputs.empty() ? request.prompt : request.inputs);
    if (call_.logprobs && call_.kind == Kind::completion)
      call_.prompts[p].request.prompt = request.prompt;  // for the places of tokens in the text
    if (common_.options.time.count() > 0) request.deadline = began_ + common_.options.time;
    try {
      std::lock_guard lock(mutex_);  // who leaves meanwhile cancels afterwards
      if (gone_) over_ = true;
      else if (auto id = common_.engine.submit(std::move(request), listener(p))) ids_.push_back(*id);
      else if (common_.engine.report().failed) throw Refused(503, "", "unavailable", "the engine has failed");
      else throw Refused(429, "", "queue_full", "the queue is full; try again later");
    } catch (const Refused& e) {
      fail(common_.closed ? common_.unavailable() : e);
    } catch (const Error& e) { fail({400, "", "", e.text()}); }
  }
  if (over_ || !call_.stream) return;
  begun_ = true;
  reply_->begin();
}
void Exchange::begin(const std::string& fingerprint) {
  forms_.fingerprint(fingerprint);
  if (over_ || !call_.stream || call_.kind != Kind::chat) return;
  for (auto& c : choices_) reply_->event(forms_.first(c.index));
}
void Exchange::cancel() {
  std::vector<generate::Engine::Id> ids;
  {
    std::lock_guard lock(mutex_);
    ids = ids_;
  }
  for (auto id : ids) common_.engine.cancel(id);
}
void Exchange::gone() {
  {
    std::lock_guard lock(mutex_);
    gone_ = true;
  }
  cancel();
  writing_.post([self = shared_from_this()] {
    if (std::exchange(self->over_, true)) return;
    self->common_.metrics.ended("abort", std::chrono::duration<double>(Clock::now() - self->began_).count());
  });
}
void Exchange::fail(const Refused& e) {
  if (std::exchange(over_, true)) return;
  cancel();
  common_.metrics.ended("error", std::chrono::duration<double>(Clock::now() - began_).count());
  if (!begun_) return send_error(*reply_, e, common_.options.retry_after);
  reply_->event(error_body(e));
  reply_->end();
}
Logged Exchange::logged(Track& t, const Chosen& chosen) {
  Logged l{chosen, t.offset};
  if (call_.kind != Kind::completion || chosen.id >= model_->tokenizer->size()) return l;
  auto text = as_utf8(t.decoder->next(chosen.id));
  t.offset += characters(text);
  // A part of a character that the token does not go on with became text before it.
  auto own = model_->tokenizer->bytes_of(chosen.id);
  if (first_not_utf8(own) == own.npos && text.ends_with(own)) l.offset = t.offset - characters(own);
  return l;
}
void Exchange::echo(std::size_t p, const std::vector<std::optional<Chosen>>& all) {
  auto& prompt = call_.prompts[p];
  bool said = !echoed_[p];  // once, also where an engine has no numbers to tell
  echoed_[p] = true;
  for (std::int64_t c = 0; c < call_.n; ++c) {
    Choice part{.index = choices_[at(p, c)].index};
    auto& track = tracks_[at(p, c)];
    if (call_.logprobs && call_.kind == Kind::completion && !track.decoder) {
      track.decoder.emplace(model_->tokenizer);
      auto& ids = prompt.request.prompt;
      for (std::size_t i = 0; i < ids.size(); ++i) {
        Chosen chosen = i < all.size() && all[i] ? *all[i] : Chosen{.id = ids[i]};
        auto l = logged(track, chosen);
        l.known = i < all.size() && all[i].has_value();
        if (static_cast<std::int64_t>(i) < prompt.before) track.offset = 0;  // these are no part of the text
        if (call_.echo) part.tokens.push_back(std::move(l));
      }
      if (!call_.echo) track.offset = 0;
      if (!call_.special) {  // those of an answer are left out, and those of a prompt are not
        track.decoder.emplace(model_->tokenizer, text::DecodeOptions{.special = false});
        for (auto id : ids) (void)track.decoder->next(id);
      }
    }
    if (!said || over_) continue;
    part.text = as_utf8(prompt.text);
    if (call_.stream) reply_->event(forms_.part(part));
    else {
      choices_[at(p, c)].text = part.text;
      choices_[at(p, c)].tokens = std::move(part.tokens);
    }
  }
}
void Exchange::token(std::size_t p, std::int64_t choice, const Chosen& chosen, const std::string& text,
                     Clock::time_point now) {
  if (over_) return;
  if (!tracks_[at(p, choice)].last) echo(p, {});
  auto& track = tracks_[at(p, choice)];
  auto seconds = [&](Clock::time_point since) { return std::chrono::duration<double>(now - since).count(); };
  if (std::exchange(first_, false)) common_.metrics.first_token(seconds(began_));
  if (track.last) common_.metrics.next_token(seconds(*track.last));
  track.last = now;
  auto& all = choices_[at(p, choice)];
  Choice part{.index = all.index, .text = as_utf8(text)};
  if (call_.logprobs) part.tokens.push_back(logged(track, chosen));
  if (!call_.stream) {
    all.text += part.text;
    for (auto& t : part.tokens) all.tokens.push_back(std::move(t));
  } else if (!text.empty() || call_.logprobs) reply_->event(forms_.part(part));
}
void Exchange::ended(std::size_t p, std::int64_t choice, const End& end) {
  usage_.answer += end.tokens;
  if (over_) return;
  if (end.finish == Finish::failed || end.finish == Finish::cancelled) {
    if (common_.closed) return fail(common_.unavailable());
    if (end.finish == Finish::cancelled) return fail({500, "", "cancelled", "the request was cancelled"});
    bool late = common_.options.time.count() > 0 && Clock::now() >= began_ + common_.options.time;
    if (late) return fail({504, "", "timeout", end.error + "; ask for fewer tokens (--request-time)"});
    if (common_.engine.report().failed) return fail({503, "", "unavailable", end.error});
    return fail({500, "", "failed", end.error});
  }
  echo(p, {});
  auto& all = choices_[at(p, choice)];
  Choice part{.index = all.index, .text = as_utf8(end.text), .finish = end.finish, .stop = end.stop};
  if (!call_.stream) {
    all.text += part.text;
    all.finish = end.finish;
    all.stop = end.stop;
    return;
  }
  if (call_.kind == Kind::chat && !part.text.empty()) {
    reply_->event(forms_.part({.index = all.index, .text = part.text}));
    part.text.clear();
  }
  all.finish = end.finish;
  reply_->event(forms_.part(part));
}
void Exchange::done(std::int64_t cached) {
  usage_.cached += cached;
  if (++done_ < call_.prompts.size() || over_) return;
  over_ = true;
  bool length = std::ranges::any_of(choices_, [](auto& c) { return c.finish == Finish::length; });
  common_.metrics.ended(length ? "length" : "stop",
                        std::chrono::duration<double>(Clock::now() - began_).count());
  if (!call_.stream) return send_json(*reply_, 200, forms_.whole(choices_, usage_));
  if (call_.include_usage) reply_->event(forms_.usage(usage_));
  reply_->event("[DONE]");
  reply_->end();
}
}  // namespace bora::serve
