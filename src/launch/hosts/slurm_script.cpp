#include <cmath>
#include <cstdio>
#include "bora/base/error.h"
#include "launch/api/allocation.h"

namespace bora::launch {
namespace {
constexpr int kSaveAhead = 300;  // seconds before its limit in which a job saves once more
std::string limit_of(double seconds) {
  auto minutes = static_cast<long long>(std::floor(seconds / 60));
  char text[64];
  std::snprintf(text, sizeof text, "%lld-%02lld:%02lld:00", minutes / 1440, minutes / 60 % 24, minutes % 60);
  return text;
}
}  // namespace

std::string in_shell(const std::string& word) {
  bool plain = !word.empty() && word.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                                       "_-+=:,./@%") == word.npos;
  if (plain) return word;
  std::string s = "'";
  for (char c : word) s += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return s + "'";
}
std::string slurm_script(const SlurmJob& job) {
  auto line = [](const std::string& text) {
    check<ConfigError>(text.find('\n') == text.npos, "--slurm-script: a line of the script cannot hold '", text, "'");
    return text + "\n";
  };
  // Slurm reads a value up to the next blank, unless it is in double quotes.
  auto value = [](const std::string& text) {
    check<ConfigError>(text.find("\"") == text.npos, "--slurm-script: a value of #SBATCH cannot hold '", text, "'");
    return text.find_first_of(" \t#") == text.npos ? text : "\"" + text + "\"";
  };
  check<ConfigError>(job.seconds == 0 || job.seconds >= 60, "--slurm-script: deadline: Slurm's limits are of minutes; "
                     "got ", job.seconds, " s");
  std::string s = "#!/bin/sh\n";
  auto sbatch = [&](const std::string& option) { s += line("#SBATCH --" + option); };
  sbatch("job-name=" + value(job.name));
  sbatch("chdir=" + value(job.folder));
  sbatch("ntasks=" + std::to_string(job.ranks));
  if (job.threads > 0) sbatch("cpus-per-task=" + std::to_string(job.threads));
  if (job.seconds > 0) sbatch("time=" + limit_of(job.seconds));
  sbatch("output=" + value(job.name + "-%j.log"));
  sbatch("open-mode=append");
  sbatch("requeue");
  if (job.elastic) sbatch("no-kill");
  sbatch("signal=USR1@" + std::to_string(kSaveAhead));
  s += "# A batch job that is requeued until its run is done: `sbatch` with this file starts it, `scancel` ends it.\n"
       "# Bora stops in order before the limit of time (deadline: auto) and ends with 130; the next start continues.\n"
       "# Where Slurm has neither scontrol nor sbatch on its nodes, submit a second job beside it:\n"
       "#   id=$(sbatch --parsable FILE) && sbatch --dependency=afternotok:$id FILE\n";
  if (job.seconds == 0) s += "# Without `#SBATCH --time=12:00:00` above the limit is that of the partition.\n";
  s += "ended=\n"
       "trap 'ended=1' TERM INT  # scancel, or the end of the allocation\n";
  s += line("saved() { ls " + in_shell(job.out + "/checkpoints") + " 2>/dev/null; }");
  s += "before=$(saved)\n";
  s += line(job.command);
  s += "code=$?\n"
       "[ \"$code\" -eq 130 ] || exit \"$code\"\n"
       "state=$(squeue -h -j \"$SLURM_JOB_ID\" -o %T 2>/dev/null) || state=\n"
       "if [ -n \"$ended\" ] || { [ -n \"$state\" ] && [ \"$state\" != RUNNING ]; }; then\n"
       "  echo \"job $SLURM_JOB_ID was cancelled, and is not requeued\"\n"
       "elif [ \"$before\" = \"$(saved)\" ]; then\n"
       "  echo \"job $SLURM_JOB_ID got no further, and is not requeued: raise its limit of time\"\n"
       "elif command -v scontrol >/dev/null && scontrol requeue \"$SLURM_JOB_ID\"; then\n"
       "  echo \"job $SLURM_JOB_ID is requeued\"\n"
       "elif command -v sbatch >/dev/null && sbatch --dependency=afternotok:\"$SLURM_JOB_ID\" \"$0\"; then\n"
       "  echo \"job $SLURM_JOB_ID goes on in another one\"\n"
       "else\n"
       "  echo \"job $SLURM_JOB_ID cannot be requeued from here: submit it again, and it goes on\"\n"
       "fi\n"
       "exit 130\n";
  return s;
}
}  // namespace bora::launch
