/* variables.c - the environment variables that the library reads; see variables.h. */
#include "variables.h"

#include <limits.h>
#include <stddef.h>

#include "physics/tree_mac.h"
#include "sapporo.h"

#define WORDS(...)                                                                                                     \
    (const struct sap_word[])                                                                                          \
    {                                                                                                                  \
        __VA_ARGS__, { NULL, 0 }                                                                                       \
    }

/* Words and accuracies of the acceptance criteria. */
#define COMMA ,
#define MAC_WORD(name, number, word, accuracy, by_a, by_pull, ball)                                                    \
    {                                                                                                                  \
        word, number                                                                                                   \
    }
#define MAC_ACCURACY(name, number, word, accuracy, by_a, by_pull, ball) word " " #accuracy

#define RANK(text, launcher)                                                                                           \
    {                                                                                                                  \
        .name = text, .type = SAP_TYPE_COUNT, .bad = SAP_BAD_WARNED, .audience = SAPPORO_FOR_OTHERS, .least = 0,       \
        .most = INT_MAX, .usual = "",                                                                                  \
        .about = "Rank of the process on its machine, set by " launcher ": which of "                                  \
                 "several devices the process uses"                                                                    \
    }

#define PLACES(text)                                                                                                   \
    {                                                                                                                  \
        .name = text, .type = SAP_TYPE_TEXT, .bad = SAP_BAD_NONE, .audience = SAPPORO_FOR_OTHERS,                      \
        .values = "as OpenMP reads it", .usual = "threads may use the affinity mask of the thread that starts them",   \
        .about = "If it is set, in a program that has an OpenMP run time, threads may use all places of that run time" \
    }

#define DRIVERS(text)                                                                                                  \
    {                                                                                                                  \
        .name = text, .type = SAP_TYPE_TEXT, .bad = SAP_BAD_NONE, .audience = SAPPORO_FOR_OTHERS,                      \
        .values = "as OpenCL reads it", .usual = "`auto` does not load OpenCL if PoCL is its only driver",             \
        .about = "If it is set, `auto` loads OpenCL and asks its drivers for devices"                                  \
    }

