/*
 * lon_qdl: the Query Dispatch Library and its datasets for a LoadGen that is written in C, C++ or Python.
 *
 * The caller's LoadGen asks and judges. This library loads samples, sends them to SUT nodes over a network, hands back
 * the answers, and leaves the network's side of the result in a folder.
 *
 *   lon_handle run;
 *   lon_callbacks callbacks = {.struct_size = sizeof callbacks, .completed = completed};
 *   if (lon_open("{\"sut\": \"10.0.0.1:8000\", \"benchmark\": \"digits\", \"scenario\": \"Server\"}",
 *                &callbacks, &run) != LON_OK)
 *     fprintf(stderr, "%s\n", lon_last_error());
 *   size_t indices[] = {0, 1};
 *   lon_load(run, indices, 2);
 *   lon_sample query[] = {{.id = 17, .index = 1}};
 *   lon_issue_loaded(run, query, 1);   // `completed` is called with id 17
 *   lon_flush(run);
 *   lon_close(run, "results");
 *
 * Threads: every function may be called from any thread, at the same time as any other. Inside a callback, whose thread
 * the network waits for, functions that may have to wait are refused with LON_ERROR_THREAD: lon_open, lon_qsl_open,
 * lon_close, lon_take, lon_name, lon_load, lon_unload, lon_issue and lon_issue_loaded; lon_try_issue_loaded is refused
 * there, too. No callback runs after lon_close has returned, so a callback must not wait for the thread that closes.
 *
 * Processes: the threads of the library stay in the process in which something was opened. In one that was forked from
 * it, every function returns LON_ERROR_FORK, except lon_version, lon_abi and lon_last_error. Open after the fork.
 *
 * Errors: every function returns LON_OK or one of the codes below, and lon_last_error() has a sentence about it. A
 * handle that is 0, was closed or never existed is an error (LON_ERROR_HANDLE), and so is a null pointer where a
 * pointer is needed (LON_ERROR_ARGUMENT). What a pointer leads to cannot be checked.
 *
 * Loss: a sample that gets no answer cannot be shown to the official LoadGen, which waits for ever for it, or takes
 * whatever it is given for an answer. So one lost sample, or one lost node, makes the whole run unusable: see
 * lon_callbacks.lost.
 */
#ifndef LON_QDL_H
#define LON_QDL_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The version of this interface. lon_abi() gives that of the library; programs compare the two. */
#define LON_ABI 1u

/* Symbols end with the version of the interface. So a program that was built with this header never calls functions of
 * another version by mistake. Linked with -z now it does not start where one is missing. Who opens the library with
 * dlopen asks for the names on the right. lon_abi and lon_version are the same in all versions. */
#define lon_last_error lon_last_error_v1
#define lon_open lon_open_v1
#define lon_qsl_open lon_qsl_open_v1
#define lon_name lon_name_v1
#define lon_describe lon_describe_v1
#define lon_total_count lon_total_count_v1
#define lon_performance_count lon_performance_count_v1
#define lon_load lon_load_v1
#define lon_unload lon_unload_v1
#define lon_encoded lon_encoded_v1
#define lon_issue_loaded lon_issue_loaded_v1
#define lon_try_issue_loaded lon_try_issue_loaded_v1
#define lon_issue lon_issue_v1
#define lon_flush lon_flush_v1
#define lon_take lon_take_v1
#define lon_close lon_close_v1

/* Status that functions return. 1 to 5 are also the exit codes of loadgen-node. */
#define LON_OK 0               /* Done. Of lon_close: every sample that was issued was answered once. */
#define LON_ERROR_BUG 1        /* A bug of this library, or the operating system refused something. */
#define LON_ERROR_USAGE 2      /* An option, a file, a dataset or a model is not as it should be. */
#define LON_ERROR_UNUSABLE 3   /* The run is over and cannot be used: what both ends counted differs, for one. */
#define LON_ERROR_NETWORK 4    /* A node cannot be reached, was lost, or left a sample without an answer. */
#define LON_ERROR_HANDLE 6     /* No such handle: it is 0, closed, or of the other kind. */
#define LON_ERROR_ARGUMENT 7   /* A null pointer, an index beyond the end, a sample that is not loaded, a length. */
#define LON_ERROR_THREAD 8     /* Not on this thread: see above. */
#define LON_ERROR_BUSY 9       /* Not without waiting: lon_try_issue_loaded. */
#define LON_ERROR_FORK 10      /* Not in this process: see above. */

