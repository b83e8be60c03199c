//! C functions of the caller that take answers.

#![allow(unsafe_code, reason = "calls functions of the caller with the pointers that they take")]

use std::ffi::{CString, c_char, c_void};
use std::ptr;
use std::sync::{Arc, Mutex, PoisonError};

use lon_run::Taker;
use qdl::{Outcome, Reply};

use crate::queue::{Queue, Response};
use crate::status::in_callback;

/// An answer, or the first token of one: `lon_response` of the header.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct LonResponse {
    /// As it was issued.
    pub id: u64,
    /// The model's outputs; null when `size` is 0.
    pub data: *const c_void,
    /// Length of the data, bytes.
    pub size: usize,
    /// Tokens of the answer; 0 where the node counts none.
    pub n_tokens: i64,
}

/// Takes responses: `lon_responses_fn` of the header; none is the null pointer.
pub type LonResponsesFn = Option<unsafe extern "C" fn(user: *mut c_void, responses: *const LonResponse, count: usize)>;

/// Is told that the run became unusable: `lon_lost_fn` of the header; none is the null pointer.
pub type LonLostFn = Option<unsafe extern "C" fn(user: *mut c_void, reason: *const c_char)>;

/// Functions to call: `lon_callbacks` of the header.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct LonCallbacks {
    /// The size of this structure, bytes.
    pub struct_size: usize,
    /// Pointer of the caller, which each callback receives.
    pub user: *mut c_void,
    /// Takes answers, many at a time.
    pub completed: LonResponsesFn,
    /// Takes first tokens, many at a time.
    pub first_tokens: LonResponsesFn,
    /// Is told when the run became unusable.
    pub lost: LonLostFn,
}

/// The caller's word for itself. It is never looked into here.
#[derive(Clone, Copy)]
struct User(*mut c_void);

// SAFETY: the header says that callbacks run on several threads; what the pointer leads to is the caller's.
unsafe impl Send for User {}
// SAFETY: as above.
unsafe impl Sync for User {}

/// Hands what arrives to the caller: by callbacks, or into a queue from which it is fetched.
pub(crate) struct Caller {
    user: User,
    completed: LonResponsesFn,
    first_tokens: LonResponsesFn,
    lost: LonLostFn,
    /// Responses of one call, by kind. Kept for their memory.
    spare: Mutex<Vec<[Vec<LonResponses>; 2]>>,
    pub(crate) queue: Arc<Queue>,
}

/// A response on its way to the caller. The pointer is not used by another thread than the one that made it.
#[derive(Clone, Copy)]
#[repr(transparent)]
struct LonResponses(LonResponse);

// SAFETY: only kept, empty, between calls.
unsafe impl Send for LonResponses {}

impl Caller {
    /// `callbacks`: None when everything is fetched.
    pub(crate) fn new(callbacks: Option<LonCallbacks>) -> Caller {
        let none =
            LonCallbacks { struct_size: 0, user: ptr::null_mut(), completed: None, first_tokens: None, lost: None };
        let LonCallbacks { user, completed, first_tokens, lost, .. } = callbacks.unwrap_or(none);
        Caller { user: User(user), completed, first_tokens, lost, spare: Mutex::default(), queue: Arc::default() }
    }

    /// Returns true when the caller fetches answers instead of taking them in a callback.
    pub(crate) fn is_fetched(&self) -> bool {
        self.completed.is_none()
    }

    /// Tells the caller that the run is unusable; false when nobody is to be told.
    pub(crate) fn tell_lost(&self, reason: &str) -> bool {
        let Some(lost) = self.lost else { return false };
        let reason = CString::new(reason.replace('\0', " ")).unwrap_or_default();
        // SAFETY: the caller gave a function of this type, and the text lives until it returns.
        in_callback(|| unsafe { lost(self.user.0, reason.as_ptr()) });
        true
    }

    /// Completes these samples without answers.
    pub(crate) fn complete_empty(&self, ids: impl Iterator<Item = u64>) {
        if self.is_fetched() {
            return self.queue.extend(ids.map(Response::nothing));
        }
        let responses: Vec<LonResponse> = ids.map(|id| response(id, &[], 0)).collect();
        self.call(self.completed, &responses);
    }

    fn call(&self, function: LonResponsesFn, responses: &[LonResponse]) {
        if let Some(function) = function
            && !responses.is_empty()
        {
            // SAFETY: the caller gave a function of this type; responses and data live until it returns.
            in_callback(|| unsafe { function(self.user.0, responses.as_ptr(), responses.len()) });
        }
    }
}

/// Returns the caller's view of a reply.
pub(crate) fn response(id: u64, data: &[u8], n_tokens: i64) -> LonResponse {
    let pointer = if data.is_empty() { ptr::null() } else { data.as_ptr().cast() };
    LonResponse { id, data: pointer, size: data.len(), n_tokens }
}

impl Taker for Caller {
    fn replies(&self, replies: &mut Vec<Reply>) {
        if self.is_fetched() {
            return self.queue.replies(replies);
        }
        let spare = || self.spare.lock().unwrap_or_else(PoisonError::into_inner);
        let [mut answers, mut tokens] = spare().pop().unwrap_or_default();
        for reply in replies.iter() {
            let id = reply.id.0;
            match &reply.outcome {
                Outcome::FirstToken(data) => tokens.push(LonResponses(response(id, data, 0))),
                Outcome::Done(answer) => {
                    let n_tokens = i64::try_from(answer.n_tokens).unwrap_or(i64::MAX);
                    answers.push(LonResponses(response(id, &answer.data, n_tokens)));
                }
                Outcome::Failed(_) => {}
            }
        }
        // First, since an answer may have come in the same breath as its first token.
        self.call(self.first_tokens, plain(&tokens));
        self.call(self.completed, plain(&answers));
        answers.clear();
        tokens.clear();
        spare().push([answers, tokens]);
    }
}

fn plain(responses: &[LonResponses]) -> &[LonResponse] {
    // SAFETY: a tuple of one field that is `repr(transparent)`.
    unsafe { std::slice::from_raw_parts(responses.as_ptr().cast(), responses.len()) }
}