const struct sap_variable_row sap_variables[SAP_VARIABLES] = {
    [SAP_VAR_BACKEND] = {.name = "SAPPORO_BACKEND",
                         .type = SAP_TYPE_WORD,
                         .bad = SAP_BAD_USE,
                         .words = WORDS({"auto", SAPPORO_BACKEND_AUTO}, {"cuda", SAPPORO_BACKEND_CUDA},
                                        {"hip", SAPPORO_BACKEND_HIP}, {"opencl", SAPPORO_BACKEND_OPENCL},
                                        {"cpu", SAPPORO_BACKEND_CPU}),
                         .usual = "`auto`: the first that has a device",
                         .about = "What computes. OpenCL devices that are CPUs are used only for `opencl`"},
    [SAP_VAR_DEVICES] = {.name = "SAPPORO_DEVICES",
                         .type = SAP_TYPE_DEVICES,
                         .bad = SAP_BAD_USE,
                         .words = WORDS({"all", 0}),
                         .values = "numbers as in `0,2`, or `all`, or uuids or names",
                         .usual = "one device",
                         .about = "Devices of the backend. The CPU engine is one device whatever this says; a number "
                                  "or name that does not exist gives a warning"},
    [SAP_VAR_PRECISION] = {.name = "SAPPORO_PRECISION",
                           .type = SAP_TYPE_WORD,
                           .bad = SAP_BAD_USE,
                           .words = WORDS({"sp", SAPPORO_SP}, {"ds", SAPPORO_DS}, {"dp", SAPPORO_DP}),
                           .usual = "`ds`, and `dp` for fewer than 1,024 j-particles; `sp` for GRAPE-5 calls; `ds` for "
                                    "NBODY6; `dp` in orders 6 and 8",
                           .about = "Precision of positions and pair terms"},
    [SAP_VAR_ROOT] = {.name = "SAPPORO_ROOT",
                      .type = SAP_TYPE_WORD,
                      .bad = SAP_BAD_USE,
                      .words = WORDS({"full", SAPPORO_ROOT_FULL}, {"fast", SAPPORO_ROOT_FAST}),
                      .usual = "`full`",
                      .about = "Square roots of order 2 in `sp` on CPUs: `fast` leaves them at their first estimate; "
                               "it is quicker, with errors of 1e-5"},
    [SAP_VAR_CPU_ISA] = {.name = "SAPPORO_CPU_ISA",
                         .type = SAP_TYPE_WORD,
                         .bad = SAP_BAD_USE,
                         .words = WORDS({"scalar", 0}, {"sse2", 1}, {"avx2", 2}, {"avx512", 3}, {"neon", 4}),
                         .usual = "the widest that compiler, processor and system have",
                         .about = "Instruction path of the CPU engine"},
    [SAP_VAR_NUM_THREADS] = {.name = "OMP_NUM_THREADS",
                             .type = SAP_TYPE_FIRST,
                             .bad = SAP_BAD_WARNED,
                             .least = 1,
                             .most = INT_MAX,
                             .usual = "all cores that the process is granted: affinity mask and CPU quota",
                             .about = "Number of threads; `OMP_THREAD_LIMIT` bounds it. Read once. Small forces use "
                                      "fewer threads; a call inside an OpenMP region of the caller uses one"},
    [SAP_VAR_METHOD] = {.name = "SAPPORO_METHOD",
                        .type = SAP_TYPE_WORD,
                        .bad = SAP_BAD_OPEN,
                        .words = WORDS({"direct", 0}, {"tree", 1}),
                        .usual = "`direct`",
                        .about = "With `tree`, GRAPE-5 forces with one softening for all particles and StarSmasher's "
                                 "calls go by a tree; all other calls warn once and sum directly"},
    [SAP_VAR_TREE_KIND] = {.name = "SAPPORO_TREE_KIND",
                           .type = SAP_TYPE_WORD,
                           .bad = SAP_BAD_OPEN,
                           .words = WORDS({"octree", SAPPORO_TREE_OCTREE}, {"kdtree", SAPPORO_TREE_KDTREE}),
                           .usual = "`octree`",
                           .about = "Kind of that tree"},
    [SAP_VAR_TREE_MAC] =
        {.name = "SAPPORO_TREE_MAC",
         .type = SAP_TYPE_WORD,
         .bad = SAP_BAD_OPEN,
         .words = WORDS(SAP_MACS(MAC_WORD, COMMA)),
         .usual = "`acceleration` (GRAPE-5 0.002); `opening` with an accuracy, or for targets that are no sources",
         .about = "Multipole acceptance criterion of that tree"},
    [SAP_VAR_TREE_ACCURACY] = {.name = "SAPPORO_TREE_ACCURACY",
                               .type = SAP_TYPE_REAL,
                               .bad = SAP_BAD_OPEN,
                               .usual = SAP_MACS(MAC_ACCURACY, ", "),
                               .about = "Number of that criterion, with a decimal point in every locale; smaller is "
                                        "more accurate"},
    [SAP_VAR_TREE_ERROR] = {.name = "SAPPORO_TREE_ERROR",
                            .type = SAP_TYPE_REAL,
                            .bad = SAP_BAD_OPEN,
                            .usual = "none",
                            .about = "In place of that number, by `acceleration`: 99 % of the errors are to be below, "
                                     "1e-9 to 0.1"},
    [SAP_VAR_MPI_TRANSPORT] = {.name = "SAPPORO_MPI_TRANSPORT",
                               .type = SAP_TYPE_WORD,
                               .bad = SAP_BAD_OPEN,
                               .words = WORDS({"auto", 0}, {"host", 1}, {"mpi", 2}, {"nccl", 3}),
                               .usual = "`auto`: the fastest that all ranks can use",
                               .about = "How particles travel between the ranks of `libsapporo_mpi`: through the "
                                        "host's memory, or from GPU to GPU by MPI or NCCL"},
    [SAP_VAR_TUNE] = {.name = "SAPPORO_TUNE",
                      .type = SAP_TYPE_PATH,
                      .bad = SAP_BAD_NONE,
                      .words = WORDS({"off", 0}, {"frozen", 1}),
                      .values = "a file, `off` or `frozen`",
                      .usual = "`sapporo/tune` in `XDG_CONFIG_HOME`, or else in `~/.config`, if it is there",
                      .about = "Tuning file. `off`: none is read; `frozen`: the default one, `sapporo tune` "
                               "writes none, and steppers decide nothing by the clock"},
    [SAP_VAR_CACHE] = {.name = "SAPPORO_CACHE",
                       .type = SAP_TYPE_PATH,
                       .bad = SAP_BAD_NONE,
                       .words = WORDS({"off", 0}),
                       .values = "a folder that only you can write to, or `off`, or nothing",
                       .usual =
                           "`sapporo` in `XDG_CACHE_HOME`, or else in `~/.cache`; for PoCL, which keeps them itself, "
                           "nowhere",
                       .about = "Where programs are kept that OpenCL drivers compiled; `off` or nothing: nowhere"},
    [SAP_VAR_VERBOSE] = {.name = "SAPPORO_VERBOSE",
                         .type = SAP_TYPE_COUNT,
                         .bad = SAP_BAD_OPEN,
                         .least = 0,
                         .most = 9,
                         .usual = "1",
                         .about = "Messages, to stderr or to `sapporo_set_log`. 0: none; 1: errors, and each warning "
                                  "once; 2: also what was chosen; 3 and "
                                  "more: every force. Read once"},
    [SAP_VAR_NPIPES] = {.name = "GRAPE_NPIPES",
                        .type = SAP_TYPE_COUNT,
                        .bad = SAP_BAD_OPEN,
                        .least = 1,
                        .most = 1000000,
                        .usual = "16384; 48 in `libg6`",
                        .about = "What `g6_npipes` returns. Read once"},
    [SAP_VAR_GPU_LIST] = {.name = "GPU_LIST",
                          .type = SAP_TYPE_DEVICES,
                          .bad = SAP_BAD_USE,
                          .values = "numbers as in `0 2` or `0,2`",
                          .usual = "",
                          .about = "Devices for NBODY6's calls alone, where `SAPPORO_DEVICES` is not set; any other "
                                   "text makes these calls fail"},
    [SAP_VAR_NBODY6_RADII] =
        {.name = "SAPPORO_NBODY6_RADII",
         .type = SAP_TYPE_WORD,
         .bad = SAP_BAD_OPEN,
         .words = WORDS({"auto", SAP_RADII_AUTO}, {"plain", SAP_RADII_PLAIN}, {"mass", SAP_RADII_MASS}),
         .usual = "`auto` in `libnbody6_gpu`, `mass` in `libnbody7_gpu`, `plain` in `libnbody6_2010_gpu`",
         .about = "Squared neighbour radii of these libraries: h2 (`plain`), or h2 times the mass "
                  "of the neighbour (`mass`); `auto`: the lists of the first force decide"},
    [SAP_VAR_OPENCL_VECTORS] = {.name = "SAPPORO_OPENCL_VECTORS",
                                .type = SAP_TYPE_COUNT,
                                .bad = SAP_BAD_OPEN,
                                .audience = SAPPORO_FOR_TESTS,
                                .least = 0,
                                .most = 1,
                                .usual = "1",
                                .about = "0: OpenCL devices that are CPUs get the kernels for GPUs"},
    [SAP_VAR_OPENCL_FP64] = {.name = "SAPPORO_OPENCL_FP64",
                             .type = SAP_TYPE_COUNT,
                             .bad = SAP_BAD_OPEN,
                             .audience = SAPPORO_FOR_TESTS,
                             .least = 0,
                             .most = 1,
                             .usual = "1",
                             .about = "0: OpenCL devices get the kernels for devices without double precision, also "
                                      "useful where double precision is slow"},
    [SAP_VAR_OPENCL_SPLIT] = {.name = "SAPPORO_OPENCL_SPLIT",
                              .type = SAP_TYPE_COUNT,
                              .bad = SAP_BAD_OPEN,
                              .audience = SAPPORO_FOR_TESTS,
                              .least = 1,
                              .most = 1024,
                              .usual = "1",
                              .about = "Number of devices into which each CPU of OpenCL is divided"},
    [SAP_VAR_THREAD_LIMIT] = {.name = "OMP_THREAD_LIMIT",
                              .type = SAP_TYPE_FIRST,
                              .bad = SAP_BAD_WARNED,
                              .audience = SAPPORO_FOR_OTHERS,
                              .least = 1,
                              .most = INT_MAX,
                              .usual = "no limit",
                              .about = "Most threads of the process. Read once"},
    [SAP_VAR_PLACES] = PLACES("OMP_PLACES"),
    [SAP_VAR_PROC_BIND] = PLACES("OMP_PROC_BIND"),
    [SAP_VAR_GOMP_AFFINITY] = PLACES("GOMP_CPU_AFFINITY"),
    [SAP_VAR_KMP_AFFINITY] = PLACES("KMP_AFFINITY"),
    [SAP_VAR_ICD_VENDORS] = DRIVERS("OCL_ICD_VENDORS"),
    [SAP_VAR_ICD_FILENAMES] = DRIVERS("OCL_ICD_FILENAMES"),
    [SAP_VAR_VENDOR_PATH] = DRIVERS("OPENCL_VENDOR_PATH"),
    [SAP_VAR_POCL_DEVICES] = DRIVERS("POCL_DEVICES"),
    [SAP_VAR_RANK_OPENMPI] = RANK("OMPI_COMM_WORLD_LOCAL_RANK", "Open MPI"),
    [SAP_VAR_RANK_MVAPICH] = RANK("MV2_COMM_WORLD_LOCAL_RANK", "MVAPICH2"),
    [SAP_VAR_RANK_INTEL] = RANK("MPI_LOCALRANKID", "MPICH and Intel MPI"),
    [SAP_VAR_RANK_SLURM] = RANK("SLURM_LOCALID", "Slurm"),
    [SAP_VAR_RANK_PMI] = RANK("PMI_LOCAL_RANK", "PMI"),
    [SAP_VAR_RANK_PALS] = RANK("PALS_LOCAL_RANKID", "PALS"),
    [SAP_VAR_CONFIG_HOME] = {.name = "XDG_CONFIG_HOME",
                             .type = SAP_TYPE_PATH,
                             .bad = SAP_BAD_NONE,
                             .audience = SAPPORO_FOR_OTHERS,
                             .values = "a folder; only a path that begins with `/` counts",
                             .usual = "`~/.config`",
                             .about = "Folder of the tuning file"},
    [SAP_VAR_CACHE_HOME] = {.name = "XDG_CACHE_HOME",
                            .type = SAP_TYPE_PATH,
                            .bad = SAP_BAD_NONE,
                            .audience = SAPPORO_FOR_OTHERS,
                            .values = "a folder; only a path that begins with `/` counts",
                            .usual = "`~/.cache`",
                            .about = "Folder of the cache of compiled OpenCL programs"},
    [SAP_VAR_HOME] = {.name = "HOME",
                      .type = SAP_TYPE_PATH,
                      .bad = SAP_BAD_NONE,
                      .audience = SAPPORO_FOR_OTHERS,
                      .values = "a folder",
                      .usual = "",
                      .about = "What `~` stands for in the defaults above"},
};

const struct sap_variable_table sap_variable_table = {.row = sap_variables,
                                                      .n = SAP_VARIABLES,
                                                      .verbose = &sap_variables[SAP_VAR_VERBOSE],
                                                      .threads = &sap_variables[SAP_VAR_NUM_THREADS],
                                                      .thread_limit = &sap_variables[SAP_VAR_THREAD_LIMIT],
                                                      .places = &sap_variables[SAP_VAR_PLACES],
                                                      .nplaces = SAP_VAR_KMP_AFFINITY - SAP_VAR_PLACES + 1};