/* A run (lon_open) or a dataset alone (lon_qsl_open). Never 0. */
typedef uint64_t lon_handle;

/* A sample of the dataset to send: the caller's name for it, which comes back with its answer, and its place in the
 * dataset. The same layout as mlperf::QuerySample on systems with 64 bits. */
typedef struct lon_sample {
  uint64_t id;
  size_t index;
} lon_sample;

/* An answer, or the first token of one: the fields of mlperf::QuerySampleResponse. */
typedef struct lon_response {
  uint64_t id;      /* as it was issued */
  const void* data; /* the model's outputs as the node sent them; null when size is 0 */
  size_t size;      /* bytes */
  int64_t n_tokens; /* tokens of the answer; 0 where the node counts none, and in first tokens */
} lon_response;

/* Takes responses, many at a time. `responses` and their data are valid during the call. */
typedef void (*lon_responses_fn)(void* user, const lon_response* responses, size_t count);

/* Is told once that the run became unusable; `reason` is one sentence, valid during the call. */
typedef void (*lon_lost_fn)(void* user, const char* reason);

/* Functions of the caller that the library calls. They run on threads of the library, several at the same time; they
 * must not block, since the network waits meanwhile. */
typedef struct lon_callbacks {
  size_t struct_size;             /* sizeof(lon_callbacks) */
  void* user;                     /* handed to each callback */
  lon_responses_fn completed;     /* answers; null: everything is fetched by lon_take */
  lon_responses_fn first_tokens;  /* first tokens; null: they are dropped */

  /* The run became unusable: a node was lost, or a sample got no answer. By then everything is written into the
   * folder `out` of the options, if one is named there. The callback may end the process, with exit code 4.
   * When it returns, every outstanding sample, and every sample that is issued from then on, is completed with size 0,
   * one to two seconds later, so that the caller's LoadGen comes to its end; lon_close then returns LON_ERROR_NETWORK,
   * and takes the word VALID away from official logs in its folder.
   * Null: the library says why on standard error and ends the process with exit code 4. Where answers are fetched,
   * lon_take says so, and this is not called. */
  lon_lost_fn lost;
} lon_callbacks;

/* The version of the library, as text. Never null. */
const char* lon_version(void);

/* The version of the interface that the library has: LON_ABI of its header. */
uint32_t lon_abi(void);

/* The error of the last call on this thread that failed, one line; empty when none has. Valid until the next call on
 * this thread. Never null. */
const char* lon_last_error(void);

/*
 * Opens a run: reads the options, opens the dataset, reaches the nodes, checks that they take the samples, and claims
 * them. The nodes stay claimed until lon_close.
 *
 * options: a JSON object. Its keys are the flags of `loadgen-node run` without the dashes in front ("sut", "benchmark",
 * "scenario", "user-conf", "transport", "tls-ca", "compression", ...), with the same values, defaults and meanings;
 * LON_... variables count as they do there. Numbers and texts are values, true is a flag that is set, false and null
 * are a flag that is not there, an array is a flag that is given several times. Flags about the engine of
 * `loadgen-node` are refused. "out" is the folder that lon_close writes into unless it is given one: it is
 * made, and must not have files of an earlier run.
 *
 * callbacks: copied; null: everything is fetched by lon_take.
 */
int32_t lon_open(const char* options, const lon_callbacks* callbacks, lon_handle* run);

/* Opens a dataset without nodes. The options are those of lon_open that say what is sent: "benchmark", "dataset",
 * "preprocess", "ids-alone", "aggregate", "compression". */
int32_t lon_qsl_open(const char* options, lon_handle* qsl);

