//===- Stories.cpp - small English stories from a seeded grammar ----------===//
//
// Templates hold slots in braces. A slot that names a list is drawn anew each
// time; the hero's slots (name, they, them, their, animal, place, thing, friend)
// are drawn once a story.
//
//===----------------------------------------------------------------------===//
#include "tools/minigptc/Stories.h"

#include <map>
#include <random>
#include <vector>

using namespace minigptc;

namespace {

using Words = std::vector<const char *>;

const std::map<std::string, Words> &lists() {
  static const std::map<std::string, Words> words = {
      {"girl", {"Lily", "Anna", "Mia", "Rosa", "Emma", "Clara", "Nora", "Ella", "Ida", "Zoe"}},
      {"boy", {"Tom", "Ben", "Max", "Sam", "Leo", "Finn", "Jack", "Otto", "Paul", "Tim"}},
      {"animal",
       {"dog", "cat", "fox", "rabbit", "bear", "mouse", "duck", "owl", "hedgehog", "pony"}},
      {"look",
       {"little", "young", "clever", "shy", "brave", "funny", "kind", "curious", "tired", "happy"}},
      {"place",
       {"the forest", "the garden", "the park", "the old barn", "the river", "the hill",
        "the beach", "the village", "the meadow", "the big house"}},
      {"thing",
       {"red ball", "blue kite", "wooden boat", "shiny key", "warm hat", "silver bell",
        "small drum", "paper star", "round stone", "yellow cup"}},
      {"food",
       {"apples", "bread", "honey", "soup", "berries", "cake", "nuts", "cheese", "plums",
        "carrots"}},
      {"weather",
       {"The sun was shining", "It was raining", "The wind was cold", "Snow lay on the ground",
        "The sky was blue", "A soft fog lay over the fields", "It was a warm evening"}},
      {"happy", {"happy", "glad", "proud", "very happy", "full of joy"}},
      {"sad", {"sad", "afraid", "worried", "lonely", "angry"}},
      {"when",
       {"One day", "One morning", "The next day", "Early one morning", "On a quiet afternoon",
        "One evening"}},
      {"move", {"ran", "walked", "went", "hurried", "skipped", "crept"}},
      {"said", {"said", "asked", "called", "whispered", "cried"}},
  };
  return words;
}

const Words kOpenings = {
    "Once upon a time there was a {look} {kind} named {name}. ",
    "There once lived a {look} {kind} whose name was {name}. ",
    "Once upon a time a {look} {kind} called {name} lived near {place}. ",
    "In a small house by {place} lived a {look} {kind}. The name of the {kind} was {name}. ",
};
const Words kWishes = {
    "{name} had a {thing} and loved it very much. ",
    "{name} wanted to find a {thing}. ",
    "Every day {name} played near {place} with a {thing}. ",
    "{name} liked to eat {food} and to play with the {thing}. ",
    "More than anything {name} wished for a {thing}. ",
};
const Words kTroubles = {
    "{when} {name} {move} to {place}, but the {thing} was gone. {They} looked under the stones and "
    "behind the trees. ",
    "{when} {name} lost the {thing} near {place}. \"Oh no!\" {they} {said}. \"Where is my "
    "{thing}?\" ",
    "{weather}. {name} {move} to {place} alone and could not find the way home. {They} felt "
    "{sad}. ",
    "{when} a big {animal2} took the {thing} and {move} away. {name} was {sad}. ",
    "{when} {name} fell into the water. {They} shouted for help. {weather}. ",
};
const Words kMeetings = {
    "Then {they} met a {look} {friend}. \"Why are you {sad}?\" the {friend} asked. ",
    "A {look} {friend} came by. \"Can I help you?\" {said} the {friend}. ",
    "Near {place} {they} saw a {friend} who was eating {food}. \"Please help me,\" {said} {name}. ",
    "\"Do not cry,\" {said} a {look} {friend}. \"I will help you.\" ",
};
const Words kHelps = {
    "Together they {move} back to {place} and looked for a long time. At last they found the "
    "{thing}. ",
    "The {friend} knew the way. They {move} past the river and over the hill until they saw "
    "{place}. ",
    "The {friend} gave {name} some {food} and a {thing}. \"This is for you,\" the {friend} said. ",
    "They worked all day. When the moon came out, the {thing} was there again. ",
};
const Words kEndings = {
    "{name} was {happy}. From that day on, {name} and the {friend} were friends.\n\n",
    "{name} thanked the {friend} and shared the {food} with {them2}. They were both {happy}.\n\n",
    "\"Thank you,\" {said} {name}. {They} {move} home and told {their} mother everything.\n\n",
    "That night {name} slept well, and {their} {thing} lay next to {them}. The end.\n\n",
    "And {name} never went to {place} alone again. {They} had learned to ask for help.\n\n",
};

class Teller {
public:
  explicit Teller(uint64_t seed) : random(seed) {}

  std::string story() {
    hero.clear();
    bool isAnimal = draw(3) == 0, isGirl = draw(2) == 0;
    hero = {{"name", pick(isGirl ? "girl" : "boy")},
            {"kind", isAnimal ? pick("animal")
                     : isGirl ? "girl"
                              : "boy"},
            {"they", isGirl ? "she" : "he"},
            {"They", isGirl ? "She" : "He"},
            {"them", isGirl ? "her" : "him"},
            {"their", isGirl ? "her" : "his"},
            {"place", pick("place")},
            {"thing", pick("thing")},
            {"food", pick("food")},
            {"friend", pick("animal")},
            {"animal2", pick("animal")},
            {"them2", "the others"}};
    std::string text = tell(kOpenings) + tell(kWishes) + tell(kTroubles) + tell(kMeetings);
    if (draw(2))
      text += tell(kHelps);
    return text + tell(kHelps) + tell(kEndings);
  }

private:
  size_t draw(size_t n) { return size_t(random() % n); }
  std::string pick(const std::string &list) {
    const Words &words = lists().at(list);
    return words[draw(words.size())];
  }

  std::string tell(const Words &templates) {
    std::string pattern = templates[draw(templates.size())], text;
    for (size_t i = 0; i < pattern.size();) {
      size_t open = std::min(pattern.find('{', i), pattern.size());
      text += pattern.substr(i, open - i);
      if (open == pattern.size())
        break;
      size_t close = pattern.find('}', open);
      std::string slot = pattern.substr(open + 1, close - open - 1);
      auto known = hero.find(slot);
      text += known != hero.end() ? known->second : pick(slot);
      i = close + 1;
    }
    return text;
  }

  std::mt19937_64 random;
  std::map<std::string, std::string> hero;
};

} // namespace

bool minigptc::writeStories(int64_t bytes, uint64_t seed,
                            const std::function<bool(const std::string &)> &write) {
  Teller teller(seed);
  while (bytes > 0) {
    std::string story = teller.story();
    if (int64_t(story.size()) > bytes)
      story.resize(size_t(bytes));
    if (!write(story))
      return false;
    bytes -= int64_t(story.size());
  }
  return true;
}
