/** Options of a client. */
export interface WaxwingOptions {
  /** The address of the service, with a path if it has one: `https://mail.example.com/waxwing`. */
  baseUrl: string | URL
  /**
   * An API key or an account token, or a function that returns one. The function is asked before each request, and once
   * more after a 401. Without a key, no `Authorization` is sent.
   */
  key?: string | (() => string | Promise<string>)
  /** In place of the global `fetch`. */
  fetch?: typeof fetch
  /** Headers of every request. */
  headers?: Record<string, string>
  /** How long a try may take, in milliseconds. Default: 60,000. The `waitSeconds` of a call are added. */
  timeoutMs?: number
  /** How often a call is tried again where that is safe. Default: 3. */
  retries?: number
}

/** Options of any call. */
export interface CallOptions {
  signal?: AbortSignal
  /** How long a try may take, in milliseconds. */
  timeoutMs?: number
  headers?: Record<string, string>
}

/** Options of calls that create or act. */
export interface PostOptions extends CallOptions {
  /**
   * Names this call for 24 hours: the same call with the same key takes effect once, and has the same answer. Default: a
   * random one, which all tries of this call share.
   */
  idempotencyKey?: string
}

/** Options of calls that may depend on what they change. */
export interface ConditionalOptions extends CallOptions {
  /** The `ETag` that `.withResponse()` gave: the call is refused if the content is another one by now. */
  ifMatch?: string
}

/** Options of a call of any kind. */
export type AnyOptions = PostOptions & ConditionalOptions
