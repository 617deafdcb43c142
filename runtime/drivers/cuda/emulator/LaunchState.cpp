#include "runtime/drivers/cuda/emulator/LaunchState.h"

#include <algorithm>

namespace minigptc::runtime::emulator {

static constexpr uint32_t kNoSite = ~0u;
static constexpr size_t kNotKept = ~size_t(0);

static std::array<uint32_t, 3> split(uint32_t index, Dim3 size) {
  return {index % size.x, index / size.x % size.y, index / size.x / size.y};
}

std::string LaunchState::siteText(uint32_t number) const {
  const Site &site = record.sites[number];
  std::string text = site.what;
  if (site.line)
    text += " at " + std::string(site.file) + ":" + std::to_string(site.line);
  return text;
}

std::array<uint32_t, 3> LaunchState::blockPlace(uint32_t block) const {
  return split(block, launch.grid);
}

std::array<uint32_t, 3> LaunchState::threadPlace(uint32_t thread) const {
  return split(thread, launch.block);
}

Finding *LaunchState::add(FindingKind kind, const GpuThread &thread, uint32_t site,
                          uint32_t otherSite) {
  ++findings.total;
  auto [entry, isNew] = known.try_emplace({kind, site, otherSite}, kNotKept);
  if (!isNew) {
    if (entry->second != kNotKept)
      ++findings.findings[entry->second].count;
    return nullptr;
  }
  if (findings.findings.size() >= options.maxFindings)
    return nullptr;
  entry->second = findings.findings.size();
  Finding &finding = findings.findings.emplace_back();
  finding.kind = kind;
  finding.kernel = record.name;
  finding.site = siteText(site);
  finding.block = {thread.block[0], thread.block[1], thread.block[2]};
  finding.thread = {thread.thread[0], thread.thread[1], thread.thread[2]};
  return &finding;
}

void LaunchState::report(FindingKind kind, const GpuThread &thread, uint32_t site,
                         std::string detail, uintptr_t address) {
  if (Finding *finding = add(kind, thread, site, kNoSite)) {
    finding->detail = std::move(detail);
    finding->address = address;
  }
}

void LaunchState::reportPair(FindingKind kind, const GpuThread &thread, uint32_t site,
                             const GpuThread &other, uint32_t otherSite, std::string detail) {
  if (Finding *finding = add(kind, thread, site, otherSite)) {
    finding->detail = std::move(detail);
    finding->hasOther = true;
    finding->otherBlock = finding->block;
    finding->otherThread = threadPlace(other.index);
    finding->otherSite = siteText(otherSite);
  }
}

void LaunchState::report(const Clash &clash, const GpuThread &thread, uint32_t site,
                         const std::string &where) {
  bool ofLaunch = clash.other.time() >= launchTime && clash.kind != FindingKind::uninitialised;
  Finding *finding = add(clash.kind, thread, site, ofLaunch ? clash.other.site() : kNoSite);
  if (!finding)
    return;
  finding->detail = where;
  finding->address = clash.address;
  if (!ofLaunch)
    return;
  auto after = std::upper_bound(blockTimes.begin(), blockTimes.end(), clash.other.time());
  finding->hasOther = true;
  finding->otherBlock = blockPlace(blocks[size_t(after - blockTimes.begin()) - 1]);
  finding->otherThread = threadPlace(clash.other.thread());
  finding->otherSite = siteText(clash.other.site());
}

} // namespace minigptc::runtime::emulator