/*
 * Asks every node for its name, now, and writes "Network SUT: ..." with all of them: the name of the SUT, for Name() of
 * the official interface. As all functions with a buffer do: at most `capacity` bytes are written, the last of them 0,
 * and *length becomes the length of the whole text without that 0. Call again with more where it did not fit.
 */
int32_t lon_name(lon_handle run, char* buffer, size_t capacity, size_t* length);

/* Writes what is known of benchmark, dataset and nodes, as a JSON object. */
int32_t lon_describe(lon_handle handle, char* buffer, size_t capacity, size_t* length);

/* Samples of the dataset, and how many of them fit into memory together: for the official QuerySampleLibrary. */
int32_t lon_total_count(lon_handle handle, size_t* count);
int32_t lon_performance_count(lon_handle handle, size_t* count);

/* Reads these samples and encodes them with the codec of the options, before any clock starts; those that are loaded
 * already stay so. */
int32_t lon_load(lon_handle handle, const size_t* indices, size_t count);

/* Drops these samples from memory. Those that are not loaded are passed over. */
int32_t lon_unload(lon_handle handle, const size_t* indices, size_t count);

/* A loaded sample as it is sent, with its codec: valid until it is unloaded or the handle is closed. */
int32_t lon_encoded(lon_handle handle, size_t index, const void** data, size_t* size);

/* Sends loaded samples. Nothing is copied. Returns when all are on their way: at once as long as the nodes take them,
 * else when they have room again. Nothing is sent when one of them is not loaded. */
int32_t lon_issue_loaded(lon_handle run, const lon_sample* samples, size_t count);

/* Sends one loaded sample, if that needs no waiting: for callers that hold a lock which their other threads need, as
 * Python does. LON_ERROR_BUSY: it was not sent, and not counted. Do not repeat this call then, since a run that cannot
 * be used any more returns the same. lon_issue_loaded waits for room, or counts the sample as lost. */
int32_t lon_try_issue_loaded(lon_handle run, const lon_sample* sample);

/* Sends samples of the caller's own: ids, data and sizes are arrays of `count`. Each sample is in the layout that nodes
 * read, with the codec of the options: what lon_encoded gives. The bytes are copied, since a transport may need them
 * longer than the answer takes; lon_issue_loaded copies nothing. Otherwise as lon_issue_loaded. */
int32_t lon_issue(lon_handle run, const uint64_t* ids, const void* const* data, const size_t* sizes, size_t count);

/* Nothing more is issued for now: the nodes need not wait for more before they infer what they have. */
int32_t lon_flush(lon_handle run);

/* Kinds of responses that lon_take fetches. */
#define LON_COMPLETED 0
#define LON_FIRST_TOKENS 1

/*
 * Fetches responses, for runs that were opened without callbacks: waits until there are some, for `timeout_ms` at most,
 * and writes `capacity` of them at most, all of one *kind. *count is 0 when the time has passed. Their data are valid
 * until this thread calls lon_take again, or lon_close is called. When the run has become unusable it returns
 * LON_ERROR_NETWORK, once, after what was answered before; from then on it fetches the lost samples, with size 0.
 *
 * One thread waits for responses. A thread that issues may fetch now and then, too, with timeout_ms 0: while it gets
 * many at a time, the waiting thread leaves them to it, for up to 1 ms after each time.
 */
int32_t lon_take(lon_handle run, lon_response* responses, size_t capacity, uint32_t timeout_ms, size_t* count,
                 int32_t* kind);

/*
 * Ends the run, lets the nodes go, and writes network_report.json, system_desc.json, report.html and qdl_result.json
 * into `folder`, which is made where it is missing; null: into the folder "out" of the options, or nowhere if none was
 * named. Files of these names that are there already are an error, and are left as they are.
 *
 * The handle is closed in every case, and a closed handle is an error. LON_OK: every sample that was issued was
 * answered once, by nodes that stayed, and everything is written. Whether the result is VALID is for the caller's
 * LoadGen to say; LON_OK does not say it. Of a handle of lon_qsl_open it frees the dataset, and `folder` is not used.
 */
int32_t lon_close(lon_handle handle, const char* folder);

#ifdef __cplusplus
}
#endif

#endif /* LON_QDL_H */
