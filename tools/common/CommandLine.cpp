//===- CommandLine.cpp - errors, exit statuses and flag parsing -----------===//
#include "tools/common/CommandLine.h"

#include "runtime/base/Cancellation.h"
#include "runtime/base/Suggest.h"

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <string>
#include <vector>

using namespace minigptc;
using runtime::Status;
using runtime::StatusCode;

int minigptc::exitStatusOf(const Status &status) {
  switch (status.code()) {
  case StatusCode::ok: return 0;
  case StatusCode::invalidArgument: return 2;
  case StatusCode::nonFinite: return 3;
  case StatusCode::cancelled: return 130;
  default: return 1;
  }
}

int minigptc::reportError(const Status &status) {
  fflush(stdout);
  fprintf(stderr, "minigptc: error: %s\n", status.toString().c_str());
  return exitStatusOf(status);
}

void minigptc::printRemark(const std::string &text) {
  fprintf(stderr, "minigptc: remark: %s\n", text.c_str());
}

int minigptc::reportStatus(const Status &status) { return status.ok() ? 0 : reportError(status); }

/// The deepest subcommand that was chosen.
static const CLI::App &chosen(const CLI::App &app) {
  auto subcommands = app.get_subcommands();
  return subcommands.empty() ? app : chosen(*subcommands.front());
}

/// The command as it is typed: "minigptc data stories".
static std::string commandLineOf(const CLI::App &command) {
  const CLI::App *parent = command.get_parent();
  return (parent ? commandLineOf(*parent) + " " : "") + command.get_name();
}

/// What the user may have meant by a word that is no flag or subcommand.
static std::string suggestWord(const CLI::App &app, const std::string &word) {
  std::vector<std::string> known;
  if (word.rfind("-", 0) == 0) {
    for (const CLI::Option *option : app.get_options())
      for (const std::string &name : option->get_lnames())
        known.push_back("--" + name);
  } else {
    for (const CLI::App *subcommand : app.get_subcommands([](const CLI::App *) { return true; }))
      known.push_back(subcommand->get_name());
  }
  std::string begun = word.substr(0, word.find('='));
  auto goesOn = [&](const std::string &name) { return name.starts_with(begun); };
  // "--out" means "--output", though "--set" is as near.
  std::string nearest = std::ranges::count_if(known, goesOn) == 1
                            ? *std::ranges::find_if(known, goesOn)
                            : runtime::nearestName(begun, known);
  return nearest.empty() ? "`" + commandLineOf(app) + " --help` lists what there is"
                         : "did you mean '" + nearest + "'?";
}

static int usageError(std::string message, std::string help) {
  return reportError(
      Status(StatusCode::invalidArgument, std::move(message)).withHelp(std::move(help)));
}

/// The deepest subcommand that was chosen, but for a first word that is none:
/// `minigptc compiel train` is no `minigptc train`.
static const CLI::App &misread(const CLI::App &app) {
  return app.remaining(/*recurse=*/false).empty() ? chosen(app) : app;
}

/// The flag that is given more often than it may be.
static std::string repeatedFlag(const CLI::App &command) {
  for (const CLI::Option *option : command.get_options())
    if (option->get_items_expected_max() == 1 && option->count() > 1)
      return option->get_name();
  return "";
}

/// A value of no characters, as of a variable that is not set, is no way to leave a flag out:
/// refused, but where text is asked for ("TEXT", which strings without a type name are, too).
static void refuseEmptyValues(CLI::App &app) {
  auto notEmpty = [](std::string &value) {
    return std::string(value.empty() ? "the value is empty: leave the flag out, or name one" : "");
  };
  for (CLI::Option *option : app.get_options())
    if (option->get_items_expected_max() > 0 && option->get_type_name() != "TEXT")
      option->check(CLI::Validator(notEmpty, ""));
  for (CLI::App *subcommand : app.get_subcommands([](CLI::App *) { return true; }))
    refuseEmptyValues(*subcommand);
}

/// Whether the command, or one below it, has a flag of that name with a value.
static bool takesValue(const CLI::App &app, const std::string &flag) {
  const CLI::Option *option = app.get_option_no_throw(flag);
  if (option && option->get_items_expected_max() > 0)
    return true;
  return std::ranges::any_of(app.get_subcommands([](const CLI::App *) { return true; }),
                             [&](const CLI::App *below) { return takesValue(*below, flag); });
}

/// The last one first, as CLI11 wants them. For the value of "--out=" it would take the next word;
/// it is the empty one.
static std::vector<std::string> wordsOf(const CLI::App &app, int argc, char **argv) {
  std::vector<std::string> words;
  bool mayBeFlag = true;
  for (int i = 1; i < argc; ++i) {
    std::string word = argv[i];
    mayBeFlag &= word != "--";
    bool hasEmptyValue = mayBeFlag && word.starts_with("--") && word.find('=') == word.size() - 1 &&
                         takesValue(app, word.substr(0, word.size() - 1));
    if (hasEmptyValue)
      word.pop_back();
    words.push_back(std::move(word));
    if (hasEmptyValue)
      words.emplace_back();
  }
  std::ranges::reverse(words);
  return words;
}

static int parse(CLI::App &app, int argc, char **argv, int &exitStatus) {
  try {
    refuseEmptyValues(app);
    app.parse(wordsOf(app, argc, argv));
    return exitStatus;
  } catch (const CLI::CallForHelp &e) {
    return app.exit(e);
  } catch (const CLI::CallForAllHelp &e) {
    return app.exit(e);
  } catch (const CLI::CallForVersion &e) {
    return app.exit(e);
  } catch (const CLI::ParseError &e) {
    const CLI::App &command = chosen(app);
    std::vector<std::string> extras = app.remaining(/*recurse=*/true);
    if (!extras.empty())
      return usageError((extras[0][0] == '-' ? "unknown flag '" : "unexpected argument '") +
                            extras[0] + "'",
                        suggestWord(misread(app), extras[0]));
    if (std::string flag = repeatedFlag(command); !flag.empty())
      return usageError(flag + " is given more than once", "which one is meant? Keep that");
    // "--mode: 1 required MODE missing"
    std::string what = e.what();
    if (size_t colon = what.find(": 1 required ");
        what.ends_with(" missing") && colon < what.size())
      what = what.substr(0, colon) + " is given without a value";
    return usageError(what, "`" + commandLineOf(command) + " --help` shows the usage");
  }
}

void minigptc::prepareSignals() {
  runtime::endOnSignals("minigptc: error: interrupted\n");
  std::signal(SIGXFSZ, SIG_IGN);
}

CLI::Validator minigptc::between(int64_t least, int64_t most) {
  auto inRange = [least, most](std::string &value) -> std::string {
    int64_t number = 0;
    if (CLI::detail::lexical_cast(value, number) && number >= least && number <= most)
      return "";
    return "must be between " + std::to_string(least) + " and " + std::to_string(most) + ", not " +
           value;
  };
  return CLI::Validator(inRange, "");
}

void minigptc::addThreadsOption(CLI::App &app, int &threads, const std::string &what) {
  app.add_option("--threads", threads, what)->type_name("N")->check(between(1, 1024));
}

int minigptc::parseCommandLine(CLI::App &app, int argc, char **argv, int &exitStatus) {
  try {
    return parse(app, argc, argv, exitStatus);
  } catch (const std::bad_alloc &) {
    return reportError(Status(StatusCode::resourceExhausted, "out of memory"));
  } catch (const std::exception &e) {
    return reportError(Status(StatusCode::internal, e.what()));
  }
}
